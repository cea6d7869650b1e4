"""Lossless conversion of messages and replies to plain JSON and back, and the model `replay:SESSION` that repeats them.

This module does not store or find records: the caller that opens a replay passes them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any, Literal, cast

from donewhen.model.interface import (
    Answers,
    Assistant,
    Bill,
    Call,
    Message,
    ModelFailed,
    ModelWaits,
    OnText,
    Reply,
    ToolAnswer,
    Turn,
    Usage,
    User,
)
from donewhen.records import frozen

Plain = Mapping[str, Any]
Failure = ModelFailed | ModelWaits


def to_plain(reply: Reply) -> dict[str, Any]:
    return {
        "text": reply.text,
        "calls": [_call_to_plain(call) for call in reply.calls],
        "usage": asdict(reply.usage),
        "cost_usd": reply.cost_usd,
        "duration_ms": reply.duration_ms,
        "model": reply.model,
        "stop": reply.stop,
        "raw": reply.raw,
        "filled": reply.filled,
        "fallback": reply.fallback,
    }


def reply_from(plain: Plain) -> Reply:
    """Read the result of `to_plain`. A field that is missing in a record of an older version gets its default."""
    names = {field.name for field in fields(Reply)}
    known = {key: value for key, value in plain.items() if key in names}
    known["calls"] = tuple(_call_from(call) for call in plain.get("calls", ()))
    known["usage"] = Usage(**plain.get("usage", {}))
    return Reply(**known)


def message_to_plain(message: Message) -> dict[str, Any]:
    match message:
        case User(text):
            return {"user": text}
        case Assistant(text, calls, raw):
            return {"assistant": text, "calls": [_call_to_plain(call) for call in calls], "raw": raw}
        case Answers(answers):
            return {"answers": [asdict(answer) for answer in answers]}


def message_from(plain: Plain) -> Message:
    if "user" in plain:
        return User(plain["user"])
    if "answers" in plain:
        return Answers(tuple(ToolAnswer(**answer) for answer in plain["answers"]))
    return Assistant(plain["assistant"], tuple(_call_from(call) for call in plain["calls"]), plain["raw"])


def failure_to_plain(failure: Failure) -> dict[str, Any]:
    billed = {"usage": asdict(failure.bill.usage), "cost_usd": failure.bill.usd}
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
    failure.bill = Bill(Usage(**plain.get("usage", {})), plain.get("cost_usd"))
    return failure


def _call_to_plain(call: Call) -> dict[str, Any]:
    return {"id": call.id, "name": call.name, "input": dict(call.input), "problem": call.problem}


def _call_from(plain: Plain) -> Call:
    return Call(plain["id"], plain["name"], plain["input"], plain["problem"])


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
