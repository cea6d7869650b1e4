"""What must be known about a whole base tree to judge a small change of it, kept once per tree.

Its directories with their ids, its ignore and attribute rules, its symbolic links: with these at hand a capture or a
layer costs as much as its changes and nothing for the other files.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from donewhen.workspace.index import Held
from donewhen.workspace.objects import LINK, RULES, TREE, Change, Entry, listed, raw
from donewhen.workspace.store import lfs
from donewhen.workspace.store.bare import Bare, replace

MOST_KEPT = 16
"""Files about bases on disk; the ones not used for longest go first."""
MOST_REMEMBERED = 4


class Skeleton(NamedTuple):
    tree: str
    directories: Mapping[bytes, str]
    """Path → tree id; the root is the empty path."""
    rules: Mapping[bytes, Entry]
    links: Mapping[bytes, bytes]
    """Path → where it points."""
    lfs: bool
    """Whether any attribute file speaks of LFS."""

    def attributes_after(self, changes: Iterable[Change]) -> list[Held]:
        """The attribute files of the tree that these changes lead to."""
        after = dict(self.rules)
        for change in changes:
            path = raw(change.path)
            after.pop(path, None)
            if change.new is not None:
                after[path] = change.new
        named = b".gitattributes"
        return [Held(path, entry) for path, entry in after.items() if path.rpartition(b"/")[2] == named]


class Skeletons:
    """The skeletons of one store, on disk and the last few in memory."""

    def __init__(self, bare: Bare) -> None:
        self.bare = bare
        self._remembered: dict[str, Skeleton] = {}

    async def of(self, tree: str) -> Skeleton:
        found = self._remembered.get(tree) or self._load(tree)
        if found is None:
            found = await _look(self.bare, tree)
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


async def _look(bare: Bare, tree: str) -> Skeleton:
    answer = await bare.run("ls-tree", "-r", "-t", "-z", "--full-tree", tree)
    directories, rules, links = {b"": tree}, dict[bytes, Entry](), dict[bytes, str]()
    for path, entry in listed(answer):
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
    """Three fields for each thing known: its kind, its path, and what is known."""
    for path, id in skeleton.directories.items():
        yield from (b"d", path, id.encode())
    for path, entry in skeleton.rules.items():
        yield from (b"r", path, b"%o %s" % (entry.mode, entry.id.encode()))
    for path, target in skeleton.links.items():
        yield from (b"l", path, target.replace(b"\0", b"/../"))
    yield from (b"e", b"", b"lfs" if skeleton.lfs else b"")


def _from_tokens(tree: str, tokens: Iterator[bytes]) -> Skeleton:
    directories, rules, links, speaks = dict[bytes, str](), dict[bytes, Entry](), dict[bytes, bytes](), False
    for kind, path, value in zip(tokens, tokens, tokens, strict=True):
        if kind == b"d":
            directories[path] = value.decode()
        elif kind == b"r":
            mode, _, id = value.decode().partition(" ")
            rules[path] = Entry(int(mode, 8), id)
        elif kind == b"l":
            links[path] = value
        else:
            speaks = value == b"lfs"
    return Skeleton(tree, directories, rules, links, speaks)
