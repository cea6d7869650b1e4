"""What a session needs of a person, computed in one place with fixed wording, so that no two clients disagree."""

from collections.abc import Mapping

from donewhen.records import frozen
from donewhen.session.log.state import SessionState
from donewhen.session.person.gates import GateKind, is_expired

WORDS: Mapping[str, str] = {
    "none": "",
    "question": "Answer a question",
    "contract": "Decide on the contract",
    "plan": "Decide on the plan",
    "amendment": "Decide on edits to protected files",
    "evaluation": "Decide on the evaluation",
    "no_change": "Decide whether nothing should change",
    "landing": "Decide where the work lands",
    "loop_action": "Decide on the work of a loop",
    "decision": "Decide",
    "resume": "Continue it when you are ready",
}
"""What is needed → what a person reads."""


@frozen
class NeedsYou:
    kind: str
    """A key of WORDS."""
    text: str
    """The wording for people."""
    detail: str = ""
    """The question, or why it waits."""

    @classmethod
    def of(cls, kind: str, detail: str = "") -> "NeedsYou":
        return cls(kind, WORDS[kind], detail)


NOTHING = NeedsYou.of("none")


def needs_you(state: SessionState, reason: str) -> NeedsYou:
    """Return what a session needs. `reason` is why it waits, as the list of sessions shows it."""
    question, gate = state.question, state.gate
    if state.discarded or state.run_state == "finished":
        return NOTHING
    if question is not None:
        return NeedsYou.of("question", question.prompt)
    if gate is not None and not is_expired(gate):
        kind = GateKind.of(gate.kind)
        return NeedsYou.of(kind.value if kind is not None else "decision", gate.reason)
    return NeedsYou.of("resume", reason) if state.run_state == "waiting" else NOTHING
