"""Records for a command: what to run, how it is confined, which callbacks get its output, how it ended.

Plain data; nothing is started here. `launch.Launcher` runs a `Command` and returns a `Finished`.
"""

import hashlib
import shlex
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from donewhen.records import frozen
from donewhen.workspace.process.output import KEEP_BYTES, SPOOL_BYTES, Output, Watch

if TYPE_CHECKING:
    from donewhen.workspace.process.observed import Observed

LONGEST_WORD = 1 << 17
"""The kernel's limit for one argument, in bytes, including the final NUL."""


class End(Enum):
    EXITED = "exited"
    SIGNALLED = "signalled"
    TIMED_OUT = "timed_out"
    COULD_NOT_START = "could_not_start"
    LIMIT = "limit"


@frozen(kw_only=True)
class Confinement:
    """How a command's process is confined, as data for the launcher. The defaults confine nothing."""

    sandbox: tuple[str, ...] = ()
    """Command line of a sandbox. Its first program uses its descriptors as `launcher.child` describes."""
    mounts: tuple[Mapping[str, Any], ...] = ()
    """Steps of `launcher.mounts`, in order. If there are any, the process gets a private user and mount namespace."""
    layers: tuple[Mapping[str, Any], ...] = ()
    """Mounts that make up the tree: done last, and never before the command that needs them is known."""
    own_directory: str = "/run"
    private_net: bool = False
    addresses: tuple[str, ...] = ()
    listen: tuple[tuple[str, int], ...] = ()
    landlock: Mapping[str, Any] | None = None
    seccomp: bytes = b""
    """A BPF program that the launcher itself loads."""
    observe: bytes = b""
    """A BPF program that hands calls over to an observer. Only for a sandbox."""
    memory_files: tuple[bytes, ...] = ()
    """Contents that the sandbox gets on descriptors 7, 8, …"""
    rlimits: Mapping[str, int] = field(default_factory=dict[str, int])
    oom_score_adj: int = 0
    watch: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Limits for the supervisor's `LimitWatcher`; made by `sandbox.limits`."""


@frozen(kw_only=True)
class Command:
    argv: Sequence[str]
    """The absolute path of the program, and its arguments. Bytes that are not UTF-8 are surrogate escapes."""
    cwd: str | Path
    env: Mapping[str, str]
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    """Environment variables that differ from tree to tree. Their names must be valid in a shell."""
    stdin: bytes = b""
    timeout_secs: float | None = None
    merge_stderr: bool = False
    keep_bytes: int = KEEP_BYTES
    spool: Path | None = None
    spool_bytes: int = SPOOL_BYTES
    confinement: Confinement = Confinement()


class Finished(NamedTuple):
    end: End
    exit_code: int | None
    """The exit status as a shell reports it: 128 + N for a signal; None if nothing ran or we killed it."""
    signal: int | None
    reason: str
    """Why it could not start, or which limit it exceeded."""
    stdout: Output
    stderr: Output
    duration_secs: float
    swept: int
    """How many processes were left to kill when the command itself had ended."""
    observed: "Observed | None" = None
    """What the observer saw; None if the command was not observed."""

    @property
    def ok(self) -> bool:
        return self.end is End.EXITED and self.exit_code == 0


Listeners = Callable[[list[socket.socket]], None]


@frozen(kw_only=True)
class OutputListeners:
    """Callbacks while a command runs. An exception in one ends the command; `run` lets the exception through."""

    stdout: Watch | None = None
    stderr: Watch | None = None
    listeners: Listeners | None = None
    started: Callable[[int], None] | None = None


NO_LISTENERS = OutputListeners()


def unfit_reason(command: Command) -> str:
    """Return why no process can be started from this command; empty if one can."""
    if not command.argv or not command.argv[0].startswith("/"):
        return f"not an absolute path of a program: {' '.join(command.argv[:1])!r}"
    if not str(command.cwd).startswith("/"):
        return f"not an absolute path of a working directory: '{command.cwd}'"
    words = {
        "an argument": command.argv,
        "the working directory": [str(command.cwd)],
        "a variable": [word for pair in (*command.env.items(), *command.variables.items()) for word in pair],
    }
    for what, texts in words.items():
        for text in texts:
            if "\0" in text:
                return f"{what} contains a NUL byte: {text[:80]!r}"
            try:
                _bytes(text)
            except UnicodeEncodeError:
                return f"{what} is not valid text: {text[:80]!r}"
    if command.confinement.sandbox and any(len(_bytes(word)) >= LONGEST_WORD for word in command.argv):
        return f"Argument list too long: {command.argv[0]}"
    unnamed = [name for name in command.env if not name or "=" in name]
    unnamed += [name for name in command.variables if not name.isascii() or not name.isidentifier()]
    return f"not a valid variable name: {unnamed[0]!r}" if unnamed else ""


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def specification(command: Command) -> dict[str, Any]:
    """Return the command as the launcher reads it. With a `sandbox`, this describes only the sandbox."""
    held = command.confinement
    cwd = "/" if held.sandbox else str(command.cwd)
    return {
        "argv": list(held.sandbox or command.argv),
        "cwd": cwd,
        # Some programs trust PWD more than the real working directory, so it must be correct.
        "env": {**command.env, **({} if held.sandbox else command.variables), "PWD": cwd},
        "handshake": bool(held.sandbox),
        "mounts": [dict(step) for step in held.mounts],
        "layers": [] if held.sandbox else [dict(step) for step in held.layers],
        "shelf": held.own_directory,
        "private_net": held.private_net,
        "addresses": list(held.addresses),
        "listen": [list(address) for address in held.listen],
        "landlock": held.landlock,
        "seccomp": len(held.memory_files) if held.seccomp else -1,
        "observe": held.observe.hex(),
        "memory_files": [hashlib.sha256(content).hexdigest() for content in held.memory_files],
        "rlimits": dict(held.rlimits),
        "processes": held.watch.get("processes", 0),
        "oom_score_adj": held.oom_score_adj,
    }


def start_script(command: Command) -> bytes:
    """Return the shell script by which the first program of a sandbox, a shell, becomes the command."""
    cwd = shlex.quote(str(command.cwd))
    errors = "1" if command.merge_stderr else "3"
    variables = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in command.variables.items())
    return _bytes(
        f"""{variables}cd -P -- {cwd} || {{ printf "%s\\n" "Can't chdir to "{cwd} >&2; exit 125; }}
PWD={cwd}; unset OLDPWD
printf s >&4 || exit 125
exec 2>&{errors} 3>&- 4>&- 5<&- 6<&-
exec {shlex.join(command.argv)}
"""
    )
