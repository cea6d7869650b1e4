"""Who is told about a session while it runs: a program by lines of JSON, a terminal by a live view, others by lines.

A reader that goes away does not end the work: it is all in the log.
"""

import contextlib
import os
import sys
import threading
from collections.abc import Generator, Iterable
from typing import TextIO

from donewhen.cli.event_lines import SAID_AT_THE_END, lines_of, of_subtask, phase_words
from donewhen.cli.fields import subtask_of
from donewhen.cli.group import one_line
from donewhen.cli.lines import json_text
from donewhen.session.asking import Person
from donewhen.session.starting import Watch
from donewhen.storage.record import Record

SLOW_SECS = 1.0
"""What takes longer is announced before it is done."""


@contextlib.contextmanager
def watching(as_json: bool, may_ask: bool = True, before: Iterable[Record] = ()) -> Generator[Watch]:
    """While a session runs in the block, what happens is shown.

    `before` are the events of a session that goes on; they are read only where something is shown of them.
    """
    if as_json:
        yield Watch(told=_print_json, say=_say)
    elif sys.stdout.isatty() and os.environ.get("TERM") not in (None, "", "dumb"):
        with _live(may_ask, before) as watch:
            yield watch
    else:
        plain = PlainLines()
        with plain.written():
            yield Watch(told=plain.told, say=_say)


@contextlib.contextmanager
def _live(may_ask: bool, before: Iterable[Record]) -> Generator[Watch]:
    from donewhen.cli import keyboard
    from donewhen.cli.live import Live
    from donewhen.cli.terminal_person import TerminalPerson

    asked = may_ask and keyboard.is_there()
    view = Live(person_here=asked)
    view.remember(before)
    person = TerminalPerson(view.paused)

    def told(record: Record) -> None:
        view.told(record)
        person.told(record)

    someone: Person | None = person if asked else None
    with view.shown():
        yield Watch(told=told, say=view.say, person=someone, said=view.streamed)


class PlainLines:
    """One line for what is done, and one for what takes long before it is done."""

    def __init__(self, slow_secs: float = SLOW_SECS) -> None:
        self._slow_secs = slow_secs
        self._writing = threading.Lock()
        self._timers: dict[str, threading.Timer] = {}
        self._is_working = False
        """From the first round on, results of the base are only what the work is compared with."""

    @contextlib.contextmanager
    def written(self) -> Generator[None]:
        self._announce("", "preparing")
        try:
            yield
        finally:
            for key in [*self._timers]:
                self._forget(key)

    def told(self, record: Record) -> None:
        self._forget("")
        name, phase, subtask = record.body.get("name"), record.body.get("phase"), subtask_of(record.body)
        key = f"{name} {phase} {subtask}"  # patches are looked at by the same checks at the same time
        if record.kind == "check_started":
            self._announce(key, of_subtask(f"  … {name}{phase_words(phase)}", subtask))
        elif record.kind == "check_completed":
            self._forget(key)
        self._is_working |= record.kind == "iteration_started"
        looks_back = self._is_working and record.kind == "check_completed" and phase == "baseline"
        if record.kind not in SAID_AT_THE_END and not looks_back:
            for line in lines_of(record):
                self._write(line)

    def _announce(self, key: str, line: str) -> None:
        self._forget(key)
        timer = self._timers[key] = threading.Timer(self._slow_secs, self._write, [line])
        timer.daemon = True
        timer.start()

    def _forget(self, key: str) -> None:
        if timer := self._timers.pop(key, None):
            timer.cancel()

    def _write(self, line: str) -> None:
        with self._writing:
            _write(sys.stdout, one_line(line))


def _print_json(record: Record) -> None:
    _write(sys.stdout, json_text(record.line()))


def _say(line: str) -> None:
    _write(sys.stderr, one_line(line))


def _write(stream: TextIO, line: str) -> None:
    try:
        stream.write(line + "\n")
        stream.flush()
    except BrokenPipeError:
        # Whatever is still in the buffer must go somewhere, or the interpreter complains at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
