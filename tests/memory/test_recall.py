"""Which hint is given: one at most, for the same failure only, the best known first, and no failed ones."""

from donewhen.memory.recall import RecalledHint, recall
from donewhen.memory.repair import Offer, Repair, digest
from donewhen.memory.repair_store import RepairStore
from memory.repairs import failure, learnt, patch

RED = {"build": failure()}
KEY = digest(failure())


def add(store: RepairStore, repair: Repair, *endings: str, signature: str = KEY) -> str:
    store.add(repair)
    for n, ending in enumerate(endings):
        offer = Offer(session=f"s{n}", round=1, signature=signature, ending=ending, at="2026")  # pyright: ignore[reportArgumentType] - one of the endings
        store.offer(repair.id, offer)
    return repair.id


def given(store: RepairStore, repo: str = "/r", spent: tuple[tuple[str, str], ...] = ()) -> str:
    found = recall(store, RED, repo, spent)
    return found.repair if found else ""


def test_nothing_is_recalled_for_another_failure_with_similar_words(store: RepairStore) -> None:
    add(store, learnt(failure("vat"), said="'tax' undeclared (first use in this function) in shop.c"))
    add(store, learnt(failure(check="lint")))
    assert given(store) == ""


def test_the_most_reliably_helpful_repair_comes_first(store: RepairStore) -> None:
    add(store, learnt(patch=patch("never_tried"), at="2027"))
    once = add(store, learnt(patch=patch("once")), "passed")
    often = add(store, learnt(patch=patch("often")), *["passed"] * 6, "red")
    assert given(store) == often
    assert given(store, spent=((often, "build"),)) == once
    assert given(store, spent=((often, "other check"),)) == often


def test_repairs_of_the_same_repository_come_before_others(store: RepairStore) -> None:
    add(store, learnt(patch=patch("elsewhere"), repo="/other"), *["passed"] * 6)
    here = add(store, learnt(patch=patch("here")))
    assert given(store) == here


def test_a_repair_that_failed_three_times_more_than_it_helped_is_not_recalled(store: RepairStore) -> None:
    id = add(store, learnt(), "red", "red")
    assert given(store) == id
    add(store, learnt(), "red", "red", "red")
    assert given(store) == ""
    assert store.find(id).counts.is_retired


def test_every_tenth_hint_is_withheld_but_never_the_first_for_a_failure(store: RepairStore) -> None:
    add(store, learnt(), *["passed"] * 9)
    found = recall(store, RED, "/r")
    assert found == RecalledHint(repair=learnt().id, check="build", signature=KEY, times_helped=9, text="")
    assert found is not None and found.withheld
    looked_at = recall(store, RED, "/r", may_withhold=False)
    assert looked_at is not None and not looked_at.withheld
    store.forget([learnt().id])
    add(store, learnt(), *["passed"] * 9, signature="of another failure that matches")
    shown = recall(store, RED, "/r")
    assert shown is not None and not shown.withheld


def test_of_several_red_checks_one_gets_a_hint(store: RepairStore) -> None:
    add(store, learnt())
    lint = add(store, learnt(failure(check="lint"), patch=patch("lint")), "passed")
    found = recall(store, {**RED, "lint": failure(check="lint"), "other": failure("vat", "other")}, "/r")
    assert found is not None and (found.repair, found.check) == (lint, "lint")


def test_a_repository_is_recognised_for_any_path(store: RepairStore) -> None:
    path = "/home/me/two  spaces\tand token=abcdef123"
    add(store, learnt(patch=patch("elsewhere"), repo="/other"), *["passed"] * 6)
    here = add(store, learnt(patch=patch("here"), repo=path))
    assert given(store, path) == here
