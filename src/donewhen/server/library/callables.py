"""A loop that a Python program states: its gate and its action are called in that program.

The runtime carries the action out as `command:…`. The command is `bridge`, which hands the action over to the program
through a unix socket in the state directory, where no sandbox reaches it. So the action has a checkout of the approved
tree, its end is recorded like that of any other action, and it does not matter who works on the round: this process, a
daemon, or a person's `donewhen approve`.
"""

import contextlib
import datetime
import fcntl
import hashlib
import inspect
import json
import os
import shlex
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, cast

import anyio
import anyio.to_thread
from anyio.abc import SocketStream

from donewhen.errors import BadInput
from donewhen.server.call_errors import CallFailed
from donewhen.server.library import bridge
from donewhen.server.library.calls import Calls
from donewhen.workspace.state_dir import private_directory, state_root

if TYPE_CHECKING:
    from donewhen.server.methods.loop_results import LoopProposalEntry

Gate = Callable[["LoopProposalEntry"], "bool | Awaitable[bool | None] | None"]
"""Decides about a proposal: True approves, False denies, None leaves it to a person."""
Action = Callable[["LoopProposalEntry", Path], "str | Awaitable[str | None] | None"]
"""Carries out approved work, from its proposal and a checkout of it. It returns a text for the record."""


class LoopServer:
    """Serves the action of a loop while the block is open, and begins its rounds."""

    def __init__(
        self, calls: Calls, table: Mapping[str, Any], repo: str, gate: Gate | str, action: Action | str
    ) -> None:
        self.calls = calls
        self.gate = gate
        self._action = action
        self._repo = repo or calls.absolute(".")
        command = [sys.executable, "-I", "-S", bridge.__file__, str(self._socket(table["name"]))]
        self._table = {
            **table,
            "gate": gate if isinstance(gate, str) else "ask",
            "action": action if isinstance(action, str) else f"command:{shlex.join(command)}",
        }
        self._stack = contextlib.AsyncExitStack()

    async def __aenter__(self) -> "LoopServer":
        if not isinstance(self._action, str):
            await self._stack.enter_async_context(self._serving(self._table["name"], self._action))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, Exception):  # it leaves the block as it is: the task group inside would wrap it
            await self._stack.__aexit__(None, None, None)
        else:
            await self._stack.__aexit__(kind, error, trace)

    async def begin(self, dry_run: bool) -> str:
        """Begin a round. Return the id of its session."""
        given = {"loop": self._table, "dry_run": dry_run, "repo": self._repo}
        return (await self.calls.call("loop.run_stated", given))["id"]

    async def ask(self, proposal: "LoopProposalEntry") -> bool | None:
        """Return what the gate decides."""
        assert not isinstance(self.gate, str)  # it is asked only if it is a callable
        decision = await _called(self.gate, proposal)
        return None if decision is None else bool(decision)

    async def wait_until_due(self) -> None:
        """Wait for the next time at which the schedule of the loop makes it due."""
        from donewhen.loops.spec import spec_of

        now = datetime.datetime.now(datetime.UTC)
        due = spec_of(self._table, "the stated loop: ").schedule.next_after(now)
        await anyio.sleep((due - now).total_seconds())

    # -- the action --

    def _socket(self, name: str) -> Path:
        """Return the socket of the loop: the same one when the program starts again, for what waits meanwhile."""
        key = hashlib.sha256(os.fsencode(f"{self._repo}\0{name}")).hexdigest()[:16]
        return private_directory(state_root(os.environ) / "callables") / f"{key}.sock"

    @contextlib.asynccontextmanager
    async def _serving(self, name: str, action: Action) -> AsyncGenerator[None]:
        from donewhen.server.rpc.unix_socket import listening  # loaded on use: few loops have an action in Python

        path = self._socket(name)
        with _only_program(path.with_suffix(".lock"), name):
            async with listening(path, partial(self._serve, action), os.geteuid()):
                yield

    async def _serve(self, action: Action, stream: SocketStream) -> None:
        from donewhen.server.rpc.unix_socket import lines

        async with contextlib.aclosing(lines(stream)) as received:
            async for line in received:
                await stream.send(json.dumps(await self._carried_out(action, line)).encode() + b"\n")

    async def _carried_out(self, action: Action, line: bytes) -> dict[str, Any]:
        try:
            asked = json.loads(line)
            proposal = await self.calls.call("loop.proposal", {"id": asked["session"]})
            if proposal["tree"] != asked["tree"]:
                return {"ok": False, "text": f"the approved tree {asked['tree']} is not the proposed one"}
            said = await _called(action, cast("LoopProposalEntry", proposal), Path(asked["directory"]))
        except CallFailed as error:
            return {"ok": False, "text": str(error)}
        except Exception as error:  # noqa: BLE001 - whatever breaks in a callable of the user is a failed action
            return {"ok": False, "text": f"{type(error).__name__}: {' '.join(str(error).split())}"}
        return {"ok": True, "text": said or ""}


async def _called(function: Callable[..., Any], *given: Any) -> Any:
    """Call a function of the user: an async one here, a plain one in a thread."""
    if inspect.iscoroutinefunction(function):
        return await function(*given)
    found = await anyio.to_thread.run_sync(partial(function, *given))
    return await found if inspect.isawaitable(found) else found


@contextlib.contextmanager
def _only_program(file: Path, name: str) -> Generator[None]:
    """Hold the lock of a loop. Raise CallFailed if another program has it."""
    lock = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            problem = f"another program states the loop '{name}' already"
            raise CallFailed("bad_input", problem, BadInput.exit_code) from None
        yield
    finally:
        os.close(lock)
