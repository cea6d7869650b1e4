"""Runs that crash at chosen moments and resume: `python driver.py REPO WHO FIRST STEP`, one line of JSON for each.

The engine is a model, an external engine, or a foreman with a model (`foreman MODEL`). The moments are the barriers
around every write of the session's log: before it, when an effect may be done and not recorded, and after it. Each
run is a separate process, forked from this one so that nothing is imported again. All runs use one repository and
one state directory, as a user's runs do.
"""

import json
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from donewhen.session.log.open_archive import any_archive
from donewhen.session.log.writer import ignore_record
from donewhen.session.outcome import SessionResult
from donewhen.session.person.watch import SessionWatcher
from donewhen.session.settings.run_options import RunOptions
from donewhen.session.verbs.start import resume, start

NEVER = 1 << 30
THREADS_SECS = 30
DIED_AGAIN = 3
"""Every so many runs are killed a second time while they recover."""


def main() -> None:
    repo, who, first, step = sys.argv[1:]
    values = values_of(who)
    rehearse(RunOptions(intent=f"rehearsal {first}", repo=Path(repo), values=values))
    point = int(first)
    while True:
        intent = f"say right, number {point} of {first}"
        died = in_a_process(
            partial(start, RunOptions(intent=intent, repo=Path(repo), values=values)),
            point,
        )
        died["session"] = session_of(intent)
        if not died["killed"]:
            tell(died)
            return
        recovered = [recover(died["session"], point)] if died["session"] else []
        tell({**died, "recovered": recovered})
        point += int(step)


def values_of(who: str) -> dict[str, str]:
    """The options that name the engine and the model."""
    if who.startswith("external:"):
        return {"--engine": who}
    engine, _, model = who.rpartition(" ")
    return {"--model": model, **({"--engine": engine} if engine else {})}


def rehearse(options: RunOptions) -> None:
    """A complete run in this process, so that every child has its modules and caches already."""
    result = anyio.run(start, options, SessionWatcher(on_record=ignore_record))
    assert result.outcome.exit_code == 0, result
    for thread in threading.enumerate():
        if thread is not threading.main_thread():
            thread.join(THREADS_SECS)  # those of the event loop, which were told to end
    assert threading.active_count() == 1, "a fork would leave threads behind"


def recover(session: str, point: int) -> dict[str, Any]:
    go_on = partial(resume, session)
    if point % DIED_AGAIN == 0:
        in_a_process(go_on, 1 + point % 7)
    return in_a_process(go_on, NEVER)


def in_a_process(job: "Callable[[SessionWatcher], Awaitable[SessionResult]]", die_at: int) -> dict[str, Any]:
    """Do a job in a child that kills itself at the n-th moment; return how that went."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        os._exit(work(job, die_at, writing))
    os.close(writing)
    with os.fdopen(reading) as lines:
        said = [json.loads(line) for line in lines]
    _, status = os.waitpid(child, 0)
    return {
        "point": die_at,
        "moments": said,
        "killed": os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL,
        "code": os.waitstatus_to_exitcode(status),
    }


def session_of(intent: str) -> str:
    """Return the session with this intent, if anything of it was written."""
    with any_archive() as archive:
        found = [row.id for row in archive.sessions() if row.title == intent]
        return found[0] if found and any(True for _ in archive.records(found[0])) else ""


def work(job: "Callable[[SessionWatcher], Awaitable[SessionResult]]", die_at: int, out: int) -> int:
    passed = 0

    def barrier(point: str) -> None:
        nonlocal passed
        passed += 1
        os.write(out, json.dumps(point).encode() + b"\n")
        if passed == die_at:
            os.kill(os.getpid(), signal.SIGKILL)

    return anyio.run(job, SessionWatcher(on_record=ignore_record, barrier=barrier)).outcome.exit_code


def tell(line: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
