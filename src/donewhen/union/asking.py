"""Questions about texts that somebody else wrote, answered whatever these texts do to a parser.

All of them go to one process with bounded time and memory, which can write no file, reach nobody, and read little more
than itself. When it hangs, dies or swells, another one goes on with the text it was at; a text that a process of its
own does not get through cannot be read. So nobody's text suffers from what others wrote.
"""

import base64
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import tree_sitter

import donewhen
from donewhen.errors import MachineryBroke
from donewhen.records import frozen
from donewhen.workspace.command import Confinement, End
from donewhen.workspace.interpreter import BOOT, interpreter, places
from donewhen.workspace.process import Launcher
from donewhen.workspace.sandbox import landlock, seccomp
from donewhen.workspace.sandbox.level import Probe

CPU_SECS = 20
"""For all texts of one process. A file of a megabyte takes well under a second."""
WALL_SECS = 120.0
MEMORY = 1 << 30
MOST_SAID = 256 << 20
BOOTED = BOOT.format(module="donewhen.union.answering")
PACKAGES = (donewhen, tree_sitter)
UNREADABLE = "it could not be read: the parser hung, died or needed too much memory"


@frozen
class Question:
    about: str
    """`change` (before, after), `merge` (base, ours, theirs) or `symbols` (after)."""
    path: str
    texts: Mapping[str, bytes | None]
    symbols: tuple[str, ...] = ()

    def line(self) -> bytes:
        texts = {name: None if text is None else base64.b64encode(text).decode() for name, text in self.texts.items()}
        return json.dumps({"about": self.about, "path": self.path, "symbols": self.symbols, **texts}).encode() + b"\n"


@dataclass(slots=True)
class Reader:
    """Asks in processes of their own."""

    launcher: Launcher
    probe: Probe
    """What this machine can enforce."""
    boot: str = BOOTED
    """What the process runs."""
    asked: int = field(default=0)
    """How many processes it took so far."""

    async def answers(self, questions: Sequence[Question]) -> list[Mapping[str, Any]]:
        """An answer to each question, in order; `{"unreadable": why}` for a text that no answer could be got about."""
        answers: list[Mapping[str, Any]] = []
        while len(answers) < len(questions):
            answers += await self._asked(questions[len(answers) :]) or [{"unreadable": UNREADABLE}]
        return answers

    async def _asked(self, questions: Sequence[Question]) -> list[Mapping[str, Any]]:
        self.asked += 1
        given, walls = b"".join(one.line() for one in questions), _walls(self.probe)
        reader = interpreter(self.boot, PACKAGES, given, wall_secs=WALL_SECS, most_said=MOST_SAID, confinement=walls)
        finished = await self.launcher.run(reader)
        if finished.end is End.COULD_NOT_START:
            raise MachineryBroke(f"the reader of source texts could not start: {finished.reason}")
        *whole, _ = finished.stdout.whole().split(b"\n")
        return [json.loads(line) for line in whole]


def _walls(probe: Probe) -> Confinement:
    """No files to write, no network, no signals to others; where the kernel has no such rules, at least the limits."""
    from donewhen.workspace.launcher import kernel

    own = (*places(PACKAGES), sys.prefix, sys.base_prefix, sys.exec_prefix)
    allowed = landlock.Allowed(network=False, readable=own, writable=(), closed=())
    return Confinement(
        landlock=landlock.ruleset(probe.landlock_abi, allowed) if probe.landlock_abi else None,
        seccomp=seccomp.program(kernel.machine(), (), own_namespaces=False) if probe.seccomp else b"",
        rlimits={"CPU": CPU_SECS, "DATA": MEMORY, "CORE": 0, "FSIZE": 0},
    )
