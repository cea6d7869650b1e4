"""The model `replay:SESSION`, which repeats recorded turns, and the conversion of failures to plain JSON and back.

This module does not store or find records: the caller that opens a replay passes them.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

from donewhen.model.interface import Bill, ModelFailed, ModelWaits, OnText, Reply, Turn, Usage
from donewhen.records import frozen

Plain = Mapping[str, Any]
Failure = ModelFailed | ModelWaits


def failure_to_plain(failure: Failure) -> dict[str, Any]:
    billed = {"usage": failure.bill.usage.plain(), "cost_usd": failure.bill.usd}
    if isinstance(failure, ModelWaits):
        return {"message": str(failure), "waits": failure.kind, "reset_at": failure.reset_at, **billed}
    return {"message": str(failure), "kind": failure.kind, "final": failure.final, **billed}


def failure_from(plain: Plain) -> Failure:
    """Read the result of `failure_to_plain`. Records of older versions do not contain the cost of the failure."""
    if "waits" in plain:
        kind = cast("Literal['sign_in', 'quota']", plain["waits"])
        failure: Failure = ModelWaits(plain["message"], kind, plain["reset_at"])
    else:
        failure = ModelFailed(plain["message"], plain["kind"], plain["final"])
    failure.bill = Bill(Usage.load(plain.get("usage", {})), plain.get("cost_usd"))
    return failure


@frozen
class Replay:
    """A model that repeats the recorded turns of a session by role and number. A recorded failure is raised again."""

    name: str
    turns: Mapping[str, Sequence[Reply | Failure]]

    async def reply(self, turn: Turn, on_text: OnText | None = None) -> Reply:
        recorded = self.turns.get(turn.role, ())
        if turn.number >= len(recorded):
            message = f"{self.name} has {len(recorded)} turns of {turn.role}, but turn {turn.number + 1} was requested"
            raise ModelFailed(message, kind="script", final=True)
        found = recorded[turn.number]
        if not isinstance(found, Reply):
            # A new exception: one that was raised before contains the old traceback.
            raise failure_from(failure_to_plain(found))
        if on_text and found.text:
            on_text(found.text)
        return found
