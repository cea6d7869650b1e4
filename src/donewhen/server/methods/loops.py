"""The methods about the loops of a repository. Each loads what it needs when it is used.

The functions whose names do not begin with `loop_` are for the command line: completion, cron, and the scheduler in the
foreground.
"""

import contextlib
import os
from collections.abc import Callable, Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from donewhen.server.methods.call_context import CallContext
from donewhen.server.methods.place import place
from donewhen.session.log.open_archive import local_settings

if TYPE_CHECKING:
    from donewhen.loops.loop_store import LoopStore
    from donewhen.loops.spec_files import StatedLoop
    from donewhen.server.methods.loop_results import (
        AddedLoop,
        LoopCatalogue,
        LoopDetails,
        LoopList,
        LoopProposalEntry,
        OccurrenceEntry,
        RoundSummary,
    )


@contextlib.contextmanager
def _store(context: CallContext, start: Path) -> "Generator[LoopStore]":
    from donewhen.loops.open_store import open_store

    with open_store(local_settings(start=start), context.say) as store:
        yield store


async def loop_catalogue(repo: str = "") -> "LoopCatalogue":
    """Return the ready-made loops as they would be in a repository, and which forge they would use."""
    from donewhen.loops.catalogue import add

    return cast("LoopCatalogue", await add.catalogue(place(repo)))


async def loop_add(name: str, as_name: str = "", repo: str = "") -> "AddedLoop":
    """Write a ready-made loop into a repository, and trust it as it is. Return what was written, and why.

    `as_name` is another name for it there.
    """
    from donewhen.loops.catalogue import add

    return cast("AddedLoop", await add.add(place(repo), name, as_name))


def loop_list(context: CallContext, repo: str = "") -> "LoopList":
    """Return the loops of a repository, by name, and what is wrong with those that cannot be used."""
    from donewhen.loops import overview

    start = place(repo)
    with _store(context, start) as store:
        return cast("LoopList", overview.loop_list(start, store))


def loop_show(context: CallContext, name: str, repo: str = "") -> "LoopDetails":
    """Return one loop with every key and its next occurrences."""
    from donewhen.loops import overview

    start = place(repo)
    with _store(context, start) as store:
        return cast("LoopDetails", overview.loop_show(start, store, name))


def loop_history(context: CallContext, name: str = "", limit: int = 20, repo: str = "") -> "list[OccurrenceEntry]":
    """Return the occurrences of a loop, or of all loops of a repository, the newest first."""
    from donewhen.loops import overview

    start = place(repo)
    with _store(context, start) as store:
        return cast("list[OccurrenceEntry]", overview.loop_history(start, store, name, limit))


async def loop_run(context: CallContext, name: str, dry_run: bool = False, repo: str = "") -> "RoundSummary":
    """Run one round of a loop now. With `dry_run`, everything but the action is done."""
    from donewhen.loops import overview

    return await _round(context, overview.loop_at(place(repo), name), dry_run)


async def loop_run_stated(
    context: CallContext, loop: dict[str, Any], dry_run: bool = False, repo: str = ""
) -> "RoundSummary":
    """Run one round of a loop that the caller states: `loop` has the keys of `[[loop]]`, and no file is needed.

    With `dry_run`, everything but the action is done. The caller accepts what the loop asks for, which is a decision.
    """
    from donewhen.loops import overview

    return await _round(context, overview.loop_of_caller(place(repo), loop), dry_run)


def loop_proposal(id: str) -> "LoopProposalEntry":
    """Return what a round of a loop proposes: what `gate = "command:…"` reads, and why a person has to decide."""
    from donewhen.loops import overview
    from donewhen.session.log.open_archive import any_archive

    with any_archive() as archive:
        return cast("LoopProposalEntry", overview.proposal_of(archive, id))


async def _round(context: CallContext, loop: "StatedLoop", dry_run: bool) -> "RoundSummary":
    from donewhen.loops.run import run_round

    result = await run_round(loop, context.watcher, dry_run=dry_run)
    finished = result.finished
    return {
        "id": result.session,
        "loop": finished.loop,
        "outcome": result.outcome.value,
        "reason": finished.reason,
        "printed": result.printed,
        "is_cancelled": result.is_cancelled,
        "exit_code": CANCELLED_EXIT if result.is_cancelled else result.outcome.exit_code,
    }


CANCELLED_EXIT = 130


def loop_pause(context: CallContext, name: str, repo: str = "") -> str:
    """Pause a loop. A round that is running goes on. Return why it is paused: an earlier reason stays."""
    from donewhen.loops import overview
    from donewhen.loops.loop_records import PAUSED_BY_PERSON, repo_key

    start = place(repo)
    loop = overview.loop_at(start, name)
    with _store(context, start) as store:
        if earlier := store.state(repo_key(loop.top), name).paused:
            return earlier
        store.pause(repo_key(loop.top), name, PAUSED_BY_PERSON)
    return PAUSED_BY_PERSON


def loop_resume(context: CallContext, name: str, repo: str = "") -> None:
    """End the pause of a loop, and forget its failures. Its file may have been removed meanwhile."""
    from donewhen.loops import overview
    from donewhen.loops.loop_records import repo_key

    start = place(repo)
    key = repo_key(overview.repository(start))
    with _store(context, start) as store:
        if not any(state.loop == name for state in store.states(key)):
            overview.loop_at(start, name)
        store.resume(key, name)


def loop_promote(context: CallContext, name: str, repo: str = "") -> str:
    """Let a loop carry out alone what it does. Return the reason."""
    from donewhen.loops import levels, overview

    start = place(repo)
    with _store(context, start) as store:
        return levels.promote(overview.loop_at(start, name), store)


def loop_demote(context: CallContext, name: str, repo: str = "") -> None:
    """Let a person decide about everything that a loop does."""
    from donewhen.loops import levels, overview

    start = place(repo)
    with _store(context, start) as store:
        levels.demote(overview.loop_at(start, name), store)


def names() -> list[str]:
    """Return the names of the loops of the current repository that can be used."""
    from donewhen.loops import overview

    return overview.loop_names(Path.cwd())


def catalogue_names() -> list[str]:
    """Return the names of the ready-made loops."""
    from donewhen.loops.catalogue.ready_loops import READY_LOOPS

    return [*READY_LOOPS]


def is_held(context: CallContext, name: str) -> bool:
    """Return True if a loop of the current repository is paused, or if a round of it is running."""
    from donewhen.loops import overview
    from donewhen.loops.loop_records import repo_key

    loop = overview.loop_at(Path.cwd(), name)
    with _store(context, Path.cwd()) as store:
        state = store.state(repo_key(loop.top), name)
    return bool(state.paused) or (state.running is not None and not state.running.is_interrupted)


async def run_scheduler(context: CallContext, show: Callable[[str], None], places: int = 2) -> bool:
    """Run the loops of the current repository when they are due, until a signal comes. Return True if it is Ctrl-C."""
    from donewhen.loops import overview, start
    from donewhen.session.settings.trust import TrustBook
    from donewhen.workspace.state_dir import state_root

    top = overview.repository(Path.cwd())
    return await start.run_scheduler(top, TrustBook(state_root(os.environ)), context.watcher, show, places)
