"""What a command is, how its process is held, who listens to it, and how it ended. Plain data; nothing is started here.

`process.Launcher` runs a `Command` and answers with a `Finished`.
"""

import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from donewhen.workspace.output import KEEP_BYTES, SPOOL_BYTES, Output, Watch


class End(Enum):
    EXITED = "exited"
    SIGNALLED = "signalled"
    TIMED_OUT = "timed_out"
    COULD_NOT_START = "could_not_start"
    LIMIT = "limit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Confinement:
    """How a command's process is held, as data for the launcher. The defaults hold nothing."""

    handshake: bool = False
    """The first program inside reports ready on descriptor 4 and waits for a line on 5 (design: the go byte)."""
    mounts: tuple[Mapping[str, Any], ...] = ()
    """Steps of `launcher.mounts`, in order; any at all mean a private user and mount namespace."""
    shelf: str = "/run"
    private_net: bool = False
    addresses: tuple[str, ...] = ()
    listen: tuple[tuple[str, int], ...] = ()
    landlock: Mapping[str, Any] | None = None
    seccomp: bytes = b""
    """A BPF program the launcher itself loads."""
    memory_files: tuple[bytes, ...] = ()
    """Contents that the command finds on descriptors 6, 7, …; only with `handshake`."""
    rlimits: Mapping[str, int] = field(default_factory=dict[str, int])
    oom_score_adj: int = 0
    watch: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What the warden's watcher may see at most (`sandbox.limits`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    argv: Sequence[str]
    """The program by absolute path, and its arguments. Bytes that are no UTF-8 come as surrogate escapes."""
    cwd: str | Path
    env: Mapping[str, str]
    stdin: bytes = b""
    timeout_secs: float | None = None
    merge_stderr: bool = False
    keep_bytes: int = KEEP_BYTES
    spool: Path | None = None
    spool_bytes: int = SPOOL_BYTES
    confinement: Confinement = Confinement()


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    end: End
    exit_code: int | None
    """The exit status as a shell would give it: 128 + N for a signal; None when nothing ran or it was killed by us."""
    signal: int | None
    reason: str
    """Why it could not start, or which limit it broke."""
    stdout: Output
    stderr: Output
    duration_secs: float
    swept: int
    """How many processes were still there when the command itself had ended."""

    @property
    def ok(self) -> bool:
        return self.end is End.EXITED and self.exit_code == 0


Listeners = Callable[[list[socket.socket]], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ears:
    """Who is told while a command runs. Whoever raises ends the command; `run` lets the exception through."""

    stdout: Watch | None = None
    stderr: Watch | None = None
    listeners: Listeners | None = None
    started: Callable[[int], None] | None = None


NOBODY = Ears()


def unfit(command: Command) -> str:
    """Why no process can be given these words; nothing when it can."""
    if not command.argv or not command.argv[0].startswith("/"):
        return f"no absolute path of a program: {' '.join(command.argv[:1])!r}"
    if not str(command.cwd).startswith("/"):
        return f"no absolute path of a working directory: '{command.cwd}'"
    words = {
        "an argument": command.argv,
        "the working directory": [str(command.cwd)],
        "a variable": [*command.env, *command.env.values()],
    }
    for what, texts in words.items():
        for text in texts:
            if "\0" in text:
                return f"{what} holds a NUL: {text[:80]!r}"
            try:
                text.encode("utf-8", "surrogateescape")
            except UnicodeEncodeError:
                return f"{what} is no text: {text[:80]!r}"
    return next((f"no name for a variable: {name!r}" for name in command.env if not name or "=" in name), "")


def specification(command: Command) -> dict[str, Any]:
    """A command as the launcher reads it."""
    held = command.confinement
    return {
        "argv": list(command.argv),
        "cwd": str(command.cwd),
        # PWD is what some programs trust over the real directory, so it must tell the truth.
        "env": {**command.env, "PWD": str(command.cwd)},
        "handshake": held.handshake,
        "mounts": [dict(step) for step in held.mounts],
        "shelf": held.shelf,
        "private_net": held.private_net,
        "addresses": list(held.addresses),
        "listen": [list(address) for address in held.listen],
        "landlock": held.landlock,
        "seccomp": len(held.memory_files) if held.seccomp else -1,
        "rlimits": dict(held.rlimits),
        "processes": held.watch.get("processes", 0),
        "oom_score_adj": held.oom_score_adj,
    }
