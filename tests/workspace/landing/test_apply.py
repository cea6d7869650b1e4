"""The files and the index of a clean checkout: exactly what git would write, or no change at all."""

import contextlib
import hashlib
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import IO

import pytest
from landing_work import commit_of, is_sound, status, store_of, work

from donewhen.errors import BadInput
from donewhen.workspace.git.landing.apply import apply_to_checkout, refuse_to_apply
from donewhen.workspace.git.landing.deliver_objects import deliver
from donewhen.workspace.git.landing.refusals import Locked, NotClean, NotLanded
from donewhen.workspace.git.objects import LINK, PROGRAM, TreeEntry
from donewhen.workspace.git.store import Store
from needs import leave_out, needs_root
from repositories import ODD_NAMES, commit, contents, digest, git, lfs_repository, pointer, repository, try_git, write

pytestmark = pytest.mark.anyio

BASE = {"a.txt": "a\n", "d/e": "e\n", "d/f": "f\n", "gone": "g\n", "turns": "t\n", ".gitignore": "*.o\nbuild/\n"}
Files = Mapping[bytes, bytes | TreeEntry | None]


async def delivered(store: Store, files: Files) -> tuple[str, str]:
    """The trees before and after some work whose objects the repository has."""
    tree = await work(store, files)
    await deliver(store, store.repo, commit_of(store, tree))
    return await store.tree_of(store.repo.head), tree


async def applied(root: Path, state: Path, files: Files) -> str:
    async with store_of(root, state) as store:
        before, after = await delivered(store, files)
        await apply_to_checkout(store, store.repo, before, after)
        return after


def as_git_does(root: Path, copy: Path, tree: str) -> Path:
    """The same change by the user's own git, in a copy of the repository."""
    shutil.copytree(root, copy, symlinks=True)
    git(copy, "update-index", "-q", "--refresh")
    git(copy, "read-tree", "-m", "-u", "HEAD", tree)
    return copy


WORK: dict[str, Files] = {
    "add, change, delete": {b"new/deep/x": b"x\n", b"a.txt": b"changed\n", b"gone": None},
    "a directory goes": {b"d/e": None, b"d/f": None},
    "a file becomes a directory": {b"turns/into": b"i\n", b"turns": None},
    "a directory becomes a file": {b"d/e": None, b"d/f": None, b"d": b"a file now\n"},
    "odd names": {**dict.fromkeys(ODD_NAMES, b"odd"), b"a.txt": None},
    "rules": {b".gitattributes": b"*.txt text eol=crlf\n", b"b.txt": b"one\ntwo\n", b".gitignore": b"*.x\n"},
    "a tracked file that is ignored": {b"build/kept": b"k\n"},
    "nothing": {},
}


@pytest.mark.parametrize("name", WORK)
async def test_files_and_index_equal_what_git_would_write(tmp_path: Path, name: str) -> None:
    root = repository(tmp_path / "r", BASE)
    write(root, {"untracked": "mine\n", "junk.o": "ignored\n", "build/out": "ignored\n"})
    head = git(root, "rev-parse", "HEAD")
    shutil.copytree(root, tmp_path / "before", symlinks=True)
    tree = await applied(root, tmp_path / "state", WORK[name])
    shutil.rmtree(tmp_path / "before" / ".git" / "objects")
    shutil.copytree(root / ".git" / "objects", tmp_path / "before" / ".git" / "objects")
    witness = as_git_does(tmp_path / "before", tmp_path / "witness", tree)
    assert contents(root) == contents(witness)
    assert git(root, "write-tree") == tree
    assert git(root, "rev-parse", "HEAD") == head
    assert git(root, "diff", "--name-only") == "", "the index knows its files"
    assert status(root) == status(witness)
    is_sound(root)


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
async def test_links_and_programs_are_put_into_the_checkout(tmp_path: Path, object_format: str) -> None:
    root = repository(tmp_path / "r", BASE, f"--object-format={object_format}")
    async with store_of(root, tmp_path / "state") as store:
        blob = store.bare.write("blob", b"../outside")
        files: Files = {
            b"link": TreeEntry(LINK, blob),
            b"run": TreeEntry(PROGRAM, blob),
            b"turns": TreeEntry(LINK, blob),
        }
        before, after = await delivered(store, files)
        await apply_to_checkout(store, store.repo, before, after)
    found = contents(root)
    assert [found[name][0] for name in (b"link", b"run", b"turns")] == ["link", "program", "link"]
    assert status(root) == ["A  link", "A  run", "T  turns"]
    is_sound(root)


async def test_applying_again_changes_nothing(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", BASE)
    await applied(root, tmp_path / "state", WORK["add, change, delete"])
    before = digest(root)
    await applied(root, tmp_path / "state", WORK["add, change, delete"])
    assert digest(root) == before


async def test_the_user_s_line_endings_are_kept(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", BASE)
    git(root, "config", "core.autocrlf", "true")
    await applied(root, tmp_path / "state", {b"a.txt": b"one\ntwo\n"})
    assert (root / "a.txt").read_bytes() == b"one\r\ntwo\r\n"
    assert status(root) == ["M  a.txt"]


async def test_an_lfs_file_gets_its_content_if_available(tmp_path: Path) -> None:
    root, here = lfs_repository(tmp_path / "r")
    write(root, {"here.bin": here})
    new, oid = b"new content\n", hashlib.sha256(b"new content\n").hexdigest()
    async with store_of(root, tmp_path / "state") as store:
        write(store.lfs_places[0].location, {f"{oid[:2]}/{oid[2:4]}/{oid}": new})
        before, after = await delivered(store, {b"new.bin": pointer(new), b"there.bin": pointer(here)})
        await apply_to_checkout(store, store.repo, before, after)
    assert [(root / name).read_bytes() for name in ("new.bin", "there.bin", "here.bin")] == [new, here, here]
    assert git(root, "write-tree") == after


async def test_a_linked_worktree_has_its_own_files_and_index(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", BASE)
    git(root, "worktree", "add", "--quiet", "--detach", str(tmp_path / "linked"))
    await applied(tmp_path / "linked", tmp_path / "state", {b"a.txt": b"changed\n"})
    assert status(tmp_path / "linked") == ["M  a.txt"]
    assert status(root) == []
    is_sound(root)


async def test_a_split_index_is_updated(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", BASE)
    git(root, "update-index", "--split-index")
    await applied(root, tmp_path / "state", {b"a.txt": b"changed\n", b"new": b"n\n"})
    assert status(root) == ["M  a.txt", "A  new"]
    is_sound(root)


async def test_a_submodule_that_the_work_does_not_touch_stays(tmp_path: Path) -> None:
    repository(tmp_path / "part")
    root = repository(tmp_path / "r", BASE)
    git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(tmp_path / "part"), "sub")
    commit(root)
    write(root / "sub", {"a.txt": "dirt inside is the submodule's business"})
    await applied(root, tmp_path / "state", {b"d/e": b"changed\n"})
    assert status(root) == ["M  d/e", " M sub"]


async def test_a_checkout_on_another_file_system_than_its_git_directory_is_updated(tmp_path: Path, home: Path) -> None:
    if not os.access("/dev/shm", os.W_OK) or os.stat("/dev/shm").st_dev == os.stat(tmp_path).st_dev:
        leave_out("a second file system")
    root = Path(tempfile.mkdtemp(dir="/dev/shm"))
    try:
        (home / ".gitconfig").write_text(f"[safe]\n\tdirectory = {root}\n")
        git(root, "init", "--quiet", "-b", "main", f"--separate-git-dir={tmp_path / 'apart'}")
        write(root, BASE)
        commit(root)
        tree = await applied(root, tmp_path / "state", WORK["add, change, delete"])
        assert git(root, "write-tree") == tree
        assert status(root) == ["M  a.txt", "D  gone", "A  new/deep/x"]
        assert not [name for name in os.listdir(root) if name.startswith(".donewhen")]
    finally:
        shutil.rmtree(root)


# -- refusals --


def edited(root: Path) -> None:
    write(root, {"d/e": "edited\n"})


def deleted(root: Path) -> None:
    (root / "d" / "f").unlink()


def staged(root: Path) -> None:
    write(root, {"d/e": "edited\n"})
    git(root, "add", "d/e")


def staged_and_taken_back(root: Path) -> None:
    staged(root)
    write(root, {"d/e": "e\n"})


def staged_new(root: Path) -> None:
    write(root, {"fresh": "f\n"})
    git(root, "add", "fresh")


def mode_changed(root: Path) -> None:
    (root / "d" / "e").chmod(0o755)


def assumed_unchanged(root: Path) -> None:
    git(root, "update-index", "--assume-unchanged", "a.txt")
    write(root, {"a.txt": "hidden edit\n"})


def skipped(root: Path) -> None:
    git(root, "update-index", "--skip-worktree", "a.txt")
    write(root, {"a.txt": "hidden edit\n"})


def untracked_in_the_way(root: Path) -> None:
    write(root, {"new/deep/x": "mine\n"})


def ignored_in_the_way(root: Path) -> None:
    write(root, {"made.o": "mine\n"})


def file_in_the_way_of_a_directory(root: Path) -> None:
    write(root, {"new": "mine\n"})


def link_in_the_way_of_a_directory(root: Path) -> None:
    (root / "new").symlink_to("/tmp")


def directory_in_the_way_of_a_file(root: Path) -> None:
    write(root, {"made.o/inside": "mine\n"})


def sparse(root: Path) -> None:
    git(root, "sparse-checkout", "set", "--cone", "d")


def merging(root: Path) -> None:
    git(root, "checkout", "--quiet", "-b", "side")
    write(root, {"d/e": "side\n"})
    commit(root)
    git(root, "checkout", "--quiet", "main")
    git(root, "merge", "--quiet", "--no-commit", "--no-ff", "-s", "ours", "side")


def unmerged(root: Path) -> None:
    blob = git(root, "rev-parse", "HEAD:d/e")
    lines = "".join(f"100644 {blob} {stage}\td/e\n" for stage in (1, 2, 3))
    git(root, "update-index", "--index-info", given=f"0 {'0' * 40}\td/e\n{lines}".encode())


REFUSED: list[tuple[Callable[[Path], None], str]] = [
    (edited, "uncommitted changes: d/e"),
    (deleted, "uncommitted changes: d/f"),
    (staged, "uncommitted changes: d/e"),
    (staged_and_taken_back, "uncommitted changes: d/e"),
    (staged_new, "uncommitted changes: fresh"),
    (mode_changed, "uncommitted changes: d/e"),
    (unmerged, "uncommitted changes: d/e"),
    (assumed_unchanged, r"set to ignore changes of these .*: a\.txt"),
    (skipped, r"set to ignore changes of these .*: a\.txt"),
    (untracked_in_the_way, "untracked files would be overwritten: new/deep/x"),
    (ignored_in_the_way, r"untracked files would be overwritten: made\.o"),
    (file_in_the_way_of_a_directory, "untracked files would be overwritten: new"),
    (link_in_the_way_of_a_directory, "untracked files would be overwritten: new"),
    (directory_in_the_way_of_a_file, r"untracked files would be overwritten: made\.o/inside"),
    (sparse, "the checkout is sparse"),
    (merging, "a merge is in progress"),
]


@pytest.mark.sample(5)
@pytest.mark.parametrize(("spoil", "line"), REFUSED)
async def test_a_checkout_with_unsaved_changes_is_not_changed(
    tmp_path: Path, spoil: Callable[[Path], None], line: str
) -> None:
    root = repository(tmp_path / "r", BASE)
    spoil(root)
    async with store_of(root, tmp_path / "state") as store:
        files: Files = {b"a.txt": b"changed\n", b"new/deep/x": b"x\n", b"made.o": b"o\n", b"gone": None}
        before, after = await delivered(store, files)
        untouched = digest(root)
        with pytest.raises(NotLanded, match=line) as refusal:
            await apply_to_checkout(store, store.repo, before, after)
        with pytest.raises(NotLanded, match=line):
            await refuse_to_apply(store, store.repo, before, after)
    assert "\n" not in str(refusal.value)
    assert digest(root) == untouched


@pytest.mark.sample(1)
@pytest.mark.parametrize("fresh", [True, False], ids=["git compares the files", "git compares the new files alone"])
@pytest.mark.parametrize("name", [".gitattributes", "d/.gitattributes"])
async def test_a_pipe_for_attribute_rules_is_refused_before_a_file_is_changed(
    tmp_path: Path, name: str, fresh: bool
) -> None:
    root = repository(tmp_path / "r", BASE)
    if not fresh:  # git trusts the index about a file that is older than it
        for path in BASE:
            os.utime(root / path, (1e9, 1e9))
        git(root, "update-index", "-q", "--refresh")
    os.mkfifo(root / name)
    before = contents(root)
    async with store_of(root, tmp_path / "state") as store:
        trees = await delivered(store, {b"d/e": b"changed\n"})
        for attempt in (refuse_to_apply, apply_to_checkout):
            with pytest.raises(BadInput, match=f"^{re.escape(name)} is a pipe or a device, and git would read from it"):
                await attempt(store, store.repo, *trees)
        assert contents(root) == before
        (root / name).rename(root / "pipe")
        await apply_to_checkout(store, store.repo, *trees)
    assert (root / "d" / "e").read_text() == "changed\n"
    is_sound(root)


async def test_many_changed_paths_are_reported_in_one_short_line(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", {f"f{n}": "x" for n in range(9)})
    write(root, {f"f{n}": "y" for n in range(9)})
    async with store_of(root, tmp_path / "state") as store:
        before, after = await delivered(store, {b"new": b"n"})
        with pytest.raises(NotClean, match=r": f0, f1, f2, f3, f4 and 4 more$") as refusal:
            await apply_to_checkout(store, store.repo, before, after)
    assert len(refusal.value.paths) == 9


async def test_a_locked_index_is_reported_and_the_lock_stays(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", BASE)
    (root / ".git" / "index.lock").write_text("")
    async with store_of(root, tmp_path / "state") as store:
        before, after = await delivered(store, {b"a.txt": b"changed\n"})
        with pytest.raises(Locked, match=r"left .*index\.lock behind"):
            await apply_to_checkout(store, store.repo, before, after)
    assert (root / ".git" / "index.lock").read_text() == ""
    assert (root / "a.txt").read_text() == "a\n"


@pytest.mark.parametrize("kind", ["pipe", "device", "link"])
async def test_a_file_in_place_of_the_new_index_is_replaced_and_not_written_through(tmp_path: Path, kind: str) -> None:
    root = repository(tmp_path / "r", BASE)
    plant(root / ".git" / "index.donewhen", kind)
    await applied(root, tmp_path / "state", {b"a.txt": b"changed\n"})
    assert status(root) == ["M  a.txt"]
    assert (root / ".git" / "index").is_file() and not os.path.lexists(root / ".git" / "index.donewhen")
    assert (tmp_path / "private").read_text() == "private\n"
    is_sound(root)


@pytest.mark.parametrize("kind", ["pipe", "device", "link"])
async def test_an_index_lock_that_is_not_a_file_is_reported_without_a_wait(tmp_path: Path, kind: str) -> None:
    root = repository(tmp_path / "r", BASE)
    lock = root / ".git" / "index.lock"
    plant(lock, kind)
    async with store_of(root, tmp_path / "state") as store:
        trees = await delivered(store, {b"a.txt": b"changed\n"})
        with pytest.raises(Locked, match=f"^another git process is running, or it left {re.escape(str(lock))} behind$"):
            await apply_to_checkout(store, store.repo, *trees)
        assert status(root) == []
        lock.unlink()
        await apply_to_checkout(store, store.repo, *trees)
    assert status(root) == ["M  a.txt"]
    is_sound(root)


def plant(path: Path, kind: str) -> None:
    private = path.parents[2] / "private"
    private.write_text("private\n")
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "link":
        path.symlink_to(private)
    else:
        needs_root()
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 7))  # every write to it fails


async def test_a_file_that_needs_a_filter_is_not_written_without_it(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", {**BASE, ".gitattributes": "*.key filter=crypt\n*.x filter=unknown\n"})
    git(root, "config", "filter.crypt.smudge", "cat")
    async with store_of(root, tmp_path / "state") as store:
        before, after = await delivered(store, {b"secret.key": b"sealed\n"})
        with pytest.raises(NotClean, match=r"need the filter crypt, which is never run here: secret\.key"):
            await apply_to_checkout(store, store.repo, before, after)
        assert not (root / "secret.key").exists()
        before, after = await delivered(store, {b"plain.x": b"nobody defined that filter\n"})
        await apply_to_checkout(store, store.repo, before, after)
    assert status(root) == ["A  plain.x"]


EXCHANGE = """
import os, sys
git, outside, least = sys.argv[1:]
sys.stdout.write("ready\\n"); sys.stdout.flush()
while True:
    try:
        if len(os.listdir(f"{git}/donewhen-landing")) < int(least):
            continue
        os.rename(f"{git}/donewhen-landing", f"{git}/moved-away")
    except FileNotFoundError:
        continue
    os.symlink(outside, f"{git}/donewhen-landing")
    sys.stdout.write("exchanged\\n"); sys.stdout.flush()
    break
"""


@contextlib.contextmanager
def exchanged_stage(root: Path, outside: Path, least: int = 0) -> Generator[IO[bytes]]:
    """As soon as so many files wait in the git directory, put a link to the outside in their place."""
    command = [sys.executable, "-c", EXCHANGE, root / ".git", outside, str(least)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    try:
        yield process.stdout
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


async def test_a_link_in_place_of_the_waiting_files_is_not_followed(tmp_path: Path) -> None:
    root, outside = repository(tmp_path / "r", BASE), tmp_path / "outside"
    write(outside, {"f0001": "precious\n"})
    before = digest(outside)
    with exchanged_stage(root, outside, least=1) as said:
        await applied(root, tmp_path / "state", {b"f%04d" % number: b"work\n" for number in range(1000)})
        assert said.readline() == b"exchanged\n"
    assert digest(outside) == before
    assert {(root / f"f{number:04}").read_text() for number in range(1000)} == {"work\n"}


async def test_an_early_link_in_place_of_the_waiting_files_is_not_followed_and_breaks_nothing(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    write(outside, {"f0001": "precious\n"})
    before = digest(outside)
    for number in range(4):
        root = repository(tmp_path / str(number), BASE)
        with exchanged_stage(root, outside), contextlib.suppress(NotLanded):  # any other error fails the test
            await applied(root, tmp_path / f"state{number}", {b"f0001": b"work\n"})
    assert digest(outside) == before


def test_without_the_defence_the_same_link_is_followed(tmp_path: Path) -> None:
    root, outside = repository(tmp_path / "r", BASE), tmp_path / "outside"
    write(outside, {"f0001": "precious\n"})
    with exchanged_stage(root, outside) as said:
        (root / ".git" / "donewhen-landing").mkdir()
        assert said.readline() == b"exchanged\n"
        (root / ".git" / "donewhen-landing" / "f0001").write_text("work\n")
    assert (outside / "f0001").read_text() == "work\n"


async def test_anything_in_place_of_the_waiting_files_is_removed_and_not_followed(tmp_path: Path) -> None:
    root, outside = repository(tmp_path / "r", BASE), tmp_path / "outside"
    write(outside, {"kept": "precious\n"})
    before = digest(outside)
    stage = root / ".git" / "donewhen-landing"
    plants: list[Callable[[], object]] = [
        lambda: stage.symlink_to(outside),
        lambda: stage.touch(),
        lambda: write(stage, {"old": "x"}),
    ]
    for plant in plants:
        plant()
        await applied(root, tmp_path / "state", WORK["add, change, delete"])
        git(root, "reset", "-q", "--hard")
    assert digest(outside) == before
    assert not os.path.lexists(stage)


async def test_an_edit_made_after_an_interrupted_landing_is_not_overwritten(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", BASE)
    async with store_of(root, tmp_path / "state") as store:
        before, after = await delivered(store, {b"a.txt": b"changed\n", b"d/e": b"changed\n", b"gone": None})
        await apply_to_checkout(store, store.repo, before, after)
        # The state left by a landing that died half-way: some files done, one missing, the index old, a note about it.
        git(root, "read-tree", "HEAD")
        write(root, {"gone": "g\n", "d/e": "edited by the user\n"})
        note = store.bare.directory / "applying" / hashlib.sha256(os.fsencode(root / ".git")).hexdigest()[:16]
        note.write_text(f'{{"git_dir": "{os.fsencode(root / ".git").hex()}", "from": "{before}", "to": "{after}"}}')
        with pytest.raises(NotClean, match="changed after a landing was interrupted: d/e"):
            await apply_to_checkout(store, store.repo, before, after)
        assert (root / "d" / "e").read_text() == "edited by the user\n"
        write(root, {"d/e": "e\n"})
        await apply_to_checkout(store, store.repo, before, after)
    assert status(root) == ["M  a.txt", "M  d/e", "D  gone"]
    assert try_git(root, "diff", "--quiet").returncode == 0
