"""The tracker: the builder's claims about which plan items are done, as data and as a file that people read.

No I/O. A state is a claim, and no verdict depends on it. The file is written from the tracker. An edited file is read
back as data, and only states and new notes of known items count.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from donewhen.engines.interface import EngineNote, NoSuchItem
from donewhen.engines.planned.plan import Plan, PlanItem
from donewhen.engines.planned.reply_reader import is_whole_number
from donewhen.engines.typed_reply import cut, one_line
from donewhen.records import frozen

State = Literal["pending", "in_progress", "completed", "blocked"]
MARKS: Mapping[State, str] = {"pending": " ", "in_progress": "/", "completed": "x", "blocked": "!"}
STATES: Mapping[str, State] = {
    " ": "pending", "/": "in_progress", "x": "completed", "X": "completed", "!": "blocked"
}  # fmt: skip
HEADING = re.compile(r"[ ]{0,3}[-*+][ ]\[(?P<mark>[^]]?)\][ ](?P<number>[0-9]{1,6})[.)](?:\s++(?P<description>.*))?")
DETAIL = re.compile(r"\s+(?:[-*+]\s+)?(?P<key>files|outcome|verify|verify \(detected\)|note):(?P<value>.*)")
NUMBER = re.compile(r"(?:item\s*)?#?(?P<number>[0-9]{1,6})\.?", re.IGNORECASE)
LARGEST = 1_000_000
LONGEST_NOTE = 1000
LONGEST_FILE = 1_000_000
"""How many characters longer than the written file an edited file may be."""
MOST_NOTES = 20
"""How many new notes of one item are accepted from one reading."""
MOST_NAMED = 20
WIDTH = 60


class ItemUpdate(EngineNote):
    """A note about the state of an item."""

    KIND = "tracked"
    item: int
    state: State
    note: str = ""


@frozen
class Tracker:
    title: str
    items: tuple[PlanItem, ...]
    states: tuple[State, ...]
    notes: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, plan: Plan) -> "Tracker":
        return cls(plan.title, plan.items, ("pending",) * len(plan.items), ((),) * len(plan.items))

    def updated(self, update: ItemUpdate) -> "Tracker":
        at = self.number_of(update.item) - 1
        note = _note_line(update.note)
        states = (*self.states[:at], update.state, *self.states[at + 1 :])
        notes = (*self.notes[at], note) if note else self.notes[at]
        return replace(self, states=states, notes=(*self.notes[:at], notes, *self.notes[at + 1 :]))

    def number_of(self, item: object) -> int:
        """Return the number of an item that is named by its number or by its exact description."""
        number = _number(item)
        if 1 <= number <= len(self.items):
            return number
        described = one_line(item) if isinstance(item, str) else ""
        same = [at for at, one in enumerate(self.items, 1) if described and one_line(one.description) == described]
        if len(same) == 1:
            return same[0]
        named = f"'{cut(described, WIDTH)}'" if described else str(number) if number else "like that"
        problem = f"{len(same)} items are called {named}; use a number" if same else f"there is no item {named}"
        raise NoSuchItem(f"{problem}; there {self._listed_items()}")

    def _listed_items(self) -> str:
        listed = [f"{at}. {cut(one_line(one.description), WIDTH)}" for at, one in enumerate(self.items, 1)]
        return f"is: {'; '.join(listed)}" if listed else "are none"

    @property
    def open_items(self) -> tuple[int, ...]:
        return tuple(at for at, state in enumerate(self.states, 1) if state != "completed")

    def rendered(self) -> str:
        """Return the tracker file, in Markdown."""
        lines = [f"# {one_line(self.title)}".rstrip(), ""]
        for number, (item, state, notes) in enumerate(zip(self.items, self.states, self.notes, strict=True), 1):
            lines.append(f"- [{MARKS[state]}] {number}. {one_line(item.description)}".rstrip())
            lines += [f"  {key}: {value}" for key, value in _details(item, notes)]
        return "\n".join(lines) + "\n"

    def read_back(self, text: str) -> tuple[tuple[ItemUpdate, ...], tuple[str, ...]]:
        """Read an edited file. Return the updates, and what is ignored, one line each."""
        rendered = self.rendered()
        if len(text) > len(rendered) + LONGEST_FILE:
            return (), (f"the file has {len(text):,} characters, which is too long; all of it was ignored",)
        written, edited = _TrackerFile.of(rendered), _TrackerFile.of(text)
        updates, ignored = list[ItemUpdate](), list(_ignored_around(written, edited))
        numbers = _item_numbers(written.entries, edited.entries)
        for at, entry in enumerate(edited.entries):
            number = numbers.get(at)
            if number is None:
                ignored.append(_describe(entry, "is not an item of the plan, or occurs twice, and is ignored"))
                continue
            updates += self._updates(number, entry, ignored)
            ignored += _ignored_in(written.entries[number - 1], entry)
        missing = sorted(set(range(1, len(self.items) + 1)) - set(numbers.values()))
        ignored += [f"item {number} is not in the file; it stays as it was" for number in missing]
        return tuple(updates), _first_lines(ignored)

    def _updates(self, number: int, entry: "_Entry", ignored: list[str]) -> Iterator[ItemUpdate]:
        state = STATES.get(entry.mark)
        if state is None:
            ignored.append(f"item {number}: the mark '{cut(one_line(entry.mark), 1)}' is not a state")
            state = self.states[number - 1]
        noted, known = Counter(map(_note_line, entry.values("note"))), Counter(map(_note_line, self.notes[number - 1]))
        new = list((noted - known).elements())
        if len(new) > MOST_NOTES:
            ignored.append(f"item {number}: of {len(new)} new notes only {MOST_NOTES} were kept")
        if known - noted:
            ignored.append(f"item {number}: a note was changed or removed; it stays as it was")
        if new:
            yield from (ItemUpdate(number, state, note) for note in new[:MOST_NOTES])
        elif state != self.states[number - 1]:
            yield ItemUpdate(number, state)


def _number(item: object) -> int:
    """Return the item number that is meant; 0 if there is none."""
    if is_whole_number(item):
        return int(item) if 0 < item < LARGEST else 0
    match = NUMBER.fullmatch(one_line(item)) if isinstance(item, str) else None
    return int(match["number"]) if match else 0


def _note_line(text: str) -> str:
    return cut(one_line(text), LONGEST_NOTE)


def _details(item: PlanItem, notes: Sequence[str]) -> Iterator[tuple[str, str]]:
    if item.files:
        yield "files", one_line(", ".join(item.files))
    yield "outcome", one_line(item.outcome)
    for command in item.verify:
        yield "verify (detected)" if item.is_detected else "verify", one_line(command)
    for note in notes:
        yield "note", one_line(note)


# -- reading back --


@dataclass(slots=True)
class _Entry:
    """An item as it is in the file."""

    mark: str
    number: int
    description: str
    details: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    unknown_lines: list[str] = field(default_factory=list[str])
    """Lines below it that are not understood."""

    def values(self, key: str) -> list[str]:
        return [value for name, value in self.details if name == key and value]


@dataclass(slots=True)
class _TrackerFile:
    outside: list[str]
    """Lines that belong to no item, including the title."""
    entries: list[_Entry]

    @classmethod
    def of(cls, text: str) -> "_TrackerFile":
        file = cls([], [])
        for line in text.split("\n"):
            file.add_line(line.rstrip())
        return file

    def add_line(self, line: str) -> None:
        if heading := HEADING.fullmatch(line):
            description = one_line(heading["description"] or "")
            self.entries.append(_Entry(heading["mark"], int(heading["number"]), description))
        elif self.entries and (detail := DETAIL.fullmatch(line)):
            self.entries[-1].details.append((detail["key"], one_line(detail["value"])))
        elif self.entries and line[:1].isspace():
            self.entries[-1].unknown_lines.append(line)
        elif line:
            self.outside.append(one_line(line))


def _item_numbers(written: Sequence[_Entry], edited: Sequence[_Entry]) -> dict[int, int]:
    """Return for entries of a file, by position, the numbers of the items that they mean.

    An editor that inserts an item changes the numbers of others, so a description counts more than a number.
    """
    numbers: dict[int, int] = {}
    left = {one.number: one for one in written}
    by_description: dict[str, list[int]] = {}
    for one in written:
        by_description.setdefault(one.description, []).append(one.number)

    def assign(at: int, number: int) -> None:
        if at not in numbers and left.pop(number, None):
            numbers[at] = number

    for at, entry in enumerate(edited):
        if entry.number in by_description.get(entry.description, ()):
            assign(at, entry.number)
    for at, entry in enumerate(edited):
        for number in by_description.get(entry.description, ()):
            assign(at, number)
    for at, entry in enumerate(edited):
        assign(at, entry.number)
    return numbers


def _ignored_around(written: _TrackerFile, edited: _TrackerFile) -> Iterator[str]:
    more, less = Counter(edited.outside) - Counter(written.outside), Counter(written.outside) - Counter(edited.outside)
    if less:
        yield "the title was changed; it stays as it was"
    yield from (f"the line '{cut(line, WIDTH)}' belongs to no item and is ignored" for line in more)


def _ignored_in(written: _Entry, edited: _Entry) -> Iterator[str]:
    if written.description != edited.description:
        yield f"item {written.number}: its description was changed; it stays as it was"
    elif written.number != edited.number:
        yield f"item {written.number}: its number was changed; it stays as it was"
    if written.values("files") != edited.values("files"):
        yield f"item {written.number}: its files were changed; they stay as they were"
    if written.values("outcome") != edited.values("outcome"):
        yield f"item {written.number}: its outcome was changed; it stays as it was"
    if any(written.values(key) != edited.values(key) for key in ("verify", "verify (detected)")):
        yield f"item {written.number}: its verify commands were changed; they stay as they were"
    if edited.unknown_lines:
        yield _describe(written, f"has {len(edited.unknown_lines)} lines below it that are not notes and are ignored")


def _describe(entry: _Entry, what: str) -> str:
    return f"'{entry.number}. {cut(entry.description, WIDTH)}' {what}"


def _first_lines(lines: Sequence[str]) -> tuple[str, ...]:
    rest = len(lines) - MOST_NAMED
    return (*lines[:MOST_NAMED], f"and {rest} more") if rest > 0 else tuple(lines)
