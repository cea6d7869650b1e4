"""Branches made, moved and removed by compare-and-swap under git's own locks; the user's git is the reference."""

import os
import re
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from landing_work import is_sound, status

from donewhen.errors import BadInput, MachineryBroke
from donewhen.workspace.beneath import Root
from donewhen.workspace.git.landing import lockfile
from donewhen.workspace.git.landing.branches import (
    full_name,
    hold_branch,
    move_branch,
    remove_branch,
    tip,
    worktrees_on,
)
from donewhen.workspace.git.landing.refusals import Locked, Moved, NotLanded
from donewhen.workspace.git.repo import Repo, open_repo
from donewhen.workspace.process.launch import Launcher
from needs import needs, needs_root
from repositories import commit, digest, environment, git, repository, try_git, write
from tiers import examples

pytestmark = pytest.mark.anyio


async def opened_repo(root: Path) -> Repo:
    async with Launcher.open() as launcher:
        return await open_repo(launcher, root)


async def scene(tmp_path: Path, *options: str) -> tuple[Path, Repo, list[str]]:
    """A repository with three commits on `main`."""
    root = repository(tmp_path / "r", {"a.txt": "0\n"}, *options)
    ids = [git(root, "rev-parse", "HEAD")]
    for n in (1, 2):
        write(root, {"a.txt": f"{n}\n"})
        ids.append(commit(root, f"commit {n}"))
    return root, await opened_repo(root), ids


async def test_a_git_directory_that_was_replaced_by_another_one_is_not_written_to(tmp_path: Path) -> None:
    root, repo, ids = await scene(tmp_path)
    other = repository(tmp_path / "other", {"private": "0\n"})
    (root / ".git").rename(tmp_path / "kept")
    (root / ".git").symlink_to(other / ".git")
    before = digest(other)
    for act in (lambda: move_branch(repo, "new", None, ids[0]), lambda: remove_branch(repo, "main", ids[2])):
        with pytest.raises(NotLanded, match=r"\.git was replaced by another directory"):
            act()
    assert digest(other) == before
    (root / ".git").unlink()
    (tmp_path / "kept").rename(root / ".git")
    move_branch(repo, "new", None, ids[0])
    assert git(root, "rev-parse", "new") == ids[0], "the control arm: the directory that was opened is written to"


def packed(root: Path) -> None:
    git(root, "pack-refs", "--all")


def loose(root: Path) -> None:
    assert not (root / ".git" / "packed-refs").exists()


STORED = pytest.mark.parametrize("stored", [packed, loose])


def pipe(path: Path) -> None:
    os.mkfifo(path)


def device(path: Path) -> None:
    """Every write to it is refused: the disk seems full."""
    needs_root()
    os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 7))


def link(path: Path) -> None:
    private = path.parents[2] / "private"
    private.write_text("private\n")
    path.symlink_to(private)


ODD_FILES = pytest.mark.parametrize("plant", [pipe, device, link])


# -- making and moving --


@pytest.mark.parametrize(
    "name", ["work", "donewhen/x1", "deep/er/and/deeper", "\u00fcml\u00e4ut/caf\u00e9", "a.b-c_d@x"]
)
async def test_a_new_branch_is_created(tmp_path: Path, name: str) -> None:
    root, repo, ids = await scene(tmp_path)
    move_branch(repo, name, None, ids[1])
    assert git(root, "rev-parse", "--verify", f"refs/heads/{name}") == ids[1]
    assert git(root, "branch", "--list", "--format=%(refname:short)").splitlines() == sorted(["main", name])
    assert status(root) == []
    is_sound(root)


@STORED
@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
async def test_a_branch_moves_from_the_expected_value_and_from_no_other(
    tmp_path: Path, stored: Callable[[Path], None], object_format: str
) -> None:
    root, repo, ids = await scene(tmp_path, f"--object-format={object_format}")
    git(root, "branch", "work", ids[0])
    stored(root)
    with pytest.raises(Moved, match=f"the branch work is at {ids[0][:12]}") as moved:
        move_branch(repo, "work", ids[1], ids[2])
    assert moved.value.there == ids[0]
    with pytest.raises(Moved):
        move_branch(repo, "work", None, ids[2])
    move_branch(repo, "work", ids[0], ids[1])
    assert git(root, "rev-parse", "work") == ids[1]
    is_sound(root)


async def test_a_deleted_branch_is_not_created_again(tmp_path: Path) -> None:
    root, repo, ids = await scene(tmp_path)
    with pytest.raises(Moved, match="the branch work does not exist") as moved:
        move_branch(repo, "work", ids[0], ids[1])
    assert moved.value.there is None
    assert not (root / ".git" / "refs" / "heads" / "work.lock").exists()


async def test_an_existing_branch_is_not_changed(tmp_path: Path) -> None:
    root, repo, ids = await scene(tmp_path)
    move_branch(repo, "donewhen/x", None, ids[1])
    before = (root / ".git" / "logs" / "refs" / "heads" / "donewhen" / "x").read_text()
    move_branch(repo, "donewhen/x", None, ids[1])
    assert (root / ".git" / "logs" / "refs" / "heads" / "donewhen" / "x").read_text() == before


async def test_a_symbolic_branch_is_not_written_through(tmp_path: Path) -> None:
    root, repo, ids = await scene(tmp_path)
    git(root, "branch", "real", ids[0])
    git(root, "symbolic-ref", "refs/heads/alias", "refs/heads/real")
    with pytest.raises(NotLanded, match="the branch alias is a symbolic reference to refs/heads/real"):
        move_branch(repo, "alias", ids[0], ids[1])
    assert git(root, "rev-parse", "real") == ids[0]


@pytest.mark.parametrize("target", ["{private}", "../../../private", "real", "nowhere"])
async def test_a_branch_that_is_a_link_is_named_with_its_path_and_left(tmp_path: Path, target: str) -> None:
    root, repo, ids = await scene(tmp_path)
    private = tmp_path / "private"
    private.write_text(f"{ids[0]}\n")
    git(root, "branch", "real", ids[0])
    path = root / ".git" / "refs" / "heads" / "work"
    path.symlink_to(target.format(private=private))
    for look in (
        lambda: tip(repo, "work"),
        lambda: move_branch(repo, "work", ids[0], ids[1]),
        lambda: remove_branch(repo, "work", ids[0]),
    ):
        with pytest.raises(NotLanded) as refused:
            look()
        assert str(refused.value) == f"{path} is a link, which is not followed here"
    assert path.is_symlink() and not path.with_name("work.lock").exists()
    assert (private.read_text(), git(root, "rev-parse", "real")) == (f"{ids[0]}\n", ids[0])
    path.unlink()
    move_branch(repo, "work", None, ids[1])
    assert git(root, "rev-parse", "work") == ids[1]


async def test_a_directory_of_branches_that_is_a_link_is_named_and_nothing_is_written_behind_it(tmp_path: Path) -> None:
    root, repo, ids = await scene(tmp_path)
    (tmp_path / "private").mkdir()
    (root / ".git" / "refs" / "heads" / "team").symlink_to(tmp_path / "private")
    with pytest.raises(NotLanded, match=f"^{root}/.git/refs/heads/team is a link, which is not followed here$"):
        move_branch(repo, "team/work", None, ids[1])
    assert list((tmp_path / "private").iterdir()) == []


async def test_a_damaged_branch_is_reported_and_not_changed(tmp_path: Path) -> None:
    root, repo, ids = await scene(tmp_path)
    write(root, {".git/refs/heads/work": "no id\n"})
    with pytest.raises(NotLanded, match="the branch work is damaged"):
        move_branch(repo, "work", None, ids[0])


@STORED
async def test_a_branch_that_blocks_the_directory_is_named(tmp_path: Path, stored: Callable[[Path], None]) -> None:
    root, repo, ids = await scene(tmp_path)
    git(root, "branch", "donewhen")
    stored(root)
    with pytest.raises(NotLanded, match="donewhen is a branch, so donewhen/x cannot be one"):
        move_branch(repo, "donewhen/x", None, ids[0])
    assert git(root, "rev-parse", "donewhen") == ids[2]
    is_sound(root)


@STORED
async def test_a_branch_below_the_name_is_named(tmp_path: Path, stored: Callable[[Path], None]) -> None:
    root, repo, ids = await scene(tmp_path)
    git(root, "branch", "work/part")
    stored(root)
    with pytest.raises(NotLanded, match="work/part is a branch, so work cannot be one"):
        move_branch(repo, "work", None, ids[0])


async def test_an_empty_directory_of_an_old_branch_is_no_problem(tmp_path: Path) -> None:
    root, repo, ids = await scene(tmp_path)
    (root / ".git" / "refs" / "heads" / "work" / "deep").mkdir(parents=True)
    move_branch(repo, "work", None, ids[0])
    assert git(root, "rev-parse", "work") == ids[0]


# -- names --


BAD_NAMES = [
    "", "-x", "HEAD", "@", "a..b", "a b", "a~b", "a^b", "a:b", "a?b", "a*b", "a[b", "a\\b", "a//b", "/a", "a/", ".a",
    "a/.b", "a.lock", "a.lock/b", "a.", "a@{b", "a\nb", "a\x7fb", "../../HEAD", "a\0b",
]  # fmt: skip


@pytest.mark.sample(8)
@pytest.mark.parametrize("name", BAD_NAMES)
async def test_an_invalid_branch_name_is_refused_in_one_line(tmp_path: Path, name: str) -> None:
    _, repo, ids = await scene(tmp_path)
    with pytest.raises(BadInput, match="is not a valid branch name") as refusal:
        move_branch(repo, name, None, ids[0])
    assert "\n" not in str(refusal.value)


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(alphabet="ab./@{-~^:\\ [*?\u00e9H", min_size=1, max_size=8).filter(lambda name: name != "@"))
def test_branch_names_are_accepted_and_refused_as_in_git(name: str) -> None:
    argv = [needs("git"), "check-ref-format", "--branch", name]
    ran = subprocess.run(argv, cwd="/", env=environment(), capture_output=True, check=False)
    git_takes_it = ran.returncode == 0 and ran.stdout.decode().strip("\n") == name
    try:
        ours = full_name(name) == f"refs/heads/{name}"
    except BadInput:
        ours = False
    assert ours == git_takes_it


# -- locks --


async def test_a_foreign_lock_is_reported_and_never_removed(tmp_path: Path) -> None:
    root, repo, ids = await scene(tmp_path)
    lock = root / ".git" / "refs" / "heads" / "work.lock"
    lock.write_text("")
    with pytest.raises(Locked, match=r"another git process is running, or it left .*work\.lock behind"):
        move_branch(repo, "work", None, ids[0])
    assert lock.read_text() == ""
    assert try_git(root, "rev-parse", "--verify", "--quiet", "work").returncode != 0


LOCKS = {"refs/heads/work.lock": move_branch, "packed-refs.lock": remove_branch}


@pytest.mark.sample(2)
@ODD_FILES
@pytest.mark.parametrize("name", LOCKS)
async def test_a_lock_that_is_not_a_file_is_reported_without_a_wait(
    tmp_path: Path, name: str, plant: Callable[[Path], None]
) -> None:
    root, repo, ids = await scene(tmp_path)
    git(root, "branch", "work", ids[0])
    packed(root)
    lock = root / ".git" / name
    lock.parent.mkdir(parents=True, exist_ok=True)
    plant(lock)
    for _ in range(2):
        with pytest.raises(Locked, match=f"^another git process is running, or it left {re.escape(str(lock))} behind$"):
            change(repo, name, ids)
    assert git(root, "rev-parse", "work") == ids[0]
    lock.unlink()
    change(repo, name, ids)
    is_sound(root)


def change(repo: Repo, lock: str, ids: list[str]) -> None:
    """The operation that needs that lock."""
    if LOCKS[lock] is move_branch:
        move_branch(repo, "work", ids[0], ids[1])
    else:
        remove_branch(repo, "work", ids[0])


@ODD_FILES
@pytest.mark.parametrize("name", ["packed-refs.donewhen", "refs/heads/.work.lock"])
async def test_a_file_in_place_of_a_new_file_is_replaced_and_not_written_through(
    tmp_path: Path, name: str, plant: Callable[[Path], None]
) -> None:
    root, repo, ids = await scene(tmp_path)
    git(root, "branch", "work", ids[0])
    packed(root)
    (root / ".git" / name).parent.mkdir(parents=True, exist_ok=True)
    plant(root / ".git" / name)
    if name.startswith("packed"):
        remove_branch(repo, "work", ids[0])
        assert try_git(root, "rev-parse", "--verify", "--quiet", "refs/heads/work").returncode == 1
    else:
        move_branch(repo, "work", ids[0], ids[1])
        assert git(root, "rev-parse", "work") == ids[1]
    assert not os.path.lexists(root / ".git" / name)
    assert all(one.read_text() == "private\n" for one in root.rglob("private"))
    is_sound(root)


async def test_a_pipe_as_the_lock_of_head_causes_no_wait(tmp_path: Path) -> None:
    """A landing does not move HEAD, so it needs no lock of it."""
    root, _, ids = await scene(tmp_path)
    os.mkfifo(root / ".git" / "HEAD.lock")
    repo = await opened_repo(root)
    assert f"another git process is running, or it left {root}/.git/HEAD.lock behind" in repo.notes
    move_branch(repo, "work", None, ids[1])
    assert git(root, "rev-parse", "work") == ids[1]


async def test_a_real_git_respects_our_lock_and_we_release_it(tmp_path: Path) -> None:
    root, repo, ids = await scene(tmp_path)
    git(root, "branch", "work", ids[0])
    with hold_branch(repo, "work") as branch:
        assert branch.value == ids[0]
        ran = try_git(root, "update-ref", "refs/heads/work", ids[1])
        assert ran.returncode != 0
        assert b"Unable to create" in ran.stderr
        with pytest.raises(Locked):
            move_branch(repo, "work", ids[0], ids[1])
    git(root, "update-ref", "refs/heads/work", ids[1])


async def test_our_own_stale_lock_is_taken_over(tmp_path: Path) -> None:
    root, repo, ids = await scene(tmp_path)
    lock = root / ".git" / "refs" / "heads" / "work.lock"
    lock.write_bytes(lockfile.MARK)
    assert try_git(root, "branch", "work", ids[1]).returncode != 0, "it keeps the user's git out"
    move_branch(repo, "work", None, ids[1])
    assert git(root, "rev-parse", "work") == ids[1]
    assert not lock.exists()


async def test_a_lock_is_identifiable_from_its_creation_and_removed_after_an_error(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    with pytest.raises(KeyError), lockfile.hold_lock(Root(tmp_path), "x.lock"):
        assert path.read_bytes() == lockfile.MARK
        raise KeyError
    assert os.listdir(tmp_path) == []


# -- reflogs --


async def test_the_reflog_records_the_move(tmp_path: Path) -> None:
    root, repo, ids = await scene(tmp_path)
    move_branch(repo, "work", None, ids[0])
    move_branch(repo, "work", ids[0], ids[2])
    told = git(root, "reflog", "show", "--format=%H %gs", "work").splitlines()
    assert told == [f"{ids[2]} donewhen: landed", f"{ids[0]} donewhen: landed"]
    assert git(root, "rev-parse", "work@{1}") == ids[0]


@pytest.mark.parametrize("log", ["logs/HEAD", "logs/refs/heads/work"])
async def test_a_reflog_with_a_hard_link_is_continued_and_the_other_name_is_not_changed(
    tmp_path: Path, log: str
) -> None:
    root, _, ids = await scene(tmp_path)
    git(root, "checkout", "--quiet", "-b", "work", ids[0])
    git(root, "config", "core.sharedRepository", "0666")
    history, backup = root / ".git" / log, tmp_path / "backup"
    history.chmod(0o640)
    os.link(history, backup)
    before, mode = backup.read_bytes(), backup.stat().st_mode
    with hold_branch(await opened_repo(root), "work") as held:
        held.move(ids[2])
    assert (backup.read_bytes(), backup.stat().st_mode, backup.stat().st_nlink) == (before, mode, 1)
    assert history.read_bytes().startswith(before)
    assert git(root, "reflog", "show", "--format=%H %gs", "work").splitlines()[0] == f"{ids[2]} donewhen: landed"
    assert not list((root / ".git" / "logs").rglob(".*"))  # nothing partial is left


async def test_a_copied_reflog_keeps_its_owner(tmp_path: Path) -> None:
    needs_root()
    root, repo, ids = await scene(tmp_path)
    git(root, "branch", "work", ids[0])
    history = root / ".git" / "logs" / "refs" / "heads" / "work"
    history.chmod(0o640)
    os.chown(history, 65534, 65534)
    os.link(history, tmp_path / "backup")
    move_branch(repo, "work", ids[0], ids[2])
    status = history.stat()
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (65534, 65534, 0o640)


async def test_a_hard_linked_reflog_too_large_to_copy_is_named_and_not_changed(tmp_path: Path) -> None:
    root, repo, ids = await scene(tmp_path)
    git(root, "branch", "work", ids[0])
    history = root / ".git" / "logs" / "refs" / "heads" / "work"
    os.truncate(history, (64 << 20) + 1)
    os.link(history, tmp_path / "backup")
    with pytest.raises(MachineryBroke, match=f"has a second hard link, and is too large to copy .{history}.$"):
        with hold_branch(repo, "work") as held:
            held.move(ids[2])
    assert history.stat().st_size == (64 << 20) + 1
    assert tip(repo, "work") == ids[0]


async def test_a_repository_without_a_reflog_gets_none(tmp_path: Path) -> None:
    root, _, ids = await scene(tmp_path)
    git(root, "config", "core.logAllRefUpdates", "false")
    move_branch(await opened_repo(root), "work", None, ids[0])
    assert not (root / ".git" / "logs" / "refs" / "heads" / "work").exists()


# -- worktrees --


async def test_a_checked_out_branch_is_not_moved(tmp_path: Path) -> None:
    root, repo, ids = await scene(tmp_path)
    git(root, "worktree", "add", "--quiet", "-b", "side", str(tmp_path / "linked"), ids[0])
    for name, old, where in (("main", ids[2], root), ("side", ids[0], tmp_path / "linked")):
        with pytest.raises(NotLanded, match=f"the branch {name} is checked out in {where}$"):
            move_branch(repo, name, old, ids[1])
        with pytest.raises(NotLanded, match="is checked out"):
            remove_branch(repo, name, old)
        assert git(root, "rev-parse", name) == old


async def test_a_branch_that_is_being_rebased_counts_as_checked_out(tmp_path: Path) -> None:
    root, repo, ids = await scene(tmp_path)
    git(root, "checkout", "--quiet", "-b", "topic", ids[0])
    write(root, {"a.txt": "conflict\n"})
    topic = commit(root)
    assert try_git(root, "rebase", "main").returncode != 0
    assert worktrees_on(repo, "topic") == [root / ".git"]
    with pytest.raises(NotLanded, match="is checked out"):
        move_branch(repo, "topic", topic, ids[1])


async def test_a_linked_worktree_lands_in_the_repository_that_it_belongs_to(tmp_path: Path) -> None:
    root, _, ids = await scene(tmp_path)
    git(root, "worktree", "add", "--quiet", "--detach", str(tmp_path / "linked"))
    move_branch(await opened_repo(tmp_path / "linked"), "donewhen/x", None, ids[1])
    assert git(root, "rev-parse", "donewhen/x") == ids[1]
    assert git(tmp_path / "linked", "rev-parse", "donewhen/x") == ids[1]
    is_sound(tmp_path / "linked")


async def test_the_head_branch_of_a_bare_repository_may_be_moved(tmp_path: Path) -> None:
    root, _, ids = await scene(tmp_path)
    git(tmp_path, "clone", "--quiet", "--bare", str(root), "bare.git")
    git(tmp_path / "bare.git", "worktree", "add", "--quiet", "--detach", str(tmp_path / "linked"))
    move_branch(await opened_repo(tmp_path / "linked"), "main", ids[2], ids[1])
    assert git(tmp_path / "bare.git", "rev-parse", "main") == ids[1]


# -- removing --


@pytest.mark.parametrize("again", ["", "loose over packed"])
@STORED
async def test_a_branch_is_removed_with_its_reflog_and_settings(
    tmp_path: Path, stored: Callable[[Path], None], again: str
) -> None:
    root, repo, ids = await scene(tmp_path)
    git(root, "tag", "-a", "-m", "t", "v1")
    move_branch(repo, "donewhen/x", None, ids[0])
    stored(root)
    if again:
        git(root, "update-ref", "refs/heads/donewhen/x", ids[1])
    remove_branch(repo, "donewhen/x", ids[1] if again else ids[0])
    assert tip(repo, "donewhen/x") is None
    assert git(root, "for-each-ref", "--format=%(refname)").splitlines() == ["refs/heads/main", "refs/tags/v1"]
    assert not (root / ".git" / "logs" / "refs" / "heads" / "donewhen").exists()
    assert not (root / ".git" / "refs" / "heads" / "donewhen").exists()
    git(root, "branch", "donewhen")
    is_sound(root)
    remove_branch(repo, "other", ids[0])


async def test_a_branch_moved_by_the_user_is_not_removed(tmp_path: Path) -> None:
    root, repo, ids = await scene(tmp_path)
    git(root, "branch", "work", ids[1])
    with pytest.raises(Moved):
        remove_branch(repo, "work", ids[0])
    assert git(root, "rev-parse", "work") == ids[1]


async def test_a_foreign_lock_on_packed_references_stops_a_removal_before_anything_is_lost(tmp_path: Path) -> None:
    root, repo, ids = await scene(tmp_path)
    git(root, "branch", "work", ids[1])
    packed(root)
    (root / ".git" / "packed-refs.lock").write_text("")
    with pytest.raises(Locked, match=r"packed-refs\.lock"):
        remove_branch(repo, "work", ids[1])
    assert git(root, "rev-parse", "work") == ids[1]


async def test_a_directory_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    _, repo, ids = await scene(tmp_path)
    with pytest.raises(MachineryBroke, match=r"the branch x{300} cannot be written: File name too long"):
        move_branch(repo, "x" * 300, None, ids[0])


def rival_git(root: Path, chain: list[str]) -> subprocess.Popen[bytes]:
    """A git that takes the same steps along a chain of commits, each by compare-and-swap."""
    step = 'git update-ref refs/heads/work "$c" "$(git rev-parse "$c^")" 2>/dev/null'
    settings = {**environment(), "CHAIN": " ".join(chain[1:])}
    return subprocess.Popen(["sh", "-c", f"for c in $CHAIN; do {step}; done; true"], cwd=root, env=settings)


async def test_git_and_we_move_a_branch_at_the_same_time_without_losing_a_step(tmp_path: Path) -> None:
    root, repo, ids = await scene(tmp_path)
    chain = [ids[0]]
    tree = git(root, "rev-parse", "main^{tree}")
    for n in range(20):
        chain.append(git(root, "commit-tree", "-m", str(n), "-p", chain[-1], tree))
    git(root, "update-ref", "refs/heads/work", chain[0])
    rival = rival_git(root, chain)
    while (at := chain.index(tip(repo, "work") or "")) < 20:
        try:
            move_branch(repo, "work", chain[at], chain[at + 1])
        except (Moved, Locked):
            continue
    rival.wait()
    assert git(root, "rev-parse", "work") == chain[-1]
    steps = [line.split()[:2] for line in (root / ".git/logs/refs/heads/work").read_text().splitlines()][1:]
    assert [new for _, new in steps] == chain[1:], "each step once, in order"
