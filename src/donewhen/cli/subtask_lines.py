"""What many hands do, as lines for people: the plan, each subtask, the union. Words only.

Names and reasons come from a model or from a repository, so all of them are kept short.
"""

from collections.abc import Iterator

from donewhen.cli.fields import Body, counted, items, mapping, name_of, names, objects, short, whole

MOST_LINES = 10
"""Of one event."""


def plan_words(body: Body) -> str:
    """`planned: 3 subtasks in 2 levels: a, b → c`."""
    one_session = "; one session is better" if body.get("prefer_single_session") else ""
    return f"planned: {plan_size(body)}{_in_levels(body)}{one_session}"


def plan_size(body: Body) -> str:
    subtasks, levels = _how_many(body.get("subtasks")), _how_many(body.get("levels"))
    return f"{counted(subtasks, 'subtask')} in {counted(levels, 'level')}"


def _how_many(value: object) -> int:
    """Of a list; a plan may also say the number alone."""
    return len(items(value)) or whole(value)


def _in_levels(body: Body) -> str:
    levels = [", ".join(names(level)) for level in items(body.get("levels"))]
    said = short(" → ".join(filter(None, levels)))
    return f": {said}" if said else ""


def started_words(body: Body) -> str:
    id, attempt = name_of(body.get("id")), whole(body.get("attempt"))
    if attempt == 2:
        return f"  subtask {id} is tried again after a failure"
    if attempt > 2:
        return f"  subtask {id} is offered again on top of the others"
    return f"  subtask {id} started"


def gated_words(body: Body) -> str:
    """`  subtask a: rejected: b.py: VALUE is not in its footprint`."""
    reasons = short("; ".join(filter(None, map(reason_words, items(body.get("reasons"))))))
    notes = short("; ".join(map(short, items(body.get("notes")))))
    why = (f": {reasons}" if reasons else "") + (f" ({notes})" if notes else "")
    return f"  subtask {name_of(body.get('id'))}: {short(body.get('status'))}{why}"


def reason_words(reason: object) -> str:
    """`path: symbol words`; a reason may also be a mere text."""
    known = mapping(reason)
    if not known:
        return short(reason) if isinstance(reason, str) else ""
    where = ": ".join(filter(None, (short(known.get("path")), short(known.get("symbol")))))
    return " ".join(filter(None, (where, short(known.get("words")) or short(known.get("code")))))


def union_verified_words(body: Body) -> str:
    many = len(items(body.get("applied")))
    words = f"union: {counted(many, 'subtask')} {'passes' if many == 1 else 'pass together'}"
    merged = short(", ".join(short(one[0]) for one in map(items, items(body.get("reconciled"))) if one))
    return words + (f"; merged by syntax: {merged}" if merged else "")


def union_rejected_lines(body: Body) -> Iterator[str]:
    """A line for each who is left out."""
    causes = objects(body.get("causes")) or [{**body, "culprit": ", ".join(names(body.get("culprits")))}]
    for cause in causes[:MOST_LINES]:
        partner = f" with {name_of(cause['partner'])}" if cause.get("partner") else ""
        culprit = short(cause.get("culprit"))
        yield f"union rejected ({short(cause.get('reason'))}): {culprit}{partner}: {short(cause.get('detail'))}"
    if len(causes) > MOST_LINES:
        yield f"union rejected: {len(causes) - MOST_LINES} more"
