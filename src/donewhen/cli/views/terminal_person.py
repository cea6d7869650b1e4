"""Questions and decisions for the person at the terminal. The live view is paused while the person types.

Waiting for a line can be cancelled at any moment: by Ctrl-C, which ends the session as usual, and by an answer from
another terminal.
"""

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager

import anyio

from donewhen.cli.group import one_line
from donewhen.cli.views import keyboard
from donewhen.events import GateDecided
from donewhen.session.person.gates import GateKind
from donewhen.storage.record import Record

LONGEST_DETAIL = 200
"""Maximum number of lines that describe a decision."""
DECISIONS = {"y": True, "yes": True, "n": False, "no": False, "l": None, "later": None, "": None}


class TerminalPerson:
    def __init__(self, paused: Callable[[], AbstractContextManager[None]]) -> None:
        self._paused = paused
        self._deciding: anyio.CancelScope | None = None
        self._is_decided = False

    def on_record(self, record: Record) -> None:
        """Stop waiting for a decision that was made elsewhere."""
        if isinstance(record.event, GateDecided) and self._deciding is not None:
            self._is_decided = True
            self._deciding.cancel()

    async def answer(self, prompt: str) -> str:
        with self._paused():
            text = await self._ask_answer(prompt)
        if text is None:
            # The input has ended. The answer may still come from elsewhere, or the question expires.
            await anyio.sleep_forever()
            raise AssertionError("sleep_forever returned")
        return text

    async def decide(self, gate: GateKind, detail: str) -> bool | str | None:
        self._is_decided = False
        with self._paused(), anyio.CancelScope() as self._deciding:
            try:
                return await self._choice(gate, detail)
            finally:
                self._deciding = None
        if self._is_decided:
            _print(f"{gate}: decided elsewhere")
        return None

    async def _ask_answer(self, prompt: str) -> str | None:
        _print("", "question:", *prompt.splitlines())
        keyboard.forget_typed()
        while True:
            text = await _read_line("your answer: ")
            if text is None or text.strip():
                return text

    async def _choice(self, gate: GateKind, detail: str) -> bool | str | None:
        lines = detail.splitlines()
        _print("", *(line.expandtabs() for line in lines[:LONGEST_DETAIL]))
        if len(lines) > LONGEST_DETAIL:
            _print(f"… {len(lines) - LONGEST_DETAIL} more lines")
        _print(gate.reason)
        keyboard.forget_typed()
        while True:
            others = "[n]o, [l]ater, or what to change" if gate.is_proposal else "[n]o or [l]ater"
            typed = await _read_line(f"{gate}: [y]es, {others}? ")
            choice = (typed or "").strip()
            if choice.lower() in DECISIONS:
                return DECISIONS[choice.lower()]
            if gate.is_proposal and " " in choice:  # a single word is treated as a typing error
                return choice


async def _read_line(prompt: str) -> str | None:
    """Return the line typed after the prompt. If the input ends without a line, print the line end."""
    sys.stdout.write(one_line(prompt))
    sys.stdout.flush()
    text = None
    try:
        text = await keyboard.typed_line()
    finally:
        if text is None:
            _print("")
    return text


def _print(*lines: str) -> None:
    for line in lines:
        sys.stdout.write(one_line(line) + "\n")
    sys.stdout.flush()
