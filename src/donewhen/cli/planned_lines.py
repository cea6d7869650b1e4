"""What is proposed and what an evaluator says, as lines for people. Words only.

All of it comes from a model, so all of it is kept short.
"""

from collections.abc import Iterator

from donewhen.cli.fields import Body, counted, items, mapping, objects, short

MOST_LINES = 10
"""Of one event."""


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
    """`planned: 2 items`."""
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
