"""Output of a running session: JSON lines for a program, a live view for a terminal, plain lines otherwise.

A reader that closes its end does not stop the session: everything is in the log.
"""

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Generator, Iterable
from typing import TYPE_CHECKING, TextIO

from donewhen.cli.group import one_line
from donewhen.cli.views.event_lines import SHOWN_AT_THE_END, lines_of, of_subtask, phase_words, subtask_of
from donewhen.cli.views.json_lines import json_text
from donewhen.events import CheckCompleted, CheckStarted, IterationStarted
from donewhen.records import frozen
from donewhen.storage.record import Record

if TYPE_CHECKING:
    from donewhen.cli.views.terminal_person import TerminalPerson
    from donewhen.session.person.watch import SessionWatcher

SLOW_SECS = 1.0
"""A step that takes longer is announced while it runs."""


@frozen(kw_only=True)
class SessionView:
    """What shows a session, and the person at the terminal. It loads nothing that runs a session."""

    on_record: Callable[[Record], None]
    say: Callable[[str], None]
    person: "TerminalPerson | None" = None
    on_text: Callable[[str], None] | None = None


@contextlib.contextmanager
def session_watcher(as_json: bool, may_ask: bool = True, before: Iterable[Record] = ()) -> "Generator[SessionWatcher]":
    """Show the events of the session that runs inside the block, in this process."""
    from donewhen.session.person.watch import SessionWatcher  # loaded on use: a session in the daemon needs only a view

    with session_view(as_json, may_ask, before) as view:
        yield SessionWatcher(on_record=view.on_record, say=view.say, person=view.person, on_text=view.on_text)


@contextlib.contextmanager
def session_view(as_json: bool, may_ask: bool = True, before: Iterable[Record] = ()) -> Generator[SessionView]:
    """Show the events of a session until the block ends.

    `before` are the earlier events of a resumed session. Only the live view reads them.
    """
    if as_json:
        yield SessionView(on_record=_print_json, say=_say)
    elif sys.stdout.isatty() and os.environ.get("TERM") not in (None, "", "dumb"):
        with _live(may_ask, before) as view:
            yield view
    else:
        plain = PlainLines()
        with plain.written():
            yield SessionView(on_record=plain.on_record, say=_say)


@contextlib.contextmanager
def _live(may_ask: bool, before: Iterable[Record]) -> Generator[SessionView]:
    from donewhen.cli.views import keyboard
    from donewhen.cli.views.live import LiveView
    from donewhen.cli.views.terminal_person import TerminalPerson

    asked = may_ask and keyboard.is_there()
    view = LiveView(person_here=asked)
    view.remember(before)
    person = TerminalPerson(view.pause)

    def on_record(record: Record) -> None:
        view.on_record(record)
        person.on_record(record)

    with view.show():
        yield SessionView(on_record=on_record, say=view.say, person=person if asked else None, on_text=view.add_text)


class PlainLines:
    """Prints one line for each completed step, and an additional line for a step that takes long."""

    def __init__(self, slow_secs: float = SLOW_SECS) -> None:
        self._slow_secs = slow_secs
        self._writing = threading.Lock()
        self._timers: dict[str, threading.Timer] = {}
        self._is_working = False
        """True from the first round on: results on the base are then only for comparison and are not printed."""

    @contextlib.contextmanager
    def written(self) -> Generator[None]:
        self._announce("", "preparing")
        try:
            yield
        finally:
            for key in [*self._timers]:
                self._cancel(key)

    def on_record(self, record: Record) -> None:
        self._cancel("")
        match record.event:
            case CheckStarted() as event:
                line = f"  … {event.name}{phase_words(event.phase)}"
                self._announce(_key(event), of_subtask(line, subtask_of(event)))
            case CheckCompleted() as event:
                self._cancel(_key(event))
                if self._is_working and event.phase == "baseline":
                    return
            case IterationStarted():
                self._is_working = True
            case _:
                pass
        if not isinstance(record.event, SHOWN_AT_THE_END):
            for line in lines_of(record):
                self._write(line)

    def _announce(self, key: str, line: str) -> None:
        self._cancel(key)
        timer = self._timers[key] = threading.Timer(self._slow_secs, self._write, [line])
        timer.daemon = True
        timer.start()

    def _cancel(self, key: str) -> None:
        if timer := self._timers.pop(key, None):
            timer.cancel()

    def _write(self, line: str) -> None:
        with self._writing:
            _write(sys.stdout, one_line(line))


def _key(event: CheckStarted | CheckCompleted) -> str:
    """Return what one run of a check is known by: the same checks run on several patches at the same time."""
    return f"{event.name} {event.phase} {event.subtask}"


def _print_json(record: Record) -> None:
    _write(sys.stdout, json_text(record.line()))


def _say(line: str) -> None:
    _write(sys.stderr, one_line(line))


def _write(stream: TextIO, line: str) -> None:
    try:
        stream.write(line + "\n")
        stream.flush()
    except BrokenPipeError:
        # The buffered output needs a destination, or the interpreter reports an error at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
