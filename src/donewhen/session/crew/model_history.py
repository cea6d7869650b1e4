"""Data from earlier sessions: which model led to verified work at which cost, and recorded turns to replay."""

import anyio.lowlevel

from donewhen.engines.native.notes import TurnFailedNote, TurnNote
from donewhen.errors import BadInput
from donewhen.model.interface import OnText, Reply, Turn
from donewhen.model.name import ModelName
from donewhen.model.replay import MakeFailure, Replay
from donewhen.model.router import Experience
from donewhen.session.log.state import replay_log
from donewhen.session.outcome import Outcome
from donewhen.storage.archive import Archive

MOST_SESSIONS = 200
KINDS = ("session_started", "model_selected", "model_fallback", "spend", "session_finished")


def outcomes_by_model(archive: Archive) -> list[Experience]:
    """Return the results of the newest sessions, with the model that worked on each."""
    found: list[Experience] = []
    for row in archive.sessions(limit=MOST_SESSIONS):
        if row.state == "finished":
            state = replay_log(archive.records(row.id, kinds=KINDS))
            outcome = Outcome.of(row.outcome)
            if state.model and outcome is not None and outcome.rates_model:
                found.append(Experience(state.model, outcome is Outcome.VERIFIED, state.usd))
    return found


class RecordedTurns(Replay):
    """Recorded turns with a cancellation point at each turn, as with a real model."""

    async def reply(self, turn: Turn, on_text: OnText | None = None) -> Reply:
        await anyio.lowlevel.checkpoint()
        return await super().reply(turn, on_text)


def recorded_turns(archive: Archive, name: str) -> Replay:
    """Return a model that repeats the recorded replies of a session."""
    session = archive.find(ModelName.parse(name).name)
    turns: dict[str, list[Reply | MakeFailure]] = {}
    for record in archive.records(session):
        kind = record.kind.partition(".")[2]
        if kind == TurnNote.KIND:
            turn = TurnNote.load(record.body)
            turns.setdefault(turn.role, []).append(turn.reply)
        elif kind == TurnFailedNote.KIND:
            failed = TurnFailedNote.load(record.body)
            turns.setdefault(failed.role, []).append(failed.failure)
    if not turns:
        raise BadInput(f"{name}: session {session} has no recorded turns")
    return RecordedTurns(name, turns)
