"""The gate of a loop: whether verified work proceeds by itself, or waits for a person. Each refusal has its own reason.

    ask         always waits
    allow-list  proceeds if the action is one of `allow`
    rules:FILE  the first matching rule decides
    command:P   a program of the user decides

No gate lets anything proceed below the level `unattended`, without verification, on a path of `never`, or on one that
decides what the loop does (`guarded_paths`).
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

from donewhen.errors import BadInput
from donewhen.judge import globs
from donewhen.loops.changed_code import runs_changed_code
from donewhen.loops.guarded_paths import changes_guarded_path, is_covered
from donewhen.loops.hidden_secrets import secret_variables, text_without
from donewhen.loops.spec import ActionKind, LoopGateKind, LoopLevel, LoopSpec
from donewhen.printable import shortened
from donewhen.records import frozen
from donewhen.toml import BadToml, parse_toml
from donewhen.workspace.beneath import Root
from donewhen.workspace.process.command import Command
from donewhen.workspace.process.launch import Launcher

PROGRAM_SECS = 60.0
LARGEST_RULES = 1 << 20
RULE_KEYS: Mapping[str, type | tuple[type, ...]] = {
    "decide": str,
    "kinds": list,
    "paths": list,
    "max_files": int,
    "max_lines": int,
    "max_usd": (int, float),
    "reason": str,
}


@frozen(kw_only=True)
class ActionProposal:
    """What a loop wants to do, as the gate sees it."""

    loop: str
    session: str
    level: str
    action: str
    """The kind of the action."""
    summary: str
    verified: bool
    unverified_reason: str
    """Why it is not verified; empty if it is."""
    paths: tuple[str, ...]
    insertions: int
    deletions: int
    binary_files: int = 0
    """Changed files whose lines cannot be counted, also a text with a NUL in it."""
    usd: float | None
    tokens: int
    tree: str
    base: str
    finding: str
    special_paths: tuple[str, ...] = ()
    """Changed paths that are executable, links or submodules."""


@frozen
class GateOpinion:
    proceeds: bool
    reason: str
    """Why a person must decide, or which rule let it proceed."""


@frozen(kw_only=True)
class GateRule:
    proceeds: bool
    kinds: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    """If there are any, something is changed, and every changed path matches one; to escalate, one path is enough."""
    max_files: int | None = None
    max_lines: int | None = None
    max_usd: float | None = None
    reason: str = ""

    def matches(self, proposal: ActionProposal) -> bool:
        lines = proposal.insertions + proposal.deletions
        return (
            (not self.kinds or proposal.action in self.kinds)
            and (not self.paths or self._covers(proposal.paths))
            and (self.max_files is None or len(proposal.paths) <= self.max_files)
            and (self.max_lines is None or (lines <= self.max_lines and not proposal.binary_files))
            and (self.max_usd is None or (proposal.usd is not None and proposal.usd <= self.max_usd))
        )

    def _covers(self, paths: Sequence[str]) -> bool:
        covered = [bool(globs.first_match(self.paths, path)) for path in paths]
        return bool(covered) and (all(covered) if self.proceeds else any(covered))


async def decide(
    spec: LoopSpec, proposal: ActionProposal, top: Path, launcher: Launcher, program_secs: float = PROGRAM_SECS
) -> GateOpinion:
    """Return what the gate of a loop decides about a proposal."""
    if not proposal.verified:
        return GateOpinion(False, f"not verified: {proposal.unverified_reason}")
    if hit := next((path for path in proposal.paths if is_covered(spec.never, path)), ""):
        return GateOpinion(False, f"it changes {shortened(hit)}, which the loop must never touch")
    if hit := changes_guarded_path(spec, top, proposal.paths):
        return GateOpinion(False, f"it changes {shortened(hit)}, which decides what the loop does")
    if spec.level is not LoopLevel.UNATTENDED:
        return GateOpinion(False, f"the level is {spec.level.value}: a person decides")
    if why := runs_changed_code(spec, top, proposal.paths, proposal.special_paths, os.environ):
        return GateOpinion(False, why)
    match spec.gate.kind:
        case LoopGateKind.ASK:
            return GateOpinion(False, "the gate always asks a person")
        case LoopGateKind.ALLOW_LIST:
            is_allowed = spec.action.kind in spec.allow
            return GateOpinion(
                is_allowed, "" if is_allowed else f"the action {spec.action.kind.value} is not in 'allow'"
            )
        case LoopGateKind.RULES:
            return _by_rules(top, spec.gate.argument, proposal)
        case LoopGateKind.COMMAND:
            return await _by_program(spec.gate.argument, proposal, top, launcher, program_secs)


def read_rules(top: Path, name: str) -> tuple[GateRule, ...]:
    """Return the rules of a file. Raise BadInput, with the key, for an invalid one.

    No link of the repository leads out of it, and only a regular file is read.
    """
    file = Path(os.path.normpath(top / name))
    is_inside = file.is_relative_to(top)
    root, path = (Root(top), str(file.relative_to(top))) if is_inside else (Root(file.parent), file.name)
    try:
        with root.file(path, inside=is_inside) as stream:
            content = stream.read(LARGEST_RULES + 1)
    except OSError as error:
        raise BadInput(f"{file}: {error.strerror}") from error
    if len(content) > LARGEST_RULES:
        raise BadInput(f"{file}: too large for a file of rules")
    try:
        parsed = parse_toml(content)
    except BadToml as error:
        raise BadInput(f"{file}: {error}") from error
    entries = cast("list[Any]", parsed.get("rule", []))
    if set(parsed) - {"rule"} or not isinstance(entries, list) or not all(isinstance(one, dict) for one in entries):  # pyright: ignore[reportUnnecessaryIsInstance] - any TOML
        raise BadInput(f"{file}: only [[rule]] is allowed here")
    return tuple(_rule(entry, f"{file}: 'rule[{number}]") for number, entry in enumerate(entries))


def _rule(entry: Mapping[str, Any], at: str) -> GateRule:
    for key, value in entry.items():
        if key not in RULE_KEYS:
            raise BadInput(f"{at}.{shortened(key)}' is unknown; use {', '.join(RULE_KEYS)}")
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not isinstance(value, RULE_KEYS[key]) or (isinstance(value, bool)) or (is_number and value < 0):
            raise BadInput(f"{at}.{key}' has a wrong value: {shortened(repr(value))}")
    if entry.get("decide") not in ("proceed", "escalate"):
        raise BadInput(f"{at}.decide' must be proceed or escalate, not {shortened(repr(entry.get('decide')))}")
    kinds, paths = _texts(entry, "kinds", at), _texts(entry, "paths", at)
    for kind in kinds:
        if kind not in list(ActionKind):
            raise BadInput(f"{at}.kinds' must name actions ({', '.join(ActionKind)}), not {shortened(kind)!r}")
    for pattern in paths:
        try:
            globs.compiled(pattern)
        except BadInput as error:
            raise BadInput(f"{at}.paths': {error}") from error
    return GateRule(
        proceeds=entry["decide"] == "proceed",
        kinds=kinds,
        paths=paths,
        max_files=entry.get("max_files"),
        max_lines=entry.get("max_lines"),
        max_usd=entry.get("max_usd"),
        reason=entry.get("reason", ""),
    )


def _texts(entry: Mapping[str, Any], key: str, at: str) -> tuple[str, ...]:
    values: Sequence[object] = entry.get(key, [])
    if not all(isinstance(one, str) for one in values):
        raise BadInput(f"{at}.{key}' must be a list of texts")
    if key in entry and not values:
        raise BadInput(f"{at}.{key}' must not be empty; leave it out if it does not matter")
    return tuple(cast("Sequence[str]", values))


def _by_rules(top: Path, name: str, proposal: ActionProposal) -> GateOpinion:
    try:
        rules = read_rules(top, name)
    except BadInput as error:  # the file was sound when the round began
        return GateOpinion(False, f"the rules cannot be used: {error}")
    for number, rule in enumerate(rules, 1):
        if rule.matches(proposal):
            return GateOpinion(rule.proceeds, rule.reason or f"rule {number} of {name} says so")
    return GateOpinion(False, f"no rule of {name} matches")


async def _by_program(
    program: str, proposal: ActionProposal, top: Path, launcher: Launcher, secs: float
) -> GateOpinion:
    """Ask a program of the user. It reads the proposal as JSON and answers `proceed` or `escalate`, with a reason."""
    command = Command(
        argv=["/bin/sh", "-c", program],
        cwd=str(top),
        env=dict(os.environ),
        stdin=f"{json.dumps(asdict(proposal))}\n".encode(),
        timeout_secs=secs,
        merge_stderr=False,
    )
    finished = await launcher.run(command)
    words = text_without(secret_variables(os.environ), finished.stdout).strip().split(None, 1)
    if not finished.ok or not words or words[0].strip(":").lower() not in ("proceed", "escalate"):
        how = f"exited with {finished.exit_code}" if finished.exit_code is not None else finished.end.value
        return GateOpinion(False, f"the gate program gave no decision ({how})")
    reason = shortened(" ".join(words[1].split())) if len(words) > 1 else "the gate program says so"
    return GateOpinion(words[0].strip(":").lower() == "proceed", reason)
