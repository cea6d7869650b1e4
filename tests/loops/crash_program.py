"""The warm program, with moments at which a call kills itself: `crash_program.py DESCRIPTOR`, as `warm_program`.

A moment is before, inside or after a write of a session's log or of the loop store, and before or after an effect: a
reference of the store, a branch, the files of the checkout, a request to a forge, a delivered report. A call reads what
to do from its environment:

    CRASH_MOMENTS   a file that gets one line for every moment
    CRASH_AT        the number of the moment at which the process kills itself
    CRASH_STOP      a moment after which the process sends itself SIGTERM: it ends a scheduler
    CRASH_WITHOUT   a defence that is left out, as a control
"""

import functools
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Mapping
from types import ModuleType
from typing import Any, TypeVar

import warm_program
from donewhen.events import Event
from donewhen.loops import report, round_ending
from donewhen.loops.forge import push
from donewhen.loops.forge.api import ForgeApi
from donewhen.loops.forge.github import GitHubForge
from donewhen.loops.loop_database import LoopDatabase
from donewhen.session.conclude import land
from donewhen.storage.archive import Archive
from donewhen.storage.connection import Connection
from donewhen.storage.lease import Lease
from donewhen.storage.owner import Owner
from donewhen.storage.record import Record
from donewhen.workspace.git.landing.branches import Branch
from donewhen.workspace.git.store import Store

T = TypeVar("T")
passed = 0


def moment(name: str) -> None:
    """Note that the process has come here, and kill it if it is to die here."""
    global passed
    if not (file := os.environ.get("CRASH_MOMENTS")):
        return
    passed += 1
    with open(file, "a") as noted:
        noted.write(f"{name}\n")
    if passed == int(os.environ.get("CRASH_AT", "0")):
        os.kill(os.getpid(), signal.SIGKILL)
    if name == os.environ.get("CRASH_STOP"):
        os.kill(os.getpid(), signal.SIGTERM)


def around(owner: type | ModuleType, name: str, what: str) -> None:
    """Make a function of a class or a module a pair of moments."""
    function = getattr(owner, name)

    @functools.wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        moment(f"before {what}")
        result = function(*arguments, **named)
        moment(f"after {what}")
        return result

    setattr(owner, name, call)


def around_task(owner: type | ModuleType, name: str, what: str) -> None:
    function = getattr(owner, name)

    @functools.wraps(function)
    async def call(*arguments: Any, **named: Any) -> Any:
        moment(f"before {what}")
        result = await function(*arguments, **named)
        moment(f"after {what}")
        return result

    setattr(owner, name, call)


def make_log_moments() -> None:
    write = Lease.write

    def call(
        self: Lease, *events: Event, note: tuple[str, Mapping[str, Any]] | None = None, sync: bool = False
    ) -> list[Record]:
        what = " ".join(["log", *([note[0]] if note else []), *(event.type() for event in events)])
        moment(f"before {what}")
        records = write(self, *events, note=note, sync=sync)
        moment(f"after {what}")
        return records

    Lease.write = call


def make_store_moments() -> None:
    write = LoopDatabase.write

    def call(self: LoopDatabase, change: Callable[[Connection], T], sync: bool = False) -> T:
        what = f"loops {change.__qualname__.split('.')[1]}"

        def inside(connection: Connection) -> T:
            result = change(connection)
            moment(f"inside {what}")
            return result

        moment(f"before {what}")
        result = write(self, inside, sync)
        moment(f"after {what}")
        return result

    LoopDatabase.write = call


def make_request_moments() -> None:
    api: Any = ForgeApi
    request = api._request

    async def call(self: Any, method: str, *arguments: Any) -> Any:
        if method == "GET":
            return await request(self, method, *arguments)
        moment("before request")
        answer = await request(self, method, *arguments)
        moment("after request")
        return answer

    api._request = call


def make_moments() -> None:
    make_log_moments()
    make_store_moments()
    make_request_moments()
    around(Archive, "create", "a session")
    around_task(Store, "keep", "keep")
    around_task(land, "deliver", "objects")
    around_task(land, "apply_to_checkout", "files")
    around_task(push, "push_new_branch", "push")
    around(Branch, "move", "branch")
    around(Branch, "remove", "no branch")
    around(report, "_append", "report")


# -- defences that a control leaves out --


def forget_begun_actions() -> None:
    """A round does not know that an earlier process has begun its action."""

    def no_notes(cls: Any, notes: Any) -> tuple[()]:
        del cls, notes
        return ()

    note: Any = round_ending.ActionBegun
    note.all_in = classmethod(no_notes)


def keep_work_last() -> None:
    """The gate is opened before the work is kept as a branch."""
    ending: Any = round_ending.RoundEnding
    escalate, keep = ending._escalate, ending._keep_work

    async def nothing(self: Any) -> None:
        del self

    async def call(self: Any, reason: str) -> Any:
        ending._keep_work = nothing
        result = await escalate(self, reason)
        await keep(self)
        return result

    ending._escalate = call


def take_over_nothing() -> None:
    """A round whose process is gone counts as one that is running."""

    def is_alive(self: Owner) -> bool:
        del self
        return True

    Owner.is_alive = is_alive


def write_without_looking() -> None:
    """A request to a forge is made without a look at what is there already."""
    forge: Any = GitHubForge

    async def once(self: Any, made: Any, make: Callable[[], Awaitable[Any]]) -> Any:
        del self, made
        return await make()

    forge._once = once


WITHOUT: Mapping[str, Callable[[], None]] = {
    "begun": forget_begun_actions,
    "branch": keep_work_last,
    "take over": take_over_nothing,
    "look": write_without_looking,
}


if __name__ == "__main__":
    del sys.path[0]
    warm_program.load()
    make_moments()
    if warm_program.Forks(socket.socket(fileno=int(sys.argv[1]))).serve():
        if without := os.environ.get("CRASH_WITHOUT"):
            WITHOUT[without]()
        warm_program.run()
