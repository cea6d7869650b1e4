"""Feedback text for an engine: the failing checks, the end of their output, and the edits that were not graded.

A held-out check is reported only as failed, without details.
"""

from collections.abc import Sequence

from donewhen.event_records import NOT_GRADED, RefusedPath
from donewhen.judge import output_tail
from donewhen.judge.contract import Contract
from donewhen.judge.verdict import CheckStatus, Edit, Result, Verdict

TAIL_BYTES = 4 * 1024
"""Output shown for each failing check. It is small because many checks can fail."""

SAME_AGAIN = (
    "Same tree and failures as in an earlier round. Repeating this ends the session: rethink "
    "the failure and try something different."
)

CLAIM_REFUSED = "A person denied your claim that nothing should change. Do the work."


def of_verdict(verdict: Verdict, contract: Contract) -> str:
    """Return the feedback for a tree that is not green."""
    checks = {check.name: check for check in contract.checks}
    red = [one for one in verdict.results if one.status is not CheckStatus.PASS and not one.quarantined]
    shown = [one for one in red if not checks[one.name].held_out]
    passed = len(verdict.results) - len([one for one in verdict.results if one.status is not CheckStatus.PASS])
    blocks = [f"The runtime ran the checks on your work: {passed} of {len(verdict.results)} passed. Not passed:"]
    blocks += [_failure_text(one, checks[one.name].command) for one in shown]
    blocks += ["## a held-out check: fail\nNothing more is shown about it."] * (len(red) - len(shown))
    if verdict.edits:
        blocks.append(_not_graded(verdict.edits))
    return "\n\n".join(blocks)


def of_refusal(reason: str, paths: Sequence[RefusedPath] = ()) -> str:
    """Return the feedback for a tree that cannot be captured as a candidate."""
    words = f"Your work could not be judged, because it contains something that cannot be part of it: {reason}"
    return "\n".join([words, *(f"- {one.path} {one.reason}" for one in paths)])


def _failure_text(result: Result, command: str) -> str:
    how = [] if result.exit_code is None else [f"exit code {result.exit_code}"]
    how += [] if result.signal is None else [f"signal {result.signal}"]
    heading = f"## {result.name}: {result.status.value}" + (f" ({', '.join(how)})" if how else "")
    lines = [heading, f"command: {command}", *result.reasons]
    output = _end(output_tail.plain(result.output_tail))
    return "\n".join([*lines, "the end of its output:", output] if output.strip() else lines)


def _end(text: str) -> str:
    data = text.encode()
    if len(data) <= TAIL_BYTES:
        return text
    return "…" + data[-TAIL_BYTES:].decode("utf-8", "ignore")


def _not_graded(edits: Sequence[Edit]) -> str:
    lines = [f"{NOT_GRADED}: {edit.path} ({edit.action}): {edit.reason}" for edit in edits]
    return "\n".join([*lines, "This happens whatever you write there. Continue without these edits."])
