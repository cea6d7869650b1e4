"""Proposal for donewhen.toml: finds the checks that are missing there, runs them once, and writes the file.

`judge.detect` makes the proposal, and `session.check.judge_tree` runs it. An existing file keeps every byte that it
has. The new file appears complete or not at all, and is trusted as it was written.

`FoundChecks` are the checks that the repository already has: those that `init` would propose. Whether they can start
here is tested only when a caller relies on them, because a suite may take long.
"""

import json
import math
import os
import posixpath
import re
import shutil
import stat
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from donewhen.errors import BadInput
from donewhen.events import CheckStarted, Emit, Event
from donewhen.judge.contract import Check, Contract
from donewhen.judge.detect import Proposal, Proposed, propose
from donewhen.judge.detect.ci_commands import plain_commands
from donewhen.judge.detect.recognise import recognise
from donewhen.judge.detect.select import unused
from donewhen.judge.protect.rules.product import ProductPattern
from donewhen.judge.verdict import CheckStatus, Result, Verdict
from donewhen.records import frozen
from donewhen.session.check import judge_tree
from donewhen.session.check.judge_tree import Trial
from donewhen.session.log.open_archive import Say
from donewhen.session.settings import contract_file, settings
from donewhen.session.settings.trust import TrustBook
from donewhen.session.workplace import Workplace
from donewhen.toml import BadToml, parse_toml
from donewhen.workspace.files import write_atomically
from donewhen.workspace.state_dir import state_root

LONGEST_TRIAL_SECS = 120
SLOW_SECS = 30
HEADING = '# What "done" means in this repository: `donewhen check` runs every check.\n\n'
PRODUCT_HEADING = (
    "[contract]\n"
    "# Of what the checks use, what the work may change. Other files that they use are judged as the base has them.\n"
)
NOT_INSTALLED = re.compile(
    r"(?=\S*python)\S+: No module named \w+$|error: no such command: |error: Failed to spawn: |Command not found: \S+$|"
    r".* could not be found within PATH |.* is not found in your PATH|.*npx canceled due to missing packages|"
    r".*: (?:command )?not found$|make(?:\[\d+\])?: \*{3} .* Error 12[67]$",
)
"""Beginnings of lines that tools print when they want to start another tool that is missing."""

Keys = Mapping[str, tuple[str, ...]]


@frozen
class ContractProposal:
    """What would be added to donewhen.toml."""

    file: Path
    before: bytes | None
    """The file as it was when the proposal was made."""
    checks: tuple[Proposed, ...]
    """Checks that the file does not have."""
    known: tuple[Check, ...]
    """Checks that the file has."""
    workspace: Keys
    stated: frozenset[str]
    """Keys of `[workspace]` that the file has."""
    found: Proposal
    product: tuple[ProductPattern, ...] = ()
    """What the work may change, of what the checks use. Known after a trial run."""

    @property
    def has_tests(self) -> bool:
        """True if there is something to write, and tests are or were part of the contract."""
        return bool(self.checks) and (bool(self.known) or any(one.kind == "tests" for one in self.checks))

    def may_add(self, key: str) -> bool:
        """Return True if a key of `[workspace]` may be added. One that the file already states is the person's own."""
        return key not in self.stated


def propose_contract(workplace: Workplace, will_be_tried: bool = False) -> ContractProposal:
    """Examine the repository and what its file already says.

    A checker that may be stricter than the project is proposed only if a trial run follows.
    """
    file = workplace.settings.file or workplace.repo.root / settings.FILE_NAME
    before = file.read_bytes() if workplace.settings.file else None
    known = contract_file.contract_in(workplace.settings).checks
    found = propose(workplace.repo.root, lambda name: shutil.which(name) is not None)
    stated = frozenset(cast("dict[str, object]", parse_toml(before or b"").get("workspace", {})))
    workspace = {key: values for key, values in found.workspace.items() if key not in stated}
    checks = [one for one in found.checks if will_be_tried or not one.only_if_clean]
    return ContractProposal(file, before, _missing_checks(checks, known), known, workspace, stated, found)


def _missing_checks(proposed: Iterable[Proposed], known: Sequence[Check]) -> tuple[Proposed, ...]:
    taken = {check.name for check in known}
    there = {what for check in known for what in _done_by(check)}
    missing: list[Proposed] = []
    for one in proposed:
        if not there.isdisjoint(_done_by(one.check)):
            continue
        name = unused(one.check.name, taken)
        taken.add(name)
        missing.append(replace(one, check=replace(one.check, name=name)))
    return tuple(missing)


def _done_by(check: Check) -> set[tuple[str, str]]:
    """Return a check as its command and the tools that it calls. The same tool in the same directory need not run
    twice.
    """
    directory = posixpath.normpath(check.dir)
    tools = [recognise(words) for words in plain_commands(check.command)]
    return {(directory, " ".join(check.command.split())), *((directory, f"<{tool.runner}>") for tool in tools if tool)}


# -- trial run --


async def try_out(
    workplace: Workplace, proposal: ContractProposal, emit: Emit, say: Say
) -> tuple[ContractProposal, Trial]:
    """Run what would be written, once, on the working tree as it is and with the workspace that it would have.

    A check that cannot start here is replaced by another command for the same purpose, if one is known.
    """
    trial = await _run_once(workplace, proposal, proposal.checks, emit, say)
    while stuck := [one for one in proposal.checks if one.otherwise and _problem_in(trial.verdict, one)]:
        for one in stuck:
            say(f"note: {one.check.name}: {one.check.command} cannot start here: {_problem_in(trial.verdict, one)}")
        others = {one.check.name: _otherwise(one) for one in stuck}
        proposal = replace(proposal, checks=tuple(others.get(one.check.name, one) for one in proposal.checks))
        again = await _run_once(workplace, proposal, tuple(others.values()), emit, say)
        results = {result.name: result for result in (*trial.verdict.results, *again.verdict.results)}
        verdict = replace(trial.verdict, results=tuple(results[one.check.name] for one in proposal.checks))
        trial = Trial(verdict, {**trial.used, **again.used})
    return proposal, trial


def _problem_in(verdict: Verdict, one: Proposed) -> str:
    return next((start_problem(result) for result in verdict.results if result.name == one.check.name), "")


def _otherwise(one: Proposed) -> Proposed:
    return replace(one, check=replace(one.check, command=one.otherwise[0]), otherwise=one.otherwise[1:])


async def _run_once(
    workplace: Workplace, proposal: ContractProposal, proposed: tuple[Proposed, ...], emit: Emit, say: Say
) -> Trial:
    variables = {f"DONEWHEN__WORKSPACE__{key.upper()}": json.dumps(list(v)) for key, v in proposal.workspace.items()}
    environment = {**variables, **os.environ}
    start = proposal.file.parent
    widened = settings.load(start, workplace.repo.root, environment, TrustBook(state_root(os.environ)))
    checks = {one.check.name: replace(one.check, timeout_secs=LONGEST_TRIAL_SECS) for one in proposed}

    def emit_and_say(event: Event) -> None:
        emit(event)
        if isinstance(event, CheckStarted) and event.name in checks:
            say(f"waiting for {event.name}, at most {LONGEST_TRIAL_SECS} s: {checks[event.name].command}")

    contract = Contract(checks=tuple(checks.values()))
    return await judge_tree.try_out(replace(workplace, settings=widened), contract, emit_and_say)


def start_problem(result: Result) -> str:
    """Return in one line why a check cannot start here; empty if it can, red or not."""
    lines = [line.strip() for line in result.output_tail.splitlines() if line.strip()]
    if result.status is CheckStatus.INFRA:
        return "; ".join([*result.reasons, *lines[-1:]]) or "it did not start"
    if result.status is CheckStatus.FAIL:
        return next((line for line in reversed(lines) if NOT_INSTALLED.match(line)), "")
    return ""


def left_out(proposal: ContractProposal, verdict: Verdict) -> dict[str, str]:
    """Return the checks that are not written, with the reasons."""
    found = dict[str, str]()
    results = {result.name: result for result in verdict.results}
    for one in proposal.checks:
        result = results[one.check.name]
        if problem := start_problem(result):
            found[result.name] = f"it cannot start here: {problem}"
        elif one.only_if_clean and result.status is not CheckStatus.PASS:
            reason = "it is not green on the current code, and the project states neither its rules nor a call of it"
            found[result.name] = f"{reason}: {one.check.command}"
    return found


def after_trial(proposal: ContractProposal, verdict: Verdict) -> ContractProposal:
    """Return the proposal without the checks that are left out, and with time limits that fit the trial run."""
    results, gone = {result.name: result for result in verdict.results}, left_out(proposal, verdict)
    kept = [one for one in proposal.checks if one.check.name not in gone]
    checks = tuple(replace(one, check=_with_time_limit(one.check, results[one.check.name])) for one in kept)
    return replace(proposal, checks=checks)


async def with_product(workplace: Workplace, proposal: ContractProposal, trial: Trial, say: Say) -> ContractProposal:
    """Return the proposal with the product, if the trial run shows it. A file that has a contract is not given one."""
    if proposal.known or "contract" in parse_toml(proposal.before or b""):
        return proposal
    results = {result.name: result for result in trial.verdict.results}
    unseen = [one.check.name for one in proposal.checks if not _shows_all(one, results[one.check.name], trial)]
    if unseen:
        reason = f"{', '.join(unseen)} did not run to the end, so that not everything that it uses is known"
        say(f"note: product is not written: {reason}. Every run infers it")
        return proposal
    contract = Contract(checks=tuple(one.check for one in proposal.checks))
    used = [trial.used[one.check.name] for one in proposal.checks]
    return replace(proposal, product=await judge_tree.propose_product(workplace, contract, used))


def _shows_all(one: Proposed, result: Result, trial: Trial) -> bool:
    """Return True if everything that a check uses is known. Red tests show it if others passed in the same run."""
    used = trial.used.get(one.check.name)
    if used is None or not used.is_complete:
        return False
    some_passed = result.tests is not None and result.tests.passed > 0
    is_red = result.status is CheckStatus.FAIL and (some_passed or one.kind != "tests")
    return result.status is CheckStatus.PASS or is_red


def _with_time_limit(check: Check, result: Result) -> Check:
    seconds = result.duration_ms / 1000
    if seconds < SLOW_SECS:
        return check
    return replace(check, timeout_secs=max(check.timeout_secs, math.ceil(int(seconds) * 4 / 60) * 60))


# -- writing --


def write(proposal: ContractProposal) -> None:
    """Write the proposal into the file, and trust the file. Raise BadInput if the file was changed meanwhile."""
    file = Path(os.path.realpath(proposal.file))
    if file.parent != Path(os.path.realpath(proposal.file.parent)):
        raise BadInput(f"{proposal.file} is a link to {file}; links are not followed")
    try:
        written = _replace(file, proposal)
    except OSError as error:
        raise BadInput(f"{file} cannot be written: {error.strerror}") from error
    TrustBook(state_root(os.environ)).accept(file, written)


def _replace(file: Path, proposal: ContractProposal) -> bytes:
    """Write the file and return its new content."""
    now = file.read_bytes() if file.exists() else None
    if now != proposal.before:
        raise BadInput(f"{file} was changed in the meantime; nothing was written. Run again: donewhen init")
    mode = stat.S_IMODE(file.stat().st_mode) if now is not None else 0o666 & ~_umask()
    text = extend_text((proposal.before or b"").decode(), proposal)
    write_atomically(file, text)
    file.chmod(mode)
    return text.encode()


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def extend_text(text: str, proposal: ContractProposal) -> str:
    """Return the text of a file with the proposal added. The old text is still there, byte for byte and in order."""
    old = parse_toml(text)
    entries = [contract_file.entry_of(one.check) for one in proposal.checks]
    keys = {key: list(values) for key, values in proposal.workspace.items()}
    ending = "\r\n" if "\r\n" in text else "\n"
    start = _with_keys(text, _toml_text(keys).replace("\n", ending)) if keys and "workspace" in old else text or HEADING
    blocks = [PRODUCT_HEADING + _product_text(proposal.product)] if proposal.product else []
    blocks += ["[workspace]\n" + _toml_text(keys)] if keys and "workspace" not in old else []
    blocks += [
        f"[[check]]\n{_reason(one.why)}{_toml_text(contract_file.entry_of(one.check))}" for one in proposal.checks
    ]
    gap = "" if start.endswith(("\n\n", "\n\r\n")) else ending if start.endswith("\n") else ending * 2
    new = start + gap + "\n".join(blocks).replace("\n", ending)
    workspace = {**old.get("workspace", {}), **keys}
    wanted = {**old, "check": [*old.get("check", []), *entries], **({"workspace": workspace} if workspace else {})}
    if proposal.product:
        wanted["contract"] = {"product": [one.pattern for one in proposal.product]}
    try:
        is_right = parse_toml(new) == wanted
    except BadToml:
        is_right = False
    if not is_right:
        names = ", ".join(one.check.name for one in proposal.checks)
        raise BadInput(f"{proposal.file} cannot be extended without changing what is there; add by hand: {names}")
    return new


def _with_keys(text: str, lines: str) -> str:
    """Insert keys directly below the heading of `[workspace]`, so that comments stay with what they describe."""
    heading = re.compile(r"^[ \t]*\[[ \t]*workspace[ \t]*\][^\n]*\n", re.MULTILINE)
    return heading.sub(lambda found: found[0] + lines, text, count=1)


def _toml_text(values: Mapping[str, Any]) -> str:
    # Loaded on use: a library that writes TOML is slow to load, and only writing needs it.
    import tomlkit

    return tomlkit.dumps(values)


def _product_text(patterns: Sequence[ProductPattern]) -> str:
    """Return the key `product`, with the reason of each pattern."""
    texts = [f"    {_toml_text({'x': one.pattern}).removeprefix('x = ').rstrip()},  " for one in patterns]
    lines = [text + _reason(one.reason) for text, one in zip(texts, patterns, strict=True)]
    return f"product = [\n{''.join(lines)}]\n"


def _reason(why: str) -> str:
    return "# " + "".join(c if c.isprintable() else " " for c in why) + "\n"


Judge = Callable[[Contract], Awaitable[Verdict]]
"""Runs a contract on the base."""


class FoundChecks:
    def __init__(self, workplace: Workplace, contract: Contract, judge: Judge) -> None:
        self._workplace = workplace
        self._given = contract
        self._judge = judge
        self._cannot_start: frozenset[str] | None = None
        """Names of checks that cannot start here; None until they were tried."""

    @property
    def checks(self) -> tuple[Check, ...]:
        return tuple(check for check in self._all if check.name not in (self._cannot_start or ()))

    @property
    def commands(self) -> list[str]:
        """Commands to type at the root. If nothing was found, those of the contract that may be shown."""
        shown = [check for check in self.checks or self._given.checks if not check.held_out]
        return [check.at_root for check in shown]

    async def try_out(self) -> None:
        """Leave out checks that cannot start here."""
        if self._cannot_start is None and self._all:
            verdict = await self._judge(replace(self._given, checks=self._all))
            self._cannot_start = frozenset(one.name for one in verdict.results if start_problem(one))

    @cached_property
    def _all(self) -> tuple[Check, ...]:
        return tuple(one.check for one in propose_contract(self._workplace).checks)
