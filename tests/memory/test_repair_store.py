"""The repair store on both databases: one write counts once, and searches find the same."""

from dataclasses import replace
from pathlib import Path

import pytest

from donewhen.errors import BadInput
from donewhen.memory.counting import Counts
from donewhen.memory.eviction import AT_ONCE
from donewhen.memory.open_store import RepairStoreHandle
from donewhen.memory.repair import Offer, Repair, digest
from donewhen.memory.repair_store import RepairStore
from donewhen.memory.signature import Failed, Signature, signature_of
from donewhen.storage.connection import Connection
from memory.repairs import failure, learnt, log, patch


def offered(n: int, ending: str = "", withheld: bool = False, session: str = "s2", signature: str = "k") -> Offer:
    return Offer(session=session, round=n, signature=signature, withheld=withheld, ending=ending, at=f"2026-{n:02}")  # pyright: ignore[reportArgumentType] - one of the endings


def test_an_added_repair_is_stored_and_adding_it_again_changes_nothing(store: RepairStore) -> None:
    first = learnt()
    assert store.add(first)
    assert not store.add(first)
    assert not store.add(learnt(said="again", session="s9", patch=patch(line=9)))
    assert [known.repair for known in store.all()] == [first]


def test_the_same_change_for_a_matching_failure_is_not_a_second_repair(store: RepairStore) -> None:
    both = signature_of(log() + log("vat", "till.c"), "build")
    assert store.add(learnt(both))
    assert not store.add(learnt(failure()))  # a part of it
    assert store.add(learnt(failure(), patch=patch("other")))


def test_an_offer_counts_once_however_often_it_is_recorded(store: RepairStore) -> None:
    store.add(learnt())
    id = learnt().id
    for _ in range(3):
        store.offer(id, offered(1))
    assert store.all()[0].counts == Counts(shown=1)
    for _ in range(3):
        store.offer(id, offered(1, "passed"))
    store.offer(id, offered(1, "red"))  # it has already ended
    assert store.all()[0].counts == Counts(shown=1, helped=1)


def test_rounds_with_and_without_the_hint_are_counted_separately(store: RepairStore) -> None:
    store.add(learnt())
    endings = [("passed", False), ("red", False), ("", False), ("passed", True), ("red", True), ("", True)]
    for n, (ending, withheld) in enumerate(endings):
        store.offer(learnt().id, offered(n, ending, withheld))
    assert store.all()[0].counts == Counts(shown=3, helped=1, hurt=1, withheld=3, withheld_passed=1, withheld_red=1)
    assert len(store.offers(learnt().id)) == 6


def test_an_offer_of_a_forgotten_repair_is_ignored(store: RepairStore) -> None:
    store.add(learnt())
    assert store.forget([learnt().id]) == 1
    store.offer(learnt().id, offered(1))
    assert (store.all(), store.offers(learnt().id), store.forget([learnt().id])) == ([], [], 0)
    assert store.add(learnt()) and store.all("declared")  # learnt again, and found again


def test_only_the_same_failure_of_the_same_check_matches(store: RepairStore) -> None:
    store.add(learnt())
    assert [known.repair for known in store.matching(failure())] == [learnt()]
    assert store.matching(failure(check="other")) == []
    assert store.matching(failure("vat")) == []
    assert store.matching(signature_of("frobnication failed", "build")) == []


def test_an_unrecognised_failure_is_stored_and_never_matches(store: RepairStore) -> None:
    unknown = signature_of("frobnication failed", "build")
    assert store.add(learnt(unknown))
    assert store.matching(unknown) == []
    assert not store.all()[0].is_offered


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("tax", True),
        ("TAX undecl", True),
        ("shop.c", True),
        ("decl build", True),
        ("straße", True),
        ("STRASSE", True),
        ("gr\u00fc", True),
        ("tax missing", False),
        ("ax", False),
        ("' OR 1=1 --", False),
        ('"*) NOT tax', False),
        ("...", False),
        ("\x00", False),
    ],
)
def test_every_word_of_a_search_must_start_a_word_of_the_repair(store: RepairStore, asked: str, found: bool) -> None:
    store.add(learnt(said="declared it in the grünen Straße"))
    store.add(learnt(failure("elsewhere", "lint", "far.c"), said="nothing of it", patch="diff --git a/q b/q\n+q\n"))
    assert [known.repair.signature.check for known in store.all(asked)] == (["build"] if found else [])


def test_a_repair_is_found_by_a_prefix_of_its_id(store: RepairStore) -> None:
    store.add(learnt())
    store.add(learnt(patch=patch("vat")))
    assert store.find(learnt().id[:8]).repair == learnt()
    with pytest.raises(BadInput, match="there is no repair 'zz'"):
        store.find("zz")
    with pytest.raises(BadInput, match="is empty"):
        store.find(" ")


def test_an_ambiguous_id_prefix_is_refused_with_the_matches(store: RepairStore) -> None:
    number = 0
    while len({known.id[0] for known in store.all()}) == len(store.all()):
        store.add(learnt(patch=patch(f"name{number}")))
        number += 1
    ids = sorted(known.id for known in store.all())
    twice = next(id for id in ids if sum(other[0] == id[0] for other in ids) == 2)
    with pytest.raises(BadInput, match=f"is ambiguous; it matches these repairs: {twice}, "):
        store.find(twice[0])


def test_an_import_is_complete_or_changes_nothing(store: RepairStore) -> None:
    several = [(learnt(), [offered(1, "red")]), (learnt(patch=patch("vat")), list[Offer]())]
    assert store.import_all(several) == 2
    assert store.import_all(several) == 0
    assert store.find(learnt().id).counts == Counts(shown=1, hurt=1)


def test_reading_creates_no_file(tmp_path: Path) -> None:
    handle = RepairStoreHandle(tmp_path)
    assert handle.read(lambda store: store.all(), []) == []
    assert list(tmp_path.iterdir()) == []


def test_reading_from_a_server_creates_no_tables(handle: RepairStoreHandle) -> None:
    for _ in range(2):
        assert handle.read(lambda store: len(store.all()), -1) == -1
    assert handle.write(lambda store: store.add(learnt()))
    assert handle.read(lambda store: len(store.all()), -1) == 1


def test_two_keys_make_one_digest() -> None:
    assert digest(failure()) == digest(failure()) != digest(failure("vat"))


def test_a_failed_setup_matches_when_it_is_reported_as_a_failed_test(store: RepairStore) -> None:
    collected = Signature(
        check="t", phase="collect", failed=(Failed("a.py", "ImportError", "x", "a.py"),), reader="pytest"
    )
    store.add(learnt(collected))
    assert len(store.matching(replace(collected, phase="test"))) == 1
    assert store.matching(replace(collected, phase="build")) == []


# -- limits --


def many(count: int, day: str = "2026-02-01") -> list[tuple[Repair, list[Offer]]]:
    plain = learnt()
    return [(replace(plain, diff=f"diff --git a/{n} b/{n}", at=f"{day}T00:00:{n:02}Z"), []) for n in range(count)]


def test_eviction_removes_the_oldest_unhelpful_repairs_and_keeps_the_newest_for_any_clock(
    connection: Connection,
) -> None:
    store = RepairStore(connection, most=10)
    known = [repair for repair, _ in many(10)]
    store.import_all((repair, []) for repair in known)
    store.offer(known[0].id, offered(1, "passed"))
    store.offer(known[1].id, offered(1, "red"))
    store.offer(known[2].id, offered(1, "passed", withheld=True))
    newest = learnt(at="1970-01-01T00:00:00Z", patch=patch("new"))
    assert store.add(newest)
    # One too many removes half of the limit at once, so that there is space for the next ones.
    assert {one.id for one in store.all()} == {newest.id, known[0].id, *(one.id for one in known[7:])}
    assert {one.id for one in store.all("declared")} == {one.id for one in store.all()}
    assert store.offers(known[1].id) == []


def test_helpful_repairs_are_evicted_if_there_are_no_others(connection: Connection) -> None:
    store = RepairStore(connection, most=4)
    store.import_all((repair, [offered(1, "passed")]) for repair, _ in many(9))
    assert [one.repair.at[-3:-1] for one in store.all()] == ["08", "07"]


@pytest.mark.sample(0)
def test_many_repairs_can_be_forgotten_at_once(store: RepairStore) -> None:
    several = many(2 * AT_ONCE + 1)
    store.import_all(several)
    assert store.forget(repair.id for repair, _ in several[1:]) == 2 * AT_ONCE
    assert [one.id for one in store.all()] == [one.id for one in store.all("declared")] == [several[0][0].id]


def test_only_the_repairs_of_the_named_checks_of_a_session_are_removed(store: RepairStore) -> None:
    store.add(learnt())
    store.add(learnt(failure(check="lint")))
    store.add(learnt(patch=patch("other"), session="s2"))
    assert store.unlearn("s1", ["build", "none"]) == 1
    assert sorted((one.repair.session, one.repair.signature.check) for one in store.all()) == [
        ("s1", "lint"),
        ("s2", "build"),
    ]
