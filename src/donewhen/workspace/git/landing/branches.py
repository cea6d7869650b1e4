"""Creates, moves or removes a branch of the user's repository by compare-and-swap, with git's own files and locks.

The value is read and written while git's lock for the branch is held. A branch with an unexpected value is not changed.
Nothing is forced and no hook runs. `move_branch` and `remove_branch` refuse a branch that a working tree uses.
"""

import contextlib
import os
import re
from collections.abc import Generator, Iterator
from pathlib import Path

from donewhen.errors import BadInput
from donewhen.records import frozen
from donewhen.workspace.beneath import LINK, Root
from donewhen.workspace.git import refs
from donewhen.workspace.git.landing import lockfile, reflog
from donewhen.workspace.git.landing.deliver_objects import git_dirs
from donewhen.workspace.git.landing.refusals import Moved, NotLanded, explain_errors
from donewhen.workspace.git.objects import raw, shown, text
from donewhen.workspace.git.repo import Repo, is_true

HEADS = "refs/heads/"
BAD_BRANCH = re.compile(rb"refs/heads/(?:-.*|HEAD|@)|.*\.", re.DOTALL)
"""Names that git accepts as a reference but not as a branch name, and names that end with a dot."""
MOST_TRIES = 3
REASON = "donewhen: landed"


def move_branch(repo: Repo, name: str, old: str | None, new: str) -> None:
    """Create the branch (`old` is None) or move it from `old` to `new`. If it is already at `new`, do nothing."""
    with hold_branch(repo, name) as branch:
        if branch.value != new:
            branch.expect(old)
            refuse_checked_out(repo, name, worktrees_on(repo, name))
            branch.move(new)


def remove_branch(repo: Repo, name: str, expected: str) -> None:
    """Remove the branch if it still has the expected value. If it does not exist, do nothing."""
    with hold_branch(repo, name) as branch:
        if branch.value is not None:
            branch.expect(expected)
            refuse_checked_out(repo, name, worktrees_on(repo, name))
            branch.remove()


def tip(repo: Repo, name: str) -> str | None:
    """Return the commit of a branch; None if it does not exist."""
    ref = full_name(name)
    content, path = refs.read(repo.common, raw(ref)), repo.common.full_path(raw(ref))
    if content.startswith(b"ref:"):
        named = refs.target(content)
        if not named:
            raise NotLanded(f"{shown(path)} {LINK}")
        raise NotLanded(f"the branch {shown(name)} is a symbolic reference to {shown(named)}; use that name")
    if content and not refs.id_in(content):
        raise NotLanded(f"the branch {shown(name)} is damaged: {shown(path)} contains no commit")
    return refs.id_in(content) or refs.packed_refs(repo.common).get(raw(ref))


def full_name(name: str) -> str:
    """Return the full reference name of a branch; raise BadInput if git would not accept it."""
    ref = raw(f"{HEADS}{name}")
    if not name or not refs.is_name(ref) or BAD_BRANCH.fullmatch(ref):
        raise BadInput(f"{shown(name) or 'an empty name'} is not a valid branch name")
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
        common, old = self.repo.common, self.value or "0" * len(new)
        if refs.has_tables(common):
            from donewhen.workspace.git.landing import reftable_writer  # few repositories need it

            reftable_writer.move(self.repo, self.ref, old, new, REASON)
            return
        reflog.record(self.repo, self.ref, old, new, REASON)
        _remove_empty_below(common, self.ref)
        lockfile.replace_file(common, self.ref, f"{new}\n".encode(), _temporary_name(self.ref))

    def remove(self) -> None:
        """Remove the branch. Its reflog goes first, because without the branch it would never be found. The packed
        value goes before the loose one, so that no older value becomes visible."""
        common = self.repo.common
        if refs.has_tables(common):
            from donewhen.workspace.git.landing import reftable_writer

            reftable_writer.remove(self.repo, self.ref)
            return
        reflog.remove_log(self.repo, self.ref)
        if self.ref in refs.packed_refs(common):
            _unpack(common, self.ref)
        with common.above(self.ref) as (above, name):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name, dir_fd=above)
            os.fsync(above)


@contextlib.contextmanager
def hold_branch(repo: Repo, name: str) -> Generator[Branch]:
    """Hold git's lock for a branch, which may not exist yet."""
    ref, common = raw(full_name(name)), repo.common
    with explain_errors(f"the branch {shown(name)} cannot be written"):
        _refuse_conflict(common, name)
        if refs.has_tables(common):  # one lock for all references
            with lockfile.hold_lock(common, refs.TABLES_LOCK):
                _refuse_conflict(common, name)
                yield Branch(repo, name, tip(repo, name))
            return
        with _hold_lock(common, ref):
            _refuse_conflict(common, name)
            with common.above(ref) as (above, _), contextlib.suppress(FileNotFoundError):
                os.unlink(_temporary_name(ref), dir_fd=above)
            lockfile.remove_leftover(common, "packed-refs.lock")
            yield Branch(repo, name, tip(repo, name))
        reflog.remove_empty(common, ref.rpartition(b"/")[0], b"refs/heads")


def _temporary_name(ref: bytes) -> bytes:
    """Return a temporary name that git skips when it looks for references and that no branch can have."""
    return b"." + ref.rpartition(b"/")[2] + b".lock"


@contextlib.contextmanager
def _hold_lock(common: Root, ref: bytes) -> Generator[None]:
    with contextlib.ExitStack() as stack:
        for attempt in range(MOST_TRIES):
            with common.directory(ref.rpartition(b"/")[0], make=True):
                pass
            try:
                stack.enter_context(lockfile.hold_lock(common, ref + b".lock"))
                break
            except FileNotFoundError:  # git removed the directory because it was empty
                if attempt == MOST_TRIES - 1:
                    raise
        yield


def _refuse_conflict(common: Root, name: str) -> None:
    """Raise NotLanded if the name is a prefix directory of another branch, or the other way round."""
    packed = refs.packed_refs(common).keys() | refs.table_refs(common).keys()
    parts = name.split("/")
    for above in ("/".join(parts[:count]) for count in range(1, len(parts))):
        if common.is_file(raw(f"{HEADS}{above}")) or raw(f"{HEADS}{above}") in packed:
            raise NotLanded(f"{shown(above)} is a branch, so {shown(name)} cannot be one: rename it (git branch -m)")
    inside = raw(f"{HEADS}{name}/")
    below = [ref for ref in packed if ref.startswith(inside)] or list(common.files_below(raw(f"{HEADS}{name}")))
    if below:
        raise NotLanded(f"{shown(below[0].removeprefix(b'refs/heads/'))} is a branch, so {shown(name)} cannot be one")


def _remove_empty_below(common: Root, ref: bytes) -> None:
    """Remove empty directories of former branches at the path of this one."""
    for directory in common.directories_below(ref):
        with common.above(directory) as (above, name):
            os.rmdir(name, dir_fd=above)


def _unpack(common: Root, ref: bytes) -> None:
    """Remove a reference from `packed-refs`, together with its peeled-tag line (`^`)."""
    with lockfile.hold_lock(common, "packed-refs.lock"):
        kept: list[bytes] = []
        dropping = False
        for line in (common.read("packed-refs", refs.MOST_PACKED) or b"").splitlines(keepends=True):
            dropping = line.rstrip(b"\n").endswith(b" " + ref) or (dropping and line.startswith(b"^"))
            if not dropping:
                kept.append(line)
        lockfile.replace_file(common, "packed-refs", b"".join(kept), "packed-refs.donewhen")


# -- working trees that use it --


def worktrees_on(repo: Repo, name: str) -> list[Path]:
    """Return the git directories of the working trees in which a branch is checked out, rebased or bisected."""
    ref = raw(f"{HEADS}{name}")
    without_files = [repo.common_dir] if is_true(repo.setting("core.bare")) else []
    return [git.location for git in git_dirs(repo.common) if git.location not in without_files and ref in _used_by(git)]


def _used_by(git: Root) -> Iterator[bytes]:
    """Yield the references that a working tree uses."""
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
    content = refs.read(Root(git_dir), "gitdir")
    return os.path.dirname(text(content)) if content else str(git_dir.parent)
