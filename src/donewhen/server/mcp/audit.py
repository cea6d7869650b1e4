"""Audit log of the calls of agents: one line of JSON for what is about to be done, and one for what became of it.

    log = AuditLog(state / "daemon" / "audit.jsonl")
    log.close_unfinished()                     # at the start: calls whose process died have the outcome `unknown`
    call = log.begin(client="…", tool="run", arguments={…})      # raises MachineryBroke: then the call is not made
    log.end(call, "ok")

    problem = problem_of(path)                 # empty if nothing was changed, removed or swapped

Each line has the hash of the line before. A small file beside the log has its length and the hash of its last line, so
that missing lines at the end are found as well. Several processes may write: each append holds a lock.
"""

import contextlib
import datetime
import fcntl
import hashlib
import itertools
import json
import os
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path
from typing import Any

from donewhen.errors import MachineryBroke
from donewhen.memory.sanitise import sanitise_line
from donewhen.records import frozen
from donewhen.storage.owner import Owner

FIRST = "0" * 64
"""Stands for the hash of the line before the first."""
SHOWN_BYTES = 200
"""Of each argument. The hash of all arguments is beside them."""
SHOWN_ARGUMENTS = 20
INTENT, OUTCOME = "intent", "outcome"
UNKNOWN = "unknown"
_HEAD_BYTES = 20 + 1 + 20 + 1 + 64 + 1


@frozen
class _Head:
    """What the file beside the log says: how many lines and bytes it has, and the hash of its last line."""

    lines: int
    size: int
    digest: str

    def data(self) -> bytes:
        return f"{self.lines:020d} {self.size:020d} {self.digest}\n".encode()


_EMPTY = _Head(0, 0, FIRST)


class AuditLog:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._owner = Owner.here().text()
        self._numbers = itertools.count(1)

    def begin(self, *, client: str, session: str, tool: str, arguments: Mapping[str, Any]) -> str:
        """Record what is about to be done, durably. Return the id of the call."""
        call = f"{os.getpid()}-{next(self._numbers)}-{os.urandom(4).hex()}"
        whole = json.dumps(arguments, sort_keys=True, default=str)
        shown = {sanitise_line(key, SHOWN_BYTES): _shown(arguments[key]) for key in [*arguments][:SHOWN_ARGUMENTS]}
        self._append(
            "the call was not made",
            kind=INTENT,
            call=call,
            client=sanitise_line(client, SHOWN_BYTES),
            session=sanitise_line(session, SHOWN_BYTES),
            tool=sanitise_line(tool, SHOWN_BYTES),
            arguments=shown,
            arguments_hash=hashlib.sha256(whole.encode("utf-8", "replace")).hexdigest(),
            owner=self._owner,
        )
        return call

    def end(self, call: str, outcome: str, detail: str = "") -> None:
        """Record what became of a call: `ok`, `error`, `refused`, `cancelled`, `broken` or `unknown`."""
        self._append(
            "the call was made, but its outcome is not recorded",
            kind=OUTCOME,
            call=call,
            outcome=outcome,
            detail=sanitise_line(detail, SHOWN_BYTES),
        )

    def close_unfinished(self) -> list[str]:
        """Record the outcome `unknown` for the calls whose process is dead. Return their ids."""
        open_calls: dict[str, str] = {}
        for line in _lines(self._path):
            with contextlib.suppress(ValueError, KeyError, TypeError):
                entry = json.loads(line)
                if entry["kind"] == INTENT:
                    open_calls[entry["call"]] = entry["owner"]
                elif entry["kind"] == OUTCOME:
                    open_calls.pop(entry["call"], None)
        dead = [call for call, owner in open_calls.items() if not _is_alive(owner)]
        for call in dead:
            self.end(call, UNKNOWN, "the process ended before the call did")
        return dead

    def _append(self, otherwise: str, **entry: Any) -> None:
        """Append a line, durably. `otherwise` says what it means if that fails."""
        try:
            with _locked(self._path) as (log, head_file):
                head = _caught_up(log, head_file)
                at = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
                entry = {"n": head.lines + 1, "at": at, **entry, "before": head.digest}
                line = json.dumps(entry, separators=(",", ":")).encode() + b"\n"
                _write_all(log, line)
                os.fsync(log)
                new = _Head(head.lines + 1, head.size + len(line), _digest(line))
                os.pwrite(head_file, new.data(), 0)
                os.fsync(head_file)
        except OSError as error:
            raise MachineryBroke(f"the audit log cannot be written: {error.strerror}; {otherwise}") from error


def problem_of(path: Path) -> str:
    """Return the first thing that is wrong with an audit log; empty if it is as it was written.

    At most one line may be newer than the file beside the log: a process may die between the two.
    """
    try:
        head = _read_head(_head_path(path).read_bytes())
    except FileNotFoundError:
        head = _EMPTY if not path.exists() else None
    if head is None:
        return f"{_head_path(path).name} is missing or unreadable"
    before, size, number = FIRST, 0, 0
    is_at_head = head.lines == 0
    for number, line in enumerate(_lines(path), 1):
        problem = _problem_of_line(line, number, before)
        if problem:
            return f"line {number}: {problem}"
        before, size = _digest(line), size + len(line)
        if number == head.lines:
            is_at_head = (size, before) == (head.size, head.digest)
            if not is_at_head:
                return f"line {number}: it is not the line that was written last"
    if not is_at_head:
        return f"line {number + 1}: it is missing; {head.lines} lines were written"
    return f"line {head.lines + 2}: it was added without the lock" if number > head.lines + 1 else ""


def _problem_of_line(line: bytes, number: int, before: str) -> str:
    if not line.endswith(b"\n"):
        return "it is not complete"
    try:
        entry: dict[str, Any] = json.loads(line)
    except (ValueError, RecursionError):
        return "it is not JSON"
    if not line.startswith(b"{") or json.dumps(entry, separators=(",", ":")).encode() + b"\n" != line:
        return "it was not written by donewhen"
    if entry.get("n") != number:
        return f"its number is {entry.get('n')}"
    return "" if entry.get("before") == before else "the line before it was changed, removed or swapped"


def _lines(path: Path) -> Iterator[bytes]:
    with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
        yield from file


def _digest(line: bytes) -> str:
    return hashlib.sha256(line).hexdigest()


def _head_path(path: Path) -> Path:
    return path.with_suffix(".head")


@contextlib.contextmanager
def _locked(path: Path) -> Generator[tuple[int, int]]:
    """Open the log and the file beside it, both for their owner alone, and hold the lock of the log."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    with contextlib.ExitStack() as opened:
        log = os.open(path, flags | os.O_APPEND, 0o600)
        opened.callback(os.close, log)
        head_file = os.open(_head_path(path), flags, 0o600)
        opened.callback(os.close, head_file)
        fcntl.flock(log, fcntl.LOCK_EX)
        yield log, head_file


def _caught_up(log: int, head_file: int) -> _Head:
    """Return the state of the log. Count a line that a dead process wrote without the head, and cut off half a line."""
    data = os.pread(head_file, _HEAD_BYTES, 0)
    head = _EMPTY if not data else _read_head(data)
    size = os.fstat(log).st_size
    if head is None or size < head.size:
        raise OSError(0, "it was changed from outside")
    rest = os.pread(log, size - head.size, head.size)
    whole, _, half = rest.rpartition(b"\n")
    if whole:
        for line in whole.split(b"\n"):
            head = _Head(head.lines + 1, head.size + len(line) + 1, _digest(line + b"\n"))
    if half:
        os.ftruncate(log, head.size)
    return head


def _read_head(data: bytes) -> _Head | None:
    parts = data.decode("ascii", "replace").split()
    if len(data) != _HEAD_BYTES or len(parts) != 3 or not (parts[0].isdigit() and parts[1].isdigit()):
        return None
    head = _Head(int(parts[0]), int(parts[1]), parts[2])
    return head if head.data() == data else None


def _write_all(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return sanitise_line(text, SHOWN_BYTES)


def _is_alive(owner: object) -> bool:
    found = Owner.read(owner) if isinstance(owner, str) else None
    return found is not None and found.is_alive()
