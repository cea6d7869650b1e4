"""Files for people about a planned session: spec, contract, tracker, evaluation.

They are written from the session state whenever it has something new. Only `contract.toml` is ever read back, when a
person approves a proposed contract that may have been edited there.
"""

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from donewhen.engines.planned.evaluation import Evaluation
from donewhen.engines.planned.plan import Plan, default_contract_text
from donewhen.engines.planned.tracker import ItemUpdate, Tracker
from donewhen.errors import BadInput
from donewhen.judge.contract import Contract
from donewhen.judge.receipt import contract_from
from donewhen.printable import escaped, visible
from donewhen.session.log.state import SessionState
from donewhen.session.settings import contract_file
from donewhen.toml import BadToml, file_content
from donewhen.workspace.files import remove_tree, write_atomically
from donewhen.workspace.state_dir import private_directory, state_root

NAMES = ("spec.md", "contract.md", "tracker.md", "evaluation.md")
EDITABLE = "contract.toml"
NOTEBOOK = "planned"
"""Name under which a planned session keeps its notes."""


def directory(session: str) -> Path:
    return state_root(os.environ) / "artifacts" / session


def existing_files(session: str) -> dict[str, str]:
    """Return the files that exist, by name, with their paths."""
    here = directory(session)
    return {name: str(here / name) for name in (*NAMES, EDITABLE) if (here / name).is_file()}


def path(session: str, name: str) -> str:
    return str(directory(session) / name)


def write(session: str, state: SessionState) -> None:
    """Write all files from the session state. If they cannot be written, the log holds the same facts."""
    _write(session, _texts(state))


def refresh(session: str, state: SessionState) -> None:
    """Write the files that a process may not have written before it died. A contract that a person has edited stays."""
    file = directory(session) / EDITABLE
    keeps = file.is_file() and not _is_older(file, state)
    _write(session, ((name, text) for name, text in _texts(state) if name != EDITABLE or not keeps))


def _is_older(file: Path, state: SessionState) -> bool:
    """Return True if the file is the unchanged text of an earlier proposal."""
    contracts = [one.contract for one in state.proposals[:-1] if one.contract is not None]
    try:
        text = file_content(file).decode("utf-8", "replace")
    except BadToml:
        return False
    return text in [editable_text(contract_from(one)) for one in contracts]


def _write(session: str, texts: Iterable[tuple[str, str]]) -> None:
    with contextlib.suppress(OSError, BadInput):
        private_directory(directory(session))
        for name, text in texts:
            write_atomically(directory(session) / name, visible(text))


def remove(session: str) -> None:
    with contextlib.suppress(OSError):
        remove_tree(directory(session))


def plan_in(state: SessionState) -> Plan | None:
    """Return the plan in force; None if there is none."""
    plain = next((one.plan for one in reversed(state.proposals) if one.plan is not None), None)
    return Plan.load(plain) if plain is not None else None


def tracker_in(state: SessionState) -> Tracker | None:
    """Return the tracker of the plan in force, with all updates of its items."""
    plan = plan_in(state)
    if plan is None:
        return None
    tracker = Tracker.of(plan)
    for update in ItemUpdate.all_in(state.notes.get(NOTEBOOK, ())):
        tracker = tracker.updated(update)
    return tracker


def _texts(state: SessionState) -> Iterator[tuple[str, str]]:
    plan, tracker = plan_in(state), tracker_in(state)
    if plan is not None and tracker is not None:
        yield "spec.md", f"{plan.spec.rstrip()}\n"
        yield "tracker.md", f"{tracker.rendered().rstrip()}\n"
    if state.proposals:
        contract = contract_from(state.start_note["contract"])
        yield "contract.md", "\n".join(contract_lines(contract, state, plan)) + "\n"
        if state.proposals[-1].contract is not None:
            yield EDITABLE, editable_text(contract)
    evaluations = [one.opinion.evaluation for one in state.rounds if one.opinion and one.opinion.evaluation]
    if evaluations:
        yield (
            "evaluation.md",
            "\n".join(Evaluation.load(one).rendered(number) for number, one in enumerate(evaluations, 1)),
        )


def contract_lines(
    contract: Contract, state: SessionState, plan: Plan | None, for_model: bool = False
) -> Iterator[str]:
    """Yield the contract as text: each check with its status before the work, and what no check covers.

    People can see that there are held-out checks; a model cannot.
    """
    yield "# Contract"
    yield ""
    if plan is not None and plan.contract_words != default_contract_text(plan.items):
        yield from (*plan.contract_words.strip().splitlines(), "")
    yield "## Checks, and their results before the work"
    yield ""
    results = {one.name: one.status for one in state.baseline_results}
    for check in contract.checks:
        if check.held_out and for_model:
            continue
        where = "" if check.dir == "." else f" (in {check.dir})"
        command = "held out" if check.held_out else f"`{check.command}`"
        yield f"- {check.name}{where}: {command} (now: {results.get(check.name, 'not run')})"
        if check.output_contains and not check.held_out:
            yield f"  must print {check.output_contains!r}"
        if not check.expect_exit_zero:
            yield "  must exit with a status from 1 to 125"
    if state.proposals and state.proposals[-1].not_verified:
        yield from ("", "## Not verified by this contract", "")
        yield from (f"- {one}" for one in state.proposals[-1].not_verified)


def editable_text(contract: Contract) -> str:
    """Return the checks in the form of donewhen.toml, to be edited and read back."""
    import tomlkit

    head = "# The proposed contract of a session. You may edit it; `donewhen approve` accepts it as it is here.\n\n"
    checks: list[dict[str, Any]] = [contract_file.entry_of(check) for check in contract.checks]
    text = tomlkit.dumps({"check": checks}).encode("utf-8", "replace").decode()
    return head + escaped(text, _in_toml, keep="\n\t")


def _in_toml(char: str) -> str:
    """Return a character as a TOML escape, so that a person sees exactly what is read back."""
    return f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}"
