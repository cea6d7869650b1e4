"""Trees: where an engine writes (maker) and where the runtime checks (judge). Two different trees, never one.

A tree is layers under an upper directory of its own: making one costs a few directories, whatever the size of the
repository. Inside the sandbox it appears at the repository's own path. Where overlays cannot be mounted, a tree is a
full copy of its base.

A tree belongs to the process that holds its lock. What a dead process left behind is the business of `leftovers`.

    trees/NAME/tree.json    what it stands on       trees/NAME/upper, work    what was written
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
from donewhen.workspace.layers import History, Layers
from donewhen.workspace.objects import shown, text
from donewhen.workspace.repo import Repo
from donewhen.workspace.sandbox.level import Level, Probe
from donewhen.workspace.store import Store

if TYPE_CHECKING:
    from donewhen.workspace.capture import Candidate, Sighting
    from donewhen.workspace.sandbox.room import Place
    from donewhen.workspace.sandbox.view import Bind, Overlay

# Whoever only looks at what trees there are makes none: `capture`, `room` and `view` are loaded on use.

GONE, NEW = ".gone-", ".new-"
"""Begin the names of directories that are being removed, and of those without a lock as yet: no trees, to anybody."""
SHARED_FILE = "file"
PORTS_PER_TREE = 100
FIRST_PORT, LAST_PORT = 20_000, 32_000
"""Below the range from which the kernel hands out ports by itself."""


class Unsaved(DonewhenError):
    """A tree holds work that is in no store; it was not removed."""


@frozen
class TreeFacts:
    """What is written down about a tree, so that another process can understand it."""

    name: str
    kind: str
    """"maker", "judge" or "throwaway"."""
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
    place: "Place"
    lock: int = field(repr=False)
    kept: str = ""
    """The capture that this process has pinned and written down; another of the same needs neither again."""
    sighting: "Sighting | None" = field(default=None, repr=False)
    """How the tree looked at that capture."""

    @property
    def upper(self) -> Path:
        return self.directory / "upper"


@frozen(kw_only=True)
class Standing:
    """What a new tree stands on besides its base commit."""

    history: History = "base"
    layers: tuple[str, ...] = ()
    """Setup layers, top first, relative to the repository's state directory."""
    candidate: str = ""
    """A tree id: the files are those of that tree instead of the base commit's."""
    share: tuple[str, ...] = ()


class Trees:
    """All trees of one repository, below `directory` (which `Layers` shares)."""

    def __init__(self, repo: Repo, store: Store, probe: Probe, directory: Path, hidden: tuple[str, ...] = ()) -> None:
        self.repo = repo
        self.store = store
        self.directory = directory
        self.layers = Layers(store, directory)
        self._probe = probe
        self._hidden = hidden

    async def make(self, kind: str, base: str, standing: Standing) -> Tree:
        """A new tree over a base commit."""
        from donewhen.workspace import capture

        shares = [await self.shared(base, path) for path in standing.share]
        files = await self.layers.files(base)
        git_dir = await self.layers.git_dir(base, standing.history)
        copied = not self._probe.overlay or self._probe.level is not Level.BUBBLEWRAP
        lower = (*standing.layers, git_dir.path, files.path)
        if standing.candidate and not copied:
            lower = ((await self.layers.candidate(base, standing.candidate)).path, *lower)
        directory, lock = self._claim()
        port = free_ports(self.directory / "ports")
        facts = TreeFacts(directory.name, kind, base, lower, standing.share, port, copied)
        for part in ("upper", "work", "scratch"):
            (directory / part).mkdir(mode=0o755)
        if copied:
            await anyio.to_thread.run_sync(self._copy_layers, directory / "upper", lower)
            if standing.candidate:
                base_tree = await self.store.tree_of(base)
                await capture.write_files(self.store, base_tree, standing.candidate, directory / "upper")
            await capture.stamp(directory / "upper", directory / "stamp")
        place = self.place_of(directory, facts, shares)
        write_atomically(directory / "tree.json", json.dumps(asdict(facts)))
        return Tree(facts, directory, place, lock)

    async def capture(self, tree: Tree) -> "Candidate":
        """What was made in a tree, as a tree id in the store; everything in it must be dead."""
        from donewhen.workspace import capture

        tree.sighting = None
        if tree.facts.copied:
            candidate = await capture.capture_copy(self.store, tree.facts.base, tree.upper, tree.directory / "stamp")
            sighting = None
        else:
            candidate, sighting = await capture.capture_layer_and_look(self.store, tree.facts.base, tree.upper)
        if candidate.tree != tree.kept:
            tree.kept = ""  # when this is interrupted, nobody knows how much of it was done
            await self.store.keep(f"trees/{tree.facts.name}", candidate.tree)
            tree.facts = replace(tree.facts, saved=candidate.tree)
            write_atomically(tree.directory / "tree.json", json.dumps(asdict(tree.facts)))
            tree.kept = candidate.tree
        tree.sighting = sighting
        return candidate

    async def checkpoint(self, tree: Tree) -> str:
        """A tree id to come back to: that of the last capture, while nothing was written since."""
        if tree.sighting is not None and tree.sighting.still_holds():
            return tree.kept
        return (await self.capture(tree)).tree

    async def restore(self, tree: Tree, to: str) -> None:
        """Make the files of a tree those of an earlier capture again; ignored files stay where they can."""
        from donewhen.workspace import capture

        async def look() -> "Candidate":
            return await self.capture(tree)

        if tree.facts.copied:
            await capture.restore_copy(self.store, to, tree.upper, look)
        else:
            base_tree = await self.store.tree_of(tree.facts.base)
            await capture.restore_layer(self.store, base_tree, to, tree.upper, look)

    async def written(self, tree: Tree) -> list[str]:
        """Every path that was written, replaced or deleted in a tree since it was made, directories left out."""
        from donewhen.workspace import capture

        if tree.facts.copied:
            return await capture.changed_in_copy(self.store, tree.facts.base, tree.upper, tree.directory / "stamp")
        return await anyio.to_thread.run_sync(lambda: sorted(map(text, Root(tree.upper).files_below())))

    async def remove(self, tree: Tree, discard: bool = False) -> None:
        """Remove a tree. A maker tree with work that is in no store is kept and named, unless it is discarded."""
        if not discard:
            await self._refuse_unsaved(tree)
        self.delete(tree.directory, tree.facts)
        os.close(tree.lock)

    async def _refuse_unsaved(self, tree: Tree) -> None:
        if tree.facts.kind != "maker":
            return
        saved = tree.facts.saved
        if (await self.capture(tree)).tree not in (saved, await self.store.tree_of(tree.facts.base)):
            raise Unsaved(f"tree {tree.facts.name} holds work that was not saved; it is kept in {tree.directory}")

    def in_use(self) -> set[str]:
        """Names of the bases and setup layers that some tree stands on."""
        known = (facts_of(directory) for directory in (self.directory / "trees").glob("[!.]*"))
        return {layer.split("/")[1] for facts in known if facts is not None for layer in facts.lower}

    def _claim(self) -> tuple[Path, int]:
        """A new directory with a short unique name, locked before anybody else can take it for a tree."""
        parent = self.directory / "trees"
        parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        while True:
            new, directory = parent / f"{NEW}{secrets.token_hex(8)}", parent / secrets.token_hex(4)
            new.mkdir(mode=0o700)
            lock = os.open(new / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            with contextlib.suppress(OSError):  # the name is taken, or this process was asleep and it was cleaned away
                if try_lock(lock) and not directory.exists():
                    new.rename(directory)
                    if holds(lock, directory):
                        return directory, lock
            os.close(lock)

    def place_of(self, directory: Path, facts: TreeFacts, shares: Sequence[str]) -> "Place":
        from donewhen.workspace.sandbox.room import Place
        from donewhen.workspace.sandbox.view import Bind, Overlay

        root = str(self.repo.root) if self._probe.path_transparent else str(directory / "upper")
        beside, name = str(self.directory), f"trees/{facts.name}"
        layers: list[Bind | Overlay] = []
        if facts.copied:
            layers.append(Bind(f"{beside}/{name}/upper", root, writable=True))
        else:
            layers.append(Overlay(beside, facts.lower, f"{name}/upper", f"{name}/work", root))
        for number, path in enumerate(shares):
            layers.append(share_layer(directory / "shares" / str(number), self.repo.files, path, root))
        return Place(
            root=root,
            layers=tuple(layers),
            hidden=(*self._hidden, *_outside(self.repo)),
            variables={"DONEWHEN_TREE": facts.name, "DONEWHEN_PORT_BASE": str(facts.port_base)},
            scratch=str(directory / "scratch"),
        )

    async def shared(self, base: str, path: str) -> str:
        """A path of the checkout that trees share, checked: it exists, lies in the checkout, and is not tracked."""
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
        """Take a tree away whose lock is held: at once for everybody else, then piece by piece."""
        if facts is not None:
            (self.directory / "ports" / str(facts.port_base)).unlink(missing_ok=True)
        gone = directory.with_name(f"{GONE}{secrets.token_hex(8)}")
        directory.rename(gone)
        remove_tree(gone)


def require_shareable(repo: Repo, path: str) -> None:
    """Refuse what cannot be shared, links above all: what was trusted as a directory may be one today."""
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


def holds(lock: int, directory: Path) -> bool:
    """Whether a lock that was taken is that of the tree that is there now."""
    with contextlib.suppress(OSError):
        return os.path.samestat(os.fstat(lock), os.lstat(directory / "lock"))
    return False


def copy_layer(source: Root, target: Root) -> None:
    """Copy a layer over what is there, as an overlay would show it: what it has takes the place of what it covers.

    A link of the layers beneath is replaced, and not written through.
    """
    for path, is_directory in source.walk():
        with target.above(path) as (above, name):
            place = Path(f"/proc/self/fd/{above}", os.fsdecode(name))
            if not is_directory or place.is_symlink() or not place.is_dir():
                remove_tree(place)
            if is_directory:
                place.mkdir(exist_ok=True)
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
    """A writable layer of the tree's own over a shared directory; a shared file is copied."""
    from donewhen.workspace.sandbox.view import Bind, Overlay

    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    if checkout.is_directory(path):
        for part in ("upper", "work"):
            (directory / part).mkdir(exist_ok=True, mode=0o755)
        # The launcher opens it when it mounts it, again without following a link.
        borrowed = (str(checkout.location), path)
        return Overlay(str(directory), (), "upper", "work", f"{root}/{path}", borrowed, root)
    copy = directory / SHARED_FILE
    if not copy.exists():
        with checkout.file(path) as source, copy.open("wb") as target:
            shutil.copyfileobj(source, target, 1 << 20)
            os.fchmod(target.fileno(), stat.S_IMODE(os.fstat(source.fileno()).st_mode))
    return Bind(str(copy), f"{root}/{path}", writable=True, within=root)


def _outside(repo: Repo) -> list[str]:
    """The git directory, where it does not lie in the checkout that the tree covers (a linked worktree)."""
    return [str(repo.common_dir)] if repo.root not in repo.common_dir.parents else []


def facts_of(directory: Path) -> TreeFacts | None:
    """What is written about a tree; None when its owner died before it was complete."""
    try:
        known: dict[str, Any] = json.loads((directory / "tree.json").read_text())
        known.update(lower=tuple(known["lower"]), shares=tuple(known["shares"]))
        return TreeFacts(**known)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def free_ports(directory: Path) -> int:
    """The first of a block of ports that no other tree has; a file with its number holds the claim."""
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
