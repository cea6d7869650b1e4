"""Final output of a session on the command line: its outcome, and the commands to type next."""

import datetime
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from donewhen import events
from donewhen.cli.group import one_line
from donewhen.cli.views.event_fields import amount, count_text, mapping, seconds, short, whole
from donewhen.cli.views.event_lines import MARKS, DecidingEvents, diff_words
from donewhen.cli.views.subtask_states import APPLIED, SubtaskStates
from donewhen.engines.spec import EngineKind, is_ours
from donewhen.errors import DonewhenError
from donewhen.event_records import CheckResult
from donewhen.events import Event
from donewhen.model.prices import is_free
from donewhen.session.outcome import WORK_ON, Outcome, SessionResult
from donewhen.session.person import amendment_words
from donewhen.session.person.gates import DECIDE, GateDecision, GateKind
from donewhen.session.person.left_out import now
from donewhen.storage.record import Record

if TYPE_CHECKING:
    from donewhen.server.methods.results import SessionEnding

E = TypeVar("E", bound=Event)


class EndingFacts:
    """Facts from the log of a session that are shown at its end."""

    def __init__(self, records: Iterable[Record]) -> None:
        self.open: dict[str, str] = {}
        """Pending questions and gates by id: `question`, or the kind of a gate."""
        self.checks: dict[str, CheckResult] = {}
        """The latest result of each check on the work."""
        self.paid: set[str] = set()
        """Agents and models that may have cost money: external agents, and models that are not known to be free."""
        self.refused = False
        """True if a person denied a gate."""
        self.left_out: events.GateOpened | None = None
        """The optional decision on left-out edits, until it is made."""
        self.subtasks = SubtaskStates()
        self._latest: dict[type[Event], Event] = {}
        self._deciding = DecidingEvents()
        for record in records:
            self._note(record.event)

    def _note(self, event: Event) -> None:
        self._latest[type(event)] = event
        self.subtasks.note(event)
        match event:
            case events.QuestionAsked():
                self.open[event.id] = "question"
            case events.GateOpened(optional=True):
                self.left_out = event
            case events.GateOpened():
                self.open[event.id] = event.gate
            case events.QuestionAnswered() | events.QuestionExpired():
                self.open.pop(event.id, None)
            case events.GateDecided() if self.left_out is not None and event.id == self.left_out.id:
                self.left_out = None
            case events.GateDecided():
                self.open.pop(event.id, None)
                self.refused |= event.decision == GateDecision.DENIED
            case events.EngineSelected() if event.agent or not is_ours(event.engine):
                self.paid.add(event.agent or event.engine)
            case events.ModelTurn() if not is_free(event.model):
                self.paid.add(event.model)
            case events.CheckCompleted() if self._deciding.decides(event):
                self.checks[event.name] = CheckResult(event.name, event.status, event.exit_code, event.duration_ms)
            case events.StateChanged() if event.to != "finished":
                self._latest.pop(events.SessionFinished, None)  # the session continued after that
            case _:
                pass

    def results(self) -> Iterable[CheckResult]:
        finished = self.latest(events.SessionFinished)
        return (finished and finished.results) or self.checks.values()

    @property
    def is_free(self) -> bool:
        """True if all models and agents that worked are known to be free."""
        return self.latest(events.ModelTurn) is not None and not self.paid

    @property
    def is_denied_round(self) -> bool:
        """True if the work of a loop round was denied, or expired, so that its branch was removed."""
        finished = self.latest(events.RoundFinished)
        return finished is not None and finished.decision not in ("", GateDecision.APPROVED)

    @property
    def is_on_forge(self) -> bool:
        """True if the branch of a loop round is on the forge, and not here."""
        finished = self.latest(events.RoundFinished)
        action = mapping(finished.action if finished is not None else None)
        return bool(action.get("url") and action.get("branch"))

    def latest(self, cls: type[E]) -> E | None:
        """Return the latest event of a class."""
        event = self._latest.get(cls)
        return event if isinstance(event, cls) else None


def show_ending(ended: "SessionEnding", as_json: bool, records: Iterable[Record] | None = None) -> None:
    """Print the outcome; on stderr with `as_json`, because stdout is then for a program.

    `records` are the events of the session, if the caller has them.
    """
    result = SessionResult(ended["id"], Outcome(ended["outcome"]), ended["reason"])
    facts = EndingFacts(_records(result.session) if records is None else records)
    for line in facts_of(facts):
        click.echo(one_line(line), err=as_json)
    green = "green" if result.outcome is Outcome.VERIFIED else None
    line = one_line(f"{result.outcome}: {result.reason}")
    click.secho(line, fg=green, bold=True, err=as_json)
    if not result.outcome.is_success and (tried := _handoff_file(result.session)).exists():
        click.echo(one_line(f"what was tried: {tried}"), err=as_json)
    for number, command in enumerate(next_commands(result, facts)):
        click.echo(one_line(f"{'     ' if number else 'next:'} {command}"), err=as_json)
    for line in _optional_lines(result.session, facts):
        click.echo(one_line(line), err=as_json)


def _optional_lines(session: str, facts: EndingFacts) -> Iterator[str]:
    """Yield what a person may decide although nothing waits for it."""
    gate = facts.left_out
    if gate is None or not gate.expires_at or now() >= datetime.datetime.fromisoformat(gate.expires_at):
        return
    yield f"optional until {gate.expires_at}: judge the work with these edits and land them as a second commit, or not"
    yield f"      donewhen approve {session}"
    yield f"      donewhen deny {session}"


def _handoff_file(session: str) -> Path:
    from donewhen.session.log import handoff  # loaded on use: verified work has none

    return handoff.path(session)


def _records(session: str) -> list[Record]:
    """Return the events; none if the settings of this directory lead to another archive. The outcome is still shown."""
    from donewhen.server.methods.sessions import records_of  # loaded on use: a caller may have the events

    try:
        return list(records_of(session))
    except DonewhenError:
        return []


def facts_of(facts: EndingFacts) -> Iterator[str]:
    for one in facts.results():
        yield f"  {MARKS.get(one.status, '?')} {one.name}: {one.status}, {seconds(one.duration_ms)}"
    finished = facts.latest(events.SessionFinished)
    for one in finished.refused if finished else ():
        yield f"  refused: {short(one.path)} {short(one.reason)}"
    yield from _plan_to_decide(facts)
    gate = facts.latest(events.GateOpened)
    if gate is not None and gate.id in facts.open and gate.amendment is not None:
        yield from (f"  {line}" for line in amendment_words.cost_lines(gate.amendment.tests))
    if missing := _missing_subtasks(facts):
        yield f"  {missing}"
    if diff := facts.latest(events.DiffReady):
        yield f"  {diff_words(diff)}"
    if (landed := facts.latest(events.Landed)) and not facts.is_denied_round:
        yield f"  branch {landed.branch} ({landed.commit[:12]})"
        if landed.note:
            yield f"  note: {landed.note}"
    left_out = facts.left_out.amendment if facts.left_out is not None else None
    if left_out is not None:
        lines = amendment_words.edit_lines(left_out.edits, left_out.edit_count)
        yield from (f"  {short(line)}" for line in lines)
    if spent := facts.latest(events.Spend):
        money = price(amount(spent.usd), facts.is_free)
        rounds = whole(finished.iterations) if finished else 0
        in_rounds = f", {count_text(rounds, 'round')}" if rounds else ""
        yield f"  {count_text(spent.tokens, 'token')}, {money}{in_rounds}"


def _plan_to_decide(facts: EndingFacts) -> Iterator[str]:
    """Yield the complete plan if it waits for a person's decision."""
    drafted = GateKind.CONTRACT in facts.open.values() and facts.latest(events.PlanningCompleted)
    gate = facts.latest(events.GateOpened)
    if gate and (drafted or GateKind.PLAN in facts.open.values()):
        yield from (f"  {line}" for line in gate.detail.splitlines())


def _missing_subtasks(facts: EndingFacts) -> str:
    """Return a line about subtasks that were left out: the contract may be green without them."""
    known = facts.subtasks.all.values()
    missing = [one.id for one in known if one.state != APPLIED]
    engine = facts.latest(events.EngineSelected)
    is_built = len(missing) < len(known) and engine is not None and engine.engine == EngineKind.FOREMAN
    words = f"{len(known) - len(missing)} of {count_text(len(known), 'subtask')} are in; left out: {', '.join(missing)}"
    return short(words) if missing and is_built else ""


def price(usd: float | None, free: bool) -> str:
    if usd is None:
        return "free" if free else "price unknown"
    return f"{usd:.4f} USD"


def next_commands(result: SessionResult, facts: EndingFacts) -> list[str]:
    """Return commands that a person may type next, the most likely first."""
    started = facts.latest(events.SessionStarted)
    intent = (started and started.intent) or "INTENT"
    return [
        text.format(id=result.session, intent=shlex.quote(intent) if len(intent) < 80 else "INTENT")
        for text in _templates(result.outcome, facts)
    ]


def _templates(outcome: Outcome, facts: EndingFacts) -> Iterable[str]:
    if outcome is Outcome.VERIFIED and (landed := facts.latest(events.Landed)):
        is_own = landed.branch.startswith("donewhen/") and not facts.is_on_forge
        return ("donewhen diff {id}", "donewhen land {id} --onto BRANCH" if is_own else "donewhen receipt {id}")
    if outcome is Outcome.WAITING and facts.open:
        waits = [*facts.open.values()][-1]
        kind = GateKind.of(waits)
        return ("donewhen answer {id} TEXT",) if waits == "question" else kind.next if kind is not None else DECIDE
    evaluated = facts.latest(events.EvaluationCompleted)
    is_sent_back = evaluated is not None and evaluated.status == "rejected" and not facts.refused
    return WORK_ON if outcome is Outcome.REJECTED and is_sent_back else outcome.next
