"""Archives and processes that use them, for the storage tests."""

import subprocess
import sys
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from donewhen.events import PlanText, StateChanged
from donewhen.storage.archive import Archive
from donewhen.storage.owner import Owner
from donewhen.storage.record import Record

DEAD = replace(Owner.here(), started=1)
"""A process whose id was later given to another one."""

SAID = PlanText(text="said")
RUNNING = StateChanged(from_="created", to="running")

_OPENING = """
import os, sys
from pathlib import Path
from donewhen.errors import DonewhenError
from donewhen.events import PlanText
from donewhen.storage.archive import Archive
from donewhen.storage.owner import Owner

def ready(word="ready"):
    print(word, flush=True)
    sys.stdin.readline()

archive = Archive.open(Path(sys.argv[1]), sys.argv[2])
"""


@dataclass(frozen=True)
class Place:
    directory: Path
    url: str
    stack: ExitStack

    def open(self, lock_timeout: float = 5.0) -> Archive:
        """Closed at the end of the test, if not before."""
        archive = Archive.open(self.directory, self.url, lock_timeout)
        self.stack.callback(archive.close)
        return archive

    def start(self, program: str, *arguments: object) -> subprocess.Popen[str]:
        """Another process with the same archive open as `archive`; it is killed at the end of the test."""
        words = [sys.executable, "-c", _OPENING + program, self.directory, self.url, *arguments]
        process = subprocess.Popen(list(map(str, words)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.stack.callback(collect, process)
        return process

    @property
    def database(self) -> Path:
        return self.directory / "sessions.db"

    def log(self, session: str) -> Path:
        return self.directory / "logs" / f"{session}.jsonl"


def collect(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def says(process: subprocess.Popen[str]) -> str:
    """Return the next line that it prints."""
    assert process.stdout
    return process.stdout.readline().strip()


def tell(process: subprocess.Popen[str]) -> None:
    """Let it continue."""
    assert process.stdin
    process.stdin.write("\n")
    process.stdin.flush()


def texts(records: list[Record]) -> list[object]:
    return [record.body.get("text") for record in records]
