"""Lines for people about proposals, plans, evaluations, subtasks and unions. Plain text without styles.

The texts, names and reasons come from a model or from a repository, so all of them are shortened.
"""

from collections.abc import Iterator, Sequence

from donewhen import events
from donewhen.cli.views.event_fields import count_text, mapping, name_of, names, objects, short, whole
from donewhen.event_records import GateReason, RejectionCause

MOST_LINES = 10
"""Maximum number of list lines of one event."""


def proposed_lines(event: events.ContractProposed) -> Iterator[str]:
    checks = objects(mapping(event.contract).get("checks"))
    listed = "; ".join(f"{short(one.get('name'))}: {short(one.get('command'))}" for one in checks)
    if event.revised is False:
        yield f"the contract was not revised: {short(event.reason)}"
    else:
        heading = "the contract was revised" if event.revised else "no contract yet; proposed"
        yield f"{heading}: {listed}"
    yield from _list_lines("not verified by this contract", event.not_verified)


def planned_lines(event: events.PlanningCompleted) -> Iterator[str]:
    """Yield lines such as `planned: 2 items`."""
    yield f"planned: {count_text(len(event.items), 'item')}"
    yield from _list_lines("the planner left it open", event.filled)


def evaluation_words(event: events.EvaluationCompleted) -> str:
    scores = ", ".join(f"{short(name)} {short(score)}" for name, score in mapping(event.scorecard).items())
    return f"evaluation: {event.status}{f' ({scores})' if scores else ''}: {short(event.summary)}"


def revision_words(event: events.RevisionStarted) -> str:
    where = f": {short(event.artifact)}" if event.artifact else ""
    return f"revision {event.round}{where}"


def _list_lines(heading: str, lines: Sequence[str]) -> Iterator[str]:
    yield from (f"  {heading}: {short(line)}" for line in lines[:MOST_LINES])
    if len(lines) > MOST_LINES:
        yield f"  {heading}: and {len(lines) - MOST_LINES} more"


MOST_SUBTASK_LINES = 10
"""Maximum number of causes shown for one event."""


def plan_words(event: events.PlanningCompleted) -> str:
    """Return a line such as `planned: 3 subtasks in 2 levels: a, b → c`."""
    one_session = "; one session is better" if event.prefer_single_session else ""
    levels = short(" → ".join(filter(None, (", ".join(names(level)) for level in event.levels))))
    return f"planned: {plan_size(event)}{f': {levels}' if levels else ''}{one_session}"


def plan_size(event: events.PlanningCompleted) -> str:
    return f"{count_text(len(event.subtasks), 'subtask')} in {count_text(len(event.levels), 'level')}"


def started_words(event: events.SubtaskStarted) -> str:
    id, attempt = name_of(event.id), whole(event.attempt)
    if attempt == 2:
        return f"  subtask {id} is retried after a failure"
    if attempt > 2:
        return f"  subtask {id} is retried on top of the combined patches"
    return f"  subtask {id} started"


def gated_words(event: events.SubtaskGated) -> str:
    """Return a line such as `  subtask a: rejected: b.py: VALUE is not in its footprint`."""
    reasons = short("; ".join(filter(None, map(reason_words, event.reasons))))
    notes = short("; ".join(map(short, event.notes)))
    why = (f": {reasons}" if reasons else "") + (f" ({notes})" if notes else "")
    return f"  subtask {name_of(event.id)}: {short(event.status)}{why}"


def reason_words(reason: GateReason) -> str:
    """Return `path: symbol words`."""
    where = ": ".join(filter(None, (short(reason.path), short(reason.symbol))))
    return " ".join(filter(None, (where, short(reason.words) or short(reason.code))))


def union_verified_words(event: events.UnionVerified) -> str:
    many = len(event.applied)
    words = f"union: {count_text(many, 'subtask')} {'passes' if many == 1 else 'pass together'}"
    merged = short(", ".join(short(one[0]) for one in event.reconciled if one))
    return words + (f"; merged by syntax: {merged}" if merged else "")


def union_rejected_lines(event: events.UnionRejected) -> Iterator[str]:
    """Yield a line for each subtask that is left out."""
    causes = rejection_causes(event, ", ".join(names(event.culprits)))
    for cause in causes[:MOST_SUBTASK_LINES]:
        partner = f" with {name_of(cause.partner)}" if cause.partner else ""
        yield f"union rejected ({short(cause.reason)}): {short(cause.culprit)}{partner}: {short(cause.detail)}"
    if len(causes) > MOST_SUBTASK_LINES:
        yield f"union rejected: {len(causes) - MOST_SUBTASK_LINES} more"


def rejection_causes(event: events.UnionRejected, *culprits: str) -> Sequence[RejectionCause]:
    """Return the causes. Logs of the first versions name only the most severe one, for all culprits."""
    return event.causes or [
        RejectionCause(culprit, event.partner, event.reason, None, (), event.detail) for culprit in culprits
    ]
