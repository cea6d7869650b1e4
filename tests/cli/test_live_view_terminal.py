"""The live view on a real terminal: a pseudo-terminal for written bytes, tmux for the visible screen."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from recorded_session import BASELINE, FIRST_ROUND, SECOND_ROUND, VERIFIED, checked, round_started, started

from donewhen import events
from donewhen.events import Event
from needs import needs

PLAYER = Path(__file__).with_name("live_player.py")
PATIENCE_SECS = 30.0
LOOK_SECS = 0.05
COLOUR = re.compile(r"\x1b\[[0-9;]*\b(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])(?:;[0-9;]*)?m")


class Orders:
    """The pipe that a player reads."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "orders"
        os.mkfifo(self.path)
        self._end = os.open(self.path, os.O_RDWR)

    def give(self, **order: object) -> None:
        assert select.select([], [self._end], [], PATIENCE_SECS)[1], "the player takes no more orders"
        os.write(self._end, json.dumps(order).encode() + b"\n")

    def tell(self, *facts: Event) -> None:
        for event in facts:
            self.give(kind=event.type(), body=event.fields())

    def close(self) -> None:
        os.close(self._end)


class Terminal:
    """A player on a pseudo-terminal whose every byte is kept."""

    def __init__(self, orders: Orders, process: subprocess.Popen[bytes], ends: tuple[int, int]) -> None:
        self.orders = orders
        self.process = process
        self._master, self.slave = ends
        self.before = termios.tcgetattr(self.slave)
        self.text = ""

    def type(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def wait_for(self, text: str) -> None:
        """Read until the text was written after the last awaited text."""
        began, until = len(self.text), time.monotonic() + PATIENCE_SECS
        while text not in self.text[began:]:
            assert self._read(max(0.0, until - time.monotonic())), self.text[began:]

    def end(self) -> int:
        """Send no more orders and return the exit code."""
        self.orders.give(end=True)
        return self.finish()

    def finish(self) -> int:
        """Read until the player has ended; it would block on a terminal that is not read."""
        until = time.monotonic() + PATIENCE_SECS
        while (code := self.process.poll()) is None:
            assert time.monotonic() < until, self.text
            self._read(LOOK_SECS)
        while self._read(0):
            pass
        return code

    def wait_until_stopped(self) -> None:
        until = time.monotonic() + PATIENCE_SECS
        while not os.WIFSTOPPED(os.waitpid(self.process.pid, os.WUNTRACED | os.WNOHANG)[1]):
            assert time.monotonic() < until, self.text
            self._read(LOOK_SECS)

    def _read(self, seconds: float) -> bool:
        if not select.select([self._master], [], [], seconds)[0]:
            return False
        self.text += os.read(self._master, 65536).decode("utf-8", "replace")
        return True

    def is_as_before(self) -> bool:
        """True if cursor and keyboard are in their original state."""
        shown, hidden = self.text.rfind("\x1b[?25h"), self.text.rfind("\x1b[?25l")
        return shown >= hidden and termios.tcgetattr(self.slave) == self.before


@contextmanager
def playing(tmp_path: Path, columns: int = 80, rows: int = 24, **env: str) -> Generator[Terminal]:
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    orders = Orders(tmp_path)
    environment = {**os.environ, "TERM": "xterm-256color", **env}
    with subprocess.Popen(
        [sys.executable, PLAYER, orders.path],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env=environment,
        start_new_session=True,
    ) as process:
        terminal = Terminal(orders, process, (master, slave))
        try:
            yield terminal
        finally:
            orders.close()
            process.kill()
            process.wait()
            os.close(master)
            os.close(slave)


def without_echo(terminal: Terminal) -> bool:
    return not termios.tcgetattr(terminal.slave)[3] & termios.ECHO


@pytest.mark.promise("run.live-view")
def test_a_session_is_drawn_while_it_runs_and_leaves_its_lines(tmp_path: Path) -> None:
    with playing(tmp_path) as terminal:
        terminal.orders.tell(*BASELINE, *FIRST_ROUND[:5])
        terminal.wait_for("→ read_file calc.py")
        assert without_echo(terminal)
        terminal.orders.tell(*FIRST_ROUND[5:], *SECOND_ROUND, *VERIFIED)
        assert terminal.end() == 0
        assert terminal.is_as_before()
        assert "round 2 of 8: every check passed" in terminal.text
        assert terminal.text.endswith("the end\r\n")


def test_the_view_never_clears_the_screen_or_opens_the_alternate_screen(tmp_path: Path) -> None:
    with playing(tmp_path) as terminal:
        terminal.orders.tell(*BASELINE, *FIRST_ROUND, *SECOND_ROUND, *VERIFIED)
        terminal.end()
        assert not re.search(r"\x1b\[[23]?J\x1b\[H|\x1b\[2J|\x1b\[3J|\x1b\[\?1049|\x1bc", terminal.text)


def test_no_color_switches_colour_off(tmp_path: Path) -> None:
    facts = [*BASELINE, *FIRST_ROUND]
    written: list[str] = []
    for number, value in enumerate(("1", "")):
        (here := tmp_path / str(number)).mkdir()
        with playing(here, NO_COLOR=value) as terminal:
            terminal.orders.tell(*facts)
            terminal.end()
            written.append(terminal.text)
    assert not COLOUR.search(written[0])
    assert COLOUR.search(written[1])


def test_an_exception_restores_the_terminal(tmp_path: Path) -> None:
    with playing(tmp_path) as terminal:
        terminal.orders.tell(*BASELINE)
        terminal.wait_for("native")
        terminal.orders.give(crash="on purpose")
        assert terminal.finish() == 1
        assert "RuntimeError: on purpose" in terminal.text
        assert terminal.is_as_before()


def test_a_killed_view_leaves_the_cursor_visible(tmp_path: Path) -> None:
    with playing(tmp_path) as terminal:
        terminal.orders.tell(*BASELINE)
        terminal.wait_for("\x1b[?2026l")
        terminal.process.kill()
        terminal.finish()
        assert terminal.text.rfind("\x1b[?25h") > terminal.text.rfind("\x1b[?25l")


def test_a_dumb_terminal_gets_plain_lines(tmp_path: Path) -> None:
    with playing(tmp_path, TERM="dumb") as terminal:
        terminal.orders.tell(*BASELINE, *FIRST_ROUND)
        assert terminal.end() == 0
        assert "\x1b" not in terminal.text
        assert "round 1 of 8\r\n" in terminal.text


def test_a_stopped_terminal_does_not_delay_the_session(tmp_path: Path) -> None:
    with playing(tmp_path) as terminal:
        terminal.wait_for("preparing")
        for number in range(5000):  # far more than the terminal and the pipe can hold
            terminal.orders.give(say=f"{number} {'x' * 100}")
        assert terminal.end() == 0
        assert "4999 xxx" in terminal.text


def test_a_suspended_job_removes_its_rows_and_draws_them_again_when_continued(tmp_path: Path) -> None:
    with playing(tmp_path) as terminal:
        terminal.orders.tell(*BASELINE)
        terminal.wait_for("native on")
        terminal.type("\x1a")
        terminal.wait_for("\x1b[K\x1b[4A\r\x1b[?25h")
        terminal.wait_until_stopped()
        terminal.process.send_signal(signal.SIGCONT)
        terminal.wait_for("native on")
        assert terminal.end() == 0
        assert terminal.is_as_before()


# -- questions --


def test_a_question_is_answered_by_typing_and_earlier_keys_are_ignored(tmp_path: Path) -> None:
    with playing(tmp_path) as terminal:
        terminal.orders.tell(*BASELINE)
        terminal.wait_for("native")
        terminal.type("too early\n")
        terminal.orders.give(ask="Which one?\n\x1b[2Jadd or mul?")
        terminal.wait_for("your answer: ")
        assert "\\x1b[2Jadd or mul?" in terminal.text
        assert not without_echo(terminal)
        terminal.type("\n")
        terminal.wait_for("your answer: ")
        terminal.type("ädd\nand more\n")
        terminal.wait_for("typed: ")
        assert terminal.end() == 0
        assert re.search(r"typed: 'ädd(\\\\n|\\n|')", terminal.text)
        assert terminal.is_as_before()


@pytest.mark.parametrize(("keys", "decision"), [("yes\n", "True"), ("n\n", "False"), ("\n", "None"), ("\x04", "None")])
def test_a_gate_is_decided_by_typing(tmp_path: Path, keys: str, decision: str) -> None:
    with playing(tmp_path) as terminal:
        terminal.orders.give(decide="- old\n+ new")
        terminal.wait_for("[l]ater? ")
        assert "+ new" in terminal.text
        terminal.type("perhaps\n")
        terminal.wait_for("[l]ater? ")
        terminal.type(keys)
        terminal.wait_for(f"decided: {decision}")
        assert terminal.end() == 0
        assert terminal.is_as_before()


def test_a_decision_from_elsewhere_ends_the_wait_at_the_terminal(tmp_path: Path) -> None:
    with playing(tmp_path) as terminal:
        terminal.orders.give(decide="- old\n+ new")
        terminal.wait_for("[l]ater? ")
        terminal.type("half")
        terminal.wait_for("half")
        terminal.process.send_signal(signal.SIGUSR1)
        terminal.wait_for("amendment: decided elsewhere")
        terminal.wait_for("decided: None")
        assert terminal.end() == 0
        assert terminal.is_as_before()


@pytest.mark.parametrize("order", ["ask", "decide"])
def test_an_interrupt_while_typing_leaves_the_terminal_as_before(tmp_path: Path, order: str) -> None:
    with playing(tmp_path) as terminal:
        terminal.orders.give(**{order: "Which one?"})
        terminal.wait_for("your answer: " if order == "ask" else "[l]ater? ")
        terminal.type("hal\x03")
        assert terminal.finish() != 0
        assert "KeyboardInterrupt" in terminal.text
        assert terminal.is_as_before()


# -- the visible screen --


class Screen:
    """A player in a terminal of tmux, of any size."""

    def __init__(self, directory: Path, columns: int, rows: int) -> None:
        self._tmux = [needs("tmux"), "-u", "-S", str(directory / "socket"), "-f", "/dev/null"]
        self.orders = Orders(directory)
        words = [sys.executable, str(PLAYER), str(self.orders.path)]
        self._call(
            "new-session", "-d", "-x", str(columns), "-y", str(rows), "env", *words, ";", "set", "-g", "status", "off"
        )

    def _call(self, *words: str) -> str:
        return subprocess.run([*self._tmux, *words], check=True, capture_output=True, encoding="utf-8").stdout

    def lines(self, history: bool = False) -> list[str]:
        found = self._call("capture-pane", "-p", *(["-S", "-"] if history else []))
        return [line for line in found.splitlines() if line.strip()]

    def resize(self, columns: int, rows: int) -> None:
        self._call("resize-window", "-x", str(columns), "-y", str(rows))

    def wait_until(self, good: Callable[[Sequence[str]], bool], history: bool = False) -> list[str]:
        """Capture repeatedly until the screen is as expected; a capture takes long enough as a pause."""
        until = time.monotonic() + PATIENCE_SECS
        while not good(found := self.lines(history)):
            assert time.monotonic() < until, "\n".join(found)
        return found

    def close(self) -> None:
        self.orders.close()
        subprocess.run([*self._tmux, "kill-server"], check=False, capture_output=True)


@contextmanager
def on_screen(tmp_path: Path, columns: int, rows: int) -> Generator[Screen]:
    screen = Screen(tmp_path, columns, rows)
    try:
        yield screen
    finally:
        screen.close()


LONG = "fix add so that it adds, whatever it takes, and do not forget the negative numbers"


def drawn_at(width: int, last: str) -> Callable[[Sequence[str]], bool]:
    """True if the rows are there once, as wide as the screen, with `last` at the end."""

    def good(lines: Sequence[str]) -> bool:
        heads = [line for line in lines if line.startswith("── ")]
        return bool(lines) and len(heads) == 1 and len(heads[0]) == width - 1 and lines[-1].endswith(last)

    return good


def test_the_rows_follow_the_terminal_width_and_leave_nothing_behind(tmp_path: Path) -> None:
    with on_screen(tmp_path, 100, 30) as screen:
        screen.orders.tell(started(LONG), *BASELINE[1:], *FIRST_ROUND[:5])
        screen.wait_until(drawn_at(100, "→ read_file calc.py"))
        for width in (40, 120, 63, 40, 100):
            screen.resize(width, 30)
            found = screen.wait_until(drawn_at(width, "→ read_file calc.py"))
            assert sum("1,234 tokens" in line for line in found) == 1


def test_lines_above_the_rows_survive_a_terminal_that_becomes_narrower_and_wider_again(tmp_path: Path) -> None:
    with on_screen(tmp_path, 100, 30) as screen:
        screen.orders.tell(started(LONG), *BASELINE[1:], *FIRST_ROUND[:5])
        for number in range(3):
            screen.orders.give(say=f"note: {number}")
        screen.wait_until(lambda lines: "note: 2" in lines and drawn_at(100, "→ read_file calc.py")(lines))
        for width in (50, 110, 40, 100):
            screen.resize(width, 30)
            found = screen.wait_until(drawn_at(width, "→ read_file calc.py"))
            assert [line for line in found if line.startswith("note: ")] == ["note: 0", "note: 1", "note: 2"]


def test_lines_above_the_rows_stay_and_nothing_is_drawn_twice(tmp_path: Path) -> None:
    with on_screen(tmp_path, 80, 24) as screen:
        screen.orders.tell(*BASELINE, *FIRST_ROUND[:5])
        screen.wait_until(drawn_at(80, "→ read_file calc.py"))
        for number in range(60):
            screen.orders.give(say=f"note: {number} {'x' * 100 * (number % 2)}".rstrip())
        screen.orders.tell(events.Spend(tokens=99_999, usd=None))
        found = screen.wait_until(lambda lines: any("99,999 tokens" in line for line in lines), history=True)
        numbers = [int(line.split()[1]) for line in found if line.startswith("note: ")]
        assert numbers == list(range(60))
        assert {f"note: {number}" for number in range(0, 60, 2)} <= set(found)
        assert sum(line.startswith("── ") for line in found) == 1


def test_on_an_empty_screen_no_earlier_drawing_stays_in_the_history(tmp_path: Path) -> None:
    with on_screen(tmp_path, 40, 8) as screen:
        screen.wait_until(lambda lines: bool(lines) and lines[-1] == "preparing")
        screen.orders.tell(*BASELINE, *FIRST_ROUND[:5])
        found = screen.wait_until(lambda lines: lines[-1].endswith("→ read_file calc.py"), history=True)
        assert found[0] == "session 5e551011: fix add"
        assert sum(line.startswith("── ") for line in found) == 1
        screen.orders.give(end=True)


def test_on_a_tiny_terminal_the_rows_fit_and_the_newest_line_is_visible(tmp_path: Path) -> None:
    with on_screen(tmp_path, 40, 8) as screen:
        screen.orders.tell(*BASELINE, round_started(1), checked("lint", "pass"), checked("tests", "fail"))
        screen.orders.tell(*FIRST_ROUND[2:5])
        found = screen.wait_until(drawn_at(40, "→ read_file calc.py"))
        assert len(found) <= 8
        assert "✓ lint 1.2 s   ✗ tests 1.2 s" in found
        assert any("✗ tests: fail" in line for line in found)
        screen.resize(40, 5)
        screen.wait_until(lambda lines: len(lines) <= 5 and lines[-1].endswith("→ read_file calc.py"))
