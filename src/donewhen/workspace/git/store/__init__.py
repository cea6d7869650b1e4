"""The private store: one bare repository per user repository, in which our git commands run. Use the class `Store`.

    bare           its directory, git commands in it, reading and writing objects
    object_mirror  hard links to the user's objects, and a copy of the references
    alternates     parser of the list of borrowed object directories
    revisions      resolves a revision expression of the user to a commit
    skeleton       data kept about a base tree, so that small changes cost little
    checkout       writes trees to disk
    dirty          the user's uncommitted changes
    seed           creates a small `.git` for a maker tree
    edit_tree      creates a tree from another one with some paths changed
    merge_trees    merges two trees with a common base
    patches        applies a patch file to a tree
    tidy           removes data that is no longer needed
    lfs            LFS pointers and contents
    traps          pipes and devices where git looks for rules

The store never writes to the user's repository. `workspace.trees.capture` records candidates in the store. Other
packages manage trees, layers and access to them.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TypeGuard

from donewhen.errors import MachineryBroke
from donewhen.workspace.beneath import LeavesRoot
from donewhen.workspace.git.objects import FILE, PROGRAM, Change, LineCount, Size, TreeEntry, changes_in, raw, text
from donewhen.workspace.git.repo import Repo
from donewhen.workspace.git.run_git import GitFailed, check_version
from donewhen.workspace.git.store import checkout, dirty, object_mirror, revisions, seed, tidy
from donewhen.workspace.git.store.bare import LARGEST_READ, Bare
from donewhen.workspace.git.store.skeleton import Skeletons
from donewhen.workspace.process.launch import Launcher

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(?:/[A-Za-z0-9_][A-Za-z0-9_.-]*)*")
PLAIN = ("--no-renames", "--no-ext-diff", "--no-textconv", "--no-color")


class Store:
    """The store of one repository. Use `Store.open`, which brings it up to date. This is cheap, so open it often."""

    def __init__(self, bare: Bare, repo: Repo) -> None:
        self.bare = bare
        self.repo = repo
        self.skeletons = Skeletons(bare)
        self.lfs_places = bare.lfs_places(repo)
        self.path = bare.directory
        self._tree_of: dict[str, str] = {}

    @classmethod
    async def open(cls, launcher: Launcher, repo: Repo, directory: Path) -> "Store":
        """Open the store in a directory that belongs to this repository and its worktrees; create it on first use."""
        bare = Bare(launcher, directory / repo.object_format, repo.object_format)
        if not bare.git_dir.exists():
            await check_version(launcher)
        try:
            await object_mirror.refresh(bare, repo)
        except LeavesRoot:
            raise
        except OSError as error:
            raise MachineryBroke(f"the store cannot be updated: {error}") from error
        store = cls(bare, repo)
        if repo.partial:
            await revisions.refuse_missing(bare, repo, repo.head)
        return store

    async def resolve(self, ref: str) -> str:
        """Return the commit to which a revision expression resolves in the user's repository."""
        return await revisions.resolve(self.bare, self.repo, ref)

    async def tree_of(self, commit: str) -> str:
        if commit not in self._tree_of:
            (content,) = await self.bare.contents([commit])
            self._tree_of[commit] = content.split(b"\n", 1)[0].split(b" ")[1].decode()
        return self._tree_of[commit]

    async def check_out(self, commit: str, into: Path) -> tuple[str, ...]:
        """Write all files of a commit into an empty directory. Return the paths that stayed LFS pointers."""
        if self.repo.partial:
            await revisions.refuse_missing(self.bare, self.repo, commit)
        base = await self.skeletons.of(await self.tree_of(commit))
        return tuple(await checkout.check_out(self.bare, base, into, self.lfs_places))

    async def uncommitted(self) -> list[Change]:
        """Return the user's uncommitted changes: tracked changes, deletions, and new files that are not ignored."""
        return await dirty.uncommitted(self.bare, self.repo)

    async def snapshot(self) -> str:
        """Return a commit of HEAD plus everything uncommitted, in this store only. Nested repositories are left out."""
        return await dirty.snapshot(self.bare, self.repo)

    async def keep(self, name: str, object_id: str) -> None:
        """Protect an object and everything reachable from it, whatever happens to the user's branches."""
        await self.bare.run("update-ref", "--no-deref", _pin(name), object_id)

    async def release(self, name: str) -> None:
        await self.bare.run("update-ref", "--no-deref", "-d", _pin(name))

    async def seed_git_dir(self, commit: str, history: seed.History, into: Path) -> None:
        """Create a git directory for a tree of this commit. It shares no file with the store, so it may be written."""
        await seed.seed_git_dir(self.bare, self.repo, commit, history, into)

    async def diff(self, base_tree: str, tree: str) -> list[Change]:
        if tree == base_tree:
            return []
        answer = await self.bare.run("diff-tree", "-r", "-z", "--raw", "--no-abbrev", *PLAIN, base_tree, tree)
        return changes_in(answer)

    async def diffstat(self, base_tree: str, tree: str) -> Size:
        counts = [*(await self.line_counts(base_tree, tree)).values()]
        known = [one for one in counts if one is not None]
        return Size(len(counts), sum(one.added for one in known), sum(one.removed for one in known))

    async def line_counts(self, base_tree: str, tree: str) -> dict[str, LineCount | None]:
        """Return the changed lines of each changed path; None for a binary file."""
        answer = await self.bare.run("diff-tree", "-r", "-z", "--numstat", *PLAIN, base_tree, tree)
        records = (record.split(b"\t", 2) for record in answer.split(b"\0")[:-1])
        return {
            text(path): LineCount(int(added), int(removed)) if added != b"-" else None
            for added, removed, path in records
        }

    async def patch(self, base_tree: str, tree: str, largest: int = LARGEST_READ) -> bytes:
        """Return a patch that git can apply, with binary files. For a file above `largest` it only states the sizes."""
        changes = await self.diff(base_tree, tree)
        ids = list(dict.fromkeys(side.id for one in changes for side in (one.old, one.new) if _is_file(side)))
        sizes = dict(zip(ids, await self.bare.sizes(ids), strict=True))
        large = [one for one in changes if max(_sizes(one, sizes)) > largest]
        others = (":(top)", *(f":(top,exclude,literal){one.path}" for one in large)) if large else ()
        options = ("-r", "-p", "--binary", "--full-index", *PLAIN)
        patch = await self.bare.run("diff-tree", *options, base_tree, tree, "--", *others)
        return patch + b"".join(_only_sizes(one, *_sizes(one, sizes)) for one in large)

    async def files_naming(self, words: str, tree: str) -> list[str]:
        """Return the text files of a tree that contain these words; nothing if they cannot be searched."""
        try:
            answer = await self.bare.run("grep", "-l", "-z", "-I", "-F", "--full-name", "-e", words, tree)
        except GitFailed:  # also if there is none: git exits with 1 then
            return []
        return [text(path.removeprefix(raw(f"{tree}:"))) for path in answer.split(b"\0")[:-1]]

    async def tidy(self) -> None:
        """Free disk space: remove what neither the user's repository nor any `keep` needs."""
        await tidy.tidy(self.bare, self.repo)


def _is_file(side: TreeEntry | None) -> TypeGuard[TreeEntry]:
    return side is not None and side.mode in (FILE, PROGRAM)


def _sizes(change: Change, sizes: Mapping[str, int]) -> tuple[int, int]:
    old, new = (sizes[side.id] if _is_file(side) else 0 for side in (change.old, change.new))
    return old, new


def _only_sizes(change: Change, old: int, new: int) -> bytes:
    path = raw(change.path)
    return b"diff --git a/%s b/%s\nBinary files of %d and %d bytes differ\n" % (path, path, old, new)


def _pin(name: str) -> str:
    if not NAME.fullmatch(name) or ".." in name or name.endswith(".lock"):
        raise ValueError(f"{name!r} is not a valid reference name")
    return f"refs/donewhen/{name}"
