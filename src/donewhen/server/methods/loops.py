"""The methods about the loops of a repository, and what completes their names. Each loads what it needs on use."""

import contextlib
import os
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from donewhen.session.log.open_archive import Say, local_settings, silent

if TYPE_CHECKING:
    from donewhen.loops.loop_store import LoopStore
    from donewhen.loops.run import RoundResult
    from donewhen.session.person.watch import SessionWatcher


@contextlib.contextmanager
def _store(say: Say) -> "Generator[LoopStore]":
    from donewhen.loops.open_store import open_store

    with open_store(local_settings(), say) as store:
        yield store


async def loop_catalogue() -> dict[str, Any]:
    """Return the ready-made loops as they would be in the current repository, and which forge they would use."""
    from donewhen.loops.catalogue import add

    return await add.catalogue(Path.cwd())


async def loop_add(name: str, as_name: str = "") -> dict[str, Any]:
    """Write a ready-made loop into the current repository. Return what was written, and why."""
    from donewhen.loops.catalogue import add

    return await add.add(Path.cwd(), name, as_name)


def loop_names() -> list[str]:
    """Return the names of the loops of the current repository that can be used."""
    from donewhen.loops import overview

    return overview.loop_names(Path.cwd())


def catalogue_names() -> list[str]:
    """Return the names of the ready-made loops."""
    from donewhen.loops.catalogue.ready_loops import READY_LOOPS

    return [*READY_LOOPS]


def loop_list(say: Say = silent) -> dict[str, Any]:
    """Return the loops of the current repository, by name, and what is wrong with those that cannot be used."""
    from donewhen.loops import overview

    with _store(say) as store:
        return overview.loop_list(Path.cwd(), store)


def loop_show(name: str, say: Say = silent) -> dict[str, Any]:
    """Return one loop with every key and its next occurrences."""
    from donewhen.loops import overview

    with _store(say) as store:
        return overview.loop_show(Path.cwd(), store, name)


def loop_history(name: str = "", limit: int = 20, say: Say = silent) -> list[dict[str, Any]]:
    """Return the occurrences of a loop, or of all loops of the current repository, the newest first."""
    from donewhen.loops import overview

    with _store(say) as store:
        return overview.loop_history(Path.cwd(), store, name, limit)


async def loop_run(name: str, watch: "SessionWatcher", dry_run: bool = False) -> "RoundResult":
    """Run one round of a loop now."""
    from donewhen.loops import overview
    from donewhen.loops.run import run_round

    return await run_round(overview.loop_at(Path.cwd(), name), watch, dry_run=dry_run)


async def loop_start(say: Say, show: Say, places: int = 2) -> bool:
    """Run the loops of the current repository when they are due, until a signal comes. Return True if it is Ctrl-C."""
    from donewhen.loops import overview
    from donewhen.loops.start import run_scheduler
    from donewhen.session.settings.trust import TrustBook
    from donewhen.workspace.state_dir import state_root

    top = overview.repository(Path.cwd())
    return await run_scheduler(top, TrustBook(state_root(os.environ)), say, show, places)


def loop_pause(name: str, say: Say = silent) -> str:
    """Pause a loop. A round that is running goes on. Return why it is paused: an earlier reason stays."""
    from donewhen.loops import overview
    from donewhen.loops.loop_records import PAUSED_BY_PERSON, repo_key

    loop = overview.loop_at(Path.cwd(), name)
    with _store(say) as store:
        if earlier := store.state(repo_key(loop.top), name).paused:
            return earlier
        store.pause(repo_key(loop.top), name, PAUSED_BY_PERSON)
    return PAUSED_BY_PERSON


def loop_resume(name: str, say: Say = silent) -> None:
    """End the pause of a loop, and forget its failures. Its file may have been removed meanwhile."""
    from donewhen.loops import overview
    from donewhen.loops.loop_records import repo_key

    repo = repo_key(overview.repository(Path.cwd()))
    with _store(say) as store:
        if not any(state.loop == name for state in store.states(repo)):
            overview.loop_at(Path.cwd(), name)
        store.resume(repo, name)


def loop_is_held(name: str, say: Say = silent) -> bool:
    """Return True if a loop is paused, or if a round of it is running."""
    from donewhen.loops import overview
    from donewhen.loops.loop_records import repo_key

    loop = overview.loop_at(Path.cwd(), name)
    with _store(say) as store:
        state = store.state(repo_key(loop.top), name)
    return bool(state.paused) or (state.running is not None and not state.running.is_interrupted)


def loop_promote(name: str, say: Say = silent) -> str:
    """Let a loop carry out alone what it does. Return the reason."""
    from donewhen.loops import levels, overview

    with _store(say) as store:
        return levels.promote(overview.loop_at(Path.cwd(), name), store)


def loop_demote(name: str, say: Say = silent) -> None:
    """Let a person decide about everything that a loop does."""
    from donewhen.loops import levels, overview

    with _store(say) as store:
        levels.demote(overview.loop_at(Path.cwd(), name), store)
