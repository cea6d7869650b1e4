"""The real program as a person calls it, for tests of the command line."""

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

PROGRAM = Path(sys.executable).with_name("donewhen")
"""The entry point of the virtual environment that runs the tests."""


@dataclass(frozen=True, slots=True)
class Answer:
    code: int
    out: str
    err: str

    @property
    def one_line(self) -> str:
        """The only line on stderr; fails when there are more, or a traceback."""
        lines = self.err.splitlines()
        assert len(lines) == 1, self.err
        assert "Traceback" not in self.err
        return lines[0]


def donewhen(*arguments: str, cwd: Path, env: Mapping[str, str] | None = None) -> Answer:
    """Call the program and wait for it."""
    finished = subprocess.run(
        [PROGRAM, *arguments],
        cwd=cwd,
        env={**os.environ, **(env or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=120,
    )
    return Answer(
        finished.returncode, finished.stdout.decode("utf-8", "replace"), finished.stderr.decode("utf-8", "replace")
    )
