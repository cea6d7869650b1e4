"""What a person sees who decides on edits of protected paths: their sizes, the tests that they cost, and their diff.

The diff is exactly that between the judged tree and the candidate. Both kinds of decision use it: the gate for work
that is green only with its edits, and the optional one for edits that verified work left out.
"""

from donewhen.event_records import Amendment, CollectedTests, EditSize
from donewhen.events import GateOpened
from donewhen.judge.verdict import Verdict
from donewhen.session.log.notes import Judged
from donewhen.session.log.start_record import StartRecord, is_planned
from donewhen.session.log.state import LEFT_OUT_ID, SessionState
from donewhen.session.person import amendment_words, left_out
from donewhen.session.person.gates import GateKind
from donewhen.session.workplace import Workplace
from donewhen.workspace.git.store.bare import LARGEST_SHOWN

MOST_EDITS = 200
"""Edits that an event lists; the others are counted."""
LONGEST_DETAIL = 512 * 1024
"""Maximum characters of a detail: a record of the log has room for them, however they are escaped."""
NOT_EVALUATED = "No evaluator has looked at this work: an evaluator sees only work that is green without these edits."


async def gate(workplace: Workplace, start_record: StartRecord, state: SessionState, verdict: Verdict) -> GateOpened:
    """Return the gate for work that is green only with its edits. The verdict is the one on the candidate."""
    judged = state.last_judged
    assert judged is not None  # only judged work has such edits
    tests = tuple(
        _cost(result.name, result.tests.collected if result.tests else None, state) for result in verdict.results
    )
    known = tuple(one for one in tests if one.collected is not None or one.base is not None)
    edits = await _sizes(workplace, judged)
    head = [NOT_EVALUATED, ""] if is_planned(start_record.settings) else []
    head += [*amendment_words.cost_lines(known), ""] if known else []
    return GateOpened(
        gate=GateKind.AMENDMENT,
        id=GateKind.AMENDMENT.id(),
        reason=GateKind.AMENDMENT.reason,
        detail=await _detail(workplace, start_record.session, judged, head, edits),
        amendment=Amendment(tests=known, edits=edits[:MOST_EDITS], edit_count=len(edits)),
    )


async def offer(workplace: Workplace, start_record: StartRecord, state: SessionState, tree: str) -> GateOpened | None:
    """Return the optional decision on what a session left out that lands this tree; None if nothing was left out."""
    judged = state.last_judged
    if state.left_out is not None or judged is None or not judged.edits or judged.tree != tree:
        return None
    if judged.candidate is None or judged.candidate == tree:
        return None
    edits = await _sizes(workplace, judged)
    return GateOpened(
        gate=GateKind.AMENDMENT,
        id=LEFT_OUT_ID,
        reason=left_out.REASON,
        detail=await _detail(workplace, start_record.session, judged, [], edits),
        amendment=Amendment(edits=edits[:MOST_EDITS], edit_count=len(edits)),
        optional=True,
        expires_at=left_out.expiry(left_out.now()),
    )


def _cost(check: str, collected: int | None, state: SessionState) -> CollectedTests:
    base = state.base_tests.get(check)
    return CollectedTests(check=check, collected=collected, base=base.collected if base is not None else None)


async def _sizes(workplace: Workplace, judged: Judged) -> tuple[EditSize, ...]:
    counts = await workplace.store.line_counts(judged.tree or "", judged.candidate or "")
    sizes: list[EditSize] = []
    for edit in judged.edits or ():
        lines = counts.get(edit.path)
        added, removed = (lines.added, lines.removed) if lines is not None else (None, None)
        sizes.append(EditSize(path=edit.path, action=edit.action, added=added, removed=removed, reason=edit.reason))
    return tuple(sizes)


async def _detail(
    workplace: Workplace, session: str, judged: Judged, head: list[str], edits: tuple[EditSize, ...]
) -> str:
    diff = await workplace.store.patch(judged.tree or "", judged.candidate or "", LARGEST_SHOWN)
    lines = [*head, *amendment_words.edit_lines(edits, len(edits), reasons=True), ""]
    text = "\n".join(lines) + "\n" + diff.decode("utf-8", "replace")
    if len(text) <= LONGEST_DETAIL:
        return text
    return f"{text[:LONGEST_DETAIL]}\n… the rest is in: donewhen diff {session} --candidate\n"
