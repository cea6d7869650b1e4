"""Data about a whole base tree that is needed to process a small change of it, stored once per tree.

It has the directories with their ids, the ignore and attribute rules, and the symbolic links. With this data, the cost
of a capture or a layer depends on its changes only, not on the other files.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from donewhen.workspace.git.index import IndexEntry
from donewhen.workspace.git.objects import LINK, RULES, TREE, Change, TreeEntry, parse_ls_tree, raw
from donewhen.workspace.git.store import lfs
from donewhen.workspace.git.store.bare import Bare, replace

MOST_KEPT = 16
"""Number of files about bases on disk; the least recently used are removed first."""
MOST_REMEMBERED = 4


class Skeleton(NamedTuple):
    tree: str
    directories: Mapping[bytes, str]
    """Path → tree id; the root is the empty path."""
    rules: Mapping[bytes, TreeEntry]
    links: Mapping[bytes, bytes]
    """Path → target of the link."""
    lfs: bool
    """Whether any attribute file mentions LFS."""

    def attributes_after(self, changes: Iterable[Change]) -> list[IndexEntry]:
        """Return the attribute files of the tree after these changes."""
        after = dict(self.rules)
        for change in changes:
            path = raw(change.path)
            after.pop(path, None)
            if change.new is not None:
                after[path] = change.new
        named = b".gitattributes"
        return [IndexEntry(path, entry) for path, entry in after.items() if path.rpartition(b"/")[2] == named]


class Skeletons:
    """The skeletons of one store: on disk, and the last few in memory."""

    def __init__(self, bare: Bare) -> None:
        self.bare = bare
        self._remembered: dict[str, Skeleton] = {}

    async def of(self, tree: str) -> Skeleton:
        found = self._remembered.get(tree) or self._load(tree)
        if found is None:
            found = await _read_skeleton(self.bare, tree)
            replace(self.file(tree), b"\0".join(_tokens(found)))
            forget_oldest(self.bare.directory / "bases")
        self._remembered[tree] = found
        for other in list(self._remembered)[:-MOST_REMEMBERED]:
            del self._remembered[other]
        return found

    def file(self, tree: str) -> Path:
        return self.bare.directory / "bases" / f"{tree}.skeleton"

    def _load(self, tree: str) -> Skeleton | None:
        try:
            content = self.file(tree).read_bytes()
            self.file(tree).touch()
        except FileNotFoundError:
            return None
        return _from_tokens(tree, iter(content.split(b"\0")))


def forget_oldest(directory: Path) -> None:
    kept = sorted(directory.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in kept[MOST_KEPT:]:
        path.unlink(missing_ok=True)


async def _read_skeleton(bare: Bare, tree: str) -> Skeleton:
    answer = await bare.run("ls-tree", "-r", "-t", "-z", "--full-tree", tree)
    directories, rules, links = {b"": tree}, dict[bytes, TreeEntry](), dict[bytes, str]()
    for path, entry in parse_ls_tree(answer):
        if entry.mode == TREE:
            directories[path] = entry.id
        elif entry.mode == LINK:
            links[path] = entry.id
        elif path.rpartition(b"/")[2] in RULES:
            rules[path] = entry
    targets = await bare.contents(list(links.values()))
    attributes = await bare.contents([rules[path].id for path in rules if path.endswith(b".gitattributes")])
    speaks = any(lfs.ATTRIBUTE in content for content in attributes)
    return Skeleton(tree, directories, rules, dict(zip(links, targets, strict=True)), speaks)


def _tokens(skeleton: Skeleton) -> Iterator[bytes]:
    """Yield three fields per item: kind, path, value."""
    for path, id in skeleton.directories.items():
        yield from (b"d", path, id.encode())
    for path, entry in skeleton.rules.items():
        yield from (b"r", path, b"%o %s" % (entry.mode, entry.id.encode()))
    for path, target in skeleton.links.items():
        yield from (b"l", path, target.replace(b"\0", b"/../"))
    yield from (b"e", b"", b"lfs" if skeleton.lfs else b"")


def _from_tokens(tree: str, tokens: Iterator[bytes]) -> Skeleton:
    directories, rules, links, speaks = dict[bytes, str](), dict[bytes, TreeEntry](), dict[bytes, bytes](), False
    for kind, path, value in zip(tokens, tokens, tokens, strict=True):
        if kind == b"d":
            directories[path] = value.decode()
        elif kind == b"r":
            mode, _, id = value.decode().partition(" ")
            rules[path] = TreeEntry(int(mode, 8), id)
        elif kind == b"l":
            links[path] = value
        else:
            speaks = value == b"lfs"
    return Skeleton(tree, directories, rules, links, speaks)
