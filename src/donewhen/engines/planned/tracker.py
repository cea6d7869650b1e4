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
from donewhen.engines.planned.reply_reader import is_whole
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


class Update(EngineNote):
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

    def updated(self, update: Update) -> "Tracker":
        at = self.number_of(update.item) - 1
        note = _note(update.note)
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
        raise NoSuchItem(f"{problem}; there {self._what_there_is()}")

    def _what_there_is(self) -> str:
        listed = [f"{at}. {cut(one_line(one.description), WIDTH)}" for at, one in enumerate(self.items, 1)]
        return f"is: {'; '.join(listed)}" if listed else "are none"

    @property
    def open(self) -> tuple[int, ...]:
        return tuple(at for at, state in enumerate(self.states, 1) if state != "completed")

    def rendered(self) -> str:
        """Return the tracker file, in Markdown."""
        lines = [f"# {one_line(self.title)}".rstrip(), ""]
        for number, (item, state, notes) in enumerate(zip(self.items, self.states, self.notes, strict=True), 1):
            lines.append(f"- [{MARKS[state]}] {number}. {one_line(item.description)}".rstrip())
            lines += [f"  {key}: {value}" for key, value in _details(item, notes)]
        return "\n".join(lines) + "\n"

    def read_back(self, text: str) -> tuple[tuple[Update, ...], tuple[str, ...]]:
        """Read an edited file. Return the updates, and what is ignored, one line each."""
        written = self.rendered()
        if len(text) > len(written) + LONGEST_FILE:
            return (), (f"the file has {len(text):,} characters, which is too long; all of it was ignored",)
        own, told = _Sheet.of(written), _Sheet.of(text)
        updates, ignored = list[Update](), list(_ignored_around(own, told))
        meant = _meant(own.entries, told.entries)
        for at, entry in enumerate(told.entries):
            number = meant.get(at)
            if number is None:
                ignored.append(_about(entry, "is not an item of the plan, or occurs twice, and is ignored"))
                continue
            updates += self._updates(number, entry, ignored)
            ignored += _ignored_in(own.entries[number - 1], entry)
        missing = sorted(set(range(1, len(self.items) + 1)) - set(meant.values()))
        ignored += [f"item {number} is not in the file; it stays as it was" for number in missing]
        return tuple(updates), _few(ignored)

    def _updates(self, number: int, entry: "_Entry", ignored: list[str]) -> Iterator[Update]:
        state = STATES.get(entry.mark)
        if state is None:
            ignored.append(f"item {number}: the mark '{cut(one_line(entry.mark), 1)}' is not a state")
            state = self.states[number - 1]
        told, known = Counter(map(_note, entry.values("note"))), Counter(map(_note, self.notes[number - 1]))
        new = list((told - known).elements())
        if len(new) > MOST_NOTES:
            ignored.append(f"item {number}: of {len(new)} new notes only {MOST_NOTES} were kept")
        if known - told:
            ignored.append(f"item {number}: a note was changed or removed; it stays as it was")
        if new:
            yield from (Update(number, state, note) for note in new[:MOST_NOTES])
        elif state != self.states[number - 1]:
            yield Update(number, state)


def _number(item: object) -> int:
    """Return the item number that is meant; 0 if there is none."""
    if is_whole(item):
        return int(item) if 0 < item < LARGEST else 0
    match = NUMBER.fullmatch(one_line(item)) if isinstance(item, str) else None
    return int(match["number"]) if match else 0


def _note(text: str) -> str:
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
    strange: list[str] = field(default_factory=list[str])
    """Lines below it that are not understood."""

    def values(self, key: str) -> list[str]:
        return [value for name, value in self.details if name == key and value]


@dataclass(slots=True)
class _Sheet:
    outside: list[str]
    """Lines that belong to no item, including the title."""
    entries: list[_Entry]

    @classmethod
    def of(cls, text: str) -> "_Sheet":
        sheet = cls([], [])
        for line in text.split("\n"):
            sheet.take(line.rstrip())
        return sheet

    def take(self, line: str) -> None:
        if heading := HEADING.fullmatch(line):
            description = one_line(heading["description"] or "")
            self.entries.append(_Entry(heading["mark"], int(heading["number"]), description))
        elif self.entries and (detail := DETAIL.fullmatch(line)):
            self.entries[-1].details.append((detail["key"], one_line(detail["value"])))
        elif self.entries and line[:1].isspace():
            self.entries[-1].strange.append(line)
        elif line:
            self.outside.append(one_line(line))


def _meant(own: Sequence[_Entry], told: Sequence[_Entry]) -> dict[int, int]:
    """Return for entries of a file, by position, the numbers of the items that they mean.

    An editor that inserts an item changes the numbers of others, so a description counts more than a number.
    """
    meant: dict[int, int] = {}
    left = {one.number: one for one in own}
    by_description: dict[str, list[int]] = {}
    for one in own:
        by_description.setdefault(one.description, []).append(one.number)

    def settle(at: int, number: int) -> None:
        if at not in meant and left.pop(number, None):
            meant[at] = number

    for at, entry in enumerate(told):
        if entry.number in by_description.get(entry.description, ()):
            settle(at, entry.number)
    for at, entry in enumerate(told):
        for number in by_description.get(entry.description, ()):
            settle(at, number)
    for at, entry in enumerate(told):
        settle(at, entry.number)
    return meant


def _ignored_around(own: _Sheet, told: _Sheet) -> Iterator[str]:
    more, less = Counter(told.outside) - Counter(own.outside), Counter(own.outside) - Counter(told.outside)
    if less:
        yield "the title was changed; it stays as it was"
    yield from (f"the line '{cut(line, WIDTH)}' belongs to no item and is ignored" for line in more)


def _ignored_in(own: _Entry, told: _Entry) -> Iterator[str]:
    if own.description != told.description:
        yield f"item {own.number}: its description was changed; it stays as it was"
    elif own.number != told.number:
        yield f"item {own.number}: its number was changed; it stays as it was"
    if own.values("files") != told.values("files"):
        yield f"item {own.number}: its files were changed; they stay as they were"
    if own.values("outcome") != told.values("outcome"):
        yield f"item {own.number}: its outcome was changed; it stays as it was"
    if any(own.values(key) != told.values(key) for key in ("verify", "verify (detected)")):
        yield f"item {own.number}: its verify commands were changed; they stay as they were"
    if told.strange:
        yield _about(own, f"has {len(told.strange)} lines below it that are not notes and are ignored")


def _about(entry: _Entry, what: str) -> str:
    return f"'{entry.number}. {cut(entry.description, WIDTH)}' {what}"


def _few(lines: Sequence[str]) -> tuple[str, ...]:
    rest = len(lines) - MOST_NAMED
    return (*lines[:MOST_NAMED], f"and {rest} more") if rest > 0 else tuple(lines)
