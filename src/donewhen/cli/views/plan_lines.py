"""Lines for people about proposals, plans, evaluations, subtasks and unions. Plain text without styles.

The texts, names and reasons come from a model or from a repository, so all of them are shortened.
"""

from collections.abc import Iterator

from donewhen.cli.views.event_fields import Body, counted, items, mapping, name_of, names, objects, short, whole

MOST_LINES = 10
"""Maximum number of list lines of one event."""


def proposed_lines(body: Body) -> Iterator[str]:
    checks = objects(mapping(body.get("contract")).get("checks"))
    said = "; ".join(f"{short(one.get('name'))}: {short(one.get('command'))}" for one in checks)
    if body.get("revised") is False:
        yield f"the contract was not revised: {short(body.get('reason'))}"
    else:
        heading = "the contract was revised" if body.get("revised") else "there is no contract yet; proposed is"
        yield f"{heading}: {said}"
    yield from _listed("not verified by this contract", items(body.get("not_verified")))


def items_words(body: Body) -> str:
    """Return a line such as `planned: 2 items`."""
    return f"planned: {counted(len(items(body.get('items'))), 'item')}"


def planned_lines(body: Body) -> Iterator[str]:
    yield items_words(body)
    yield from _listed("the planner left it open", items(body.get("filled")))


def evaluation_words(body: Body) -> str:
    scores = ", ".join(f"{short(name)} {short(score)}" for name, score in mapping(body.get("scorecard")).items())
    return f"evaluation: {body.get('status')}{f' ({scores})' if scores else ''}: {short(body.get('summary'))}"


def revision_words(body: Body) -> str:
    where = f": {short(body.get('artifact'))}" if body.get("artifact") else ""
    return f"revision {body.get('round')}{where}"


def _listed(heading: str, lines: list[object]) -> Iterator[str]:
    yield from (f"  {heading}: {short(line)}" for line in lines[:MOST_LINES])
    if len(lines) > MOST_LINES:
        yield f"  {heading}: and {len(lines) - MOST_LINES} more"


MOST_SUBTASK_LINES = 10
"""Maximum number of causes shown for one event."""


def plan_words(body: Body) -> str:
    """Return a line such as `planned: 3 subtasks in 2 levels: a, b → c`."""
    one_session = "; one session is better" if body.get("prefer_single_session") else ""
    return f"planned: {plan_size(body)}{_in_levels(body)}{one_session}"


def plan_size(body: Body) -> str:
    subtasks, levels = _how_many(body.get("subtasks")), _how_many(body.get("levels"))
    return f"{counted(subtasks, 'subtask')} in {counted(levels, 'level')}"


def _how_many(value: object) -> int:
    """Return the length of a list, or the value itself if the plan contains only a number."""
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
    """Return a line such as `  subtask a: rejected: b.py: VALUE is not in its footprint`."""
    reasons = short("; ".join(filter(None, map(reason_words, items(body.get("reasons"))))))
    notes = short("; ".join(map(short, items(body.get("notes")))))
    why = (f": {reasons}" if reasons else "") + (f" ({notes})" if notes else "")
    return f"  subtask {name_of(body.get('id'))}: {short(body.get('status'))}{why}"


def reason_words(reason: object) -> str:
    """Return `path: symbol words`; a reason may also be plain text."""
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
    """Yield a line for each subtask that is left out."""
    causes = objects(body.get("causes")) or [{**body, "culprit": ", ".join(names(body.get("culprits")))}]
    for cause in causes[:MOST_SUBTASK_LINES]:
        partner = f" with {name_of(cause['partner'])}" if cause.get("partner") else ""
        culprit = short(cause.get("culprit"))
        yield f"union rejected ({short(cause.get('reason'))}): {culprit}{partner}: {short(cause.get('detail'))}"
    if len(causes) > MOST_SUBTASK_LINES:
        yield f"union rejected: {len(causes) - MOST_SUBTASK_LINES} more"
