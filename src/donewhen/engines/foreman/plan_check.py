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

from donewhen.engines.foreman.subtask_plan import MOST_ISSUES, WHOLE_FILE, Subtask, SubtaskPlan, SymbolRef, Writers
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

MOST_SIMILAR = 3
"""How many similar files are suggested. A name that more files have is a convention (`index.ts`, `__init__.py`) and
gives no information."""
MOST_COMPARED = 500
"""How many names are compared with a missing one."""
AT_ONCE = 32 << 20
"""Bytes of text that the parser gets in one batch."""

Kind = Literal["file", "directory", "link", "submodule", "nothing"]
KINDS: Mapping[int, Kind] = {TREE: "directory", LINK: "link", GITLINK: "submodule"}
KIND_TEXTS: Mapping[Kind, str] = {
    "file": "a file",
    "directory": "a directory; name the files in it",
    "link": "a symbolic link; name the file itself",
    "submodule": "a submodule, which is another repository",
}


async def repository_issues(plan: SubtaskPlan, base: str, store: Store, parser: ParserClient) -> list[str]:
    """Return the issues of a plan that names things the tree does not have, one line each; empty if the plan is
    usable."""
    base_tree, writers = await _read_base(plan, base, store), Writers(plan.subtasks)
    issues = [issue for one in plan.subtasks for issue in _path_issues(one, base_tree)]
    stray = [(one.id, file) for one in plan.subtasks for file in _stray_files(one, base_tree)]
    missing = [(one.id, file) for one in plan.subtasks for file in _missing_files(one, base_tree, writers)]
    if stray or missing:
        names = _Names(await _files(store, base))
        issues += [
            _stray_issue(id, file, names.same_name(file))
            for id, file in stray
            if 0 < names.how_many(file) <= MOST_SIMILAR
        ]
        issues += [_missing_issue(id, file, names.similar(file)) for id, file in missing[:MOST_ISSUES]]
        issues += [_missing_issue(id, file, ()) for id, file in missing[MOST_ISSUES:]]
    return first_issues(
        issues + await _symbol_issues(_needed_symbols(plan, base_tree, writers), base_tree, store, parser), MOST_ISSUES
    )


# -- the base tree --


class PathState(NamedTuple):
    """What is at a path; or what is above it, if that makes the path impossible."""

    kind: Kind
    where: str
    id: str = ""


@frozen
class _BaseTree:
    directories: Mapping[bytes, str]
    entries: Mapping[bytes, Entries]
    """The entries of the directories in which paths of the plan would be."""

    def at(self, path: str) -> PathState:
        if raw(path) in self.directories:
            return PathState("directory", path)
        above = _nearest(raw(path), self.directories)
        rest = raw(path)[len(above) :].removeprefix(b"/")
        name = rest.partition(b"/")[0]
        entry = self.entries[above].get(name)
        if entry is None:
            return PathState("nothing", path)
        where = b"%s/%s" % (above, name) if above else name
        return PathState(KINDS.get(entry.mode, "file"), text(where), entry.id)

    def file(self, path: str) -> str:
        """Return the id of a file's content; empty if there is no file."""
        spot = self.at(path)
        return spot.id if spot.kind == "file" and spot.where == path else ""


async def _read_base(plan: SubtaskPlan, base: str, store: Store) -> _BaseTree:
    directories = (await store.skeletons.of(base)).directories
    named = {path for one in plan.subtasks for path in (*one.files, *(place.file for place in one.reads))}
    wanted = sorted({_nearest(raw(path), directories) for path in named})
    contents = await store.bare.contents([directories[path] for path in wanted])
    held = [tree_entries(content, store.bare.object_format) for content in contents]
    return _BaseTree(directories, dict(zip(wanted, held, strict=True)))


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

    def same_name(self, path: str) -> list[str]:
        """Return files with the same name; those in the most similar directories first."""
        parts = frozenset(path.split("/"))
        known = self._by_name.get(_name(path), [])
        return nsmallest(MOST_SIMILAR, known, key=lambda one: (-len(parts.intersection(one.split("/"))), one))

    def similar(self, path: str) -> Sequence[str]:
        if same_name := self.same_name(path):
            return same_name
        ending = _name(path).rpartition(".")[2]
        names = islice((name for name in self._by_name if name.rpartition(".")[2] == ending), MOST_COMPARED)
        close = difflib.get_close_matches(_name(path), list(names), MOST_SIMILAR)
        return [self._by_name[name][0] for name in close]


def _name(path: str) -> str:
    return path.rpartition("/")[2]


# -- files --


def _path_issues(one: Subtask, base_tree: _BaseTree) -> Iterator[str]:
    """Yield an issue for every path that is not a file or cannot be one."""
    for file in one.files:
        kind, where, _ = base_tree.at(file)
        if kind != "nothing" and (kind != "file" or where != file):
            yield f"'{one.id}' writes {shown(file)}, but {shown(where)} is {KIND_TEXTS[kind]}"
    for file in dict.fromkeys(place.file for place in one.reads):
        kind, where, _ = base_tree.at(file)
        if kind in ("directory", "submodule"):
            yield f"'{one.id}' reads {shown(file)}, but {shown(where)} is {KIND_TEXTS[kind]}"


def _stray_files(one: Subtask, base_tree: _BaseTree) -> Iterator[str]:
    """Yield new files that are alone in a new directory: perhaps only the directory of an existing file is wrong."""
    by_directory = defaultdict[str, list[str]](list)
    for file in one.files:
        by_directory[file.rpartition("/")[0]].append(file)
    for directory, files in by_directory.items():
        if len(files) == 1 and raw(directory) not in base_tree.directories and base_tree.at(files[0]).kind == "nothing":
            yield files[0]


def _missing_files(one: Subtask, base_tree: _BaseTree, writers: Writers) -> Iterator[str]:
    """Yield files that the subtask relies on, that do not exist, and that no subtask writes. Paths behind a link are
    unknown and not reported."""
    for file in dict.fromkeys(place.file for place in one.reads):
        kind, where, _ = base_tree.at(file)
        if (kind == "nothing" or (kind == "file" and where != file)) and not writers.of_file(file):
            yield file


def _stray_issue(id: str, file: str, same_name: Sequence[str]) -> str:
    names = ", ".join(map(shown, same_name))
    return (
        f"'{id}' writes {shown(file)}, whose directory does not exist; there is {names}. Correct "
        "the path, or name a second file of the new directory"
    )


def _missing_issue(id: str, file: str, similar: Sequence[str]) -> str:
    return f"'{id}' reads {shown(file)}, which does not exist and which no subtask writes{_hint(similar)}"


def _hint(similar: Sequence[str]) -> str:
    return f"; there is {', '.join(map(shown, similar))}" if similar else ""


# -- symbols --


def _needed_symbols(plan: SubtaskPlan, base_tree: _BaseTree, writers: Writers) -> dict[str, list[tuple[str, str]]]:
    """Return by file which subtask relies on which symbol that no other subtask writes."""
    needed = defaultdict[str, list[tuple[str, str]]](list)
    for one in plan.subtasks:
        own = frozenset(one.writes)
        for place in one.reads:
            if (
                place.symbol == WHOLE_FILE
                or place in own
                or not language_of(place.file)
                or not base_tree.file(place.file)
            ):
                continue
            if not writers.of(place) - {one.id}:
                needed[place.file].append((one.id, place.symbol))
    return needed


async def _symbol_issues(
    needed: Mapping[str, Sequence[tuple[str, str]]], base_tree: _BaseTree, store: Store, parser: ParserClient
) -> list[str]:
    """Return an issue for every symbol that is not in its file. If the parser cannot tell, there is no issue."""
    issues: list[str] = []
    for files in await _batches(list(needed), base_tree, store):
        texts = await store.bare.contents([base_tree.file(file) for file in files])
        requests = [
            ParserRequest(
                "symbols", file, {"after": content}, tuple(dict.fromkeys(symbol for _, symbol in needed[file]))
            )
            for file, content in zip(files, texts, strict=True)
        ]
        for file, answer in zip(files, await parser.ask(requests), strict=True):
            found = answer.get("found", {})
            for id, symbol in needed[file]:
                if (known := found.get(symbol)) and known["answer"] == "no such symbol":
                    issues.append(
                        f"'{id}' reads {SymbolRef(file, symbol)}, but there is no such symbol{_hint(known['near'])}"
                    )
    return issues


async def _batches(files: Sequence[str], base_tree: _BaseTree, store: Store) -> list[list[str]]:
    """Group the files that are small enough for the parser into batches that fit in memory."""
    if not files:
        return []
    given = "".join(f"{base_tree.file(file)}\n" for file in files).encode()
    answer = await store.bare.run("cat-file", "--batch-check=%(objectsize)", "--buffer", stdin=given)
    batches: list[list[str]] = [[]]
    held = 0
    for file, size in zip(files, map(int, answer.split()), strict=True):
        if size > MOST_BYTES:
            continue
        if held + size > AT_ONCE:
            batches.append([])
            held = 0
        batches[-1].append(file)
        held += size
    return batches
