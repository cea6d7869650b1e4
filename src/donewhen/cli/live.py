"""A session on a terminal: a few rows that are drawn anew as it goes on, and above them what is finished.

Events come in from the event loop and are only noted down; a thread of its own draws, at most eight times a second and
only when something is new. A terminal that stands still (Ctrl-S) therefore never holds up the work.
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

from donewhen.cli import keyboard
from donewhen.cli.group import one_line
from donewhen.cli.live_region import Region
from donewhen.cli.live_rows import rows
from donewhen.cli.live_state import Seen
from donewhen.storage.record import Record

PAUSE_SECS = 1 / 8
SHADES = {"✗": "red", "error": "red", "note:": "dim", "session": "bold", "round": "bold"}
"""By the first word of a line. A check that passed is not green: only a verified session is."""


class Live:
    def __init__(
        self,
        console: Console | None = None,
        person_here: bool = False,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._console = console or Console(highlight=False)
        self._region = Region(self._console)
        self._now = now
        self._seen = Seen(now(), person_here)
        self._lines: list[str] = []
        self._noted = threading.Lock()
        """Guards what is known; held for moments only."""
        self._pen = threading.RLock()
        """Guards the terminal; held while it is written to."""
        self._held = False
        self._stop_asked = False
        self._done = threading.Event()
        self._last: object = None
        """What was drawn, so that the same is not drawn again."""

    def told(self, record: Record) -> None:
        """An event, from any thread."""
        with self._noted:
            self._lines += self._seen.take(record, self._now())

    def remember(self, records: Iterable[Record]) -> None:
        """What happened before this run of the session; it is not told again."""
        with self._noted:
            for record in records:
                self._seen.remember(record, self._now())

    def say(self, line: str) -> None:
        """A line that stays."""
        with self._noted:
            self._lines.append(line)

    def streamed(self, text: str) -> None:
        """A piece of what a model is writing."""
        with self._noted:
            self._seen.streamed(text)

    @contextlib.contextmanager
    def shown(self) -> Generator[None]:
        """Draw until the block ends; then only the lines that stay are left."""
        drawer = threading.Thread(target=self._keep_drawing, name="live view", daemon=True)
        with keyboard.echo(False), self._stoppable():
            drawer.start()
            try:
                yield
            finally:
                self._done.set()
                drawer.join()
                with self._pen:
                    self._region.clear(self._taken_lines())

    @contextlib.contextmanager
    def paused(self) -> Generator[None]:
        """The terminal belongs to somebody else within the block; nothing is drawn."""
        with self._pen:
            self._region.clear(self._taken_lines())
            self._held = True
        try:
            with keyboard.echo(True):
                yield
        finally:
            with self._pen:
                self._held = False
                self._last = None

    def _keep_drawing(self) -> None:
        self.draw()
        while not self._done.wait(PAUSE_SECS):
            if self._stop_asked:
                self._stop()
            self.draw()

    def _stop(self) -> None:
        with self._pen:
            if not self._held:
                self._region.clear()
                self._last = None
            self._stop_asked = False
            # Aimed at this thread, so that it goes no step further; the whole process stops with it.
            signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)

    def draw(self) -> None:
        """Bring the terminal up to date; nothing is written when nothing is new."""
        with self._pen:
            if self._held:
                return
            size, shown = self._region.size(), self._is_ours()
            with self._noted:
                found = rows(self._seen, *size, self._now()) if shown else []
            now = (size, found)
            if self._lines or now != self._last:
                self._region.draw(found, self._taken_lines())
                self._last = now

    def _taken_lines(self) -> list[Text]:
        with self._noted:
            taken, self._lines = self._lines, []
        return [_shaded(line) for line in taken]

    def _is_ours(self) -> bool:
        """A job in the background writes its lines and leaves the rest of the terminal alone."""
        return not keyboard.is_there() or keyboard.in_foreground(sys.stdin.fileno())

    @contextlib.contextmanager
    def _stoppable(self) -> Generator[None]:
        """Ctrl-Z takes the rows away first, and nothing is drawn before the job goes on."""
        in_main = threading.current_thread() is threading.main_thread()
        if not in_main or signal.getsignal(signal.SIGTSTP) is not signal.SIG_DFL:
            yield
            return

        def stop(number: int, frame: FrameType | None) -> None:
            del number, frame
            self._stop_asked = True  # a handler may interrupt whoever holds a lock, so it takes none

        signal.signal(signal.SIGTSTP, stop)
        try:
            yield
        finally:
            signal.signal(signal.SIGTSTP, signal.SIG_DFL)


def _shaded(line: str) -> Text:
    words = [word for word in line.split() if not word.startswith("[")]  # whose line it is says nothing about it
    word = words[0] if words else ""
    return Text(one_line(line), SHADES.get(word, ""))
