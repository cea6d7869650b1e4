"""Maker trees, in which an engine writes, and judge trees, in which the runtime runs checks. They are always separate.

A tree is a stack of layers under its own upper directory. Creating one costs a few directories, whatever the size of
the repository. Inside the sandbox it appears at the repository's own path. Where overlays cannot be mounted, a tree is
a full copy of its base.

A tree belongs to the process that holds its lock. `orphans` handles trees whose owner died.

    trees/NAME/tree.json    what it is built from   trees/NAME/upper, work    what was written
    trees/NAME/lock         held by the owner       trees/NAME/shares/N       layers over shared paths
"""

import contextlib
import itertools
import json
import os
import secrets
import shutil
import socket
import stat
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from donewhen.errors import BadInput, DonewhenError
from donewhen.records import frozen
from donewhen.workspace.beneath import LeavesRoot, Root
from donewhen.workspace.files import remove_tree, try_lock, write_atomically
from donewhen.workspace.git.objects import shown, text
from donewhen.workspace.git.repo import Repo
from donewhen.workspace.git.store import Store
from donewhen.workspace.sandbox.level import Level, SandboxProbe
from donewhen.workspace.trees.layers import History, Layers

if TYPE_CHECKING:
    from donewhen.workspace.sandbox.sandbox import SandboxTree
    from donewhen.workspace.sandbox.view import Bind, Overlay
    from donewhen.workspace.trees.capture import Candidate, Fingerprint

# `capture`, `sandbox` and `view` are imported on use: code that only lists trees does not need them.

REMOVING, NEW = ".gone-", ".new-"
"""Name prefixes of directories that are being removed, and of those without a lock yet. They do not count as trees."""
SHARED_FILE = "file"
PORTS_PER_TREE = 100
FIRST_PORT, LAST_PORT = 20_000, 32_000
"""Below the range from which the kernel assigns ports on its own."""


class Unsaved(DonewhenError):
    """A tree has work that is not in the store; it was not removed."""


@frozen
class TreeFacts:
    """The stored facts of a tree (`tree.json`), from which another process can use it."""

    name: str
    kind: str
    """One of "maker", "judge" and "throwaway"."""
    base: str
    lower: tuple[str, ...]
    """Layers from top to bottom, relative to the repository's state directory."""
    shares: tuple[str, ...]
    port_base: int
    copied: bool
    saved: str = ""
    """The tree id of the last capture."""


@dataclass(slots=True)
class Tree:
    """A tree that this process owns."""

    facts: TreeFacts
    directory: Path
    sandbox_tree: "SandboxTree"
    lock: int = field(repr=False)
    pinned: str = ""
    """The tree id that this process has pinned and recorded. A capture with the same id need not do either again."""
    fingerprint: "Fingerprint | None" = field(default=None, repr=False)
    """The state of the tree's files at that capture."""

    @property
    def upper(self) -> Path:
        return self.directory / "upper"


@frozen(kw_only=True)
class TreeLayers:
    """The layers of a new tree besides its base commit."""

    history: History = "base"
    layers: tuple[str, ...] = ()
    """Setup layers, top first, relative to the repository's state directory."""
    candidate: str = ""
    """A tree id. The new tree gets the files of this tree instead of those of the base commit."""
    share: tuple[str, ...] = ()


class Trees:
    """All trees of one repository, below `directory`, which `Layers` uses too."""

    def __init__(
        self, repo: Repo, store: Store, probe: SandboxProbe, directory: Path, hidden: tuple[str, ...] = ()
    ) -> None:
        self.repo = repo
        self.store = store
        self.directory = directory
        self.layers = Layers(store, directory)
        self._probe = probe
        self._hidden = hidden

    async def make(self, kind: str, base: str, layers: TreeLayers) -> Tree:
        """Create a tree over a base commit."""
        from donewhen.workspace.trees import capture

        shares = [await self.shared(base, path) for path in layers.share]
        files = await self.layers.files(base)
        git_dir = await self.layers.git_dir(base, layers.history)
        copied = not self._probe.overlay or self._probe.level is not Level.BUBBLEWRAP
        lower = (*layers.layers, git_dir.path, files.path)
        if layers.candidate and not copied:
            lower = ((await self.layers.candidate(base, layers.candidate)).path, *lower)
        directory, lock = self._claim()
        port = free_ports(self.directory / "ports")
        facts = TreeFacts(directory.name, kind, base, lower, layers.share, port, copied)
        for part in ("upper", "work", "scratch"):
            (directory / part).mkdir(mode=0o755)
        if copied:
            await anyio.to_thread.run_sync(self._copy_layers, directory / "upper", lower)
            if layers.candidate:
                base_tree = await self.store.tree_of(base)
                await capture.write_files(self.store, base_tree, layers.candidate, directory / "upper")
            await capture.stamp(directory / "upper", directory / "stamp")
        sandbox_tree = self.sandbox_tree_of(directory, facts, shares)
        write_atomically(directory / "tree.json", json.dumps(asdict(facts)))
        return Tree(facts, directory, sandbox_tree, lock)

    async def capture(self, tree: Tree) -> "Candidate":
        """Capture the content of a tree as a tree id in the store. All processes in the tree must be dead."""
        from donewhen.workspace.trees import capture

        tree.fingerprint = None
        if tree.facts.copied:
            candidate = await capture.capture_copy(self.store, tree.facts.base, tree.upper, tree.directory / "stamp")
            fingerprint = None
        else:
            candidate, fingerprint = await capture.capture_layer_with_fingerprint(
                self.store, tree.facts.base, tree.upper
            )
        if candidate.tree != tree.pinned:
            tree.pinned = ""  # if this is interrupted, the state of both steps is unknown
            await self.store.keep(f"trees/{tree.facts.name}", candidate.tree)
            tree.facts = replace(tree.facts, saved=candidate.tree)
            write_atomically(tree.directory / "tree.json", json.dumps(asdict(tree.facts)))
            tree.pinned = candidate.tree
        tree.fingerprint = fingerprint
        return candidate

    async def checkpoint(self, tree: Tree) -> str:
        """Return a tree id to restore later: that of the last capture if nothing was written since, else a new one."""
        if tree.fingerprint is not None and tree.fingerprint.is_current():
            return tree.pinned
        return (await self.capture(tree)).tree

    async def restore(self, tree: Tree, to: str) -> None:
        """Restore the files of a tree from an earlier capture. Ignored files are kept where possible."""
        from donewhen.workspace.trees import capture

        async def capture_now() -> "Candidate":
            return await self.capture(tree)

        if tree.facts.copied:
            await capture.restore_copy(self.store, to, tree.upper, capture_now)
        else:
            base_tree = await self.store.tree_of(tree.facts.base)
            await capture.restore_layer(self.store, base_tree, to, tree.upper, capture_now)

    async def written(self, tree: Tree) -> list[str]:
        """Return every path that was written, replaced or deleted since the tree was created, without directories."""
        from donewhen.workspace.trees import capture

        if tree.facts.copied:
            return await capture.changed_in_copy(self.store, tree.facts.base, tree.upper, tree.directory / "stamp")
        return await anyio.to_thread.run_sync(lambda: sorted(map(text, Root(tree.upper).files_below())))

    async def written_to_shares(self, tree: Tree) -> dict[str, dict[str, int]]:
        """Return for every shared path what was written in its private layer: path below it → mode.

        A shared file that was changed has the path "". A deleted path has the mode of the overlay's mark for it.
        """
        return await anyio.to_thread.run_sync(self._written_to_shares, tree)

    def _written_to_shares(self, tree: Tree) -> dict[str, dict[str, int]]:
        found: dict[str, dict[str, int]] = {}
        for number, share in enumerate(tree.facts.shares):
            layer = Root(tree.directory / "shares" / str(number))
            if layer.is_directory("upper"):
                paths = (path for path, is_directory in layer.below("upper").walk() if not is_directory)
                upper = layer.below("upper")
                statuses = ((text(path), upper.status(path)) for path in paths)
                found[share] = {path: status.st_mode for path, status in statuses if status is not None}
            elif (was_changed := _differs(layer, SHARED_FILE, self.repo.files, share)) is not None:
                found[share] = {"": was_changed}
        return {share: files for share, files in found.items() if files}

    async def remove(self, tree: Tree, discard: bool = False) -> None:
        """Remove a tree. A maker tree with unsaved work is kept, and `Unsaved` names it, unless `discard` is set."""
        if not discard:
            await self._refuse_unsaved(tree)
        self.delete(tree.directory, tree.facts)
        os.close(tree.lock)

    async def _refuse_unsaved(self, tree: Tree) -> None:
        if tree.facts.kind != "maker":
            return
        saved = tree.facts.saved
        if (await self.capture(tree)).tree not in (saved, await self.store.tree_of(tree.facts.base)):
            raise Unsaved(f"tree {tree.facts.name} contains work that was not saved; it is kept in {tree.directory}")

    def in_use(self) -> set[str]:
        """Return the names of the bases, setups and candidates whose layers a tree uses."""
        known = (facts_of(directory) for directory in (self.directory / "trees").glob("[!.]*"))
        return {layer.split("/")[1] for facts in known if facts is not None for layer in facts.lower}

    def _claim(self) -> tuple[Path, int]:
        """Create a directory with a short unique name. It is locked before another process can treat it as a tree."""
        parent = self.directory / "trees"
        parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        while True:
            new, directory = parent / f"{NEW}{secrets.token_hex(8)}", parent / secrets.token_hex(4)
            new.mkdir(mode=0o700)
            lock = os.open(new / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            with contextlib.suppress(OSError):  # the name exists, or this process was suspended and a sweep removed it
                if try_lock(lock) and not directory.exists():
                    new.rename(directory)
                    if is_lock_of(lock, directory):
                        return directory, lock
            os.close(lock)

    def sandbox_tree_of(self, directory: Path, facts: TreeFacts, shares: Sequence[str]) -> "SandboxTree":
        from donewhen.workspace.sandbox.sandbox import SandboxTree
        from donewhen.workspace.sandbox.view import Bind, Overlay

        root = str(self.repo.root) if self._probe.path_transparent else str(directory / "upper")
        parent, name = str(self.directory), f"trees/{facts.name}"
        layers: list[Bind | Overlay] = []
        if facts.copied:
            layers.append(Bind(f"{parent}/{name}/upper", root, writable=True))
        else:
            layers.append(Overlay(parent, facts.lower, f"{name}/upper", f"{name}/work", root))
        for number, path in enumerate(shares):
            layers.append(share_layer(directory / "shares" / str(number), self.repo.files, path, root))
        git_dir = self.repo.common_dir
        # In a linked worktree the git directory is not inside the checkout that the tree covers.
        outside = [str(git_dir)] if self.repo.root not in git_dir.parents else []
        return SandboxTree(
            root=root,
            layers=tuple(layers),
            hidden=(*self._hidden, *outside),
            variables={"DONEWHEN_TREE": facts.name, "DONEWHEN_PORT_BASE": str(facts.port_base)},
            scratch=str(directory / "scratch"),
        )

    async def shared(self, base: str, path: str) -> str:
        """Check a path of the checkout that trees share: it exists, is inside the checkout, and is not tracked."""
        require_shareable(self.repo, path)
        if await self.store.bare.run("ls-tree", "-z", "--full-tree", base, "--", path):
            raise BadInput(f"workspace.share: {shown(path)} is tracked; only ignored files and directories are shared")
        if not self._probe.path_transparent:
            raise BadInput(
                f"workspace.share: {shown(path)} needs the bubblewrap level: it would point into the checkout"
            )
        return path

    def _copy_layers(self, into: Path, lower: tuple[str, ...]) -> None:
        for layer in reversed(lower):
            copy_layer(Root(self.directory / layer), Root(into))

    def delete(self, directory: Path, facts: TreeFacts | None) -> None:
        """Remove a tree whose lock is held. It disappears for other processes at once (rename), then is deleted."""
        if facts is not None:
            (self.directory / "ports" / str(facts.port_base)).unlink(missing_ok=True)
        removing = directory.with_name(f"{REMOVING}{secrets.token_hex(8)}")
        directory.rename(removing)
        remove_tree(removing)


def require_shareable(repo: Repo, path: str) -> None:
    """Raise `BadInput` for a path that cannot be shared, above all a link: a trusted directory may have become one."""
    try:
        found = repo.files.status(path)
    except LeavesRoot as error:
        raise BadInput(f"workspace.share: {error}") from error
    if os.path.normpath(path).split("/")[0] in (".", ".git"):
        raise BadInput(f"workspace.share: {shown(path)} is not a path below the repository")
    if found is None:
        raise BadInput(f"workspace.share: {shown(path)} does not exist in {shown(str(repo.root))}")
    if not (stat.S_ISDIR(found.st_mode) or stat.S_ISREG(found.st_mode)):
        raise BadInput(f"workspace.share: {shown(path)} is a link, which is not followed, or a special file")


def is_lock_of(lock: int, directory: Path) -> bool:
    """Return True if the lock belongs to the tree that has this directory now."""
    with contextlib.suppress(OSError):
        return os.path.samestat(os.fstat(lock), os.lstat(directory / "lock"))
    return False


def copy_layer(source: Root, target: Root) -> None:
    """Copy a layer over a directory with the result that an overlay would show: its entries replace what they cover.

    A link of a lower layer is replaced, and not written through.
    """
    for path, is_directory in source.walk():
        with target.above(path) as (above, name):
            opened = Path(f"/proc/self/fd/{above}", os.fsdecode(name))
            if not is_directory or opened.is_symlink() or not opened.is_dir():
                remove_tree(opened)
            if is_directory:
                opened.mkdir(exist_ok=True)
                continue
            link = source.target(path)
            if link is not None:
                os.symlink(link, name, dir_fd=above)
                continue
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with source.file(path) as content, os.fdopen(os.open(name, flags, 0o600, dir_fd=above), "wb") as file:
                shutil.copyfileobj(content, file, 1 << 20)
                file.flush()
                status = os.fstat(content.fileno())
                os.fchmod(file.fileno(), stat.S_IMODE(status.st_mode))
                os.utime(file.fileno(), ns=(status.st_atime_ns, status.st_mtime_ns))


def share_layer(directory: Path, checkout: Root, path: str, root: str) -> "Bind | Overlay":
    """Return a writable layer, private to the tree, over a shared directory. A shared file is copied."""
    from donewhen.workspace.sandbox.view import Bind, Overlay

    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    if checkout.is_directory(path):
        for part in ("upper", "work"):
            (directory / part).mkdir(exist_ok=True, mode=0o755)
        # The launcher opens it when it mounts it, and follows no link there either.
        borrowed = (str(checkout.location), path)
        return Overlay(str(directory), (), "upper", "work", f"{root}/{path}", borrowed, root)
    copy = directory / SHARED_FILE
    if not copy.exists():
        with checkout.file(path) as source, copy.open("wb") as target:
            shutil.copyfileobj(source, target, 1 << 20)
            os.fchmod(target.fileno(), stat.S_IMODE(os.fstat(source.fileno()).st_mode))
    return Bind(str(copy), f"{root}/{path}", writable=True, within=root)


def _differs(copies: Root, copy: str, checkout: Root, path: str) -> int | None:
    """Return the mode of a copied file if it is not the same as the file of the checkout any more; else None."""
    try:
        with copies.file(copy) as ours, checkout.file(path) as theirs:
            modes = [os.fstat(file.fileno()).st_mode for file in (ours, theirs)]
            while (part := ours.read(1 << 20)) == theirs.read(1 << 20):
                if not part:
                    return modes[0] if modes[0] != modes[1] else None
            return modes[0]
    except OSError:
        return stat.S_IFREG  # it was removed or replaced


def facts_of(directory: Path) -> TreeFacts | None:
    """Read the facts of a tree; None if its owner died before they were complete."""
    try:
        known: dict[str, Any] = json.loads((directory / "tree.json").read_text())
        known.update(lower=tuple(known["lower"]), shares=tuple(known["shares"]))
        return TreeFacts(**known)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def free_ports(directory: Path) -> int:
    """Claim a block of ports that no other tree has; return its first port. A file with this number is the claim."""
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    blocks = range(FIRST_PORT, LAST_PORT, PORTS_PER_TREE)
    start = secrets.randbelow(len(blocks))
    for first in itertools.chain(blocks[start:], blocks[:start]):
        with contextlib.suppress(FileExistsError):
            os.close(os.open(directory / str(first), os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
            if _is_free(first):
                return first
            (directory / str(first)).unlink()
    raise BadInput(f"no free block of ports is left; remove trees, or the files in {directory}")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
