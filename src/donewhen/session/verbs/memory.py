"""Verbs on the repair memory: list it, search it, ask it about a log, forget repairs, export and import them.

Plain data in and out, for every user interface. What sessions learn and recall is in `recall.session_memory`.
"""

import contextlib
import json
import os
from collections.abc import Generator, Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from donewhen.errors import BadInput
from donewhen.memory.counting import wilson
from donewhen.memory.open_store import RepairStoreHandle
from donewhen.memory.recall import recall
from donewhen.memory.repair import (
    Offer,
    Repair,
    digest,
    failure_class,
    from_plain,
    offers_of,
    place_name,
    sanitise_signature,
)
from donewhen.memory.repair_store import KnownRepair, RepairStore
from donewhen.memory.signature import signature_of
from donewhen.readers.json import parsed
from donewhen.session.log.open_archive import Say, local_settings, silent
from donewhen.workspace.git.repo import common_dir_of
from donewhen.workspace.state_dir import repository_key, state_root

LOCK_TIMEOUT = 5.0
"""Seconds to wait: a person would rather wait than be refused."""
LONGEST_LINE = 4 * 1024 * 1024


@contextlib.contextmanager
def opened_store(say: Say) -> Generator[RepairStoreHandle]:
    """Provide the repair store that the settings of the current directory name."""
    store = RepairStoreHandle(state_root(os.environ), local_settings().text("storage", "url"), LOCK_TIMEOUT)
    try:
        yield store
    finally:
        store.close()
        for line in store.warnings:
            say(f"note: {line}")


def memory_list(words: str = "", repo: str = "", say: Say = silent) -> list[dict[str, Any]]:
    """Return the repairs, newest first: those with all of the words, made in the repository that contains the path."""
    with opened_store(say) as store:
        found = store.read(lambda book: book.all(words), [])
    return [_summary(known) for known in found if not repo or _lies_in(repo, known.repair.repo)]


def memory_texts(tag: str, say: Say = silent) -> list[dict[str, Any]]:
    """Return the remembered texts with a tag, newest first."""
    with opened_store(say) as store:
        return [asdict(one) for one in store.read(lambda book: book.texts.tagged(tag), [])]


def memory_forget_texts(tag: str, say: Say = silent) -> int:
    """Remove the remembered texts with a tag. Return how many there were."""
    with opened_store(say) as store:
        return store.read(lambda book: book.texts.forget(tag), 0)


def memory_show(id: str, say: Say = silent) -> dict[str, Any]:
    """Return everything that is known about one repair."""

    def details(book: RepairStore) -> dict[str, Any]:
        known = book.find(id)
        repair = known.repair
        return {
            **_summary(known),
            "signature": repair.signature.as_json(),
            "diff": repair.diff,
            "round": repair.round,
            "offers": [offer.plain() for offer in book.offers(known.id)],
        }

    with opened_store(say) as store:
        known = store.read(details, None)
    if known is None:
        raise BadInput(f"there is no repair {id!r}: nothing is remembered yet")
    return known


def memory_recall(log: str, check: str = "", repo: str = "", say: Say = silent) -> dict[str, Any] | None:
    """Return the hint that a round in a repository would get for this failure; without a repository, the best of all.

    Asking is not counted.
    """
    if not local_settings().flag("memory", "enabled"):
        return None
    ask = partial(
        recall,
        red={check: sanitise_signature(signature_of(log, check))},
        repo=os.path.realpath(repo) if repo else "",
        may_withhold=False,
        source=repository_key(common_dir_of(Path(repo))) if repo else None,
        across=not repo or local_settings().flag("memory", "across_repositories"),
    )
    with opened_store(say) as store:
        found = store.read(ask, None)
    if found is None:
        return None
    return {
        "repair": found.repair,
        "signature": found.signature,
        "times_helped": found.times_helped,
        "text": found.text,
        "source": found.source,
    }


def memory_forget(ids: list[str], every: bool = False, say: Say = silent) -> int:
    """Remove these repairs, or all of them. Return how many were removed."""

    def removed(book: RepairStore) -> int:
        return book.forget([known.id for known in (book.all() if every else map(book.find, ids))])

    with opened_store(say) as store:
        count = store.read(removed, -1)
    if count < 0 and ids:
        raise BadInput(f"there is no repair {ids[0]!r}: nothing is remembered yet")
    return max(0, count)


def memory_export(say: Say = silent) -> Iterator[str]:
    """Yield every repair as a line of JSON, oldest first."""

    def lines(book: RepairStore) -> list[str]:
        known = reversed(book.all())
        return [
            json.dumps({**one.repair.plain(), "offers": [offer.plain() for offer in book.offers(one.id)]})
            for one in known
        ]

    with opened_store(say) as store:
        yield from store.read(lines, [])


def memory_import(name: str, content: bytes, say: Say = silent) -> tuple[int, int]:
    """Import what `export` wrote. Return how many repairs there were, and how many of them were new.

    If one line cannot be read, nothing is imported.
    """
    if not local_settings().flag("memory", "enabled"):
        raise BadInput("memory.enabled is false: nothing is remembered here")
    repairs = list(_read(name, content))
    if not repairs:
        return 0, 0
    with opened_store(say) as store:
        return len(repairs), store.write(lambda book: book.import_all(repairs))


def _read(name: str, content: bytes) -> Iterator[tuple[Repair, list[Offer]]]:
    for number, line in enumerate(content.split(b"\n"), 1):
        if not line.strip():
            continue
        data = parsed(line) if len(line) <= LONGEST_LINE else None
        if data is None:
            raise BadInput(f"{name}:{number}: not a JSON object; nothing was imported")
        try:
            yield from_plain(data), list(offers_of(data))
        except ValueError as why:
            raise BadInput(f"{name}:{number}: not a repair: {why}; nothing was imported") from why


def _summary(known: KnownRepair) -> dict[str, Any]:
    repair, counts = known.repair, known.counts
    low, high = wilson(counts.helped, counts.hurt)
    return {
        "id": known.id,
        "check": repair.signature.check,
        "class": failure_class(repair.signature),
        "key": digest(repair.signature),
        "approach": repair.approach,
        "repo": repair.repo,
        "learnt_here": bool(repair.source),
        "model": repair.model,
        "session": repair.session,
        "at": repair.at,
        "state": _state(known),
        "offered": counts.shown + counts.withheld,
        "shown": counts.shown,
        "helped": counts.helped,
        "hurt": counts.hurt,
        "withheld": counts.withheld,
        "withheld_passed": counts.withheld_passed,
        "withheld_red": counts.withheld_red,
        "rate": [round(low, 3), round(high, 3)],
    }


def _state(known: KnownRepair) -> str:
    if not known.repair.signature.may_be_recalled:
        return "grouped"
    return "retired" if known.counts.is_retired else "offered"


def _lies_in(path: str, repo: str) -> bool:
    here = Path(os.path.realpath(path))
    return bool(repo) and any(place_name(str(one)) == repo for one in (here, *here.parents))
