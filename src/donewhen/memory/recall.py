"""Selection of the hint for a round: at most one, the most promising. It only selects; it does not show or count hints.

Only a repair with a matching signature is a candidate. Repairs from the same repository come before others. Then the
evidence decides, then the newer one.
"""

from collections.abc import Iterable, Mapping

from donewhen.memory.hint import UNKNOWN_REPOSITORY, render
from donewhen.memory.repair import digest, place_name
from donewhen.memory.repair_store import KnownRepair, RepairStore
from donewhen.memory.signature import Signature
from donewhen.records import frozen


@frozen(kw_only=True)
class RecalledHint:
    repair: str
    check: str
    """The check that the hint is for."""
    signature: str
    """The digest of the failure that the hint is for."""
    times_helped: int
    text: str
    """Empty if the hint is withheld."""
    source: str = ""
    """The repository from which it comes, for people; empty for the asking repository itself."""

    @property
    def withheld(self) -> bool:
        return not self.text


def recall(
    store: RepairStore,
    red: Mapping[str, Signature],
    repo: str,
    spent: Iterable[tuple[str, str]] = (),
    may_withhold: bool = True,
    source: str | None = None,
    across: bool = True,
) -> RecalledHint | None:
    """Return the hint for one of the red checks, or None. Pairs of repair and check in `spent` are not returned again.
    With `may_withhold` false, for callers that only inspect, the text is returned even if it is due to be withheld.

    `source` is the key of the asking repository; with `across` false only its own repairs count. Without a key, repairs
    with the same path count as its own."""
    tried = set(spent)
    found = [
        (known, check)
        for check, signature in red.items()
        for known in store.matching(signature, None if across else source)
        if known.is_offered and (known.id, check) not in tried
    ]
    if not found:
        return None
    here = place_name(repo)

    def is_own(known: KnownRepair) -> bool:
        return known.repair.repo == here if source is None else known.repair.source == source

    known, check = max(found, key=lambda one: (is_own(one[0]), *one[0].counts.rank, one[0].repair.at))
    key = digest(red[check])
    withheld = may_withhold and known.counts.is_next_withheld(_shown_for(store, known.id, key))
    return RecalledHint(
        repair=known.id,
        check=check,
        signature=key,
        times_helped=known.counts.helped,
        text="" if withheld else render(known.repair, known.counts, is_own(known) or source is None),
        source="" if is_own(known) else known.repair.repo or UNKNOWN_REPOSITORY,
    )


def _shown_for(store: RepairStore, repair: str, signature: str) -> int:
    return sum(offer.signature == signature and not offer.withheld for offer in store.offers(repair))
