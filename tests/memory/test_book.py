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


def test_an_added_repair_is_stored_and_adding_it_again_changes_nothing(book: RepairStore) -> None:
    first = learnt()
    assert book.add(first)
    assert not book.add(first)
    assert not book.add(learnt(said="again", session="s9", patch=patch(line=9)))
    assert [known.repair for known in book.all()] == [first]


def test_the_same_change_for_a_matching_failure_is_not_a_second_repair(book: RepairStore) -> None:
    both = signature_of(log() + log("vat", "till.c"), "build")
    assert book.add(learnt(both))
    assert not book.add(learnt(failure()))  # a part of it
    assert book.add(learnt(failure(), patch=patch("other")))


def test_an_offer_counts_once_however_often_it_is_recorded(book: RepairStore) -> None:
    book.add(learnt())
    id = learnt().id
    for _ in range(3):
        book.offer(id, offered(1))
    assert book.all()[0].counts == Counts(shown=1)
    for _ in range(3):
        book.offer(id, offered(1, "passed"))
    book.offer(id, offered(1, "red"))  # it has already ended
    assert book.all()[0].counts == Counts(shown=1, helped=1)


def test_rounds_with_and_without_the_hint_are_counted_separately(book: RepairStore) -> None:
    book.add(learnt())
    endings = [("passed", False), ("red", False), ("", False), ("passed", True), ("red", True), ("", True)]
    for n, (ending, withheld) in enumerate(endings):
        book.offer(learnt().id, offered(n, ending, withheld))
    assert book.all()[0].counts == Counts(shown=3, helped=1, hurt=1, withheld=3, withheld_passed=1, withheld_red=1)
    assert len(book.offers(learnt().id)) == 6


def test_an_offer_of_a_forgotten_repair_is_ignored(book: RepairStore) -> None:
    book.add(learnt())
    assert book.forget([learnt().id]) == 1
    book.offer(learnt().id, offered(1))
    assert (book.all(), book.offers(learnt().id), book.forget([learnt().id])) == ([], [], 0)
    assert book.add(learnt()) and book.all("declared")  # learnt again, and found again


def test_only_the_same_failure_of_the_same_check_matches(book: RepairStore) -> None:
    book.add(learnt())
    assert [known.repair for known in book.matching(failure())] == [learnt()]
    assert book.matching(failure(check="other")) == []
    assert book.matching(failure("vat")) == []
    assert book.matching(signature_of("frobnication failed", "build")) == []


def test_an_unrecognised_failure_is_stored_and_never_matches(book: RepairStore) -> None:
    unknown = signature_of("frobnication failed", "build")
    assert book.add(learnt(unknown))
    assert book.matching(unknown) == []
    assert not book.all()[0].is_offered


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
def test_every_word_of_a_search_must_start_a_word_of_the_repair(book: RepairStore, asked: str, found: bool) -> None:
    book.add(learnt(said="declared it in the grünen Straße"))
    book.add(learnt(failure("elsewhere", "lint", "far.c"), said="nothing of it", patch="diff --git a/q b/q\n+q\n"))
    assert [known.repair.signature.check for known in book.all(asked)] == (["build"] if found else [])


def test_a_repair_is_found_by_a_prefix_of_its_id(book: RepairStore) -> None:
    book.add(learnt())
    book.add(learnt(patch=patch("vat")))
    assert book.find(learnt().id[:8]).repair == learnt()
    with pytest.raises(BadInput, match="there is no repair 'zz'"):
        book.find("zz")
    with pytest.raises(BadInput, match="is empty"):
        book.find(" ")


def test_an_ambiguous_id_prefix_is_refused_with_the_matches(book: RepairStore) -> None:
    number = 0
    while len({known.id[0] for known in book.all()}) == len(book.all()):
        book.add(learnt(patch=patch(f"name{number}")))
        number += 1
    ids = sorted(known.id for known in book.all())
    twice = next(id for id in ids if sum(other[0] == id[0] for other in ids) == 2)
    with pytest.raises(BadInput, match=f"is ambiguous; it matches these repairs: {twice}, "):
        book.find(twice[0])


def test_an_import_is_complete_or_changes_nothing(book: RepairStore) -> None:
    several = [(learnt(), [offered(1, "red")]), (learnt(patch=patch("vat")), list[Offer]())]
    assert book.import_all(several) == 2
    assert book.import_all(several) == 0
    assert book.find(learnt().id).counts == Counts(shown=1, hurt=1)


def test_reading_creates_no_file(tmp_path: Path) -> None:
    shelf = RepairStoreHandle(tmp_path)
    assert shelf.read(lambda book: book.all(), []) == []
    assert list(tmp_path.iterdir()) == []


def test_reading_from_a_server_creates_no_tables(shelf: RepairStoreHandle) -> None:
    for _ in range(2):
        assert shelf.read(lambda book: len(book.all()), -1) == -1
    assert shelf.write(lambda book: book.add(learnt()))
    assert shelf.read(lambda book: len(book.all()), -1) == 1


def test_two_keys_make_one_digest() -> None:
    assert digest(failure()) == digest(failure()) != digest(failure("vat"))


def test_a_failed_setup_matches_when_it_is_reported_as_a_failed_test(book: RepairStore) -> None:
    collected = Signature(
        check="t", phase="collect", failed=(Failed("a.py", "ImportError", "x", "a.py"),), reader="pytest"
    )
    book.add(learnt(collected))
    assert len(book.matching(replace(collected, phase="test"))) == 1
    assert book.matching(replace(collected, phase="build")) == []


# -- limits --


def many(count: int, day: str = "2026-02-01") -> list[tuple[Repair, list[Offer]]]:
    plain = learnt()
    return [(replace(plain, diff=f"diff --git a/{n} b/{n}", at=f"{day}T00:00:{n:02}Z"), []) for n in range(count)]


def test_eviction_removes_the_oldest_unhelpful_repairs_and_keeps_the_newest_for_any_clock(
    connection: Connection,
) -> None:
    book = RepairStore(connection, most=10)
    known = [repair for repair, _ in many(10)]
    book.import_all((repair, []) for repair in known)
    book.offer(known[0].id, offered(1, "passed"))
    book.offer(known[1].id, offered(1, "red"))
    book.offer(known[2].id, offered(1, "passed", withheld=True))
    newest = learnt(at="1970-01-01T00:00:00Z", patch=patch("new"))
    assert book.add(newest)
    # One too many removes half of the limit at once, so that there is space for the next ones.
    assert {one.id for one in book.all()} == {newest.id, known[0].id, *(one.id for one in known[7:])}
    assert {one.id for one in book.all("declared")} == {one.id for one in book.all()}
    assert book.offers(known[1].id) == []


def test_helpful_repairs_are_evicted_if_there_are_no_others(connection: Connection) -> None:
    book = RepairStore(connection, most=4)
    book.import_all((repair, [offered(1, "passed")]) for repair, _ in many(9))
    assert [one.repair.at[-3:-1] for one in book.all()] == ["08", "07"]


@pytest.mark.sample(0)
def test_many_repairs_can_be_forgotten_at_once(book: RepairStore) -> None:
    several = many(2 * AT_ONCE + 1)
    book.import_all(several)
    assert book.forget(repair.id for repair, _ in several[1:]) == 2 * AT_ONCE
    assert [one.id for one in book.all()] == [one.id for one in book.all("declared")] == [several[0][0].id]


def test_only_the_repairs_of_the_named_checks_of_a_session_are_removed(book: RepairStore) -> None:
    book.add(learnt())
    book.add(learnt(failure(check="lint")))
    book.add(learnt(patch=patch("other"), session="s2"))
    assert book.unlearn("s1", ["build", "none"]) == 1
    assert sorted((one.repair.session, one.repair.signature.check) for one in book.all()) == [
        ("s1", "lint"),
        ("s2", "build"),
    ]
