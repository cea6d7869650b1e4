"""The real program on a pseudo-terminal, and the characters that must never reach a terminal."""

import os
import pty
import re
import subprocess
import unicodedata
from pathlib import Path

from program import PROGRAM

OURS = re.compile(r"\x1b\[(?:[0-9;]*[mKAJ]|\?25[hl]|\?2026[hl])")
"""Colours, and the codes with which the program redraws its own rows."""
OTHER_CATEGORIES = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def on_a_terminal(*arguments: str, cwd: Path, typing: bool = True, typed: str = "", **env: str) -> str:
    """Return everything that the program writes to a terminal on which `typed` was typed before the start.

    Bytes that are not UTF-8 become surrogate escapes.
    """
    master, slave = pty.openpty()
    os.write(master, typed.encode())
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "200", **env}
    stdin = slave if typing else subprocess.DEVNULL
    with subprocess.Popen([PROGRAM, *arguments], stdin=stdin, stdout=slave, stderr=slave, cwd=cwd, env=environment):
        os.close(slave)
        shown = bytearray()
        try:
            while piece := os.read(master, 65536):
                shown += piece
        except OSError:
            pass  # no process holds the terminal any more
    os.close(master)
    return shown.decode("utf-8", "surrogateescape")


def obeyed(shown: str) -> set[str]:
    """Return the invisible characters, without line ends, tabs and the codes of the program."""
    rest = OURS.sub("", shown)
    return {char for char in rest if char not in "\r\n\t" and unicodedata.category(char) in OTHER_CATEGORIES}
