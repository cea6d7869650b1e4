"""The verb `donewhen show`: everything about one session."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import click

from donewhen.cli.group import one_line
from donewhen.cli.session_argument import session_argument
from donewhen.cli.verbs.list import state_of
from donewhen.cli.views.ending import EndingFacts, price
from donewhen.cli.views.event_lines import action_words
from donewhen.cli.views.subtask_states import AT_WORK, CHECKED, WAITS, SubtaskStates
from donewhen.engines.spec import EngineKind
from donewhen.event_records import NOT_GRADED
from donewhen.model.prices import is_free
from donewhen.server.methods.sessions import records_of, session_config, session_get
from donewhen.storage.record import Record

MOST_SUBTASKS = 40
BROKEN_OFF = {AT_WORK: "not finished", CHECKED: "not finished", WAITS: "not started"}


@click.command("show")
@session_argument
@click.option("--config", is_flag=True, help="Every setting and its source.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def command(session: str, config: bool, as_json: bool) -> int:
    """Show one session: intent, state, rounds, cost, and what it waits for.

    Without ID: the newest session of this repository.
    """
    if config:
        for entry in session_config(session):
            if as_json:
                click.echo(json.dumps(entry))
            else:
                name, value = f"{entry['table']}.{entry['key']}", json.dumps(entry["value"], ensure_ascii=False)
                click.echo(one_line(f"{name} = {value}  ({entry['source']})"))
        return 0
    known = session_get(session)
    if as_json:
        click.echo(json.dumps(known))
        return 0
    for line in _lines(known, _records(known)):
        click.echo(one_line(line))
    return 0


def _records(known: Mapping[str, Any]) -> list[Record]:
    """Return the events if they contain more than `known`; otherwise an empty list."""
    engines = (known["engine"], *(one["engine"] for one in known["rounds"]))
    has_subtasks = any(EngineKind.of(engine) is EngineKind.FOREMAN for engine in engines)
    return list(records_of(known["id"])) if has_subtasks else []


def _plan(records: list[Record], live: bool) -> Iterator[str]:
    """Yield lines about the plan and the result of each subtask."""
    subtasks = SubtaskStates()
    for record in records:
        subtasks.note(record.event)
    if subtasks.size:
        yield f"plan      {subtasks.size}"
    for one in [*subtasks.all.values()][:MOST_SUBTASKS]:
        state = one.state if live else BROKEN_OFF.get(one.state, one.state)
        yield f"subtask   {one.id}: {state}" + (f": {one.why}" if one.why else "")
    if len(subtasks.all) > MOST_SUBTASKS:
        yield f"          and {len(subtasks.all) - MOST_SUBTASKS} more"


def _optional(session: str, optional: dict[str, Any]) -> Iterator[str]:
    """Yield the edits that a verified session left out, and what a person decided or may decide about them."""
    yield f"optional  {optional['kind']}: {optional['reason']}"
    yield f"          {optional['words']}"
    if optional["status"] in ("open", "approved"):
        yield from (f"          {line.expandtabs()}" for line in optional["detail"].splitlines())
        deny = f"  |  donewhen deny {session}" if optional["status"] == "open" else ""
        yield f"          donewhen approve {session}{deny}"


def _lines(known: Mapping[str, Any], records: list[Record]) -> Iterator[str]:
    yield f"session   {known['id']}{' (running)' if known['live'] else ''}"
    yield f"intent    {known['intent']}"
    yield f"repo      {known['repo']} at {known['base'][:12]}"
    state = known["outcome"] or state_of(known)
    yield f"state     {state}" + (f": {known['reason']}" if known["reason"] else "")
    yield f"engine    {known['engine']} on {known['model']}, isolation {known['isolation']}"
    cost = price(known["usd"], EndingFacts(records).is_free if records else is_free(str(known["model"])))
    yield f"spent     {known['tokens']} tokens, {cost}, {known['active_secs']:.0f} s"
    for one in known["results"] or known["baseline"]:
        yield f"check     {one['name']}: {one['status']}"
    for one in known["contract"].get("checks", ()):
        yield f"contract  {one['name']}: {one['command']}" + (
            f" (in {one['dir']})" if one.get("dir", ".") != "." else ""
        )
    if known["amended"]:
        yield "amended   a person approved edits of protected paths; they count"
    for one in known["rounds"]:
        failing = ", ".join(f"{name} {status}" for name, status in one["failing"])
        opinion = f", {one['opinion']}" if one["opinion"] else ""
        yield f"round {one['n']:<3} {'green' if one['green'] else failing or one['stop'] or 'in progress'}{opinion}"
    if not known["gate"] or known["gate"]["kind"] != "plan":  # the person who must decide gets the complete plan below
        yield from _plan(records, known["live"])
    for name, path in known["artifacts"].items():
        if name.endswith(".md"):
            yield f"artifact  {path}"
        elif known["gate"] and known["gate"]["kind"] == "contract":
            yield f"to edit   {path}"
    for one in known["refused"]:
        yield f"refused   {one['path']} {one['reason']}; the last work was not judged"
    for path, action, _ in known["edits"]:
        yield f"edit      {NOT_GRADED}: {path} ({action})"
    if known["lost_records"]:
        yield f"damaged   {known['lost_records']} records of its log are lost"
    if known["landed"]:
        yield f"landed    {known['landed']['branch']} {known['landed']['commit'][:12]}"
        if known["landed"].get("note"):
            yield f"note      {known['landed']['note']}"
    if known["action"]:
        yield f"action    {action_words(known['action'])}"
    if known["optional"]:
        yield from _optional(known["id"], known["optional"])
    if known["question"]:
        yield f"question  {known['question']['prompt']}"
        yield f"          donewhen answer {known['id']} TEXT"
    if known["gate"]:
        yield f"waits     {known['gate']['kind']}: {known['gate']['reason']}"
        yield from (f"          {line.expandtabs()}" for line in known["gate"]["detail"].splitlines())
        may_change = known["gate"]["kind"] in ("plan", "contract")
        change = f"  |  donewhen answer {known['id']} 'WHAT TO CHANGE'" if may_change else ""
        yield f"          donewhen approve {known['id']}  |  donewhen deny {known['id']}{change}"
