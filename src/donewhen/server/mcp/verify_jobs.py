"""Verdicts that are being made for clients that do not wait: a call begins one, later calls ask for it by its handle.

The work belongs to the server and not to the connection: a client that vanishes loses nothing.
"""

import os
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any

from anyio.abc import TaskGroup

from donewhen.errors import DonewhenError
from donewhen.server.call_errors import CallRefused
from donewhen.server.error_kinds import error_data
from donewhen.server.service import Caller

MOST_RUNNING = 4
"""Of one client."""
MOST_KEPT = 200
"""Finished ones whose result can still be asked for, of all clients."""
RUNNING, DONE, FAILED = "running", "done", "failed"
Work = Callable[[], Awaitable[Any]]


class _Job:
    def __init__(self, client: str, key: tuple[str, str]) -> None:
        self.client = client
        self.key = key
        self.state = RUNNING
        self.result: Any = None


class VerifyJobs:
    def __init__(self, tasks: TaskGroup) -> None:
        self._tasks = tasks
        self._jobs: OrderedDict[str, _Job] = OrderedDict()

    def begin(self, caller: Caller, subject: str, work: Work) -> str:
        """Begin a verdict and return its handle; or the handle of the one on this subject that is still running."""
        key = (caller.name, subject)
        running = [(handle, job) for handle, job in self._jobs.items() if job.state == RUNNING]
        for handle, job in running:
            if job.key == key:
                return handle
        if sum(job.client == caller.name for _, job in running) >= MOST_RUNNING:
            raise CallRefused("too_many", f"{MOST_RUNNING} verdicts of this client are being made; ask again later")
        handle = f"verify-{os.urandom(12).hex()}"
        self._jobs[handle] = _Job(caller.name, key)
        self._forget_oldest()
        self._tasks.start_soon(self._work, self._jobs[handle], work)
        return handle

    def state(self, caller: Caller, handle: str) -> dict[str, Any]:
        """Return how far a verdict is. A handle of another client is as unknown as one that never was."""
        job = self._jobs.get(handle)
        if job is None or job.client != caller.name:
            raise CallRefused("unknown_handle", "there is no verdict with this handle; call verify again without it")
        if job.state == RUNNING:
            return {"handle": handle, "state": RUNNING}
        return {"handle": handle, "state": job.state, "verdict" if job.state == DONE else "problem": job.result}

    async def _work(self, job: _Job, work: Work) -> None:
        try:
            job.result = await work()
            job.state = DONE
        except DonewhenError as error:
            job.result = f"{error_data(error)['kind']}: {error}"
            job.state = FAILED
        except Exception as error:  # noqa: BLE001 - a verdict that breaks must not end the server
            job.result = f"internal: {type(error).__name__}"
            job.state = FAILED

    def _forget_oldest(self) -> None:
        finished = [handle for handle, job in self._jobs.items() if job.state != RUNNING]
        for handle in finished[: max(0, len(finished) - MOST_KEPT)]:
            del self._jobs[handle]
