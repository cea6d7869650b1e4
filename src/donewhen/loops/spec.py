"""The specification of a loop, as typed data. `spec_files` reads it; nothing here touches a file.

A `LoopSpec` is sound: `spec_of` refuses a table that no round could carry out, and names the key.
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, cast
from urllib.parse import urlsplit

from donewhen.engines.spec import EngineSpec
from donewhen.errors import BadInput
from donewhen.judge import globs
from donewhen.judge.contract import Check, require_sound
from donewhen.loops.schedule import Schedule, parse_schedule
from donewhen.loops.time_zone import machine_zone, zone_named
from donewhen.printable import shortened
from donewhen.records import frozen
from donewhen.session.settings import schema

NAME = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?")
"""It is part of branch names and files."""
COMMAND, RULES, FILE, WEBHOOK = "command:", "rules:", "file:", "webhook:"
LONGEST_WAIT_DAYS = 3650
TRIGGERS = ("commit:", "file:", "check-red:")


class LoopLevel(StrEnum):
    REPORT = "report"
    ASSISTED = "assisted"
    UNATTENDED = "unattended"


class Overlap(StrEnum):
    SKIP = "skip"
    QUEUE = "queue"


class ActionKind(StrEnum):
    REPORT = "report"
    NONE = "none"
    BRANCH = "branch"
    APPLY_PATCH = "apply-patch"
    OPEN_PR = "open-pr"
    COMMENT = "comment"
    COMMAND = "command"


class LoopGateKind(StrEnum):
    ASK = "ask"
    ALLOW_LIST = "allow-list"
    RULES = "rules"
    COMMAND = "command"


@frozen
class LoopAction:
    kind: ActionKind
    command: str = ""
    """What `command:` runs."""

    def __str__(self) -> str:
        return f"{COMMAND}{self.command}" if self.kind is ActionKind.COMMAND else self.kind.value


@frozen
class LoopGate:
    kind: LoopGateKind
    argument: str = ""
    """The file of the rules, or the program that decides."""

    def __str__(self) -> str:
        return f"{self.kind.value}:{self.argument}" if self.argument else self.kind.value


class Reading(StrEnum):
    """What the runtime reads itself, because no command in a sandbox can: with a token, or from its own records."""

    OPEN_ISSUES = "open-issues"
    OPEN_PULLS = "open-pulls"
    FAILED_CI = "failed-ci"
    BRANCHES = "branches"
    FLAKY_CHECKS = "flaky-checks"


READ_FROM_FORGE = (Reading.OPEN_ISSUES, Reading.OPEN_PULLS, Reading.FAILED_CI)


@frozen(kw_only=True)
class LoopInput:
    """What the runtime looks up before a round: the output of a command, or a reading. It is data for the maker."""

    name: str
    command: str = ""
    read: Reading | None = None
    """None if it is a command."""
    network: bool = False
    env: tuple[str, ...] = ()
    timeout_secs: float


@frozen(kw_only=True)
class LoopBudget:
    """Limits of a round, a day and the whole life of a loop; 0 means no limit. `turns` are those of each agent."""

    turns: int
    tokens: int
    input_tokens: int
    output_tokens: int
    minutes: float
    usd: float
    tokens_per_day: int
    usd_per_day: float
    tokens_lifetime: int
    usd_lifetime: float


@frozen(kw_only=True)
class LoopSpec:
    name: str
    intent: str
    level: LoopLevel
    schedule: Schedule
    on: tuple[str, ...]
    overlap: Overlap
    jitter_secs: float
    inputs: tuple[LoopInput, ...]
    checks: tuple[str, ...]
    """Names of checks in donewhen.toml."""
    own_checks: tuple[Check, ...]
    maker: str
    checker: str
    engine: str
    model: str
    checker_engine: str
    checker_model: str
    never: tuple[str, ...]
    action: LoopAction
    allow: tuple[ActionKind, ...]
    gate: LoopGate
    max_open: int
    draft: bool
    signoff: bool
    expires_days: float
    deliver: tuple[str, ...]
    budget: LoopBudget

    @property
    def only_reads(self) -> bool:
        """True if no agent of this loop may write: it reports, or it proposes comments."""
        return self.level is LoopLevel.REPORT or self.action.kind is ActionKind.COMMENT


def spec_of(entry: Mapping[str, Any], at: str) -> LoopSpec:
    """Return the loop of a table that fits the schema. `at` is its place for messages, such as `loop[0]`."""
    given: dict[str, Any] = {key: entry.get(key, spec.default) for key, spec in schema.LOOP.items()}
    for key in ("name", "intent"):
        if not given[key].strip():
            raise BadInput(f"'{at}{key}' is missing or empty")
    if not NAME.fullmatch(given["name"]):
        raise BadInput(
            f"'{at}name' must be 1 to 64 small letters, digits, '.', '_' or '-', not {shortened(given['name'])!r}"
        )
    zone = zone_named(given["timezone"], f"{at}timezone") if given["timezone"] else machine_zone()
    level, action = LoopLevel(given["level"]), _action(given["action"], f"{at}action")
    allow = tuple(_allowed(kind, f"{at}allow") for kind in given["allow"])
    own_checks = tuple(_check(number, one, at) for number, one in enumerate(given["check"]))
    _require_different(given["checks"], [one.name for one in own_checks], at)
    if given["expires_days"] > LONGEST_WAIT_DAYS:
        raise BadInput(f"'{at}expires_days' must be at most {LONGEST_WAIT_DAYS}, not {given['expires_days']:g}")
    for key in ("engine", "checker_engine"):
        _require_engine(given[key], f"{at}{key}")
    for pattern in given["never"]:
        globs.require_sound(pattern, f"{at}never")
    _require_known(given["on"], TRIGGERS, f"{at}on")
    _require_places(given["deliver"], f"{at}deliver")
    return LoopSpec(
        name=given["name"],
        intent=given["intent"],
        level=level,
        schedule=parse_schedule(given["schedule"], zone, f"{at}schedule"),
        on=tuple(given["on"]),
        overlap=Overlap(given["overlap"]),
        jitter_secs=given["jitter_secs"],
        inputs=_inputs(given["inputs"], at),
        checks=tuple(given["checks"]),
        own_checks=own_checks,
        maker=given["maker"],
        checker=given["checker"],
        engine=given["engine"],
        model=given["model"],
        checker_engine=given["checker_engine"],
        checker_model=given["checker_model"],
        never=tuple(given["never"]),
        action=action,
        allow=allow,
        gate=_gate(given["gate"], bool(allow), f"{at}gate"),
        max_open=given["max_open"],
        draft=given["draft"],
        signoff=given["signoff"],
        expires_days=given["expires_days"],
        deliver=tuple(given["deliver"]),
        budget=_budget(given["budget"] or {}),
    )


def _require_engine(text: str, key: str) -> None:
    try:
        EngineSpec.parse(text, "engine")
    except BadInput as error:
        raise BadInput(f"'{key}': {error}") from error


def _action(text: str, key: str) -> LoopAction:
    if text.startswith(COMMAND) and (command := text.removeprefix(COMMAND).strip()):
        if re.search(r"(?<!\\)[;&|]\Z", command):
            raise BadInput(f"'{key}' must not end in {command[-1]!r}: the session and the loop are given at the end")
        return LoopAction(ActionKind.COMMAND, command)
    kinds = [kind.value for kind in ActionKind if kind is not ActionKind.COMMAND]
    if text not in kinds:
        raise BadInput(f"'{key}' must be one of {', '.join(kinds)} or command:…, not {shortened(text)!r}")
    return LoopAction(ActionKind(text))


def _allowed(text: str, key: str) -> ActionKind:
    if text not in list(ActionKind):
        raise BadInput(f"'{key}' must name actions ({', '.join(ActionKind)}), not {shortened(text)!r}")
    return ActionKind(text)


def _gate(text: str, has_allow: bool, key: str) -> LoopGate:
    if not text:
        return LoopGate(LoopGateKind.ALLOW_LIST if has_allow else LoopGateKind.ASK)
    if text in (LoopGateKind.ASK, LoopGateKind.ALLOW_LIST):
        return LoopGate(LoopGateKind(text))
    kind, colon, argument = text.partition(":")
    if not colon or kind not in (LoopGateKind.RULES, LoopGateKind.COMMAND) or not argument.strip():
        raise BadInput(f"'{key}' must be ask, allow-list, rules:FILE or command:PROGRAM, not {shortened(text)!r}")
    return LoopGate(LoopGateKind(kind), argument.strip())


def _inputs(entries: list[Mapping[str, Any]], at: str) -> tuple[LoopInput, ...]:
    found: dict[str, LoopInput] = {}
    for number, entry in enumerate(entries):
        here = f"{at}inputs[{number}]"
        given: dict[str, Any] = {key: entry.get(key, spec.default) for key, spec in schema.LOOP_INPUT.items()}
        name, read = given["name"], given["read"]
        for key in ("name", *(() if read else ("command",))):
            if not given[key].strip():
                raise BadInput(f"'{here}.{key}' is missing or empty")
        if name in found:
            raise BadInput(f"'{here}.name' repeats {shortened(name)!r}; every input needs its own name")
        if read and read not in list(Reading):
            raise BadInput(f"'{here}.read' must be one of {', '.join(Reading)}, not {shortened(read)!r}")
        if of_command := [key for key in ("command", "network", "env", "timeout_secs") if read and key in entry]:
            raise BadInput(f"'{here}.{of_command[0]}' is for commands; this input is read by donewhen itself")
        if given["timeout_secs"] <= 0:
            raise BadInput(f"'{here}.timeout_secs' must be more than 0")
        given |= {"read": Reading(read) if read else None, "env": tuple(given["env"])}
        found[name] = LoopInput(**given)
    return tuple(found.values())


def _check(number: int, entry: Mapping[str, Any], at: str) -> Check:
    for key in ("name", "command"):
        if not entry.get(key):
            raise BadInput(f"'{at}check[{number}].{key}' is missing or empty")
    if entry.get("quarantine") is not None:
        raise BadInput(f"'{at}check[{number}].quarantine' is for checks of donewhen.toml")
    try:
        check = Check(**entry)
        require_sound([check])
    except BadInput as error:
        raise BadInput(str(error).replace("'check[0]", f"'{at}check[{number}]", 1)) from error
    return check


def _require_different(named: list[str], own: list[str], at: str) -> None:
    """Raise BadInput for a check that is named or stated twice."""
    known: set[str] = set()
    places = [f"{at}checks", *(f"{at}check[{number}].name" for number in range(len(own)))]
    for place, names in zip(places, [named, *([name] for name in own)], strict=True):
        for name in names:
            if name in known:
                raise BadInput(f"'{place}' repeats {shortened(name)!r}; a check is stated once")
            known.add(name)


def _require_known(given: list[str], known: tuple[str, ...], key: str) -> None:
    """Raise BadInput for a text that is not known. A known text with a final colon needs something after it."""
    for text in given:
        is_known = any(
            text == one if not one.endswith(":") else text.startswith(one) and len(text) > len(one) for one in known
        )
        if not is_known:
            shown = ", ".join(f"{one}…" if one.endswith(":") else one for one in known)
            raise BadInput(f"'{key}' must name {shown}, not {shortened(text)!r}")


def _require_places(given: list[str], key: str) -> None:
    """Raise BadInput for a place that no report can be delivered to."""
    _require_known(given, ("stdout", FILE, WEBHOOK), key)
    for place in given:
        file, url = place.removeprefix(FILE), place.removeprefix(WEBHOOK)
        if place.startswith(FILE) and not file.startswith("/") and ".." in file.split("/"):
            raise BadInput(f"'{key}' must name a file in the repository or a whole path, not {shortened(place)!r}")
        if place.startswith(WEBHOOK) and not _is_web_address(url):
            raise BadInput(f"'{key}' must name a webhook as http://… or https://…, not {shortened(place)!r}")


def _is_web_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _budget(given: Mapping[str, Any]) -> LoopBudget:
    values = {name: given.get(name, cast("Any", key.default)) for name, key in schema.LOOP_BUDGET.items()}
    return LoopBudget(**values)
