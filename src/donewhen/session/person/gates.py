"""Gates: decisions that only a person can make. A gate is opened once, and its decision is logged before it counts."""

from donewhen.events import GateDecided, GateOpened
from donewhen.session.log.state import WISH, Gate, SessionState
from donewhen.session.log.writer import LogWriter
from donewhen.session.person.questions import Person

WORDS = {
    "contract": "the proposed contract waits for a person to take it",
    "plan": "the plan waits for a person to take it",
    "amendment": "the work is green only with its edits of protected paths; a person decides whether they count",
    "evaluation": "the checks are green and the evaluator came to no conclusion; a person decides",
    "no_change": "the engine claims that nothing should change; a person decides",
    "landing": "the work is verified but could not be landed",
}


def may_be_changed(story: SessionState, gate: Gate) -> bool:
    """Return True if a person may also send a change request."""
    return gate.kind == "contract" or (gate.kind == "plan" and bool(story.proposals))


def kind_of(id: str) -> str:
    """Return the kind of a gate. The id of a gate that may open more than once is its kind and a number."""
    return id.partition("-")[0]


class Gates:
    def __init__(self, recorder: LogWriter, person: Person | None) -> None:
        self._recorder = recorder
        self._person = person

    async def ask(self, id: str, detail: str) -> bool | None:
        """Return the new or recorded decision; None if no person is available."""
        kind = kind_of(id)
        gate = self._recorder.story.gates.get(id)
        if gate is None:
            self._recorder.write(GateOpened(gate=kind, id=id, reason=WORDS[kind], detail=detail), sync=True)
        elif gate.decision:
            return gate.decision == "approved"
        decision = await self._person.decide(kind, WORDS[kind], detail) if self._person is not None else None
        if isinstance(decision, str):
            self.change(decision, "the terminal")
            return False
        if decision is not None:
            self.decide(decision, "the terminal")
        return decision

    def change(self, text: str, by: str) -> bool:
        """Send back the waiting proposal with a change request. Return False if none waits or the text is empty."""
        gate = self._recorder.story.gate
        if gate is None or not may_be_changed(self._recorder.story, gate) or not text.strip():
            return False
        decided = GateDecided(gate=gate.kind, id=gate.id, decision="changed", by=by, answer=text)
        self._recorder.write(decided, note=(WISH, {"text": text}), sync=True)
        return True

    def decide(self, approved: bool, by: str) -> bool:
        """Decide the waiting gate. Return False if none waits."""
        gate = self._recorder.story.gate
        if gate is None:
            return False
        decision = "approved" if approved else "denied"
        self._recorder.write(GateDecided(gate=gate.kind, id=gate.id, decision=decision, by=by), sync=True)
        return True
