"""The program at a terminal, where a person types an answer to each proposal."""

import contextlib
import os
import pty
import subprocess
from collections.abc import Callable
from pathlib import Path

from program import PROGRAM


def at_terminal(repo: Path, arguments: list[str], *typed: str | Callable[[], str]) -> tuple[int, str]:
    """Run `donewhen` with these arguments. Type a line whenever it asks about a proposal.

    Return the exit code and everything that was shown.
    """
    master, slave = pty.openpty()
    env = {**os.environ, "TERM": "xterm", "COLUMNS": "200"}
    lines, shown_then, prompts = list(typed), bytearray(), 0
    with subprocess.Popen([PROGRAM, *arguments], stdin=slave, stdout=slave, stderr=slave, cwd=repo, env=env) as program:
        os.close(slave)
        with contextlib.suppress(OSError):  # that is how a terminal ends
            while piece := os.read(master, 65536):
                shown_then += piece
                if lines and shown_then.count(b"to change? ") > prompts:
                    prompts += 1
                    line = lines.pop(0)
                    os.write(master, f"{line if isinstance(line, str) else line()}\n".encode())
    os.close(master)
    return program.returncode, shown_then.decode("utf-8", "replace")
