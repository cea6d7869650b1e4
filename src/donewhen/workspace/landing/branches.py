"""A branch of the user's repository made, moved or removed by compare-and-swap, by the same files and locks as git.

The value is read and written while git's lock for the branch is held; a value that is not the expected one is left
alone. Nothing is forced, no hook runs, and a branch that a working tree stands on is not moved under its feet.
"""

import contextlib
import os
import re
from collections.abc import Generator, Iterator
from pathlib import Path

from donewhen.errors import BadInput
from donewhen.records import frozen
from donewhen.workspace import refs
from donewhen.workspace.beneath import Root
from donewhen.workspace.landing import lockfile, reflog
from donewhen.workspace.landing.delivery import git_dirs
from donewhen.workspace.landing.refusals import Moved, NotLanded, telling
from donewhen.workspace.objects import raw, shown, text
from donewhen.workspace.repo import Repo, is_true

HEADS = "refs/heads/"
BAD_BRANCH = re.compile(rb"refs/heads/(?:-.*|HEAD|@)|.*\.", re.DOTALL)
"""What git takes for a reference but not for a branch that a person could name, and a dot at the end."""
MOST_TRIES = 3
REASON = "donewhen: landed"


def move_branch(repo: Repo, name: str, old: str | None, new: str) -> None:
    """Make the branch (`old` is None) or move it from `old` to `new`; nothing to do when it is there already."""
    with held_branch(repo, name) as branch:
        if branch.value != new:
            branch.expect(old)
            refuse_checked_out(repo, name, worktrees_on(repo, name))
            branch.move(new)


def remove_branch(repo: Repo, name: str, expected: str) -> None:
    """Remove the branch if it is still where it was expected; nothing to do when there is none."""
    with held_branch(repo, name) as branch:
        if branch.value is not None:
            branch.expect(expected)
            refuse_checked_out(repo, name, worktrees_on(repo, name))
            branch.remove()


def tip(repo: Repo, name: str) -> str | None:
    """Where a branch is now; None when there is none."""
    ref = checked(name)
    said = refs.read(repo.common, raw(ref))
    if said.startswith(b"ref:"):
        named = refs.target(said)
        where = f"only points to {shown(named)}; name that one" if named else "is a link, which is not followed here"
        raise NotLanded(f"the branch {shown(name)} {where}")
    if said and not refs.id_in(said):
        raise NotLanded(f"the branch {shown(name)} is damaged: {shown(repo.common.place(raw(ref)))} holds no commit")
    return refs.id_in(said) or refs.packed(repo.common).get(raw(ref))


def checked(name: str) -> str:
    """The full name of a branch; BadInput when git would not take it."""
    ref = raw(f"{HEADS}{name}")
    if not name or not refs.is_name(ref) or BAD_BRANCH.fullmatch(ref):
        raise BadInput(f"{shown(name) or 'an empty name'} cannot name a branch")
    return text(ref)


@frozen
class Branch:
    """A branch whose lock is held."""

    repo: Repo
    name: str
    value: str | None

    @property
    def ref(self) -> bytes:
        return raw(f"{HEADS}{self.name}")

    def expect(self, value: str | None) -> None:
        if self.value != value:
            raise Moved(self.name, self.value)

    def move(self, new: str) -> None:
        common = self.repo.common
        reflog.record(self.repo, self.ref, self.value or "0" * len(new), new, REASON)
        _remove_empty_below(common, self.ref)
        lockfile.put(common, self.ref, f"{new}\n".encode(), _scratch(self.ref))

    def remove(self) -> None:
        """Its history first, which nobody would find without it; packed before loose, so that no older value shows."""
        common = self.repo.common
        reflog.forget(self.repo, self.ref)
        if self.ref in refs.packed(common):
            _unpack(common, self.ref)
        with common.above(self.ref) as (above, name):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name, dir_fd=above)
            os.fsync(above)


@contextlib.contextmanager
def held_branch(repo: Repo, name: str) -> Generator[Branch]:
    """Hold git's lock for a branch; it may not exist yet."""
    ref, common = raw(checked(name)), repo.common
    with telling(f"the branch {shown(name)} cannot be written"):
        _refuse_conflict(common, name)
        with _locked(common, ref):
            _refuse_conflict(common, name)
            with common.above(ref) as (above, _), contextlib.suppress(FileNotFoundError):
                os.unlink(_scratch(ref), dir_fd=above)
            lockfile.remove_leftover(common, "packed-refs.lock")
            yield Branch(repo, name, tip(repo, name))
        reflog.remove_empty(common, ref.rpartition(b"/")[0], b"refs/heads")


def _scratch(ref: bytes) -> bytes:
    """Git passes over such a name when it looks for references, and no branch can have it."""
    return b"." + ref.rpartition(b"/")[2] + b".lock"


@contextlib.contextmanager
def _locked(common: Root, ref: bytes) -> Generator[None]:
    with contextlib.ExitStack() as stack:
        for attempt in range(MOST_TRIES):
            with common.directory(ref.rpartition(b"/")[0], make=True):
                pass
            try:
                stack.enter_context(lockfile.held(common, ref + b".lock"))
                break
            except FileNotFoundError:  # git removed the directory, which was empty
                if attempt == MOST_TRIES - 1:
                    raise
        yield


def _refuse_conflict(common: Root, name: str) -> None:
    """A name cannot be a branch and the directory of another one."""
    packed = refs.packed(common).keys()
    for above in _above(name):
        if common.is_file(raw(f"{HEADS}{above}")) or raw(f"{HEADS}{above}") in packed:
            raise NotLanded(f"{shown(above)} is a branch, so {shown(name)} cannot be one: rename it (git branch -m)")
    inside = raw(f"{HEADS}{name}/")
    below = [ref for ref in packed if ref.startswith(inside)] or list(common.files_below(raw(f"{HEADS}{name}")))
    if below:
        raise NotLanded(f"{shown(below[0].removeprefix(b'refs/heads/'))} is a branch, so {shown(name)} cannot be one")


def _above(name: str) -> Iterator[str]:
    parts = name.split("/")
    return ("/".join(parts[:count]) for count in range(1, len(parts)))


def _remove_empty_below(common: Root, ref: bytes) -> None:
    """Directories that other branches left where this one will be."""
    for directory in common.directories_below(ref):
        with common.above(directory) as (above, name):
            os.rmdir(name, dir_fd=above)


def _unpack(common: Root, ref: bytes) -> None:
    """Take a reference out of `packed-refs`, and the line that says what its tag stands for."""
    with lockfile.held(common, "packed-refs.lock"):
        kept: list[bytes] = []
        dropping = False
        for line in (common.read("packed-refs", refs.MOST_PACKED) or b"").splitlines(keepends=True):
            dropping = line.rstrip(b"\n").endswith(b" " + ref) or (dropping and line.startswith(b"^"))
            if not dropping:
                kept.append(line)
        lockfile.put(common, "packed-refs", b"".join(kept), "packed-refs.donewhen")


# -- who stands on it --


def worktrees_on(repo: Repo, name: str) -> list[Path]:
    """The git dirs of the working trees in which a branch is checked out, or is being rebased or bisected."""
    ref = raw(f"{HEADS}{name}")
    without_files = [repo.common_dir] if is_true(repo.setting("core.bare")) else []
    return [git.location for git in git_dirs(repo.common) if git.location not in without_files and ref in _used_by(git)]


def _used_by(git: Root) -> Iterator[bytes]:
    """The references that a working tree stands on."""
    yield refs.target(refs.read(git, "HEAD"))
    yield refs.read(git, "rebase-merge/head-name")
    yield refs.read(git, "rebase-apply/head-name")
    yield b"refs/heads/" + refs.read(git, "BISECT_START")


def refuse_checked_out(repo: Repo, name: str, where: list[Path]) -> None:
    if where:
        raise NotLanded(f"the branch {shown(name)} is checked out in {shown(_work_tree(repo, where[0]))}")


def _work_tree(repo: Repo, git_dir: Path) -> str:
    if git_dir == repo.git_dir:
        return str(repo.root)
    said = refs.read(Root(git_dir), "gitdir")
    return os.path.dirname(text(said)) if said else str(git_dir.parent)
