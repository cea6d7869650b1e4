"""Decisions that only a person can take. A gate is opened once, and its decision is in the log before it counts."""

from donewhen.events import GateDecided, GateOpened
from donewhen.session.asking import Person
from donewhen.session.recorder import Recorder

WORDS = {
    "contract": "the proposed contract waits for a person to take it",
    "plan": "the plan waits for a person to take it",
    "amendment": "the work is green only with its edits of protected paths; a person decides whether they count",
    "no_change": "the engine claims that nothing should change; a person decides",
    "landing": "the work is verified but could not be landed",
}


def kind_of(id: str) -> str:
    """A gate that may come up more than once has a number behind its name."""
    return id.partition("-")[0]


class Gates:
    def __init__(self, recorder: Recorder, person: Person | None) -> None:
        self._recorder = recorder
        self._person = person

    async def ask(self, id: str, detail: str) -> bool | None:
        """The decision, of now or of before; None when nobody is there who could take it."""
        kind = kind_of(id)
        gate = self._recorder.story.gates.get(id)
        if gate is None:
            self._recorder.write(GateOpened(gate=kind, id=id, reason=WORDS[kind], detail=detail), sync=True)
        elif gate.decision:
            return gate.decision == "approved"
        decision = await self._person.decide(kind, WORDS[kind], detail) if self._person is not None else None
        if decision is not None:
            self.decide(decision, "the terminal")
        return decision

    def decide(self, approved: bool, by: str) -> bool:
        """Take a decision on the gate that waits; False when none does."""
        gate = self._recorder.story.gate
        if gate is None:
            return False
        decision = "approved" if approved else "denied"
        self._recorder.write(GateDecided(gate=gate.kind, id=gate.id, decision=decision, by=by), sync=True)
        return True
