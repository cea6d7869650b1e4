"""Live view of a session on a terminal: a few rows that are redrawn, and above them lines about completed steps.

The event loop only records events here. A separate thread draws, at most eight times a second and only if something
changed. So a terminal that is stopped with Ctrl-S never blocks the session.
"""

import contextlib
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable
from types import FrameType

from rich.console import Console
from rich.text import Text

from donewhen.cli.group import one_line
from donewhen.cli.views import keyboard
from donewhen.cli.views.live_region import LiveRegion
from donewhen.cli.views.live_rows import rows
from donewhen.cli.views.live_state import LiveState
from donewhen.storage.record import Record

PAUSE_SECS = 1 / 8
SHADES = {"✗": "red", "error": "red", "note:": "dim", "session": "bold", "round": "bold"}
"""Style by the first word of a line. A check that passed is not green: only a verified session is."""


class LiveView:
    def __init__(
        self,
        console: Console | None = None,
        person_here: bool = False,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._console = console or Console(highlight=False)
        self._region = LiveRegion(self._console)
        self._now = now
        self._state = LiveState(now(), person_here)
        self._lines: list[str] = []
        self._state_lock = threading.Lock()
        """Protects the state; held only for short moments."""
        self._terminal_lock = threading.RLock()
        """Protects the terminal; held while it is written to."""
        self._is_paused = False
        self._stop_asked = False
        self._done = threading.Event()
        self._last: object = None
        """What was drawn last, so that the same is not drawn again."""

    def on_record(self, record: Record) -> None:
        """Record an event. Can be called from any thread."""
        with self._state_lock:
            self._lines += self._state.add(record, self._now())

    def remember(self, records: Iterable[Record]) -> None:
        """Record the events before this run of the session without showing them again."""
        with self._state_lock:
            for record in records:
                self._state.remember(record, self._now())

    def say(self, line: str) -> None:
        """Add a line that stays in the scrollback."""
        with self._state_lock:
            self._lines.append(line)

    def add_text(self, text: str) -> None:
        """Add a piece of the text that a model is writing."""
        with self._state_lock:
            self._state.add_text(text)

    @contextlib.contextmanager
    def show(self) -> Generator[None]:
        """Draw until the block ends, then remove the rows and leave only the scrollback lines."""
        drawer = threading.Thread(target=self._keep_drawing, name="live view", daemon=True)
        with keyboard.echo(False), self._stoppable():
            drawer.start()
            try:
                yield
            finally:
                self._done.set()
                drawer.join()
                with self._terminal_lock:
                    self._region.clear(self._take_lines())

    @contextlib.contextmanager
    def pause(self) -> Generator[None]:
        """Draw nothing inside the block: other code uses the terminal."""
        with self._terminal_lock:
            self._region.clear(self._take_lines())
            self._is_paused = True
        try:
            with keyboard.echo(True):
                yield
        finally:
            with self._terminal_lock:
                self._is_paused = False
                self._last = None

    def _keep_drawing(self) -> None:
        self.draw()
        while not self._done.wait(PAUSE_SECS):
            if self._stop_asked:
                self._stop()
            self.draw()

    def _stop(self) -> None:
        with self._terminal_lock:
            if not self._is_paused:
                self._region.clear()
                self._last = None
            self._stop_asked = False
            # Sent to this thread, so that it stops immediately; the whole process stops with it.
            signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)

    def draw(self) -> None:
        """Update the terminal. Write nothing if nothing changed."""
        with self._terminal_lock:
            if self._is_paused:
                return
            size, shown = self._region.size(), self._is_ours()
            with self._state_lock:
                found = rows(self._state, *size, self._now()) if shown else []
            now = (size, found)
            if self._lines or now != self._last:
                self._region.draw(found, self._take_lines())
                self._last = now

    def _take_lines(self) -> list[Text]:
        with self._state_lock:
            taken, self._lines = self._lines, []
        return [_shade(line) for line in taken]

    def _is_ours(self) -> bool:
        """Return True if this process may draw rows. A background job writes only its lines."""
        return not keyboard.is_there() or keyboard.in_foreground(sys.stdin.fileno())

    @contextlib.contextmanager
    def _stoppable(self) -> Generator[None]:
        """On Ctrl-Z, remove the rows first and draw nothing until the job continues."""
        in_main = threading.current_thread() is threading.main_thread()
        if not in_main or signal.getsignal(signal.SIGTSTP) is not signal.SIG_DFL:
            yield
            return

        def stop(number: int, frame: FrameType | None) -> None:
            del number, frame
            self._stop_asked = True  # a signal handler may interrupt code that holds a lock, so it takes none

        signal.signal(signal.SIGTSTP, stop)
        try:
            yield
        finally:
            signal.signal(signal.SIGTSTP, signal.SIG_DFL)


def _shade(line: str) -> Text:
    words = [word for word in line.split() if not word.startswith("[")]  # skip the subtask prefix
    word = words[0] if words else ""
    return Text(one_line(line), SHADES.get(word, ""))
