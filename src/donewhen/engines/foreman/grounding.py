"""Whether a plan speaks of what is there: files and symbols that nobody has and nobody is going to make are issues.

A plan may always make something new; only what it relies on has to exist, and where it writes there must be room for a
file. The texts of the repository are read by a process that may die (`union.asking`); what cannot be read is taken as
it was told. How a plan hangs together by itself is the business of `plan`.
"""

import difflib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import nsmallest
from itertools import islice
from typing import Literal, NamedTuple

from donewhen.engines.foreman.plan import MOST_TOLD, WHOLE_FILE, Place, Plan, Subtask, Writers, few
from donewhen.records import frozen
from donewhen.syntax.grammar import MOST_BYTES, language_of
from donewhen.union.asking import Question, Reader
from donewhen.workspace.objects import GITLINK, LINK, TREE, Entries, listed, parents, raw, shown, text, tree_entries
from donewhen.workspace.store import Store

NEAR = 3
"""Files that may be meant. A name that more of them have is a habit (`index.ts`, `__init__.py`) and means nothing."""
MOST_COMPARED = 500
"""Names that are compared with one that is not there."""
AT_ONCE = 32 << 20
"""Bytes of text that the reader is handed in one go."""

Kind = Literal["file", "directory", "link", "submodule", "nothing"]
KINDS: Mapping[int, Kind] = {TREE: "directory", LINK: "link", GITLINK: "submodule"}
WORDS: Mapping[Kind, str] = {
    "file": "a file",
    "directory": "a directory; name the files in it",
    "link": "a symbolic link; name the file itself",
    "submodule": "a submodule, which is another repository",
}


async def ungrounded(plan: Plan, base: str, store: Store, reader: Reader) -> list[str]:
    """The issues of a plan that names what a tree does not have, one line each; none for one that can be worked on."""
    ground, writers = await _ground(plan, base, store), Writers(plan.subtasks)
    issues = [issue for one in plan.subtasks for issue in _obstacles(one, ground)]
    strays = [(one.id, file) for one in plan.subtasks for file in _strays(one, ground)]
    lost = [(one.id, file) for one in plan.subtasks for file in _lost(one, ground, writers)]
    if strays or lost:
        names = _Names(await _files(store, base))
        issues += [_astray(id, file, names.alike(file)) for id, file in strays if 0 < names.how_many(file) <= NEAR]
        issues += [_missing(id, file, names.near(file)) for id, file in lost[:MOST_TOLD]]
        issues += [_missing(id, file, ()) for id, file in lost[MOST_TOLD:]]
    return few(issues + await _unknown(_relied_on(plan, ground, writers), ground, store, reader))


# -- the ground --


class Spot(NamedTuple):
    """What is at a path, or above it where nothing can be at it."""

    kind: Kind
    where: str
    id: str = ""


@frozen
class _Ground:
    directories: Mapping[bytes, str]
    entries: Mapping[bytes, Entries]
    """What the directories hold in which paths of the plan would lie."""

    def at(self, path: str) -> Spot:
        if raw(path) in self.directories:
            return Spot("directory", path)
        above = _nearest(raw(path), self.directories)
        rest = raw(path)[len(above) :].removeprefix(b"/")
        name = rest.partition(b"/")[0]
        entry = self.entries[above].get(name)
        if entry is None:
            return Spot("nothing", path)
        where = b"%s/%s" % (above, name) if above else name
        return Spot(KINDS.get(entry.mode, "file"), text(where), entry.id)

    def file(self, path: str) -> str:
        """The id of a file's content; nothing where there is no file."""
        spot = self.at(path)
        return spot.id if spot.kind == "file" and spot.where == path else ""


async def _ground(plan: Plan, base: str, store: Store) -> _Ground:
    directories = (await store.skeletons.of(base)).directories
    named = {path for one in plan.subtasks for path in (*one.files, *(place.file for place in one.reads))}
    wanted = sorted({_nearest(raw(path), directories) for path in named})
    contents = await store.bare.contents([directories[path] for path in wanted])
    held = [tree_entries(content, store.bare.object_format) for content in contents]
    return _Ground(directories, dict(zip(wanted, held, strict=True)))


def _nearest(path: bytes, directories: Mapping[bytes, str]) -> bytes:
    """The nearest directory above a path that is there; the root always is."""
    return next(above for above in parents(path) if above in directories)


async def _files(store: Store, base: str) -> list[str]:
    answer = await store.bare.run("ls-tree", "-r", "-z", "--full-tree", base)
    return [text(path) for path, entry in listed(answer) if entry.mode != GITLINK]


class _Names:
    """The files of a tree by their last names."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._by_name = defaultdict[str, list[str]](list)
        for path in paths:
            self._by_name[_name(path)].append(path)

    def how_many(self, path: str) -> int:
        """Files that are called as this one is."""
        return len(self._by_name.get(_name(path), ()))

    def alike(self, path: str) -> list[str]:
        """Files of the same name; those in directories like this one first."""
        parts = frozenset(path.split("/"))
        known = self._by_name.get(_name(path), [])
        return nsmallest(NEAR, known, key=lambda one: (-len(parts.intersection(one.split("/"))), one))

    def near(self, path: str) -> Sequence[str]:
        if alike := self.alike(path):
            return alike
        ending = _name(path).rpartition(".")[2]
        names = islice((name for name in self._by_name if name.rpartition(".")[2] == ending), MOST_COMPARED)
        close = difflib.get_close_matches(_name(path), list(names), NEAR)
        return [self._by_name[name][0] for name in close]


def _name(path: str) -> str:
    return path.rpartition("/")[2]


# -- files --


def _obstacles(one: Subtask, ground: _Ground) -> Iterator[str]:
    """Paths at which there cannot be a file, or is something else."""
    for file in one.files:
        kind, where, _ = ground.at(file)
        if kind != "nothing" and (kind != "file" or where != file):
            yield f"'{one.id}' writes {shown(file)}, but {shown(where)} is {WORDS[kind]}"
    for file in dict.fromkeys(place.file for place in one.reads):
        kind, where, _ = ground.at(file)
        if kind in ("directory", "submodule"):
            yield f"'{one.id}' reads {shown(file)}, but {shown(where)} is {WORDS[kind]}"


def _strays(one: Subtask, ground: _Ground) -> Iterator[str]:
    """New files that are alone in a new directory: it may be that only the way to a known file is wrong."""
    company = defaultdict[str, list[str]](list)
    for file in one.files:
        company[file.rpartition("/")[0]].append(file)
    for directory, files in company.items():
        if len(files) == 1 and raw(directory) not in ground.directories and ground.at(files[0]).kind == "nothing":
            yield files[0]


def _lost(one: Subtask, ground: _Ground, writers: Writers) -> Iterator[str]:
    """Files that it relies on, that are not there, and that nobody makes. What is behind a link is not known."""
    for file in dict.fromkeys(place.file for place in one.reads):
        kind, where, _ = ground.at(file)
        if (kind == "nothing" or (kind == "file" and where != file)) and not writers.of_file(file):
            yield file


def _astray(id: str, file: str, alike: Sequence[str]) -> str:
    meant = ", ".join(map(shown, alike))
    return (
        f"'{id}' writes {shown(file)}, whose directory is not there, while there is {meant}; correct the path, or name "
        "a second file of the new directory"
    )


def _missing(id: str, file: str, near: Sequence[str]) -> str:
    return f"'{id}' reads {shown(file)}, which is not there, and nobody writes it{_hint(near)}"


def _hint(near: Sequence[str]) -> str:
    return f"; there is {', '.join(map(shown, near))}" if near else ""


# -- symbols --


def _relied_on(plan: Plan, ground: _Ground, writers: Writers) -> dict[str, list[tuple[str, str]]]:
    """By file, who relies on which symbol of it that nobody else writes."""
    asked = defaultdict[str, list[tuple[str, str]]](list)
    for one in plan.subtasks:
        own = frozenset(one.writes)
        for place in one.reads:
            if place.symbol == WHOLE_FILE or place in own or not language_of(place.file) or not ground.file(place.file):
                continue
            if not writers.of(place) - {one.id}:
                asked[place.file].append((one.id, place.symbol))
    return asked


async def _unknown(
    asked: Mapping[str, Sequence[tuple[str, str]]], ground: _Ground, store: Store, reader: Reader
) -> list[str]:
    """Symbols that are not in their files. Where nobody can tell, there is nothing to tell."""
    issues: list[str] = []
    for files in await _portions(list(asked), ground, store):
        texts = await store.bare.contents([ground.file(file) for file in files])
        questions = [
            Question("symbols", file, {"after": content}, tuple(dict.fromkeys(symbol for _, symbol in asked[file])))
            for file, content in zip(files, texts, strict=True)
        ]
        for file, answer in zip(files, await reader.answers(questions), strict=True):
            found = answer.get("found", {})
            for id, symbol in asked[file]:
                if (known := found.get(symbol)) and known["answer"] == "no such symbol":
                    issues.append(
                        f"'{id}' reads {Place(file, symbol)}, but there is no such symbol{_hint(known['near'])}"
                    )
    return issues


async def _portions(files: Sequence[str], ground: _Ground, store: Store) -> list[list[str]]:
    """The files that a parser may be given, as many at a time as are easily held in memory."""
    if not files:
        return []
    given = "".join(f"{ground.file(file)}\n" for file in files).encode()
    answer = await store.bare.run("cat-file", "--batch-check=%(objectsize)", "--buffer", stdin=given)
    portions: list[list[str]] = [[]]
    held = 0
    for file, size in zip(files, map(int, answer.split()), strict=True):
        if size > MOST_BYTES:
            continue
        if held + size > AT_ONCE:
            portions.append([])
            held = 0
        portions[-1].append(file)
        held += size
    return portions
