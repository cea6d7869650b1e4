"""Replay of a recorded session as a new session, with the recorded turns, answers and decisions.

If the recorded session was stopped, ended or left waiting, and then resumed, the new one is stopped, ends or waits at
the same point, and is resumed. A killed process leaves no trace in it: after its recovery, a killed run does what an
undisturbed run does. What a tool had done when it was stopped half-way cannot be replayed. Later landings
are not part of it. A session on which an agent worked cannot be replayed.
"""

import contextlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from donewhen.engines.spec import EngineKind
from donewhen.errors import BadInput
from donewhen.events import (
    ContractProposed,
    EngineSelected,
    GateDecided,
    QuestionAnswered,
    QuestionAsked,
    QuestionExpired,
    SessionFinished,
    StateChanged,
)
from donewhen.session.crew import crew
from donewhen.session.log.notes import OwnerChanged
from donewhen.session.log.open_archive import archive_of, local_settings
from donewhen.session.log.start_record import ADDRESS_TABLES, StartRecord, new_id
from donewhen.session.log.state import Plain, replay_log
from donewhen.session.log.writer import LogWriter
from donewhen.session.outcome import Outcome, SessionResult
from donewhen.session.person import edited_contract
from donewhen.session.person.gates import GateDecision, GateKind, Gates
from donewhen.session.person.watch import SessionWatcher
from donewhen.session.verbs import offline
from donewhen.session.verbs.start import begin, resume
from donewhen.session.workplace import open_workplace
from donewhen.storage.archive import Archive
from donewhen.storage.record import Record

Entry = Callable[[LogWriter], object]


@dataclass(slots=True)
class Segment:
    """What happened in a session from when an owner began to work on it until it ended or was left waiting."""

    answers: list[tuple[str, str | None]] = field(default_factory=list[tuple[str, str | None]])
    """Questions that were answered in it, in that order, with their answers; None if no answer came in time."""
    prompts: dict[str, str] = field(default_factory=dict[str, str])
    """Texts of its questions, by id."""
    decisions: dict[str, list[bool | str]] = field(default_factory=dict[str, "list[bool | str]"])
    """Decisions that were made while it ran, by the kind of the gate."""
    kinds: list[str] = field(default_factory=list[str])
    """Kinds of its events; if a person stopped it, up to that moment."""
    is_stopped: bool = False
    entries: list[Entry] = field(default_factory=list[Entry])
    """What other processes wrote after it."""
    approves_edits: bool = False
    """True if they approved a contract that a person had edited."""

    def add_event(self, record: Record) -> None:
        match record.event:
            case QuestionAnswered() as event:
                self.answers.append((self.prompts.get(event.id, ""), event.answer))
            case QuestionExpired() as event:
                self.answers.append((self.prompts.get(event.id, ""), None))
            case GateDecided() as event:
                text = event.answer if event.decision == GateDecision.CHANGED else None
                self.decisions.setdefault(event.gate, []).append(text or event.decision == GateDecision.APPROVED)
            case SessionFinished(outcome=Outcome.CANCELLED):
                self._stop()
            case event:
                if isinstance(event, QuestionAsked):
                    self.prompts[event.id] = event.prompt
                self.kinds.append(record.kind)

    def _stop(self) -> None:
        """Mark the segment as stopped, and drop the events of the end: a change of state and, if there is work, its
        size.
        """
        self.is_stopped = True
        for kind in ("state_changed", "diff_ready"):
            if self.kinds[-1:] == [kind]:
                self.kinds.pop()

    def add_entry(self, record: Record) -> None:
        match record.event:
            case QuestionAnswered(answer=answer):
                self.entries.append(lambda log: offline.answer(log, answer))
            case GateDecided() if edited_contract.is_edited(record.body):
                self.approves_edits = True  # the edited contract follows
            case ContractProposed(contract=contract) if edited_contract.is_by_person(record.body):
                write = _approve_edited if self.approves_edits else edited_contract.record_edits
                self.entries.append(lambda log: write(log, contract))
            case GateDecided(decision=GateDecision.CHANGED, answer=text):
                self.entries.append(lambda log: offline.answer(log, text))
            case GateDecided(decision=decision):
                self.entries.append(lambda log: offline.decide(log, decision == GateDecision.APPROVED))
            case SessionFinished(outcome=Outcome.CANCELLED):
                self.entries.append(offline.cancel)
            case _:
                pass

    def watcher(self, watch: SessionWatcher) -> SessionWatcher:
        """Return a watcher for the replay of this segment. Its person is the recorded one."""
        return replace(watch, person=ReplayedPerson(self), stops=StopMoment(self) if self.is_stopped else watch.stops)


def _approve_edited(log: LogWriter, contract: Plain) -> bool:
    return Gates(log, None).decide(True, "a person", contract)


class ReplayedPerson:
    """The person of a recorded session: gives the recorded answers and decisions."""

    def __init__(self, segment: Segment) -> None:
        self._answers = list(segment.answers)
        self._decisions = {kind: list(decided) for kind, decided in segment.decisions.items()}

    async def answer(self, prompt: str) -> str | None:
        """Return the answer to the same question. Several askers may come in another order than in the record."""
        known = next((one for one in self._answers if one[0] in (prompt, "")), None)
        if known is None:
            return None
        self._answers.remove(known)
        return known[1]

    async def decide(self, gate: GateKind, detail: str) -> bool | str | None:
        del detail
        left = self._decisions.get(gate)
        return left.pop(0) if left else None


class StopMoment:
    """The moment when a person stopped the recorded session: after the last event before that, or before any event."""

    def __init__(self, segment: Segment) -> None:
        self._after = segment.kinds[-1] if segment.kinds else ""
        self._left = segment.kinds.count(self._after)

    def __call__(self, record: Record | None) -> bool:
        if record is not None and record.kind == self._after:
            self._left -= 1
        return self._left <= 0


def segments(records: Iterable[Record]) -> list[Segment]:
    """Split a log where a session that had ended or waited was resumed."""
    found, is_idle, generation = [Segment()], False, 0
    for record in records:
        is_owned = record.kind == OwnerChanged.KIND and record.seq is None
        if is_owned and is_idle:
            found.append(Segment())
        is_idle = is_idle and not is_owned
        if is_idle and record.generation != generation:
            found[-1].add_entry(record)
            continue
        generation = record.generation  # another writer during the work continues what a killed one began
        if record.seq is not None:
            found[-1].add_event(record)
            is_idle |= isinstance(record.event, StateChanged) and record.event.to in ("waiting", "finished")
    return found


async def replay(prefix: str, watch: SessionWatcher) -> SessionResult:
    """Replay a recorded session. Return how the new one ends."""
    now = local_settings(*ADDRESS_TABLES)
    archive = archive_of(now)
    with contextlib.closing(archive):
        session = archive.find(prefix)
        state = replay_log(archive.records(session))
        if not state.start_note:
            raise BadInput(f"session {session} never started and cannot be replayed")
        if state.agent:
            raise BadInput(
                f"session {session} cannot be replayed: {state.agent} worked on it, and its model "
                "requests are not recorded"
            )
        events = [record.event for record in archive.events(session)]
        engines = [event.engine for event in events if isinstance(event, EngineSelected)]
        begun = state.started.contract if state.started is not None else state.start_note["contract"]
        as_begun = {**state.start_note, "contract": begun}  # later drafts are drafted again
        start_record = _as_replay(StartRecord.load(as_begun, now), engines)
        crew.require_valid(start_record.settings)
        proposals = [event.why for event in events if isinstance(event, ContractProposed)]
        proposed = () if start_record.drafts_contract else next(iter(proposals), ())
        first, *others = segments(archive.records(session))
        async with open_workplace(Path(start_record.repo), held=start_record.settings) as workplace:
            result = await begin(workplace, start_record, proposed, archive, first.watcher(watch))
        result = _repeat_entries(archive, first, result)
        before = first
        for segment in others:
            if result.outcome is Outcome.CANCELLED and not before.is_stopped and not before.entries:
                break  # the current person stopped it
            result = _repeat_entries(archive, segment, await resume(start_record.session, segment.watcher(watch)))
            before = segment
        return result


def _as_replay(start_record: StartRecord, engines: Sequence[str]) -> StartRecord:
    """Return the same session under another id. It does not change files of the checkout."""
    settings = start_record.settings.with_value("model", "use", f"replay:{start_record.session}", "replay")
    if settings.text("engine", "use") == EngineKind.AUTO and engines[:1] == [EngineKind.FOREMAN]:
        # auto would not choose it for a replay
        settings = settings.with_value("engine", "use", EngineKind.FOREMAN.value, "replay")
    settings = settings.with_value("planned", "evaluator_model", "", "replay")
    if settings.text("engine", "land") == "apply":
        settings = settings.with_value("engine", "land", "branch", "replay")
    return replace(start_record, session=new_id(), settings=settings)


def _repeat_entries(archive: Archive, segment: Segment, result: SessionResult) -> SessionResult:
    """Repeat what other processes wrote after a segment. Return the outcome after that."""
    if not segment.entries or result.outcome is not Outcome.WAITING:
        return result
    with offline.own(archive, result.session) as log:
        for write in segment.entries:
            write(log)
        ended = log.state.finished
    if ended is None:
        return result
    return SessionResult(result.session, Outcome(ended.outcome), ended.reason)
