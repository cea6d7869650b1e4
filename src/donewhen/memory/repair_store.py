"""Database of all repairs and of the results of their hints: SQLite in a separate file, or PostgreSQL.

It only stores rows. `recall` decides which repair is shown, and `counting` what the counts mean. Counts are not stored:
they are computed from the offers. Each offer exists once, so writing it again changes nothing.
"""

import json
from collections.abc import Collection, Iterable
from hashlib import sha256
from typing import Any

from donewhen.errors import BadInput
from donewhen.memory.counting import Counts
from donewhen.memory.diffs import changed_lines
from donewhen.memory.eviction import MOST_REPAIRS, evict_oldest, remove
from donewhen.memory.repair import Offer, Repair, failure_class
from donewhen.memory.schema import WORDS
from donewhen.memory.signature import Signature, from_json, matches
from donewhen.memory.tagged_texts import TaggedTexts
from donewhen.records import frozen
from donewhen.storage.connection import Connection
from donewhen.storage.disposable_db import purge_journal
from donewhen.storage.record import storable
from donewhen.storage.text_search import WordTable

MOST_CANDIDATES = 100
SHOWN_IDS = 5
_COLUMNS = "signature, approach, diff, repo, model, session, round, at, source"
_COUNTED = """SELECT sum(1 - withheld),
    sum(CASE WHEN withheld = 0 AND ending = 'passed' THEN 1 ELSE 0 END),
    sum(CASE WHEN withheld = 0 AND ending = 'red' THEN 1 ELSE 0 END),
    sum(withheld),
    sum(CASE WHEN withheld = 1 AND ending = 'passed' THEN 1 ELSE 0 END),
    sum(CASE WHEN withheld = 1 AND ending = 'red' THEN 1 ELSE 0 END)
    FROM donewhen_repair_offers WHERE repair = ?"""


@frozen
class KnownRepair:
    """A repair and the counts of its hint."""

    id: str
    """The stored id. A later version may compute a different id for the same repair."""
    repair: Repair
    counts: Counts

    @property
    def is_offered(self) -> bool:
        """Whether the repair can be recalled at all."""
        return self.repair.signature.may_be_recalled and not self.counts.is_retired


class RepairStore:
    def __init__(self, connection: Connection, most: int = MOST_REPAIRS) -> None:
        """Keep at most `most` repairs; the oldest are removed."""
        self._connection = connection
        self._most = most
        self._words = WordTable(connection, WORDS)
        self.texts = TaggedTexts(connection)
        """What is remembered beside repairs."""

    def close(self) -> None:
        self._connection.close()

    # -- writing --

    def add(self, repair: Repair) -> bool:
        """Store a repair. Return False if the same change for the same failure is already stored."""
        with self._connection.transaction():
            added = self._add(repair)
            if added:
                evict_oldest(self._connection, self._most, added)
            return bool(added)

    def import_all(self, repairs: Iterable[tuple[Repair, list[Offer]]]) -> int:
        """Store all repairs with their offers, or none. Return how many were new. Above the limit, the oldest go."""
        new = 0
        with self._connection.transaction():
            for repair, offers in repairs:
                new += bool(self._add(repair))
                for offer in offers:
                    self._put(repair.id, offer)
            evict_oldest(self._connection, self._most)
        return new

    def _add(self, repair: Repair) -> str:
        """Return the id of a new repair; empty if it is already stored. A repair learnt by a session is new if only
        another repository has the same one: each repository is shown its own text."""
        same = changed_lines(repair.diff)
        if any(
            changed_lines(one.repair.diff) == same for one in self.matching(repair.signature, repair.source or None)
        ):
            return ""
        others = "SELECT 1 FROM donewhen_repairs WHERE id = ? AND source <> ?"
        is_used = repair.source and self._connection.run(others, repair.id, repair.source)
        id = repair.id_of_source if is_used else repair.id
        signature = json.dumps(repair.signature.as_json(), separators=(",", ":"))
        values = (storable(one) for one in (repair.approach, repair.diff, repair.repo, repair.model, repair.session))
        added = self._connection.run(
            f"INSERT INTO donewhen_repairs (id, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT DO NOTHING RETURNING id",
            id,
            signature,
            *values,
            repair.round,
            repair.at,
            repair.source,
        )
        if not added:
            return ""  # a repair that cannot be recalled is found by its id only
        places = places_of(repair.signature) if repair.signature.may_be_recalled else set[str]()
        self._connection.run_each(
            "INSERT INTO donewhen_repair_places (place, repair) VALUES (?, ?)",
            [(place, id) for place in sorted(places)],
        )
        self._words.put(id, search_text(repair))
        return id

    def offer(self, repair: str, offer: Offer) -> None:
        """Record that a repair was offered, and the result once it is known. Write nothing if the repair was removed
        meanwhile."""
        with self._connection.transaction():
            self._put(repair, offer)

    def _put(self, repair: str, offer: Offer) -> None:
        self._connection.run(
            "INSERT INTO donewhen_repair_offers (repair, session, round, signature, withheld, ending, at)"
            " SELECT id, ?, ?, ?, ?, ?, ? FROM donewhen_repairs WHERE id = ?"
            " ON CONFLICT (repair, session, round) DO UPDATE SET ending = excluded.ending"
            " WHERE donewhen_repair_offers.ending = ''",
            offer.session,
            offer.round,
            offer.signature,
            int(offer.withheld),
            offer.ending,
            offer.at,
            repair,
        )

    def forget(self, ids: Iterable[str]) -> int:
        """Remove repairs with all their data, so that no trace stays in a database file. Return how many existed."""
        with self._connection.transaction():
            removed = remove(self._connection, list(ids))
            self._words.purge()
        purge_journal(self._connection)
        return removed

    def unlearn(self, session: str, checks: Collection[str]) -> int:
        """Remove what a session has learnt about these checks. Return the number of removed repairs."""
        rows = self._connection.run("SELECT id, signature FROM donewhen_repairs WHERE session = ?", session)
        with self._connection.transaction():
            return remove(self._connection, [id for id, signature in rows if _signature(signature).check in checks])

    # -- reading --

    def all(self, words: str = "") -> list[KnownRepair]:
        """Return the repairs that contain all words, or words with these prefixes; the newest first."""
        rows = self._connection.run(f"SELECT id, {_COLUMNS} FROM donewhen_repairs ORDER BY at DESC, id")
        if words.strip():
            found = set(self._words.search(words))
            rows = [row for row in rows if row[0] in found]
        return [self._known_repair(row) for row in rows]

    def find(self, prefix: str) -> KnownRepair:
        """Return the only repair whose id starts with the prefix, or raise BadInput."""
        if not prefix.strip():
            raise BadInput("the id of a repair is empty")
        ids = [row[0] for row in self._connection.run("SELECT id FROM donewhen_repairs ORDER BY id")]
        found = [prefix] if prefix in ids else [id for id in ids if id.startswith(prefix)]
        if not found:
            raise BadInput(f"there is no repair {prefix!r}; see: donewhen memory list")
        if len(found) > 1:
            shown = ", ".join(found[:SHOWN_IDS])
            raise BadInput(
                f"{prefix!r} is ambiguous; it matches these repairs: {shown}{', …' if len(found) > SHOWN_IDS else ''}"
            )
        return self._known_repair(
            self._connection.run(f"SELECT id, {_COLUMNS} FROM donewhen_repairs WHERE id = ?", *found)[0]
        )

    def matching(self, signature: Signature, source: str | None = None) -> list[KnownRepair]:
        """Return the repairs of the same failure, of one source or of all. An index finds candidates that share a place
        key; comparing the signatures decides."""
        places = sorted(places_of(signature))
        if not signature.may_be_recalled or not places:
            return []
        of_source = "" if source is None else " AND source = ?"
        rows = self._connection.run(
            f"SELECT id, {_COLUMNS} FROM donewhen_repairs WHERE id IN (SELECT repair FROM donewhen_repair_places"
            f" WHERE place IN ({', '.join('?' * len(places))})){of_source}"
            f" ORDER BY at DESC, id LIMIT {MOST_CANDIDATES}",
            *places,
            *([] if source is None else [source]),
        )
        return [self._known_repair(row) for row in rows if matches(_signature(row[1]), signature)]

    def offers(self, repair: str) -> list[Offer]:
        rows = self._connection.run(
            "SELECT session, round, signature, withheld, ending, at FROM donewhen_repair_offers WHERE repair = ?"
            " ORDER BY at, session, round",
            repair,
        )
        return [
            Offer(session=session, round=number, signature=signature, withheld=bool(withheld), ending=ending, at=at)
            for session, number, signature, withheld, ending, at in rows
        ]

    def _known_repair(self, row: tuple[Any, ...]) -> KnownRepair:
        names = ("approach", "diff", "repo", "model", "session", "round", "at", "source")
        repair = Repair(signature=_signature(row[1]), **dict(zip(names, row[2:], strict=True)))
        counted = ("shown", "helped", "hurt", "withheld", "withheld_passed", "withheld_red")
        numbers = [int(one or 0) for one in self._connection.run(_COUNTED, row[0])[0]]
        return KnownRepair(row[0], repair, Counts(**dict(zip(counted, numbers, strict=True))))


def places_of(signature: Signature) -> set[str]:
    """Return one key for each failed id of a signature. Two matching signatures share at least one key."""
    step = [signature.v, signature.check, signature.step, signature.reader]
    ids = {one.id for one in signature.failed}
    return {sha256(json.dumps([*step, id]).encode()).hexdigest()[:24] for id in ids}


def search_text(repair: Repair) -> str:
    """Return the text in which a repair is searched."""
    causes = (part for cause in repair.signature.causes for part in cause)
    about = (repair.signature.check, failure_class(repair.signature), repair.repo, repair.model, repair.approach)
    return "\n".join([*about, *repair.signature.ids, *causes, repair.diff])


def _signature(text: str) -> Signature:
    return from_json(json.loads(text))
