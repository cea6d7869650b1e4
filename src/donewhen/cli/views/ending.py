"""Final output of a session on the command line: its outcome, and the commands to type next."""

import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import click

from donewhen.cli.group import one_line
from donewhen.cli.views.event_fields import amount, counted, objects, seconds, short, whole
from donewhen.cli.views.event_lines import MARKS, OUR_ENGINES, DecidingEvents, diff_words
from donewhen.cli.views.subtask_states import APPLIED, SubtaskStates
from donewhen.errors import DonewhenError
from donewhen.model.prices import is_free
from donewhen.server import methods
from donewhen.session.log import handoff
from donewhen.session.outcome import WORK_ON, Outcome, SessionResult
from donewhen.session.person.gates import DECIDE, Decision, GateKind
from donewhen.storage.record import Record


class EndingFacts:
    """Facts from the log of a session that are shown at its end."""

    def __init__(self, records: Iterable[Record]) -> None:
        self.facts: dict[str, Mapping[str, Any]] = {}
        """The latest event of each type."""
        self.open: dict[str, str] = {}
        """Pending questions and gates by id: `question`, or the kind of a gate."""
        self.checks: dict[str, Mapping[str, Any]] = {}
        """The latest result of each check on the work."""
        self.paid: set[str] = set()
        """Agents and models that may have cost money: external agents, and models that are not known to be free."""
        self.refused = False
        """True if a person denied a gate."""
        self.subtasks = SubtaskStates()
        self._deciding = DecidingEvents()
        for record in records:
            self._take(record)

    def _take(self, record: Record) -> None:
        body = record.body
        self.facts[record.kind] = body
        self.subtasks.take(record)
        match record.kind:
            case "question_asked":
                self.open[str(body.get("id"))] = "question"
            case "gate_opened":
                self.open[str(body.get("id"))] = str(body.get("gate"))
            case "question_answered" | "question_expired" | "gate_decided":
                self.open.pop(str(body.get("id")), None)
                self.refused |= body.get("decision") == Decision.DENIED
            case "engine_selected" if body.get("agent") or body.get("engine") not in OUR_ENGINES:
                self.paid.add(str(body.get("agent") or body.get("engine")))
            case "model_turn" if not is_free(str(body.get("model"))):
                self.paid.add(str(body.get("model")))
            case "check_completed" if self._deciding.is_said_by(body):
                self.checks[str(body.get("name"))] = body
            case "state_changed" if body.get("to") != "finished":
                self.facts.pop("session_finished", None)  # the session continued after that
            case _:
                pass

    def results(self) -> Iterable[Mapping[str, Any]]:
        return objects(self.get("session_finished").get("results")) or self.checks.values()

    @property
    def is_free(self) -> bool:
        """True if all models and agents that worked are known to be free."""
        return "model_turn" in self.facts and not self.paid

    def get(self, kind: str) -> Mapping[str, Any]:
        return self.facts.get(kind, {})


def show_ending(result: SessionResult, as_json: bool) -> None:
    """Print the outcome; on stderr with `as_json`, because stdout is then for a program."""
    ended = EndingFacts(_records(result.session))
    for line in facts_of(ended):
        click.echo(one_line(line), err=as_json)
    green = "green" if result.outcome is Outcome.VERIFIED else None
    line = one_line(f"{result.outcome}: {result.reason}")
    click.secho(line, fg=green, bold=True, err=as_json)
    if handoff.place(result.session).exists():
        click.echo(one_line(f"what was tried: {handoff.place(result.session)}"), err=as_json)
    for number, command in enumerate(next_commands(result, ended)):
        click.echo(one_line(f"{'     ' if number else 'next:'} {command}"), err=as_json)


def _records(session: str) -> list[Record]:
    """Return the events; none if the settings of this directory lead to another archive. The outcome is still shown."""
    try:
        return list(methods.session_events(session))
    except DonewhenError:
        return []


def facts_of(ended: EndingFacts) -> Iterator[str]:
    for one in ended.results():
        status = str(one.get("status"))
        yield f"  {MARKS.get(status, '?')} {one.get('name')}: {status}, {seconds(one.get('duration_ms'))}"
    for one in objects(ended.get("session_finished").get("refused")):
        yield f"  refused: {short(one.get('path'))} {short(one.get('reason'))}"
    yield from _plan_to_decide(ended)
    if missing := _missing_subtasks(ended):
        yield f"  {missing}"
    if ended.get("diff_ready"):
        yield f"  {diff_words(ended.get('diff_ready'))}"
    if landed := ended.get("landed"):
        yield f"  branch {landed.get('branch')} ({str(landed.get('commit'))[:12]})"
        if landed.get("note"):
            yield f"  note: {landed.get('note')}"
    if spent := ended.get("spend"):
        money = price(amount(spent.get("usd")), ended.is_free)
        rounds = whole(ended.get("session_finished").get("iterations"))
        told = f", {counted(rounds, 'round')}" if rounds else ""
        yield f"  {counted(spent.get('tokens'), 'token')}, {money}{told}"


def _plan_to_decide(ended: EndingFacts) -> Iterator[str]:
    """Yield the complete plan if it waits for a person's decision."""
    drafted = GateKind.CONTRACT in ended.open.values() and "planning_completed" in ended.facts
    if drafted or GateKind.PLAN in ended.open.values():
        yield from (f"  {line}" for line in str(ended.get("gate_opened").get("detail", "")).splitlines())


def _missing_subtasks(ended: EndingFacts) -> str:
    """Return a line about subtasks that were left out: the contract may be green without them."""
    known = ended.subtasks.all.values()
    missing = [one.id for one in known if one.state != APPLIED]
    is_built = len(missing) < len(known) and ended.get("engine_selected").get("engine") == "foreman"
    words = f"{len(known) - len(missing)} of {counted(len(known), 'subtask')} are in; left out: {', '.join(missing)}"
    return short(words) if missing and is_built else ""


def price(usd: float | None, free: bool) -> str:
    if usd is None:
        return "free" if free else "price unknown"
    return f"{usd:.4f} USD"


def next_commands(result: SessionResult, ended: EndingFacts) -> list[str]:
    """Return commands that a person may type next, the most likely first."""
    intent = str(ended.get("session_started").get("intent") or "INTENT")
    return [
        text.format(id=result.session, intent=shlex.quote(intent) if len(intent) < 80 else "INTENT")
        for text in _templates(result.outcome, ended)
    ]


def _templates(outcome: Outcome, ended: EndingFacts) -> Iterable[str]:
    if outcome is Outcome.VERIFIED and (branch := str(ended.get("landed").get("branch", ""))):
        is_own = branch.startswith("donewhen/")
        return ("donewhen diff {id}", "donewhen land {id} --onto BRANCH" if is_own else "donewhen receipt {id}")
    if outcome is Outcome.WAITING and ended.open:
        waits = [*ended.open.values()][-1]
        kind = GateKind.of(waits)
        return ("donewhen answer {id} TEXT",) if waits == "question" else kind.next if kind is not None else DECIDE
    is_sent_back = ended.get("evaluation_completed").get("status") == "rejected" and not ended.refused
    return WORK_ON if outcome is Outcome.REJECTED and is_sent_back else outcome.next
