"""Keyboard input from the terminal. Text typed while no question is open is not shown and never used as an answer.

The terminal always stays in line mode, so that its own editing keys and Ctrl-C work.
"""

import contextlib
import os
import select
import sys
import termios
from collections.abc import Generator

import anyio

LONGEST_LINE = 4096


def is_there() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()  # pyright: ignore[reportUnnecessaryComparison] - may be None


def in_foreground(terminal: int) -> bool:
    """Return True if this job is in the foreground of the terminal, or if that cannot be found out."""
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return True


@contextlib.contextmanager
def echo(shown: bool) -> Generator[None]:
    """Show or hide typed characters inside the block, then restore the previous mode."""
    terminal = sys.stdin.fileno() if is_there() else None
    if terminal is None or not in_foreground(terminal):
        yield
        return
    before = termios.tcgetattr(terminal)
    modes = termios.tcgetattr(terminal)
    modes[3] = modes[3] | termios.ECHO if shown else modes[3] & ~termios.ECHO
    termios.tcsetattr(terminal, termios.TCSANOW, modes)
    try:
        yield
    finally:
        with contextlib.suppress(termios.error):
            termios.tcsetattr(terminal, termios.TCSANOW, before)


def forget_typed() -> None:
    """Discard text that was typed before a question: it is not an answer to it."""
    with contextlib.suppress(termios.error):
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


async def typed_line() -> str | None:
    """Return the next line, with lines pasted after it; None at the end of input. Can be cancelled at any time."""
    terminal = sys.stdin.fileno()
    await anyio.wait_readable(terminal)
    lines = [_read(terminal)]
    while lines[-1] and select.select([terminal], [], [], 0)[0]:
        lines.append(_read(terminal))
    text = b"".join(lines)
    return text.decode("utf-8", "replace").rstrip("\n") if text else None


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, LONGEST_LINE)
    except OSError:
        return b""
