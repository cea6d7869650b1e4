"""A recorded session played again, by its recorded turns, answers and decisions, as a session of its own.

Where the record was stopped, ended or left to wait, and somebody went on with it, the new one is stopped, ends or waits
at the same point, and goes on. A process that was killed leaves no trace in it: what a killed run does after its
recovery is what an undisturbed one would have done. Where a tool was stopped half-way, what it had done by then cannot
be played again. Later landings are not part of it. Nor can a session be played on which somebody else's agent worked.
"""

import contextlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from donewhen.errors import BadInput
from donewhen.session import assemble, entries, taking
from donewhen.session import opened as opening
from donewhen.session.archives import archive_of, near
from donewhen.session.opened import Opened, new_id
from donewhen.session.outcome import Outcome
from donewhen.session.recorder import Recorder
from donewhen.session.starting import Watch, begin, resume
from donewhen.session.story import OWNED, told
from donewhen.session.workplace import open_workplace
from donewhen.storage.archive import Archive
from donewhen.storage.record import Record

Entry = Callable[[Recorder], object]


@dataclass(slots=True)
class Leg:
    """What happened of a session from when somebody began to work on it until it ended or was left to wait."""

    answers: list[tuple[str, str | None]] = field(default_factory=list[tuple[str, str | None]])
    """The questions that were answered in it, in that order, with their answers; None where nobody answered in time."""
    prompts: dict[str, str] = field(default_factory=dict[str, str])
    """The words of its questions by their ids."""
    decisions: dict[str, list[bool | str]] = field(default_factory=dict[str, "list[bool | str]"])
    """By the kind of a gate, those that were taken while it ran."""
    kinds: list[str] = field(default_factory=list[str])
    """Of its events; when a person stopped it, up to that moment."""
    is_stopped: bool = False
    entries: list[Entry] = field(default_factory=list[Entry])
    """What others wrote behind it."""
    takes_edits: bool = False
    """Whether that was a yes to a contract that they had edited."""

    def take(self, record: Record) -> None:
        body = record.body
        match record.kind:
            case "question_answered":
                self.answers.append((self.prompts.get(str(body["id"]), ""), str(body["answer"])))
            case "question_expired":
                self.answers.append((self.prompts.get(str(body["id"]), ""), None))
            case "gate_decided":
                words = str(body["answer"]) if body["decision"] == "changed" else None
                self.decisions.setdefault(str(body["gate"]), []).append(words or body["decision"] == "approved")
            case "session_finished" if body["outcome"] == "cancelled":
                self._stop()
            case _:
                if record.kind == "question_asked":
                    self.prompts[str(body["id"])] = str(body["prompt"])
                self.kinds.append(record.kind)

    def _stop(self) -> None:
        """The last word comes with a change of state and, where there is work, with its size."""
        self.is_stopped = True
        for kind in ("state_changed", "diff_ready"):
            if self.kinds[-1:] == [kind]:
                self.kinds.pop()

    def take_entry(self, record: Record) -> None:
        body = record.body
        match record.kind:
            case "question_answered":
                self.entries.append(lambda log: entries.answer(log, str(body["answer"])))
            case "gate_decided" if taking.is_edited(body):
                self.takes_edits = True  # what it was edited to follows
            case "contract_proposed" if taking.is_by_person(body):
                put = taking.taken_with if self.takes_edits else taking.proposed_with
                self.entries.append(lambda log: put(log, body["contract"]))
            case "gate_decided" if body["decision"] == "changed":
                self.entries.append(lambda log: entries.answer(log, str(body["answer"])))
            case "gate_decided":
                self.entries.append(lambda log: entries.decide(log, body["decision"] == "approved"))
            case "session_finished" if body["outcome"] == "cancelled":
                self.entries.append(entries.cancel)
            case _:
                pass

    def again(self, watch: Watch) -> Watch:
        """For those who watch the leg played again; the person is the one of then."""
        return replace(watch, person=Recalled(self), stops=Moment(self) if self.is_stopped else watch.stops)


class Recalled:
    """A person of an earlier time: gives the answers and takes the decisions that were given and taken then."""

    def __init__(self, leg: Leg) -> None:
        self._answers = list(leg.answers)
        self._decisions = {kind: list(taken) for kind, taken in leg.decisions.items()}

    async def answer(self, prompt: str) -> str | None:
        """That to the same question; several who ask may come in another order than then."""
        known = next((one for one in self._answers if one[0] in (prompt, "")), None)
        if known is None:
            return None
        self._answers.remove(known)
        return known[1]

    async def decide(self, gate: str, reason: str, detail: str) -> bool | str | None:
        del reason, detail
        left = self._decisions.get(gate)
        return left.pop(0) if left else None


class Moment:
    """When the person of then stopped it: after the last event before that, or before there was any."""

    def __init__(self, leg: Leg) -> None:
        self._after = leg.kinds[-1] if leg.kinds else ""
        self._left = leg.kinds.count(self._after)

    def __call__(self, record: Record | None) -> bool:
        if record is not None and record.kind == self._after:
            self._left -= 1
        return self._left <= 0


def legs(records: Iterable[Record]) -> list[Leg]:
    """A log cut where somebody went on with what had ended or waited."""
    found, is_resting, generation = [Leg()], False, 0
    for record in records:
        is_owned = record.kind == OWNED and record.seq is None
        if is_owned and is_resting:
            found.append(Leg())
        is_resting = is_resting and not is_owned
        if is_resting and record.generation != generation:
            found[-1].take_entry(record)
            continue
        generation = record.generation  # who writes while nothing rests goes on with what a killed one began
        if record.seq is not None:
            found[-1].take(record)
            is_resting |= record.kind == "state_changed" and record.body["to"] in ("waiting", "finished")
    return found


async def replay(prefix: str, watch: Watch) -> Outcome:
    """Play a recorded session again; how the new one ends."""
    now = near()
    archive = archive_of(now)
    with contextlib.closing(archive):
        session = archive.find(prefix)
        story = told(archive.records(session))
        if not story.opened:
            raise BadInput(f"session {session} was never opened completely; there is nothing to play")
        if story.agent:
            raise BadInput(
                f"session {session} cannot be played again: {story.agent} worked on it, and what it asked its model is "
                "not on record"
            )
        engines = [str(record.body["engine"]) for record in archive.records(session, kinds=("engine_selected",))]
        as_begun = {**story.opened, "contract": story.started["contract"]}  # what was drafted since is drafted again
        known = _again(opening.from_plain(as_begun, now), engines)
        assemble.require_sense(known.settings)
        proposals = archive.records(session, kinds=("contract_proposed",))
        proposed = () if known.drafts else next((tuple(record.body["why"]) for record in proposals), ())
        first, *others = legs(archive.records(session))
        async with open_workplace(Path(known.repo), held=known.settings) as place:
            outcome = await begin(place, known, proposed, archive, first.again(watch))
        outcome = _with_entries(archive, first, outcome)
        before = first
        for leg in others:
            if outcome.name == "cancelled" and not before.is_stopped and not before.entries:
                break  # the person of now stopped it
            outcome = _with_entries(archive, leg, await resume(known.session, leg.again(watch)))
            before = leg
        return outcome


def _again(known: Opened, engines: Sequence[str]) -> Opened:
    """The same session under another id; files of the checkout are left alone."""
    settings = known.settings.with_value("model", "use", f"replay:{known.session}", "replay")
    if settings.text("engine", "use") == "auto" and engines[:1] == ["foreman"]:
        settings = settings.with_value("engine", "use", "foreman", "replay")  # what led to it then is not there now
    settings = settings.with_value("planned", "evaluator_model", "", "replay")
    if settings.text("engine", "land") == "apply":
        settings = settings.with_value("engine", "land", "branch", "replay")
    return replace(known, session=new_id(), settings=settings)


def _with_entries(archive: Archive, leg: Leg, outcome: Outcome) -> Outcome:
    """What others wrote behind a leg, written again; the outcome after that."""
    if not leg.entries or outcome.name != "waiting":
        return outcome
    with entries.owning(archive, outcome.session) as log:
        for write in leg.entries:
            write(log)
        ended = log.story.finished
    return outcome if ended is None else Outcome(outcome.session, str(ended["outcome"]), str(ended["reason"]))
