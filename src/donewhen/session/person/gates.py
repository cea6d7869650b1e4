"""Gates: decisions that only a person can make. A gate is opened once, and its decision is logged before it counts.

The person decides at the terminal, from another process while the session runs, or while nothing works on the session.
All of these use `Gates`.
"""

import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from donewhen.engines.spec import EngineKind
from donewhen.errors import BadInput, NeedsPerson
from donewhen.events import GateDecided, GateOpened

if TYPE_CHECKING:
    from donewhen.session.log.state import Gate, Plain
    from donewhen.session.log.writer import LogWriter

_SHOW, _APPROVE, _DENY = "donewhen show {id}", "donewhen approve {id}", "donewhen deny {id}"
_CHANGE = "donewhen answer {id} 'WHAT TO CHANGE'"
DECIDE = (_SHOW, _APPROVE, _DENY)
"""Commands while a gate of any kind waits."""


class GateDecision(StrEnum):
    """What a person decided at a gate. The values are in the log and never change."""

    APPROVED = "approved"
    DENIED = "denied"
    CHANGED = "changed"
    """Sent back with a change request."""


class GateKind(StrEnum):
    """What a person decides about. The values are in the log and never change."""

    CONTRACT = "contract"
    PLAN = "plan"
    AMENDMENT = "amendment"
    EVALUATION = "evaluation"
    NO_CHANGE = "no_change"
    LANDING = "landing"
    LOOP_ACTION = "loop_action"

    @property
    def reason(self) -> str:
        """Why the session waits."""
        return _REASONS[self]

    @property
    def next(self) -> tuple[str, ...]:
        """Commands that a person may type, the most likely first, with {id} to fill in."""
        return _COMMANDS.get(self, DECIDE)

    @property
    def is_proposal(self) -> bool:
        """True if a person may also send it back with a change request."""
        return self in (GateKind.CONTRACT, GateKind.PLAN)

    def id(self, number: int = 0) -> str:
        """Return the id of a gate. The number tells apart gates of a kind that may open more than once."""
        return f"{self}-{number}" if number else self.value

    @classmethod
    def of(cls, value: str) -> "GateKind | None":
        """Return the kind in a log; None for one that only a newer version knows."""
        return next((one for one in cls if one == value), None)


_REASONS = {
    GateKind.CONTRACT: "waiting for your decision on the proposed contract",
    GateKind.PLAN: "waiting for your decision on the plan",
    GateKind.AMENDMENT: "green only with changes to protected paths; decide whether they count",
    GateKind.EVALUATION: (
        "the checks are green, but the evaluation is inconclusive; decide whether to accept the work"
    ),
    GateKind.NO_CHANGE: "the engine claims that nothing should change; decide whether that is right",
    GateKind.LANDING: "the work is verified but could not be landed",
    GateKind.LOOP_ACTION: "the work of a loop waits for your decision",
}
_COMMANDS = {
    GateKind.CONTRACT: (_SHOW, _APPROVE, _CHANGE, _DENY),
    GateKind.PLAN: (_APPROVE, _CHANGE, _DENY),
    GateKind.LANDING: (_APPROVE, "donewhen land {id} --onto BRANCH", _DENY),
    GateKind.LOOP_ACTION: ("donewhen diff {id}", _APPROVE, _DENY),
}


def is_expired(gate: "Gate") -> bool:
    """Return True if a gate waited too long: it counts as denied."""
    now = datetime.datetime.now(datetime.UTC)
    return bool(gate.expires_at) and datetime.datetime.fromisoformat(gate.expires_at) <= now


class Person(Protocol):
    """A person at the terminal."""

    async def answer(self, prompt: str) -> str | None:
        """Return the typed text; None if it is known that no answer will come."""
        ...

    async def decide(self, gate: GateKind, detail: str) -> bool | str | None:
        """Return yes or no; None to decide later. For a proposal it can also be a text, which is a change request."""
        ...


class Gates:
    def __init__(self, log: "LogWriter", person: Person | None) -> None:
        self._log = log
        self._person = person

    async def ask(self, kind: GateKind, number: int, detail: str) -> GateDecision | None:
        """Return the new or recorded decision; None if no person is available.

        `number` is 0 for a gate that opens once in a session. At the terminal, an edited contract file counts as it is
        when the work begins.
        """
        id = kind.id(number)
        if id not in self._log.state.gates:
            self.open(GateOpened(gate=kind, id=id, reason=kind.reason, detail=detail))
        return await self.ask_again(kind, id, detail)

    def open(self, gate: GateOpened) -> None:
        self._log.write(gate, sync=True)

    async def ask_again(self, kind: GateKind, id: str, detail: str) -> GateDecision | None:
        """Return the new or recorded decision at a gate that is open; None if no person is available."""
        gate = self._log.state.gates[id]
        if not gate.decision and self._person is not None:
            decision = await self._person.decide(kind, detail)
            if decision is None or gate.decision:  # decided from another process meanwhile
                pass
            elif isinstance(decision, str):
                self._change_or_wait(decision)
            else:
                decided = self._decided_event(
                    GateDecision.APPROVED if decision else GateDecision.DENIED, "the terminal"
                )
                self._log.write(decided, sync=True)
        return GateDecision(gate.decision) if gate.decision else None

    def decide(self, approved: bool, by: str, contract: "Plain | None" = None) -> bool:
        """Decide the waiting gate. Return False if none waits. Raise BadInput if it is too late to approve.

        A contract is approved as it is in its file now. `contract` replaces the file in a replay.
        """
        gate = self._log.state.gate
        if gate is None:
            return False
        if approved and is_expired(gate):
            raise BadInput(f"it expired at {gate.expires_at} without a decision, which counts as no")
        if approved and gate.kind == GateKind.CONTRACT:
            from donewhen.session.person import edited_contract  # loaded on use: it loads the plan classes

            proposal = edited_contract.edited_proposal(self._log, contract)
            if proposal is not None:
                proposed = edited_contract.proposal_event(proposal)
                decided = self._decided_event(GateDecision.APPROVED, by, edited_contract.EDITED, edited=True)
                self._log.write(decided, proposed, note=proposal.note(), sync=True)
                return True
        self._log.write(self._decided_event(GateDecision.APPROVED if approved else GateDecision.DENIED, by), sync=True)
        return True

    def change(self, text: str, by: str) -> bool:
        """Send back the waiting proposal with a change request. Return False if none waits or the text is empty."""
        state = self._log.state
        kind = GateKind.of(state.gate.kind) if state.gate is not None else None
        if kind is None or not kind.is_proposal or not text.strip():
            return False
        from donewhen.session.log.notes import ChangeRequest  # loaded on use: few sessions have one

        note = ChangeRequest(text=text).note()
        if kind is GateKind.PLAN and not state.proposals:
            from donewhen.engines.foreman.plan_request import change_request  # loaded on use: it loads an engine

            request = change_request(text)
            note = (f"{EngineKind.FOREMAN}.{request.kind}", request.body)
        else:
            from donewhen.session.person import edited_contract  # loaded on use: it loads the plan classes

            edited_contract.record_edits(self._log)
        self._log.write(self._decided_event(GateDecision.CHANGED, by, text), note=note, sync=True)
        return True

    def _change_or_wait(self, text: str) -> None:
        """Send back a proposal from the terminal. If that is not possible, the session waits with its gate open."""
        try:
            self.change(text, "the terminal")
        except BadInput as error:
            raise NeedsPerson(str(error)) from None

    def _decided_event(self, decision: GateDecision, by: str, answer: str = "", edited: bool = False) -> GateDecided:
        gate = self._log.state.gate
        assert gate is not None  # the callers know that one waits
        return GateDecided(gate=gate.kind, id=gate.id, decision=decision, by=by, answer=answer, edited=edited)
