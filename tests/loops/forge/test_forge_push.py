"""A push creates a branch with our commit, or finds it there; it never changes a branch that holds anything else."""

import contextlib
from collections.abc import AsyncGenerator
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from donewhen.loops.forge.access import Patience, Token
from donewhen.loops.forge.forge import ForgeFailed, Later
from donewhen.loops.forge.push import BranchTaken, Pushed, push_branch, remove_branch
from donewhen.loops.forge.remote import ForgePlace, Remote, forge_place
from donewhen.workspace.git.store import Store
from forge_server import Answers, Drops, ForgeServer, Hangs, Received
from repositories import commit, git, opened, repository, try_git, write

pytestmark = pytest.mark.anyio
QUICK = Patience(tries=3, first_wait_secs=0.01)


@contextlib.asynccontextmanager
async def working(server: ForgeServer, tmp_path: Path) -> AsyncGenerator[tuple[Store, str]]:
    """Open the store of a clone that has one commit more than the forge. Return that commit, too."""
    git(tmp_path, "clone", "--quiet", str(server.bare), "clone")
    write(tmp_path / "clone", {"fix.py": "1\n"})
    made = commit(tmp_path / "clone", "our work")
    async with opened(tmp_path / "clone", tmp_path / "store") as store:
        yield store, made


async def test_a_branch_is_created_once(server: ForgeServer, place: ForgePlace, token: Token, tmp_path: Path) -> None:
    async with working(server, tmp_path) as (store, made):
        assert await push_branch(store, place, token, made, "donewhen/s1", QUICK) is Pushed.CREATED
        assert await push_branch(store, place, token, made, "donewhen/s1", QUICK) is Pushed.ALREADY_THERE
    assert server.world.commit_of("donewhen/s1") == made
    assert server.count("git/push") == 1
    assert git(server.bare, "for-each-ref", "--format=%(refname)").split() == [
        "refs/heads/donewhen/s1",
        "refs/heads/main",
    ]


@pytest.mark.parametrize("operation", ["git/refs", "git/push"])
@pytest.mark.parametrize("after_effect", [False, True])
async def test_a_lost_connection_is_repeated_safely(
    server: ForgeServer, place: ForgePlace, token: Token, tmp_path: Path, operation: str, after_effect: bool
) -> None:
    async with working(server, tmp_path) as (store, made):
        server.fail(operation, Drops(after_effect))
        assert await push_branch(store, place, token, made, "work", QUICK) is Pushed.CREATED
    assert server.world.commit_of("work") == made


async def test_a_branch_that_somebody_else_pushed_to_is_refused(
    server: ForgeServer, place: ForgePlace, token: Token, tmp_path: Path
) -> None:
    async with working(server, tmp_path) as (store, made):
        await push_branch(store, place, token, made, "work", QUICK)
        theirs = server.push("work", {"more.py": "2\n"})
        with pytest.raises(
            BranchTaken, match=f"the branch work of octo/widgets is at {theirs[:12]}, which is not ours"
        ):
            await push_branch(store, place, token, made, "work", QUICK)
    assert server.world.commit_of("work") == theirs


async def test_a_branch_that_appears_during_the_push_is_refused(
    server: ForgeServer, place: ForgePlace, token: Token, tmp_path: Path
) -> None:
    """It is at the base, so that a plain push would move it forward (the control below)."""

    def create(received: Received) -> None:
        if received.query.get("service") == "git-receive-pack":
            git(server.bare, "update-ref", "refs/heads/work", "refs/heads/main")

    async with working(server, tmp_path) as (store, made):
        server.on_request = create
        with pytest.raises(BranchTaken):
            await push_branch(store, place, token, made, "work", QUICK)
    assert server.world.commit_of("work") == server.world.commit_of("main")


async def test_control_a_plain_push_moves_a_branch_that_appeared(server: ForgeServer, tmp_path: Path) -> None:
    async with working(server, tmp_path) as (_, made):
        git(server.bare, "update-ref", "refs/heads/work", "refs/heads/main")
        git(tmp_path / "clone", "push", "--quiet", str(server.bare), f"{made}:refs/heads/work")
    assert server.world.commit_of("work") == made


async def test_a_branch_is_removed_only_while_it_holds_our_commit(
    server: ForgeServer, place: ForgePlace, token: Token, tmp_path: Path
) -> None:
    async with working(server, tmp_path) as (store, made):
        await push_branch(store, place, token, made, "work", QUICK)
        theirs = server.push("work", {"more.py": "2\n"})
        with pytest.raises(ForgeFailed, match="stale info"):
            await remove_branch(store, place, token, made, "work")
        assert server.world.commit_of("work") == theirs
        await push_branch(store, place, token, made, "other", QUICK)
        await remove_branch(store, place, token, made, "other")
    assert server.world.commit_of("other") == ""


async def test_two_pushes_of_different_commits_at_once_leave_one(
    server: ForgeServer, place: ForgePlace, token: Token, tmp_path: Path
) -> None:
    theirs: list[str] = []

    def come_between(received: Received) -> None:
        if received.operation == "git/push" and not theirs:
            theirs.append(server.push("work", {"theirs.py": "3\n"}))

    async with working(server, tmp_path) as (store, made):
        server.on_request = come_between
        with pytest.raises(BranchTaken):
            await push_branch(store, place, token, made, "work", QUICK)
    assert server.world.commit_of("work") == theirs[0]


async def test_a_branch_that_the_server_does_not_accept_is_one_line(
    server: ForgeServer, place: ForgePlace, token: Token, tmp_path: Path
) -> None:
    hook = server.bare / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    async with working(server, tmp_path) as (store, made):
        with pytest.raises(
            ForgeFailed, match=r"does not accept the branch work: .*pre-receive hook declined"
        ) as refused:
            await push_branch(store, place, token, made, "work", QUICK)
    assert not isinstance(refused.value, Later)
    assert "\n" not in str(refused.value)


async def test_a_wrong_token_a_missing_right_and_a_missing_repository_are_one_line_each(
    server: ForgeServer, place: ForgePlace, token: Token, tmp_path: Path
) -> None:
    elsewhere = forge_place(Remote("127.0.0.1", "octo", "other"), server.url, "FORGE_TOKEN", "github")
    wrong = Token("FORGE_TOKEN", "ghp_wrong")
    async with working(server, tmp_path) as (store, made):
        for where, with_token, status in ((place, wrong, 401), (elsewhere, token, 404), (place, token, 403)):
            server.may_push = status != 403
            with pytest.raises(ForgeFailed, match="FORGE_TOKEN") as refused:
                await push_branch(store, where, with_token, made, "work", QUICK)
            assert (refused.value.status, "\n" in str(refused.value)) == (status, False)
    assert server.world.commit_of("work") == ""


async def test_a_server_that_stays_away_is_a_reason_to_come_back(
    server: ForgeServer, place: ForgePlace, token: Token, tmp_path: Path
) -> None:
    async with working(server, tmp_path) as (store, made):
        server.fail("git/refs", *[Answers(503)] * 3)
        with pytest.raises(Later, match="octo/widgets cannot be pushed to: fatal: unable to access"):
            await push_branch(store, place, token, made, "work", QUICK)


async def test_no_hook_helper_or_setting_of_the_user_takes_part(
    server: ForgeServer, place: ForgePlace, tmp_path: Path, home: Path
) -> None:
    trace, hooks = tmp_path / "trace", tmp_path / "hooks"
    hooks.mkdir()
    (hooks / "pre-push").write_text(f"#!/bin/sh\necho hook >> {trace}\n")
    (hooks / "pre-push").chmod(0o755)
    (home / ".gitconfig").write_text(
        f'[core]\n\thooksPath = {hooks}\n\taskPass = "echo askpass >> {trace};"\n'
        f'[credential]\n\thelper = "!echo helper >> {trace};"\n'
        f'[url "{tmp_path}/nowhere"]\n\tinsteadOf = {server.address}\n'
    )
    async with working(server, tmp_path) as (store, made):
        control = try_git(tmp_path / "clone", "push", "--quiet", "--dry-run", str(server.bare), f"{made}:refs/heads/x")
        assert (control.returncode, trace.read_text()) == (0, "hook\n")
        trace.unlink()
        with pytest.raises(ForgeFailed, match="FORGE_TOKEN"):
            await push_branch(store, place, Token("FORGE_TOKEN", "ghp_wrong"), made, "work", QUICK)
        await push_branch(store, place, Token("FORGE_TOKEN", server.token), made, "work", QUICK)
    assert not trace.exists()
    assert server.world.commit_of("work") == made


async def test_a_large_push_arrives_whole(server: ForgeServer, place: ForgePlace, token: Token, tmp_path: Path) -> None:
    """Git sends it in chunks."""
    async with working(server, tmp_path):
        pass
    lines = "".join(f"{number * number * 7919 % 1_000_003:x}\n" for number in range(700_000))
    write(tmp_path / "clone", {"large.txt": lines})
    made = commit(tmp_path / "clone", "a large file")
    async with opened(tmp_path / "clone", tmp_path / "store") as store:
        await push_branch(store, place, token, made, "large", QUICK)
    assert git(server.bare, "cat-file", "-s", "large:large.txt") == str(len(lines))


async def test_an_answer_that_never_comes_does_not_keep_a_cancelled_push(
    server: ForgeServer, place: ForgePlace, token: Token, tmp_path: Path
) -> None:
    server.fail("git/refs", Hangs())
    async with working(server, tmp_path) as (store, made), anyio.create_task_group() as tasks:
        tasks.start_soon(push_branch, store, place, token, made, "work", QUICK)
        while not server.received:
            await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()
    assert server.world.commit_of("work") == ""


def test_the_repository_of_a_test_forge_is_real(server: ForgeServer, tmp_path: Path) -> None:
    repository(tmp_path / "unrelated")
    address = server.git_url.replace("://", f"://x:{server.token}@")
    git(tmp_path / "unrelated", "push", "--quiet", address, "main:refs/heads/other")
    assert server.world.commit_of("other") == git(tmp_path / "unrelated", "rev-parse", "HEAD")
