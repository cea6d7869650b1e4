"""The loops that the daemon runs: those of every repository whose file a person has accepted, each in one process."""

import os
from collections.abc import Callable
from pathlib import Path

import anyio
import anyio.to_thread

from donewhen.errors import DonewhenError
from donewhen.server.calls.calls import CallProcesses, MethodCall
from donewhen.server.calls.run_loops import RUN_LOOPS
from donewhen.server.service import Surroundings
from donewhen.session.settings.trust import TrustBook

LOOK_SECS = 30.0
PLACES = 2
"""Rounds of one repository at the same time."""
Say = Callable[[str], None]


async def run_loops_of_user(calls: CallProcesses, trust: TrustBook, storage: str, say: Say) -> None:
    """Run the scheduler of each repository that has loops, until it is cancelled. New repositories are noticed."""
    running: set[Path] = set()

    async def run(repo: Path) -> None:
        surroundings = Surroundings(str(repo), dict(os.environ))
        call = MethodCall(RUN_LOOPS.name, {"repo": str(repo), "places": PLACES}, surroundings, storage, lasts=True)
        try:
            await calls.call(call, say)
        except DonewhenError as error:
            say(f"the loops of {repo} stopped: {error}")
        finally:
            running.discard(repo)

    async with anyio.create_task_group() as tasks:
        while True:
            for repo in await anyio.to_thread.run_sync(repositories_with_loops, trust):
                if repo not in running:
                    running.add(repo)
                    tasks.start_soon(run, repo)
            await anyio.sleep(LOOK_SECS)


def repositories_with_loops(trust: TrustBook) -> list[Path]:
    """Return the repositories with accepted files that state loops."""
    from donewhen.loops.spec_files import usable_loops

    tops = {_top(file) for file in trust.files()}
    return [top for top in sorted(tops) if top.is_dir() and usable_loops(top, trust)[0]]


def _top(file: Path) -> Path:
    """Return the repository that an accepted file belongs to: donewhen.toml at its top, or a file of a loop."""
    return file.parents[2] if file.parts[-3:-1] == (".donewhen", "loops") else file.parent
