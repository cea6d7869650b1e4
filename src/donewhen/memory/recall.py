"""Which hint a round is given: at most one, the one that promises most. Chooses; shows and counts nothing.

Only a key match makes a candidate. What was made in the same repository goes before what was made elsewhere; then the
evidence decides, and what is newer.
"""

from collections.abc import Iterable, Mapping

from donewhen.memory.book import Book, Known
from donewhen.memory.hint import UNKNOWN_REPOSITORY, rendered
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
    source: str = ""
    """The repository that it comes from, for people; empty when that is the one that asks."""

    @property
    def withheld(self) -> bool:
        return not self.text


def recall(
    book: Book,
    red: Mapping[str, Signature],
    repo: str,
    spent: Iterable[tuple[str, str]] = (),
    rests: bool = True,
    source: str | None = None,
    across: bool = True,
) -> Recalled | None:
    """The hint for one of the red checks. Those that are spent, a repair and a check each, are not given again. Whoever
    only looks gets it even when its turn to be withheld has come, with `rests` false.

    `source` is the key of the repository that asks; with `across` false only its own repairs count. Without a key, what
    has the same path counts as its own."""
    tried = set(spent)
    found = [
        (known, check)
        for check, signature in red.items()
        for known in book.matching(signature, None if across else source)
        if known.is_offered and (known.id, check) not in tried
    ]
    if not found:
        return None
    here = place_name(repo)

    def is_own(known: Known) -> bool:
        return known.repair.repo == here if source is None else known.repair.source == source

    known, check = max(found, key=lambda one: (is_own(one[0]), *one[0].counts.promise, one[0].repair.at))
    key = digest(red[check])
    withheld = rests and known.counts.withholds_next(_shown_for(book, known.id, key))
    return Recalled(
        repair=known.id,
        check=check,
        signature=key,
        times_helped=known.counts.helped,
        text="" if withheld else rendered(known.repair, known.counts, is_own(known) or source is None),
        source="" if is_own(known) else known.repair.repo or UNKNOWN_REPOSITORY,
    )


def _shown_for(book: Book, repair: str, signature: str) -> int:
    return sum(offer.signature == signature and not offer.withheld for offer in book.offers(repair))
