"""Checks a plan against the repository: files and symbols that neither exist nor will be made are issues.

A plan may always make something new. Only what it relies on has to exist, and a file must be possible at every path
that it writes. A separate process, which may crash, parses the texts of the repository (`union.parser_client`).
Statements about a file that cannot be parsed are accepted. `subtask_plan` checks whether a plan is consistent in
itself.
"""

import difflib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import nsmallest
from itertools import islice
from typing import Literal, NamedTuple

from donewhen.engines.foreman.subtask_plan import MOST_TOLD, WHOLE_FILE, Subtask, SubtaskPlan, SymbolRef, Writers
from donewhen.engines.typed_reply import first_issues
from donewhen.records import frozen
from donewhen.syntax.grammar import MOST_BYTES, language_of
from donewhen.union.parser_client import ParserClient, ParserRequest
from donewhen.workspace.git.objects import (
    GITLINK,
    LINK,
    TREE,
    Entries,
    parents,
    parse_ls_tree,
    raw,
    shown,
    text,
    tree_entries,
)
from donewhen.workspace.git.store import Store

NEAR = 3
"""How many similar files are suggested. A name that more files have is a convention (`index.ts`, `__init__.py`) and
gives no information."""
MOST_COMPARED = 500
"""How many names are compared with a missing one."""
AT_ONCE = 32 << 20
"""Bytes of text that the parser gets in one batch."""

Kind = Literal["file", "directory", "link", "submodule", "nothing"]
KINDS: Mapping[int, Kind] = {TREE: "directory", LINK: "link", GITLINK: "submodule"}
WORDS: Mapping[Kind, str] = {
    "file": "a file",
    "directory": "a directory; name the files in it",
    "link": "a symbolic link; name the file itself",
    "submodule": "a submodule, which is another repository",
}


async def ungrounded(plan: SubtaskPlan, base: str, store: Store, reader: ParserClient) -> list[str]:
    """Return the issues of a plan that names things the tree does not have, one line each; empty if the plan is
    usable."""
    ground, writers = await _ground(plan, base, store), Writers(plan.subtasks)
    issues = [issue for one in plan.subtasks for issue in _obstacles(one, ground)]
    strays = [(one.id, file) for one in plan.subtasks for file in _strays(one, ground)]
    lost = [(one.id, file) for one in plan.subtasks for file in _lost(one, ground, writers)]
    if strays or lost:
        names = _Names(await _files(store, base))
        issues += [_astray(id, file, names.alike(file)) for id, file in strays if 0 < names.how_many(file) <= NEAR]
        issues += [_missing(id, file, names.near(file)) for id, file in lost[:MOST_TOLD]]
        issues += [_missing(id, file, ()) for id, file in lost[MOST_TOLD:]]
    return first_issues(issues + await _unknown(_relied_on(plan, ground, writers), ground, store, reader), MOST_TOLD)


# -- the base tree --


class Spot(NamedTuple):
    """What is at a path; or what is above it, if that makes the path impossible."""

    kind: Kind
    where: str
    id: str = ""


@frozen
class _Ground:
    directories: Mapping[bytes, str]
    entries: Mapping[bytes, Entries]
    """The entries of the directories in which paths of the plan would be."""

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
        """Return the id of a file's content; empty if there is no file."""
        spot = self.at(path)
        return spot.id if spot.kind == "file" and spot.where == path else ""


async def _ground(plan: SubtaskPlan, base: str, store: Store) -> _Ground:
    directories = (await store.skeletons.of(base)).directories
    named = {path for one in plan.subtasks for path in (*one.files, *(place.file for place in one.reads))}
    wanted = sorted({_nearest(raw(path), directories) for path in named})
    contents = await store.bare.contents([directories[path] for path in wanted])
    held = [tree_entries(content, store.bare.object_format) for content in contents]
    return _Ground(directories, dict(zip(wanted, held, strict=True)))


def _nearest(path: bytes, directories: Mapping[bytes, str]) -> bytes:
    """Return the nearest existing directory above a path; the root always exists."""
    return next(above for above in parents(path) if above in directories)


async def _files(store: Store, base: str) -> list[str]:
    answer = await store.bare.run("ls-tree", "-r", "-z", "--full-tree", base)
    return [text(path) for path, entry in parse_ls_tree(answer) if entry.mode != GITLINK]


class _Names:
    """The files of a tree, indexed by file name."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._by_name = defaultdict[str, list[str]](list)
        for path in paths:
            self._by_name[_name(path)].append(path)

    def how_many(self, path: str) -> int:
        """Return the number of files with the same name."""
        return len(self._by_name.get(_name(path), ()))

    def alike(self, path: str) -> list[str]:
        """Return files with the same name; those in the most similar directories first."""
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
    """Yield an issue for every path that is not a file or cannot be one."""
    for file in one.files:
        kind, where, _ = ground.at(file)
        if kind != "nothing" and (kind != "file" or where != file):
            yield f"'{one.id}' writes {shown(file)}, but {shown(where)} is {WORDS[kind]}"
    for file in dict.fromkeys(place.file for place in one.reads):
        kind, where, _ = ground.at(file)
        if kind in ("directory", "submodule"):
            yield f"'{one.id}' reads {shown(file)}, but {shown(where)} is {WORDS[kind]}"


def _strays(one: Subtask, ground: _Ground) -> Iterator[str]:
    """Yield new files that are alone in a new directory: perhaps only the directory of an existing file is wrong."""
    company = defaultdict[str, list[str]](list)
    for file in one.files:
        company[file.rpartition("/")[0]].append(file)
    for directory, files in company.items():
        if len(files) == 1 and raw(directory) not in ground.directories and ground.at(files[0]).kind == "nothing":
            yield files[0]


def _lost(one: Subtask, ground: _Ground, writers: Writers) -> Iterator[str]:
    """Yield files that the subtask relies on, that do not exist, and that no subtask writes. Paths behind a link are
    unknown and not reported."""
    for file in dict.fromkeys(place.file for place in one.reads):
        kind, where, _ = ground.at(file)
        if (kind == "nothing" or (kind == "file" and where != file)) and not writers.of_file(file):
            yield file


def _astray(id: str, file: str, alike: Sequence[str]) -> str:
    meant = ", ".join(map(shown, alike))
    return (
        f"'{id}' writes {shown(file)}, whose directory does not exist; there is {meant}. Correct "
        "the path, or name a second file of the new directory"
    )


def _missing(id: str, file: str, near: Sequence[str]) -> str:
    return f"'{id}' reads {shown(file)}, which does not exist and which no subtask writes{_hint(near)}"


def _hint(near: Sequence[str]) -> str:
    return f"; there is {', '.join(map(shown, near))}" if near else ""


# -- symbols --


def _relied_on(plan: SubtaskPlan, ground: _Ground, writers: Writers) -> dict[str, list[tuple[str, str]]]:
    """Return by file which subtask relies on which symbol that no other subtask writes."""
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
    asked: Mapping[str, Sequence[tuple[str, str]]], ground: _Ground, store: Store, reader: ParserClient
) -> list[str]:
    """Return an issue for every symbol that is not in its file. If the parser cannot tell, there is no issue."""
    issues: list[str] = []
    for files in await _portions(list(asked), ground, store):
        texts = await store.bare.contents([ground.file(file) for file in files])
        questions = [
            ParserRequest(
                "symbols", file, {"after": content}, tuple(dict.fromkeys(symbol for _, symbol in asked[file]))
            )
            for file, content in zip(files, texts, strict=True)
        ]
        for file, answer in zip(files, await reader.ask(questions), strict=True):
            found = answer.get("found", {})
            for id, symbol in asked[file]:
                if (known := found.get(symbol)) and known["answer"] == "no such symbol":
                    issues.append(
                        f"'{id}' reads {SymbolRef(file, symbol)}, but there is no such symbol{_hint(known['near'])}"
                    )
    return issues


async def _portions(files: Sequence[str], ground: _Ground, store: Store) -> list[list[str]]:
    """Group the files that are small enough for the parser into batches that fit in memory."""
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
