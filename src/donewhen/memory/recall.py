"""Which hint a round is given: at most one, the one that promises most. Chooses; shows and counts nothing.

Only a key match makes a candidate. What was made in the same repository goes before what was made elsewhere; then the
evidence decides, and what is newer.
"""

from collections.abc import Iterable, Mapping

from donewhen.memory.book import Book, Known
from donewhen.memory.hint import rendered
from donewhen.memory.repair import digest, place_name
from donewhen.memory.signature import Signature
from donewhen.records import frozen


@frozen(kw_only=True)
class Recalled:
    repair: str
    check: str
    """The check that it is for."""
    signature: str
    """The digest of the failure that it is for."""
    times_helped: int
    text: str
    """Empty when it is withheld."""

    @property
    def withheld(self) -> bool:
        return not self.text


def recall(
    book: Book, red: Mapping[str, Signature], repo: str, spent: Iterable[tuple[str, str]] = (), rests: bool = True
) -> Recalled | None:
    """The hint for one of the red checks. Those that are spent, a repair and a check each, are not given again. Whoever
    only looks gets it even when its turn to be withheld has come, with `rests` false."""
    tried = set(spent)
    found = [
        (known, check)
        for check, signature in red.items()
        for known in book.matching(signature)
        if known.is_offered and (known.id, check) not in tried
    ]
    if not found:
        return None
    here = place_name(repo)
    known, check = max(found, key=lambda one: _promise(one[0], here))
    key = digest(red[check])
    withheld = rests and known.counts.withholds_next(_shown_for(book, known.id, key))
    return Recalled(
        repair=known.id,
        check=check,
        signature=key,
        times_helped=known.counts.helped,
        text="" if withheld else rendered(known.repair, known.counts),
    )


def _shown_for(book: Book, repair: str, signature: str) -> int:
    return sum(offer.signature == signature and not offer.withheld for offer in book.offers(repair))


def _promise(known: Known, repo: str) -> tuple[bool, float, int, str]:
    return known.repair.repo == repo, *known.counts.promise, known.repair.at
