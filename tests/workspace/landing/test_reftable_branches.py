"""Branches in tables, made, moved and removed by us; a git that knows the format is the reference."""

from pathlib import Path
from subprocess import PIPE, Popen

import pytest
from landing_work import status

from donewhen.errors import BadInput
from donewhen.workspace.git.landing.branches import hold_branch, move_branch, remove_branch, tip, worktrees_on
from donewhen.workspace.git.landing.refusals import Locked, Moved, NotLanded
from donewhen.workspace.git.repo import Repo, open_repo
from donewhen.workspace.git.store import Store
from donewhen.workspace.process.launch import Launcher
from needs import needs, needs_reftable_git
from repositories import commit, digest, environment, git, repository, try_git, write

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def newer_git(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", needs_reftable_git())


async def opened_repo(root: Path) -> Repo:
    async with Launcher.open() as launcher:
        return await open_repo(launcher, root)


async def scene(tmp_path: Path, *options: str) -> tuple[Path, Repo, list[str]]:
    """A repository with two commits on `main`, and the branch `work` at the first one."""
    root = repository(tmp_path / "r", {"a.txt": "0\n"}, "--ref-format=reftable", *options)
    git(root, "branch", "work")
    write(root, {"a.txt": "1\n"})
    return root, await opened_repo(root), [git(root, "rev-parse", "HEAD"), commit(root)]


def is_sound(root: Path) -> None:
    ran = try_git(root, "fsck", "--strict", "--full", "--no-dangling")
    assert (ran.returncode, ran.stderr) == (0, b"")
    git(root, "refs", "verify")
    assert [path.name for path in (root / ".git").rglob("*") if "lock" in path.name or "donewhen" in path.name] == []


def log_of(root: Path, name: str) -> list[str]:
    return git(root, "log", "-g", "--format=%H %gs", name).splitlines()


def listed(root: Path) -> str:
    return git(root, "for-each-ref", "--format=%(objectname) %(refname)")


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
async def test_git_sees_a_branch_that_was_made_moved_and_removed(tmp_path: Path, object_format: str) -> None:
    root, repo, ids = await scene(tmp_path, f"--object-format={object_format}")
    before = listed(root)
    move_branch(repo, "donewhen/x", None, ids[0])
    move_branch(repo, "donewhen/x", ids[0], ids[1])
    move_branch(repo, "donewhen/x", ids[0], ids[1])  # it is there already
    assert git(root, "rev-parse", "donewhen/x") == tip(repo, "donewhen/x") == ids[1]
    assert log_of(root, "donewhen/x") == [f"{ids[1]} donewhen: landed", f"{ids[0]} donewhen: landed"]
    is_sound(root)
    remove_branch(repo, "donewhen/x", ids[1])
    remove_branch(repo, "donewhen/x", ids[1])
    assert listed(root) == before
    assert try_git(root, "reflog", "exists", "refs/heads/donewhen/x").returncode == 1
    git(root, "pack-refs", "--all")
    assert listed(root) == before
    is_sound(root)


async def test_what_git_writes_and_packs_afterwards_is_read_again(tmp_path: Path) -> None:
    root, repo, ids = await scene(tmp_path)
    move_branch(repo, "work", ids[0], ids[1])
    git(root, "update-ref", "refs/heads/work", ids[0], ids[1])
    assert tip(repo, "work") == ids[0]
    git(root, "pack-refs", "--all")
    assert tip(repo, "work") == ids[0]
    assert len((root / ".git" / "reftable" / "tables.list").read_text().splitlines()) == 1
    for _ in range(30):
        move_branch(repo, "work", ids[0], ids[1])
        move_branch(repo, "work", ids[1], ids[0])
    git(root, "branch", "another")
    assert len((root / ".git" / "reftable" / "tables.list").read_text().splitlines()) < 10
    assert len(log_of(root, "work")) == 63
    is_sound(root)


async def test_a_branch_with_another_value_is_not_changed(tmp_path: Path) -> None:
    root, repo, ids = await scene(tmp_path)
    before = listed(root)
    with pytest.raises(Moved):
        move_branch(repo, "work", ids[1], ids[1][::-1])
    with pytest.raises(Moved):
        remove_branch(repo, "work", ids[1])
    with pytest.raises(NotLanded, match="work is a branch, so work/x cannot be one"):
        move_branch(repo, "work/x", None, ids[1])
    with pytest.raises(NotLanded, match="is checked out in"):
        move_branch(repo, "main", ids[1], ids[0])
    git(root, "symbolic-ref", "refs/heads/alias", "refs/heads/work")
    with pytest.raises(NotLanded, match="symbolic reference to refs/heads/work"):
        move_branch(repo, "alias", ids[0], ids[1])
    git(root, "symbolic-ref", "--delete", "refs/heads/alias")
    assert listed(root) == before


async def test_git_waits_for_our_lock_and_we_respect_the_one_of_git(tmp_path: Path) -> None:
    root, repo, ids = await scene(tmp_path)
    with hold_branch(repo, "work") as held:
        refused = try_git(root, "update-ref", "refs/heads/work", ids[1])
        assert refused.returncode != 0
        assert b"lock" in refused.stderr
        held.move(ids[1])
    assert git(root, "rev-parse", "work") == ids[1]
    command = [needs("git"), "update-ref", "--stdin"]
    with Popen(command, cwd=root, env=environment(), stdin=PIPE, stdout=PIPE) as preparing:  # noqa: ASYNC220 - answers at once
        assert preparing.stdin is not None
        assert preparing.stdout is not None
        preparing.stdin.write(f"start\nupdate refs/heads/work {ids[0]}\nprepare\n".encode())
        preparing.stdin.flush()
        assert [preparing.stdout.readline() for _ in range(2)] == [b"start: ok\n", b"prepare: ok\n"]
        with pytest.raises(Locked, match=r"tables\.list\.lock"):
            move_branch(repo, "work", ids[1], ids[0])
        preparing.stdin.write(b"commit\n")
    assert git(root, "rev-parse", "work") == ids[0]
    is_sound(root)


async def test_the_head_of_every_worktree_on_the_branch_gets_its_reflog_line(tmp_path: Path) -> None:
    root, _, ids = await scene(tmp_path)
    git(root, "worktree", "add", "--quiet", "../linked", "work")
    repo = await opened_repo(tmp_path / "linked")
    assert (repo.branch, repo.head) == ("work", ids[0])
    assert worktrees_on(repo, "work") == [root / ".git" / "worktrees" / "linked"]
    assert worktrees_on(repo, "main") == [root / ".git"]
    for name, place, old, new in (("work", tmp_path / "linked", *ids), ("main", root, *reversed(ids))):
        with hold_branch(repo, name) as held:
            held.expect(old)
            held.move(new)
        assert log_of(place, "HEAD")[0] == log_of(place, name)[0] == f"{new} donewhen: landed"
    is_sound(root)


@pytest.mark.parametrize("setting", ["false", "true", "always"])
async def test_reflogs_are_written_only_where_the_repository_keeps_them(tmp_path: Path, setting: str) -> None:
    root, _, ids = await scene(tmp_path)
    git(root, "config", "core.logAllRefUpdates", setting)
    repo = await opened_repo(root)
    move_branch(repo, "new", None, ids[0])
    move_branch(repo, "work", ids[0], ids[1])
    assert (try_git(root, "reflog", "exists", "refs/heads/new").returncode == 0) == (setting != "false")
    assert len(log_of(root, "work")) == 2  # it had one before
    is_sound(root)


@pytest.mark.parametrize("base", ["work", "v1", "main~1", "main@{1}", "@{1}", "ORIG_HEAD", ":/the first"])
async def test_a_revision_is_resolved_as_the_users_git_does(tmp_path: Path, base: str) -> None:
    root, repo, ids = await scene(tmp_path)
    git(root, "tag", "-a", "-m", "a tag", "v1", ids[0])
    git(root, "update-ref", "ORIG_HEAD", ids[0])
    async with Launcher.open() as launcher:
        store = await Store.open(launcher, repo, tmp_path / "state")
        assert await store.resolve(base) == git(root, "rev-parse", f"{base}^{{commit}}" if base[0] != ":" else base)
    assert status(root) == []


@pytest.mark.parametrize("name", ["reftable", "reftable/tables.list"])
async def test_a_link_is_refused_although_git_accepts_it(tmp_path: Path, name: str) -> None:
    root, repo, ids = await scene(tmp_path)
    path, private = root / ".git" / name, tmp_path / "private"
    path.rename(private)
    path.symlink_to(private)
    before = digest(tmp_path)
    with pytest.raises(NotLanded, match=f"{name} is a link, which is not followed here"):
        move_branch(repo, "work", ids[0], ids[1])
    with pytest.raises(BadInput, match=f"{name} is a link, which is not followed here"):
        await opened_repo(root)
    assert digest(tmp_path) == before
    git(root, "update-ref", "refs/heads/work", ids[1])  # the control
    assert path.is_symlink() == (name == "reftable")
    assert git(root, "rev-parse", "work") == ids[1]


async def test_the_modes_of_a_shared_repository_are_kept(tmp_path: Path) -> None:
    root, _, ids = await scene(tmp_path, "--shared=group")
    move_branch(await opened_repo(root), "donewhen/x", None, ids[0])
    modes = {path.stat().st_mode & 0o777 for path in (root / ".git" / "reftable").iterdir()}
    assert modes == {0o664}
