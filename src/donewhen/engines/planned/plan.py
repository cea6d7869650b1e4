"""A plan as data: a specification, proposed checks, and items that a builder works on one by one.

No I/O. Parts that the planner left out are filled in and listed. Errors are returned to the planner as lines that it
can act on, all at once. The session decides whether a proposed check becomes a check of the contract; it parses the
proposal like donewhen.toml.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from donewhen.engines.planned.reply_reader import MOST_COMMANDS, ReplyReader, is_whole_number
from donewhen.engines.typed_reply import cleaned, cut, describe_value, object_in, one_line
from donewhen.records import Stored

MOST_ITEMS = 40
MOST_CHECKS = 40
MOST_FILES = 100
MOST_UNVERIFIED = 100
LONGEST_TITLE = 72
LONGEST_SPEC = 64 * 1024
LONGEST_LINE = 2000
LONGEST_PATH = 1000
DEEPEST = 6
STOCK_OUTCOME = "The change is made and works as described."
KEYS = ("items", "spec_markdown", "contract_markdown", "task_title", "checks")
WANTED = 'one JSON object, {"spec_markdown", "items": [{"description", "files", "outcome", "verify"}]}'


class PlanItem(Stored):
    description: str
    outcome: str
    files: tuple[str, ...] = ()
    verify: tuple[str, ...] = ()
    is_detected: bool = False
    """True if `verify` holds commands detected in the repository, not commands from the planner."""


class Plan(Stored):
    title: str
    spec: str
    contract_words: str
    checks: tuple[Mapping[str, Any], ...]
    """As the planner proposed them; `covers` holds item numbers, from 1."""
    items: tuple[PlanItem, ...]
    unverified: tuple[str, ...] = ()
    """What no check covers, according to the planner."""
    filled: tuple[str, ...] = ()
    """What the planner left out or made too long, and what replaces it."""


def plan_in(reply: str, intent: str, detected: Sequence[str]) -> Plan:
    """Return the plan in a reply, with missing parts filled in. Raise `InvalidReply` with every issue."""
    return _PlanReader(intent, detected).plan(object_in(reply, KEYS, WANTED))


def one_item(intent: str, detected: Sequence[str]) -> Plan:
    """Return a plan with the intent as its only item, for when no plan could be read."""
    return (
        _PlanReader(intent, detected).plan({}).changed(filled=("no plan could be read: the intent is the only item",))
    )


class _PlanReader(ReplyReader):
    """Reads one plan. A missing or blank part is made from the intent and from the detected commands."""

    def __init__(self, intent: str, detected: Sequence[str]) -> None:
        super().__init__()
        self._intent = cleaned(intent).strip() or "(no intent was given)"
        self._detected = tuple(found for command in detected if (found := cleaned(command).strip()))[:MOST_COMMANDS]

    def plan(self, value: Mapping[str, Any]) -> Plan:
        title = self._title(value.get("task_title"))
        spec = self._long(value.get("spec_markdown"), "spec_markdown")
        if not spec:
            request = f"# What is requested\n\n{self._intent}\n\nNothing else changes."
            spec = self.fill("spec made from the intent", self._long(request, "spec"))
        contract_text = self._long(value.get("contract_markdown"), "contract_markdown")
        items = self._items(value.get("items"))
        checks = tuple(self._checks(value.get("checks"), len(items)))
        unverified = self.strings(value.get("not_verified"), "not_verified", MOST_UNVERIFIED)
        contract_text = contract_text or self._long(default_contract_text(items), "contract")
        self.require_no_issues()
        return Plan(
            title=title,
            spec=spec,
            contract_words=contract_text,
            checks=checks,
            items=items,
            unverified=tuple(self.shortened(one_line(one), LONGEST_LINE, "not_verified") for one in unverified),
            filled=tuple(self.filled),
        )

    def _title(self, value: object) -> str:
        title = one_line(self.text(value, "task_title"))
        if not title:
            return cut(one_line(self._intent.split("\n")[0]), LONGEST_TITLE)
        return self.shortened(title, LONGEST_TITLE, "title")

    def _long(self, value: object, key: str) -> str:
        text = self.text(value, key)
        if len(text) <= LONGEST_SPEC:
            return text
        mark = f"\n\n[cut here: {len(text):,} characters are more than {LONGEST_SPEC:,}]"
        return self.fill(f"{key} cut at {LONGEST_SPEC:,} characters", text[: LONGEST_SPEC - len(mark)] + mark)

    def _items(self, value: object) -> tuple[PlanItem, ...]:
        entries = self.entries(value, "items", "a list of objects", MOST_ITEMS)
        if entries:
            return tuple(self._item(entry, number) for number, entry in enumerate(entries))
        before = len(self.filled)
        only = self._item(dict[str, Any](), 0)
        self.filled[before:] = ["no items: one made from the intent"]
        return (only,)

    def _item(self, value: object, number: int) -> PlanItem:
        path, name = f"items[{number}]", f"item {number + 1}"
        if not isinstance(value, dict):
            self.issues.append(f"{path} must be an object, not {describe_value(value)}")
            return PlanItem(description="", outcome="")
        entry = cast("Mapping[str, object]", value)
        description = one_line(self.text(entry.get("description"), f"{path}.description"))
        description = description or self.fill(f"{name}: description taken from the intent", one_line(self._intent))
        outcome = one_line(self.text(entry.get("outcome"), f"{path}.outcome"))
        outcome = outcome or self.fill(f"{name}: default outcome", STOCK_OUTCOME)
        verify = self.commands(entry.get("verify"), f"{path}.verify")
        if not verify:
            self.filled.append(
                f"{name}: verify {'as detected' if self._detected else 'is empty, nothing was detected'}"
            )
        return PlanItem(
            description=self.shortened(description, LONGEST_LINE, f"{name}: description"),
            files=self._paths(entry.get("files"), f"{path}.files"),
            outcome=self.shortened(outcome, LONGEST_LINE, f"{name}: outcome"),
            verify=verify or self._detected,
            is_detected=not verify and bool(self._detected),
        )

    def _paths(self, value: object, path: str) -> tuple[str, ...]:
        paths = tuple(one_line(one) for one in self.strings(value, path, MOST_FILES))
        if any(len(one) > LONGEST_PATH for one in paths):
            self.issues.append(f"{path} has a path of more than {LONGEST_PATH} characters")
        return paths

    def _checks(self, value: object, items: int) -> Iterator[Mapping[str, Any]]:
        for number, entry in enumerate(self.entries(value, "checks", "a list of objects", MOST_CHECKS)):
            path = f"checks[{number}]"
            if isinstance(entry, dict):
                yield self._check(cast("Mapping[str, Any]", entry), path, items)
            else:
                self.issues.append(f"{path} must be an object, not {describe_value(entry)}")

    def _check(self, entry: Mapping[str, Any], path: str, items: int) -> Mapping[str, Any]:
        name = one_line(self.required(entry.get("name"), f"{path}.name"))
        command = self.command(self.required(entry.get("command"), f"{path}.command"), f"{path}.command")
        check: dict[str, Any] = {"name": name, "command": command}
        if "covers" in entry:
            check["covers"] = self._covers(entry["covers"], f"{path}.covers", items)
        for key, value in entry.items():
            if (kept := one_line(key)) not in ("name", "command", "covers"):
                check[kept] = self._cleaned_value(value, f"{path}.{cut(kept, 64)}", DEEPEST)
        return check

    def _covers(self, value: object, path: str, items: int) -> list[int]:
        numbers = cast("list[object]", value) if isinstance(value, list) else [] if value is None else [value]
        found = [int(one) for one in numbers if is_whole_number(one) and 1 <= one <= items]
        if len(found) < len(numbers) or not isinstance(value, list | None):
            self.issues.append(f"{path} must be a list of item numbers, from 1 to {items}")
        return list(dict.fromkeys(found))

    def _cleaned_value(self, value: Any, path: str, depth: int) -> Any:
        """Return the value unchanged, except for characters that cannot be written. Values that cannot be used become
        issues."""
        if isinstance(value, str):
            return cleaned(value)
        if isinstance(value, float) and not math.isfinite(value):
            self.issues.append(f"{path} is not a number that can be used")
        if not isinstance(value, dict | list):
            return value
        if depth == 0:
            self.issues.append(f"{path} is nested too deeply")
            return None
        if isinstance(value, list):
            return [self._cleaned_value(one, path, depth - 1) for one in cast("list[Any]", value)]
        entries = cast("dict[str, Any]", value)
        return {one_line(key): self._cleaned_value(one, path, depth - 1) for key, one in entries.items()}


def default_contract_text(items: Sequence[PlanItem]) -> str:
    """Return the contract text for a plan whose planner gave none."""
    lines = ["# Done when", ""]
    for number, item in enumerate(items, 1):
        lines.append(f"{number}. {item.description}: {item.outcome}")
        lines += [f"   - `{one_line(command)}`" for command in item.verify]
    return "\n".join(lines)


# -- coverage --

WORD = re.compile(
    r"""'[^']*+' | "(?>(?:[^"\\]++|\\.?)*)(?:"|(?P<open>\Z)) | \\. | [<>]&[0-9-] | (?P<link>&&)
    | (?P<else>[;|&\n()`'] | (?<!\S)\#)""",
    re.VERBOSE | re.DOTALL,
)


def uncovered(plan: Plan, commands: Iterable[str]) -> tuple[str, ...]:
    """Return what is required and covered by no check: outcomes of items, and what the planner lists as not
    verified."""
    known_commands = {_single_spaced(link) for command in commands for link in (command, *_chained_commands(command))}
    covered = {number for check in plan.checks for number in cast("Sequence[int]", check.get("covers") or ())}
    found: list[str] = []
    for number, item in enumerate(plan.items, 1):
        is_run = not item.is_detected and any(_single_spaced(command) in known_commands for command in item.verify)
        if number not in covered and not is_run:
            is_stock = item.outcome == STOCK_OUTCOME
            found.append(f"{item.description}: {item.outcome}" if is_stock else item.outcome)
    return tuple(dict.fromkeys([*found, *plan.unverified]))


def _single_spaced(command: str) -> str:
    return " ".join(command.split())


def _chained_commands(command: str) -> list[str]:
    """Return the commands of a chain in which each must succeed; empty if the chain contains anything else."""
    commands, end = list[str](), 0
    for word in WORD.finditer(command.strip()):
        if word["else"] or word["open"] is not None:
            return []
        if word["link"]:
            commands.append(command.strip()[end : word.start()])
            end = word.end()
    return [*commands, command.strip()[end:]]
