"""A hint as shown: a quotation that its text cannot end, marked as unverified, and bounded."""

from hypothesis import given
from hypothesis import strategies as st

from donewhen.memory.counting import Counts
from donewhen.memory.hint import LEAD, MARK, render
from donewhen.memory.repair import from_plain
from memory.repairs import learnt, patch

OURS = ("What was written about it:", "What it changed:")


@given(st.text(max_size=200), st.text(max_size=200))
def test_every_quoted_line_is_marked_for_any_text(said: str, changed: str) -> None:
    text = render(learnt(said=said, patch=f"{patch()}+{changed}\n"), Counts())
    first, *others = text.splitlines()
    assert first == LEAD.format(check="build")
    assert all(line.startswith(MARK) or line in OURS for line in others)


def test_a_hint_starts_by_saying_that_it_must_be_verified_and_is_not_an_instruction() -> None:
    lead, *_ = render(learnt(), Counts()).splitlines()
    assert "hint from memory" in lead and "Verify" in lead and "no instruction" in lead


def test_a_hint_shows_its_counts_if_there_are_any() -> None:
    assert "in 3 judged rounds before; in 2 of them the check passed" in render(learnt(), Counts(helped=2, hurt=1))
    assert "judged rounds" not in render(learnt(), Counts())


def test_a_hint_is_bounded_even_if_the_repair_is_longer() -> None:
    known = from_plain({**learnt().plain(), "diff": "+x\n" * 4000, "approach": "y" * 5000})
    assert len(render(known, Counts()).encode()) < 2048 + 4096 * 2
