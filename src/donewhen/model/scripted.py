"""The model `scripted:FILE`: its replies are prepared in a file, step by step. It uses no network and has no price.

A file is a list of steps for the maker, or an object of such lists by role. The whole file is checked when the model is
opened, so that a mistake in step 20 is not found only after 19 turns.
"""

import json
import os
import stat
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import anyio

from donewhen.errors import BadInput
from donewhen.model.interface import Bill, Call, ModelFailed, OnText, Reply, Turn, Usage
from donewhen.records import frozen

LARGEST_BYTES = 64 * 1024 * 1024
ANSWERS = ("tool", "tools", "text")
KEYS = {*ANSWERS, "say", "usage", "delay", "error"}
ROLES = ("maker", "planner", "evaluator", "checker")
WORKER = "worker:"
"""Prefix of a role; the id of the subtask follows."""

Pause = Callable[[float], Awaitable[None]]


@frozen
class ScriptStep:
    reply: Reply
    delay: float = 0.0
    error: str = ""


class _Malformed(Exception):
    """Internal: what is wrong with a step, without its position."""


@dataclass(slots=True)
class Scripted:
    name: str
    steps: Mapping[str, tuple[ScriptStep, ...]]
    pause: Pause = anyio.sleep

    async def reply(self, turn: Turn, on_text: OnText | None = None) -> Reply:
        steps = self.steps.get(turn.role, ())
        if turn.number >= len(steps):
            count = "1 step" if len(steps) == 1 else f"{len(steps)} steps"
            message = f"the script has {count} for {turn.role}, but turn {turn.number + 1} was requested"
            raise ModelFailed(message, kind="script", final=True)
        step = steps[turn.number]
        if step.delay:
            await self.pause(step.delay)
        if step.error:
            failure = ModelFailed(step.error, kind="script")
            failure.bill = Bill(step.reply.usage)
            raise failure
        if on_text and step.reply.text:
            on_text(step.reply.text)
        return step.reply


def open_scripted(file: str, pause: Pause = anyio.sleep) -> Scripted:
    """Return the model of a file. Raise `BadInput` with the file and the step that is wrong."""
    if not file:
        raise BadInput("scripted: needs a file, such as scripted:steps.json")
    name = f"scripted:{file}"
    return Scripted(name, {role: tuple(_steps(file, role, found, name)) for role, found in _roles(file)}, pause)


def _roles(file: str) -> Iterator[tuple[str, list[Any]]]:
    content = _content(file)
    if isinstance(content, list):
        yield "maker", cast("list[Any]", content)
        return
    if not isinstance(content, dict):
        raise BadInput(f"{file}: neither a list of steps nor an object with lists of steps")
    for role, steps in cast("dict[str, Any]", content).items():
        if role not in ROLES and not role.startswith(WORKER):
            raise BadInput(f"{file}: unknown role {role[:40]!r}; use {', '.join(ROLES)} or {WORKER}SUBTASK")
        if not isinstance(steps, list):
            raise BadInput(f"{file}: {role} is not a list of steps")
        yield role, cast("list[Any]", steps)


def _content(file: str) -> Any:
    try:
        data = _bytes(file)
    except (OSError, ValueError) as error:
        raise BadInput(f"{file}: the script cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if len(data) > LARGEST_BYTES:
        raise BadInput(f"{file}: larger than {LARGEST_BYTES >> 20} MiB")
    try:
        return json.loads(data.decode("utf-8-sig"), parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{file}: not JSON: {error}") from error


def _bytes(file: str) -> bytes:
    """Read a regular file only: a pipe would block and can be read only once, and a device may have no end."""
    with os.fdopen(os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as opened:
        mode = os.fstat(opened.fileno()).st_mode
        if not stat.S_ISREG(mode):
            raise ValueError("Is a directory" if stat.S_ISDIR(mode) else "it is a pipe or a device, not a file")
        return opened.read(LARGEST_BYTES + 1)


def _no_number(literal: str) -> None:
    raise ValueError(f"{literal} is not a JSON number")


def _steps(file: str, role: str, steps: list[Any], model: str) -> Iterator[ScriptStep]:
    for number, step in enumerate(steps, 1):
        try:
            yield _step(step, model)
        except _Malformed as wrong:
            raise BadInput(f"{file}: step {number} of {role}: {wrong}") from None


def _step(found: object, model: str) -> ScriptStep:
    step = _object(found, "a step")
    if unknown := sorted(step.keys() - KEYS):
        raise _Malformed(f"unknown key {unknown[0]!r}")
    error, answers = _text(step, "error"), [key for key in ANSWERS if key in step]
    if len(answers) > 1 or not (answers or error):
        raise _Malformed(f"needs exactly one of {', '.join(ANSWERS)}")
    calls = tuple(_calls(step))
    reply = Reply(
        text=_text(step, "text") or _text(step, "say"),
        calls=calls,
        usage=_usage(step.get("usage", {})),
        model=model,
        stop="calls" if calls else "done",
        duration_ms=round(_delay(step) * 1000),
    )
    return ScriptStep(reply, _delay(step), error)


def _object(found: object, what: str) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise _Malformed(f"{what} must be an object, not {json.dumps(found)[:40]}")
    return cast("dict[str, Any]", found)


def _text(step: Mapping[str, Any], key: str) -> str:
    value = step.get(key, "")
    if not isinstance(value, str):
        raise _Malformed(f"{key} must be text, not {json.dumps(value)[:40]}")
    if key == "error" and key in step and not value:
        raise _Malformed("error needs a message")
    return value


def _calls(step: Mapping[str, Any]) -> Iterator[Call]:
    entries = step.get("tools", [step["tool"]] if "tool" in step else [])
    if not isinstance(entries, list) or ("tools" in step and not entries):
        raise _Malformed("tools must be a list of one or more calls")
    for found in cast("list[object]", entries):
        call = _object(found, "a call")
        name, arguments = call.get("name"), call.get("input", {})
        if not isinstance(name, str) or not name or call.keys() - {"name", "input"}:
            raise _Malformed('a call must be {"name": …, "input": {…}}')
        if isinstance(arguments, dict):
            yield Call("", name, cast("dict[str, Any]", arguments))
        else:
            yield Call("", name, {}, problem="the input is not an object")


def _usage(found: object) -> Usage:
    usage = _object(found, "usage")
    if usage.keys() - {"input", "output", "cache_read", "cache_write"}:
        raise _Malformed("usage needs input and output; cache_read and cache_write are optional")
    for value in usage.values():
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise _Malformed(f"usage must be whole numbers of tokens, not {json.dumps(value)[:40]}")
    return Usage(**usage)


def _delay(step: Mapping[str, Any]) -> float:
    delay = step.get("delay", 0)
    if not isinstance(delay, int | float) or isinstance(delay, bool) or not 0 <= delay <= 86_400:
        raise _Malformed("delay must be a number of seconds, at most a day")
    return float(delay)
