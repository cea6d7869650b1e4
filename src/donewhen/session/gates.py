"""Decisions that only a person can take. A gate is opened once, and its decision is in the log before it counts."""

from donewhen.events import GateDecided, GateOpened
from donewhen.session.asking import Person
from donewhen.session.recorder import Recorder
from donewhen.session.story import WISH, Gate, Story

WORDS = {
    "contract": "the proposed contract waits for a person to take it",
    "plan": "the plan waits for a person to take it",
    "amendment": "the work is green only with its edits of protected paths; a person decides whether they count",
    "evaluation": "the checks are green and the evaluator came to no conclusion; a person decides",
    "no_change": "the engine claims that nothing should change; a person decides",
    "landing": "the work is verified but could not be landed",
}


def may_be_changed(story: Story, gate: Gate) -> bool:
    """Whether a person may also say in words what should be different."""
    return gate.kind == "contract" or (gate.kind == "plan" and bool(story.proposals))


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
        if isinstance(decision, str):
            self.change(decision, "the terminal")
            return False
        if decision is not None:
            self.decide(decision, "the terminal")
        return decision

    def change(self, text: str, by: str) -> bool:
        """Send back the proposal that waits, with what is to be different; False when none does, or nothing is said."""
        gate = self._recorder.story.gate
        if gate is None or not may_be_changed(self._recorder.story, gate) or not text.strip():
            return False
        decided = GateDecided(gate=gate.kind, id=gate.id, decision="changed", by=by, answer=text)
        self._recorder.write(decided, note=(WISH, {"text": text}), sync=True)
        return True

    def decide(self, approved: bool, by: str) -> bool:
        """Take a decision on the gate that waits; False when none does."""
        gate = self._recorder.story.gate
        if gate is None:
            return False
        decision = "approved" if approved else "denied"
        self._recorder.write(GateDecided(gate=gate.kind, id=gate.id, decision=decision, by=by), sync=True)
        return True
