"""Check history of a session as the memory uses it: check statuses and failure signatures per judged tree.

It is folded from the session state. Nothing is decided or stored here.
"""

import datetime
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from donewhen.event_records import CheckResult
from donewhen.judge.contract import Contract
from donewhen.records import frozen
from donewhen.session.log.state import SessionState


@frozen
class JudgedTree:
    """The result of judging one tree."""

    tree: str
    statuses: Mapping[str, str]
    """Check statuses, by check."""
    signatures: Mapping[str, Mapping[str, Any]]
    """Failure signatures by check, of the failed checks that may be shown."""


def judged_trees(state: SessionState, up_to: int | None = None) -> Iterator[JudgedTree]:
    """Yield the judged trees, newest first and the baseline last. Trees that could not be judged are skipped."""
    for one in reversed(state.rounds):
        judged = one.judged
        if judged is not None and judged.results is not None and (up_to is None or one.n <= up_to):
            yield JudgedTree(judged.tree or "", statuses(judged.results), judged.signatures or {})
    if state.baseline_note is not None:
        yield JudgedTree(state.baseline_note.tree, statuses(state.baseline_results), state.baseline_note.signatures)


def statuses(results: Iterable[CheckResult]) -> dict[str, str]:
    return {one.name: one.status for one in results}


def is_worse(now: JudgedTree, before: JudgedTree, contract: Contract) -> bool:
    """Return True if a deciding check passed before and does not pass now."""
    today = datetime.datetime.now().astimezone().date()
    deciding = [check.name for check in contract.checks if not check.in_quarantine(today)]
    return any(before.statuses.get(name) == "pass" and now.statuses.get(name) != "pass" for name in deciding)


def is_flaky(state: SessionState, check: str) -> bool:
    """Return True if the check was seen to be flaky. Its changes then say nothing about the work."""
    return any(one.statuses.get(check) == "flaky" for one in judged_trees(state))


def failed_hints(state: SessionState) -> Iterator[tuple[str, str]]:
    """Yield the repairs whose hints were shown in this session and did not help, each with its check."""
    for one in state.rounds:
        results = one.judged.results if one.judged is not None else None
        if one.hint is None or not one.hint.text or results is None:
            continue
        if statuses(results).get(one.hint.check) != "pass":
            yield one.hint.repair, one.hint.check
