"""Which hint is given: one at most, for the same failure only, the best known first, and no failed ones."""

from donewhen.memory.recall import RecalledHint, recall
from donewhen.memory.repair import Offer, Repair, digest
from donewhen.memory.repair_store import RepairStore
from memory.repairs import failure, learnt, patch

RED = {"build": failure()}
KEY = digest(failure())


def add(book: RepairStore, repair: Repair, *endings: str, signature: str = KEY) -> str:
    book.add(repair)
    for n, ending in enumerate(endings):
        offer = Offer(session=f"s{n}", round=1, signature=signature, ending=ending, at="2026")  # pyright: ignore[reportArgumentType] - one of the endings
        book.offer(repair.id, offer)
    return repair.id


def given(book: RepairStore, repo: str = "/r", spent: tuple[tuple[str, str], ...] = ()) -> str:
    found = recall(book, RED, repo, spent)
    return found.repair if found else ""


def test_nothing_is_recalled_for_another_failure_with_similar_words(book: RepairStore) -> None:
    add(book, learnt(failure("vat"), said="'tax' undeclared (first use in this function) in shop.c"))
    add(book, learnt(failure(check="lint")))
    assert given(book) == ""


def test_the_most_reliably_helpful_repair_comes_first(book: RepairStore) -> None:
    add(book, learnt(patch=patch("never_tried"), at="2027"))
    once = add(book, learnt(patch=patch("once")), "passed")
    often = add(book, learnt(patch=patch("often")), *["passed"] * 6, "red")
    assert given(book) == often
    assert given(book, spent=((often, "build"),)) == once
    assert given(book, spent=((often, "other check"),)) == often


def test_repairs_of_the_same_repository_come_before_others(book: RepairStore) -> None:
    add(book, learnt(patch=patch("elsewhere"), repo="/other"), *["passed"] * 6)
    here = add(book, learnt(patch=patch("here")))
    assert given(book) == here


def test_a_repair_that_failed_three_times_more_than_it_helped_is_not_recalled(book: RepairStore) -> None:
    id = add(book, learnt(), "red", "red")
    assert given(book) == id
    add(book, learnt(), "red", "red", "red")
    assert given(book) == ""
    assert book.find(id).counts.is_retired


def test_every_tenth_hint_is_withheld_but_never_the_first_for_a_failure(book: RepairStore) -> None:
    add(book, learnt(), *["passed"] * 9)
    found = recall(book, RED, "/r")
    assert found == RecalledHint(repair=learnt().id, check="build", signature=KEY, times_helped=9, text="")
    assert found is not None and found.withheld
    looked_at = recall(book, RED, "/r", may_withhold=False)
    assert looked_at is not None and not looked_at.withheld
    book.forget([learnt().id])
    add(book, learnt(), *["passed"] * 9, signature="of another failure that matches")
    shown = recall(book, RED, "/r")
    assert shown is not None and not shown.withheld


def test_of_several_red_checks_one_gets_a_hint(book: RepairStore) -> None:
    add(book, learnt())
    lint = add(book, learnt(failure(check="lint"), patch=patch("lint")), "passed")
    found = recall(book, {**RED, "lint": failure(check="lint"), "other": failure("vat", "other")}, "/r")
    assert found is not None and (found.repair, found.check) == (lint, "lint")


def test_a_repository_is_recognised_for_any_path(book: RepairStore) -> None:
    path = "/home/me/two  spaces\tand token=abcdef123"
    add(book, learnt(patch=patch("elsewhere"), repo="/other"), *["passed"] * 6)
    here = add(book, learnt(patch=patch("here"), repo=path))
    assert given(book, path) == here
