"""Objects into the user's repository: all missing ones, nothing overwritten, nothing visible yet."""

import hashlib
import os
import re
import shutil
import stat
from pathlib import Path

import pytest
from landing_work import commit_of, has, is_sound, store_of, work

from donewhen.errors import BadInput, MachineryBroke
from donewhen.workspace.git.landing.branches import move_branch
from donewhen.workspace.git.landing.deliver_objects import deliver
from donewhen.workspace.git.landing.refusals import NotLanded
from donewhen.workspace.git.objects import FILE, GITLINK, LINK, PROGRAM, TreeEntry
from repositories import ODD_NAMES, commit, contents, git, lfs_repository, pointer, repository, write

pytestmark = pytest.mark.anyio


def visible(root: Path) -> tuple[str, str]:
    return git(root, "for-each-ref"), git(root, "status", "--porcelain")


async def test_all_objects_of_a_commit_arrive_before_any_reference_shows_them(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", {"a.txt": "a\n", "d/e": "e\n"})
    before = visible(root), contents(root)
    async with store_of(root, tmp_path / "state") as store:
        made = commit_of(store, await work(store, {b"d/new": b"n\n", b"a.txt": None, "\u00fc/\u00e4".encode(): b"u"}))
        await deliver(store, store.repo, made)
    assert (visible(root), contents(root)) == before
    assert git(root, "ls-tree", "-r", "--name-only", "-z", made) == "d/e\0d/new\0\u00fc/\u00e4\0"
    git(root, "rev-list", "--objects", made)
    is_sound(root)


async def test_delivered_objects_are_separate_read_only_files_without_temporaries(tmp_path: Path) -> None:
    root = repository(tmp_path / "r")
    async with store_of(root, tmp_path / "state") as store:
        made = commit_of(store, await work(store, {b"b": b"b\n"}))
        await deliver(store, store.repo, made)
        path = root / ".git" / "objects" / made[:2] / made[2:]
        assert stat.S_IMODE(path.stat().st_mode) == 0o444
        assert path.stat().st_nlink == 1
    assert not list((root / ".git" / "objects").rglob("tmp_*"))


async def test_delivering_again_writes_nothing(tmp_path: Path) -> None:
    root = repository(tmp_path / "r")
    async with store_of(root, tmp_path / "state") as store:
        made = commit_of(store, await work(store, {b"b": b"b\n"}))
        await deliver(store, store.repo, made)
        before = {path: path.stat().st_ctime_ns for path in (root / ".git").rglob("*")}
        await deliver(store, store.repo, made)
        assert {path: path.stat().st_ctime_ns for path in (root / ".git").rglob("*")} == before


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
async def test_links_programs_submodules_and_odd_names_arrive_in_both_formats(
    tmp_path: Path, object_format: str
) -> None:
    root = repository(tmp_path / "r", {"a": "a"}, f"--object-format={object_format}")
    async with store_of(root, tmp_path / "state") as store:
        blob = store.bare.write("blob", b"target")
        files: dict[bytes, bytes | TreeEntry | None] = dict.fromkeys(ODD_NAMES, b"odd")
        files |= {
            b"link": TreeEntry(LINK, blob),
            b"run": TreeEntry(PROGRAM, blob),
            b"sub": TreeEntry(GITLINK, store.repo.head),
        }
        tree = await work(store, files)
        made = commit_of(store, tree)
        await deliver(store, store.repo, made)
        move_branch(store.repo, "work", None, made)
    assert git(root, "rev-parse", "work^{tree}") == tree
    listing = git(root, "ls-tree", "work", "link", "run", "sub")
    assert [line.split()[0] for line in listing.splitlines()] == ["120000", "100755", "160000"]
    assert git(root, "fsck", "--no-dangling") == ""


@pytest.mark.parametrize("packing", [("repack", "-a", "-d", "-q"), ("gc", "--quiet", "--prune=now")])
async def test_objects_removed_by_garbage_collection_are_delivered_again(
    tmp_path: Path, packing: tuple[str, ...]
) -> None:
    root = repository(tmp_path / "r")
    async with store_of(root, tmp_path / "state") as store:
        made = commit_of(store, await work(store, {b"b": b"b\n"}))
        await deliver(store, store.repo, made)
        git(root, *packing)
        assert has(root, made) == (packing[0] == "repack"), "loose objects outlive a repack, and not a prune"
        await deliver(store, store.repo, made)
        move_branch(store.repo, "work", None, made)
        git(root, *packing)
    assert git(root, "show", "work:b") == "b"
    is_sound(root)


async def test_objects_lost_after_the_branch_was_made_are_brought_again(tmp_path: Path) -> None:
    root = repository(tmp_path / "r")
    async with store_of(root, tmp_path / "state") as store:
        made = commit_of(store, await work(store, {b"b": b"b\n"}))
        move_branch(store.repo, "work", None, made)
        assert not has(root, made)
        await deliver(store, store.repo, made)
    assert git(root, "show", "work:b") == "b"
    is_sound(root)


async def test_a_deleted_history_is_delivered_again_with_the_work_on_it(tmp_path: Path) -> None:
    root = repository(tmp_path / "r")
    git(root, "checkout", "--quiet", "-b", "doomed")
    write(root, {"c": "c\n"})
    base = commit(root)
    async with store_of(root, tmp_path / "state") as store:
        await store.keep("sessions/x/base", base)
        made = commit_of(store, await work(store, {b"b": b"b\n"}))
        git(root, "checkout", "--quiet", "main")
        git(root, "branch", "--quiet", "-D", "doomed")
        git(root, "reflog", "expire", "--expire=now", "--all")
        git(root, "gc", "--quiet", "--prune=now")
        assert not has(root, base)
        await deliver(store, store.repo, made)
        move_branch(store.repo, "work", None, made)
    assert git(root, "log", "--format=%s", "work").splitlines() == ["the work", "a commit", "the first commit"]
    is_sound(root)


async def test_a_shallow_clone_stays_shallow_and_valid(tmp_path: Path) -> None:
    origin = repository(tmp_path / "origin")
    write(origin, {"b": "b"})
    commit(origin)
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{origin}", "r")
    root = tmp_path / "r"
    async with store_of(root, tmp_path / "state") as store:
        made = commit_of(store, await work(store, {b"c": b"c\n"}))
        await deliver(store, store.repo, made)
        move_branch(store.repo, "work", None, made)
    assert git(root, "rev-list", "--count", "work") == "2"
    is_sound(root)


async def test_a_partial_clone_gets_the_work_without_its_omitted_objects(tmp_path: Path) -> None:
    origin = repository(tmp_path / "origin")
    write(origin, {"a.txt": "second\n"})
    commit(origin)
    git(origin, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "--quiet", "--filter=blob:none", f"file://{origin}", "r")
    root = tmp_path / "r"
    async with store_of(root, tmp_path / "state") as store:
        made = commit_of(store, await work(store, {b"c": b"c\n"}))
        await deliver(store, store.repo, made)
        move_branch(store.repo, "work", None, made)
    assert git(root, "show", "work:c") == "c"
    assert git(root, "fsck", "--no-dangling") == ""


async def test_a_repository_with_alternates_does_not_get_their_objects_again(tmp_path: Path) -> None:
    origin = repository(tmp_path / "origin", {"a": "a\n", "d/big": "big\n"})
    git(tmp_path, "clone", "--quiet", "--shared", str(origin), 'r "q"\\\u00fc')
    root = tmp_path / 'r "q"\\\u00fc'
    async with store_of(root, tmp_path / "state") as store:
        made = commit_of(store, await work(store, {b"x": b"x\n"}))
        await deliver(store, store.repo, made)
    own = [path for path in (root / ".git" / "objects").rglob("*") if path.is_file() and len(path.name) == 38]
    assert len(own) == 3, "a blob, a tree, a commit"
    is_sound(root)


async def test_large_numbers_of_objects_arrive_too(tmp_path: Path) -> None:
    root = repository(tmp_path / "r")
    async with store_of(root, tmp_path / "state") as store:
        made = commit_of(store, await work(store, {b"d/%d" % n: b"%d" % n for n in range(100)}))
        await deliver(store, store.repo, made)
    assert len(git(root, "ls-tree", "-r", made).splitlines()) == 101
    is_sound(root)


async def test_lfs_content_is_stored_where_git_lfs_looks_for_it(tmp_path: Path) -> None:
    root, _ = lfs_repository(tmp_path / "r")
    new = b"made by the work\n" * 100
    async with store_of(root, tmp_path / "state") as store:
        oid = hashlib.sha256(new).hexdigest()
        write(store.lfs_places[0].location, {f"{oid[:2]}/{oid[2:4]}/{oid}": new})
        made = commit_of(store, await work(store, {b"new.bin": pointer(new)}))
        await deliver(store, store.repo, made)
    arrived = root / ".git" / "lfs" / "objects" / oid[:2] / oid[2:4] / oid
    assert arrived.read_bytes() == new
    assert os.listdir(arrived.parent) == [oid]


async def test_a_damaged_object_of_the_store_is_never_delivered(tmp_path: Path) -> None:
    root = repository(tmp_path / "r")
    async with store_of(root, tmp_path / "state") as store:
        good, bad = store.bare.write("blob", b"good"), store.bare.write("blob", b"evil")
        places = [store.bare.git_dir / "objects" / id[:2] / id[2:] for id in (good, bad)]
        os.replace(places[1], places[0])
        made = commit_of(store, await work(store, {b"b": TreeEntry(FILE, good)}))
        with pytest.raises(MachineryBroke, match=f"object {good} is damaged in the store"):
            await deliver(store, store.repo, made)
        assert not has(root, made)


async def test_a_damaged_object_of_the_user_is_reported_and_not_overwritten(tmp_path: Path) -> None:
    root = repository(tmp_path / "r")
    async with store_of(root, tmp_path / "state") as store:
        made = commit_of(store, await work(store, {b"b": b"b\n"}))
        write(root, {f".git/objects/{made[:2]}/{made[2:]}": b""})
        with pytest.raises(MachineryBroke, match=f"object {made} is damaged in the repository"):
            await deliver(store, store.repo, made)
    assert (root / ".git" / "objects" / made[:2] / made[2:]).read_bytes() == b""


# -- pipes, devices and links in place of an object --


def objects_of(root: Path) -> set[str]:
    """Every regular file below the object directory."""
    return {str(path) for path in (root / ".git" / "objects").rglob("*") if path.is_file() and not path.is_symlink()}


@pytest.mark.parametrize("target", ["the same object elsewhere", "another file", "nothing"])
async def test_a_link_in_place_of_an_object_is_named_and_nothing_is_written(tmp_path: Path, target: str) -> None:
    root, private = repository(tmp_path / "r"), tmp_path / "private"
    async with store_of(root, tmp_path / "state") as store:
        made = commit_of(store, await work(store, {b"b": b"b\n"}))
        if target == "the same object elsewhere":
            shutil.copyfile(store.bare.git_dir / "objects" / made[:2] / made[2:], private)
        elif target == "another file":
            private.write_text("private\n")
        path = root / ".git" / "objects" / made[:2] / made[2:]
        path.parent.mkdir(exist_ok=True)
        path.symlink_to(private)
        before = objects_of(root), private.exists() and private.read_bytes()
        with pytest.raises(NotLanded) as refused:
            await deliver(store, store.repo, made)
        assert str(refused.value) == f"{path} is a link, which is not followed here"
        assert (objects_of(root), private.exists() and private.read_bytes()) == before
        path.unlink()
        await deliver(store, store.repo, made)
    assert path.is_file() and not path.is_symlink()
    is_sound(root)


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ["{fan}/{rest}", "pack/multi-pack-index", "info/alternates"])
async def test_a_pipe_where_git_looks_for_objects_is_named_and_nothing_waits(tmp_path: Path, name: str) -> None:
    root = repository(tmp_path / "r")
    async with store_of(root, tmp_path / "state") as store:
        made = commit_of(store, await work(store, {b"b": b"b\n"}))
        path = root / ".git" / "objects" / name.format(fan=made[:2], rest=made[2:])
        path.parent.mkdir(exist_ok=True)
        os.mkfifo(path)
        before = objects_of(root)
        with pytest.raises(
            BadInput, match=f"^{re.escape(str(path))} is a pipe or a device, and git would read from it"
        ):
            await deliver(store, store.repo, made)
        assert objects_of(root) == before
        path.rename(path.with_name("pipe"))
        await deliver(store, store.repo, made)
        path.with_name("pipe").unlink()
    is_sound(root)


@pytest.mark.parametrize("kind", ["link", "pipe"])
async def test_a_pipe_or_device_in_place_of_an_object_of_an_alternate_is_named(tmp_path: Path, kind: str) -> None:
    root = repository(tmp_path / "r")
    async with store_of(root, tmp_path / "state") as store:
        made = commit_of(store, await work(store, {b"b": b"b\n"}))
        path = tmp_path / "lent" / made[:2] / made[2:]
        path.parent.mkdir(parents=True)
        (root / ".git" / "objects" / "info" / "alternates").write_text(f"{tmp_path}/lent\n")
        before = objects_of(root)
        if kind == "link":
            path.symlink_to(tmp_path / "private")
        else:
            os.mkfifo(path)
        line = "is a link, which" if kind == "link" else "is a pipe or a device, and git would read from it"
        with pytest.raises((NotLanded, BadInput), match=f"^{re.escape(str(path))} {line}"):
            await deliver(store, store.repo, made)
        assert objects_of(root) == before
        path.unlink()
        await deliver(store, store.repo, made)
    is_sound(root)


async def test_an_object_directory_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    root = repository(tmp_path / "r")
    async with store_of(root, tmp_path / "state") as store:
        made = commit_of(store, await work(store, {b"b": b"b\n"}))
        (root / ".git" / "objects" / made[:2]).write_text("a file where a directory should be")
        with pytest.raises(MachineryBroke, match=r"the objects of the work cannot be written.*Not a directory"):
            await deliver(store, store.repo, made)
    assert git(root, "for-each-ref", "--format=%(refname)") == "refs/heads/main"
