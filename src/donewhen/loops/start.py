"""The scheduler of one repository in the foreground: for people without the daemon."""

import contextlib
import os
from dataclasses import replace
from pathlib import Path

import anyio

from donewhen.errors import DonewhenError
from donewhen.loops.loop_records import Claim, RoundEnd
from donewhen.loops.open_store import open_store
from donewhen.loops.round_store import round_end
from donewhen.loops.run import RoundResult, continue_round, end_after
from donewhen.loops.run_scheduler import run_forever
from donewhen.loops.scheduler import RepoLoops, Scheduler, read_repo
from donewhen.loops.spec_files import StatedLoop
from donewhen.loops.triggers import Watch
from donewhen.session.log.open_archive import Say, archive_of, local_settings
from donewhen.session.log.start_record import new_id
from donewhen.session.person.watch import SessionWatcher
from donewhen.session.settings.trust import TrustBook
from donewhen.storage.owner import Owned

OWNED_SECS = 1.0
"""Seconds between two looks at a session that another process works on."""


async def run_scheduler(top: Path, trust: TrustBook, watch: SessionWatcher, show: Say, places: int) -> bool:
    """Run the loops of a repository, at most `places` at a time, until a signal stops it. Return True if Ctrl-C did.

    `watch` is about the sessions of the rounds. `show` gets the lines of reports that are to be printed.
    """
    settings, say = local_settings(), watch.say
    watch = replace(watch, handles_signals=False, may_be_asked=False)

    async def run(loop: StatedLoop, claim: Claim) -> RoundEnd:
        try:
            result = await _continue(loop, claim, watch)
            end, printed = round_end(result.finished), result.printed
        except DonewhenError as error:
            end, printed = await end_after(loop, claim, watch, str(error))
        with contextlib.suppress(OSError):  # nobody reads it any more
            for line in printed.splitlines():
                show(line)
        return end

    def look() -> list[RepoLoops]:
        with contextlib.suppress(OSError):
            os.chdir(top)  # it may have been moved, or removed and made again
        return [read_repo(top, trust)]

    with contextlib.closing(archive_of(settings, say)) as archive, open_store(settings, say) as store:
        scheduler = Scheduler(store, look, Watch(archive), new_id, say)
        say(f"the loops of {top} run here, at most {places} at a time; Ctrl-C stops")
        return await run_forever(scheduler, run, places)


async def _continue(loop: StatedLoop, claim: Claim, watch: SessionWatcher) -> RoundResult:
    """Run a claimed round. If a person has resumed its session, wait until that process has ended."""
    while True:
        try:
            return await continue_round(loop, claim, watch)
        except Owned:
            await anyio.sleep(OWNED_SECS)
