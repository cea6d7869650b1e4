"""Client of `parser_process`: gets an answer about every untrusted source text, whatever the text does to a parser.

All requests go to one process with limited time and memory. It cannot write files or use the network, and it can read
little more than its own code. If it hangs, crashes or exceeds a limit, a new process continues with the text at which
it stopped. A text that fails as the first one of a process is unreadable. So one text cannot spoil other answers.
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
from donewhen.workspace.process.command import Confinement, End
from donewhen.workspace.process.interpreter import BOOT, interpreter, places
from donewhen.workspace.process.launch import Launcher
from donewhen.workspace.sandbox import landlock, seccomp
from donewhen.workspace.sandbox.level import SandboxProbe

CPU_SECS = 20
"""CPU limit for all texts of one process. A file of 1 MB takes well under a second."""
WALL_SECS = 120.0
MEMORY = 1 << 30
MOST_OUTPUT = 256 << 20
BOOTED = BOOT.format(module="donewhen.union.parser_process")
PACKAGES = (donewhen, tree_sitter)
UNREADABLE = "it could not be parsed: the parser hung, died or needed too much memory"


@frozen
class ParserRequest:
    about: str
    """`change` (before, after), `merge` (base, ours, theirs) or `symbols` (after)."""
    path: str
    texts: Mapping[str, bytes | None]
    symbols: tuple[str, ...] = ()

    def line(self) -> bytes:
        texts = {name: None if text is None else base64.b64encode(text).decode() for name, text in self.texts.items()}
        return json.dumps({"about": self.about, "path": self.path, "symbols": self.symbols, **texts}).encode() + b"\n"


@dataclass(slots=True)
class ParserClient:
    """Sends requests to parser processes."""

    launcher: Launcher
    probe: SandboxProbe
    """Which sandbox rules this machine can enforce."""
    boot: str = BOOTED
    """The Python code that the process runs."""
    processes: int = field(default=0)
    """Number of processes started so far."""

    async def ask(self, requests: Sequence[ParserRequest]) -> list[Mapping[str, Any]]:
        """Return an answer to each request, in order; `{"unreadable": why}` for a text that could not be parsed."""
        answers: list[Mapping[str, Any]] = []
        while len(answers) < len(requests):
            answers += await self._ask_process(requests[len(answers) :]) or [{"unreadable": UNREADABLE}]
        return answers

    async def _ask_process(self, requests: Sequence[ParserRequest]) -> list[Mapping[str, Any]]:
        self.processes += 1
        lines, confinement_rules = b"".join(one.line() for one in requests), _confinement(self.probe)
        reader = interpreter(
            self.boot, PACKAGES, lines, wall_secs=WALL_SECS, most_output=MOST_OUTPUT, confinement=confinement_rules
        )
        finished = await self.launcher.run(reader)
        if finished.end is End.COULD_NOT_START:
            raise MachineryBroke(f"the parser could not start: {finished.reason}")
        *whole, _ = finished.stdout.whole().split(b"\n")
        return [json.loads(line) for line in whole]


def _confinement(probe: SandboxProbe) -> Confinement:
    """Forbid writing files, the network and signals to others. Without kernel support, only the limits apply."""
    from donewhen.workspace.process.launcher import kernel

    own = (*places(PACKAGES), sys.prefix, sys.base_prefix, sys.exec_prefix)
    allowed = landlock.Allowed(network=False, readable=own, writable=(), closed=())
    return Confinement(
        landlock=landlock.ruleset(probe.landlock_abi, allowed) if probe.landlock_abi else None,
        seccomp=seccomp.program(kernel.machine(), (), own_namespaces=False) if probe.seccomp else b"",
        rlimits={"CPU": CPU_SECS, "DATA": MEMORY, "CORE": 0, "FSIZE": 0},
    )
