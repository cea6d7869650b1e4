"""A plan for several workers as data: subtasks, what each one writes and reads, and the order in which they can run.

No I/O. A planner's reply is parsed tolerantly and checked strictly: every issue is one line that the planner can act
on. `plan_check` checks whether the files and symbols exist. A plan is advice; only the gate decides.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, cast

from donewhen.engines.typed_reply import WIDTH, InvalidReply, describe_value, first_issues, object_in
from donewhen.records import frozen
from donewhen.union.patch import WHOLE_FILE, Footprint
from donewhen.workspace.git.objects import shown

ID = re.compile(r"(?!\.+$)[A-Za-z0-9_.-]{1,64}")
MOST_SUBTASKS = 64
LONGEST_PROMPT = 32_000
LONGEST_PATH = 1000
LONGEST_NAME = 255
LONGEST_SYMBOL = 200
UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
"""A file may have such a name, but it cannot be shown as text."""
MOST_ISSUES = 20
"""How many issues are reported; a planner that makes more of them has a more general misunderstanding."""
MOST_LISTED = 8
"""How many places of one subtask are shown to people."""
WANTED = 'one JSON object, {"subtasks": [{"id", "prompt", "files", "writes", "reads"}]}'


@frozen
class SymbolRef:
    file: str
    symbol: str = WHOLE_FILE

    def plain(self) -> dict[str, str]:
        return {"file": self.file, "symbol": self.symbol}

    def __str__(self) -> str:
        return shown(self.file) if self.symbol == WHOLE_FILE else f"{shown(self.file)}: {self.symbol}"


@frozen(kw_only=True)
class Subtask:
    id: str
    prompt: str
    files: tuple[str, ...]
    """Every file that it may write, in the given order."""
    writes: tuple[SymbolRef, ...]
    """Where in these files; every file has at least one entry."""
    reads: tuple[SymbolRef, ...] = ()

    @property
    def footprint(self) -> Footprint:
        return Footprint(frozenset(self.files), tuple((place.file, place.symbol) for place in self.writes))

    def plain(self) -> dict[str, Any]:
        writes, reads = [place.plain() for place in self.writes], [place.plain() for place in self.reads]
        return {"id": self.id, "prompt": self.prompt, "files": list(self.files), "writes": writes, "reads": reads}


@frozen
class SubtaskPlan:
    subtasks: tuple[Subtask, ...]
    levels: tuple[tuple[str, ...], ...]
    """Ids that can be worked on at the same time; each level builds on the earlier ones."""
    needs: Mapping[str, frozenset[str]] = field(compare=False, repr=False)
    """By id, the subtasks whose writes it reads."""

    @property
    def prefer_single_session(self) -> bool:
        """True if several workers bring no advantage."""
        return all(len(level) < 2 for level in self.levels)

    def needs_of(self, id: str) -> frozenset[str]:
        return self.needs[id]

    def plain(self) -> list[dict[str, Any]]:
        return [one.plain() for one in self.subtasks]

    def rendered(self) -> str:
        """Return text for people: what runs at the same time, and what each subtask writes and waits for."""
        by_id = {one.id: one for one in self.subtasks}
        lines = [f"{_plural(len(self.subtasks), 'subtask')} in {_plural(len(self.levels), 'level')}"]
        for number, level in enumerate(self.levels, 1):
            lines.append(f"level {number}")
            for id in level:
                lines += self._lines_of(by_id[id])
        return "\n".join(lines)

    def _lines_of(self, one: Subtask) -> Iterator[str]:
        yield f"  {one.id}: {_first_line(one.prompt)}"
        yield f"    writes {_place_list(one.writes)}"
        if one.reads:
            yield f"    reads {_place_list(one.reads)}"
        if needed := [other.id for other in self.subtasks if other.id in self.needs[one.id]]:
            yield f"    waits for {', '.join(needed)}"


def plan_in(reply: str) -> SubtaskPlan:
    """Return the plan in a reply. Raise `InvalidReply` with its issues."""
    return plan_of(object_in(reply, ["subtasks"], WANTED)["subtasks"])


def plan_of(plain: object) -> SubtaskPlan:
    """Return the plan for subtasks in the form of `SubtaskPlan.plain`. Raise `InvalidReply` with its issues."""
    issues: list[str] = []
    subtasks = _subtasks(plain, issues)
    writers = Writers(subtasks)
    issues += _id_issues(subtasks)
    issues += _write_conflicts(subtasks, writers)
    needs = {one.id: frozenset(writers.of_any(one.reads) - {one.id}) for one in subtasks}
    levels, cycle = _levels(needs)
    if cycle and len(needs) == len(subtasks):  # with a duplicate id it is unclear which one waits for which
        issues.append(f"these subtasks read what the next one writes, in a cycle: {' → '.join([*cycle, cycle[0]])}")
    if issues:
        raise InvalidReply(first_issues(issues, MOST_ISSUES))
    return SubtaskPlan(tuple(subtasks), levels, needs)


# -- text --


def _first_line(prompt: str) -> str:
    line = prompt.strip().splitlines()[0]
    printable = "".join(char if char.isprintable() else " " for char in line)
    return printable if len(printable) <= WIDTH else f"{printable[: WIDTH - 1]}…"


def _place_list(places: Sequence[SymbolRef]) -> str:
    more = f", and {len(places) - MOST_LISTED} more" if len(places) > MOST_LISTED else ""
    return ", ".join(map(str, places[:MOST_LISTED])) + more


def _plural(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


# -- parsing --


def _subtasks(value: object, issues: list[str]) -> list[Subtask]:
    if not isinstance(value, list | tuple) or not value:
        raise InvalidReply(["'subtasks' must be a list with at least one entry"])
    entries = cast("Sequence[object]", value)
    if len(entries) > MOST_SUBTASKS:
        raise InvalidReply([f"{len(entries)} subtasks are more than {MOST_SUBTASKS}; make fewer and larger ones"])
    read = (_subtask(entry, number, issues) for number, entry in enumerate(entries))
    return [one for one in read if one is not None]


def _subtask(value: object, number: int, issues: list[str]) -> Subtask | None:
    if not isinstance(value, dict):
        issues.append(f"subtasks[{number}] is {describe_value(value)} and not an object")
        return None
    entry, wrong = cast("Mapping[str, object]", value), list[str]()
    id, prompt = _id(entry.get("id"), wrong), _prompt(entry.get("prompt"), wrong)
    files = [path for one in _list(entry, "files", wrong) if (path := _path(one, "files", wrong))]
    writes, reads = _places(entry, "writes", wrong), _places(entry, "reads", wrong)
    if not wrong and not files and not writes:
        wrong.append("has neither 'files' nor 'writes': name what it may write")
    name = f"'{id}'" if id else f"subtasks[{number}]"
    issues += [f"{name}: {issue}" for issue in wrong]
    if wrong:
        return None
    written_files = {place.file for place in writes}
    writes += [SymbolRef(file) for file in dict.fromkeys(files) if file not in written_files]
    all_files = dict.fromkeys([*files, *(place.file for place in writes)])
    return Subtask(id=id, prompt=prompt, files=tuple(all_files), writes=tuple(writes), reads=tuple(reads))


def _id(value: object, wrong: list[str]) -> str:
    if isinstance(value, str) and ID.fullmatch(value):
        return value
    found = f", not {describe_value(value)}" if value is not None else ""
    wrong.append(f"'id' must be text of 1 to 64 letters, digits, '_', '.' or '-', and not dots alone{found}")
    return ""


def _prompt(value: object, wrong: list[str]) -> str:
    """Return the prompt for a worker, without characters that cannot be passed to a program."""
    prompt = value.replace("\0", "").encode("utf-8", "replace").decode().strip() if isinstance(value, str) else ""
    if not prompt:
        wrong.append("'prompt' must be text that says what to do")
    elif len(prompt) > LONGEST_PROMPT:
        wrong.append(f"'prompt' is longer than {LONGEST_PROMPT} characters")
    return prompt


def _list(entry: Mapping[str, object], key: str, wrong: list[str]) -> list[object]:
    value = entry.get(key)
    if value is not None and not isinstance(value, list):
        wrong.append(f"'{key}' must be a list, not {describe_value(value)}")
        return []
    return cast("list[object]", value or [])


def _places(entry: Mapping[str, object], key: str, wrong: list[str]) -> list[SymbolRef]:
    found: dict[SymbolRef, None] = {}
    for value in _list(entry, key, wrong):
        if not isinstance(value, str | dict):
            wrong.append(f"'{key}' contains {describe_value(value)} instead of an object with 'file' and 'symbol'")
            continue
        one = cast(
            "Mapping[str, object]", value if isinstance(value, dict) else {"file": value}
        )  # alone: the whole file
        path, symbol = _path(one.get("file"), key, wrong), _symbol(one.get("symbol"), key, wrong)
        if path and symbol:
            found[SymbolRef(path, symbol)] = None
    return list(found)


def _path(value: object, key: str, wrong: list[str]) -> str:
    """Return a path below the repository in git's form; empty if it is invalid."""
    parts = [part for part in value.split("/") if part != "."] if isinstance(value, str) else []
    path = "/".join(parts)
    if not path or len(path) > LONGEST_PATH or UNPRINTABLE.search(path) or any(map(_is_invalid_name, parts)):
        wrong.append(f"'{key}' contains {describe_value(value)}, which is not the path of a file in the repository")
        return ""
    return path


def _is_invalid_name(part: str) -> bool:
    return part in ("", "..") or part.lower() == ".git" or len(part.encode()) > LONGEST_NAME


def _symbol(value: object, key: str, wrong: list[str]) -> str:
    """Return the symbol in the form of declarations, also for `Shop::total`, `Shop#total`, `(*Shop).total` or
    `total()`."""
    if value is None or value == "":
        return WHOLE_FILE
    name = _with_dots(value) if isinstance(value, str) and len(value) <= LONGEST_SYMBOL and value.isprintable() else ""
    if not name:
        wrong.append(f"a 'symbol' in '{key}' is {describe_value(value)}, which is not a name")
    return name


def _with_dots(symbol: str) -> str:
    name = re.sub(r"::|->|(?<=\w)#", ".", symbol)
    name = re.sub(r"\(\s*+(?:[*&]\s*+)?(\w++)\s*+\)\s*+\.", r"\1.", name)
    name = name if re.search(r"\boperator\b", name) else name.partition("(")[0]
    name = name.lstrip("`. ")
    while name != (bare := name.rstrip("`. ").removesuffix(".*")):
        name = bare
    return name


# -- consistency --


class Writers:
    """Which subtask writes where. A place is also written by a subtask that writes its whole file, a symbol that
    contains it, or a symbol inside it."""

    def __init__(self, subtasks: Iterable[Subtask]) -> None:
        self._exactly = defaultdict[tuple[str, str], set[str]](set)
        self._parts = defaultdict[tuple[str, str], set[str]](set)
        """By place, the subtasks that write a symbol which the place may name or contain."""
        for one in subtasks:
            for place in one.writes:
                self._exactly[place.file, place.symbol].add(one.id)
                for wider in (WHOLE_FILE, *_related_names(place.symbol)):
                    self._parts[place.file, wider].add(one.id)

    def of(self, place: SymbolRef) -> set[str]:
        found = set(self._parts.get((place.file, place.symbol), ()))
        for name in (place.symbol, WHOLE_FILE, *_related_names(place.symbol)):
            found |= self._exactly.get((place.file, name), set())
        return found

    def of_any(self, places: Iterable[SymbolRef]) -> set[str]:
        return set[str]().union(*(self.of(place) for place in places))

    def of_file(self, file: str) -> set[str]:
        return self.of(SymbolRef(file))


def _related_names(symbol: str) -> Iterator[str]:
    """Yield shorter names that can mean a symbol or what contains it: `A` and `A.b`, `b.c` and `c` for `A.b.c`."""
    parts = symbol.split(".")
    for number in range(1, len(parts)):
        yield ".".join(parts[:number])
        yield ".".join(parts[number:])


def _id_issues(subtasks: Sequence[Subtask]) -> Iterator[str]:
    seen: dict[str, str] = {}
    for one in subtasks:
        known = seen.get(one.id.lower())
        seen[one.id.lower()] = one.id
        if known == one.id:
            yield f"two subtasks have the id '{one.id}'; give one of them another id"
        elif known is not None:
            yield f"the ids '{known}' and '{one.id}' differ only in case; give one of them another id"


def _write_conflicts(subtasks: Sequence[Subtask], writers: Writers) -> Iterator[str]:
    shared: dict[tuple[str, str], list[SymbolRef]] = {}
    before: set[str] = set()
    for one in subtasks:
        for place in one.writes:
            for other in sorted((writers.of(place) & before) - {one.id}):
                shared.setdefault((other, one.id), []).append(place)
        before.add(one.id)
    for (other, id), places in shared.items():
        more = f" and {len(places) - 1} more" if len(places) > 1 else ""
        yield f"'{other}' and '{id}' both write {places[0]}{more}; give each place to one of them"
    yield from _files_as_directories(subtasks)


def _files_as_directories(subtasks: Sequence[Subtask]) -> Iterator[str]:
    owners = {file: one.id for one in subtasks for file in one.files}
    for file, id in owners.items():
        parts = file.split("/")
        above = ("/".join(parts[:number]) for number in range(1, len(parts)))
        if (above_file := next((path for path in above if path in owners), None)) is not None:
            both = f"'{id}' writes {shown(file)}, but '{owners[above_file]}' writes {shown(above_file)} as a file"
            yield f"{both}; name files, not directories"


def _levels(needs: Mapping[str, frozenset[str]]) -> tuple[tuple[tuple[str, ...], ...], list[str]]:
    """Return the levels: subtasks without needs, then those that need only these, and so on; and a cycle, if there is
    one."""
    levels: list[tuple[str, ...]] = []
    waiting = {id: set(others) for id, others in needs.items()}
    while ready := tuple(id for id, others in waiting.items() if not others):
        levels.append(ready)
        waiting = {id: others.difference(ready) for id, others in waiting.items() if others}
    if not waiting:
        return tuple(levels), []
    cycle = [next(iter(waiting))]
    while (following := min(waiting[cycle[-1]])) not in cycle:
        cycle.append(following)
    return tuple(levels), cycle[cycle.index(following) :]
