"""`donewhen loop start` as a real process, and what it prints."""

import os
import queue
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path

from donewhen.loops.loop_records import LoopState, Occurrence, repo_key
from donewhen.loops.loop_store import LoopStore
from donewhen.workspace.state_dir import state_root
from program import PROGRAM

SECONDS = 60.0
"""How long a busy machine may take for anything that is waited for."""


class SchedulerProcess:
    def __init__(
        self,
        root: Path,
        stack: ExitStack,
        command: Sequence[str | Path] = (),
        env: Mapping[str, str] | None = None,
        out: Path | None = None,
    ) -> None:
        self.process = subprocess.Popen(
            command or [PROGRAM, "loop", "start"],
            cwd=root,
            env={**os.environ} if env is None else env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL if out is None else stack.enter_context(out.open("w")),
            stderr=subprocess.PIPE,
            text=True,
        )
        stack.callback(self.kill)
        self.lines: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def wait_for(self, words: str, also: Callable[[], bool] = lambda: True) -> str:
        """Return the first line with these words that is printed from now on, at a time when `also` holds."""
        return wait_for(self.lines, words, also)

    def stop(self, *signals: signal.Signals) -> int:
        """End it as systemd does, or by these signals. Return its exit code."""
        for one in signals or (signal.SIGTERM,):
            self.process.send_signal(one)
        return self.process.wait(SECONDS)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(SECONDS)
        self._reader.join(SECONDS)
        assert self.process.stderr is not None
        self.process.stderr.close()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.put(line)
        self.lines.put("")


def wait_for(lines: "queue.Queue[str]", words: str, also: Callable[[], bool] = lambda: True) -> str:
    while True:
        line = lines.get(timeout=SECONDS)
        assert line, f"it ended before it printed '{words}'"
        if words in line and also():
            return line


def rows(root: Path, loop: str) -> list[Occurrence]:
    with closing(LoopStore(state_root(os.environ))) as store:
        return store.history(repo_key(root), loop, 1000)[::-1]


def state(root: Path, loop: str) -> LoopState:
    with closing(LoopStore(state_root(os.environ))) as store:
        return store.state(repo_key(root), loop)
