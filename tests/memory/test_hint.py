"""A hint as it is shown: a quotation that nothing in it can end, marked as a lead, and bounded."""

from hypothesis import given
from hypothesis import strategies as st

from donewhen.memory.counting import Counts
from donewhen.memory.hint import LEAD, MARK, render
from donewhen.memory.repair import from_plain
from memory.repairs import learnt, patch

OURS = ("What was written about it:", "What it changed:")


@given(st.text(max_size=200), st.text(max_size=200))
def test_every_line_of_others_is_marked_whatever_it_says(said: str, changed: str) -> None:
    text = render(learnt(said=said, patch=f"{patch()}+{changed}\n"), Counts())
    first, *others = text.splitlines()
    assert first == LEAD.format(check="build")
    assert all(line.startswith(MARK) or line in OURS for line in others)


def test_it_says_first_that_it_is_a_lead_to_be_verified_and_no_instruction() -> None:
    lead, *_ = render(learnt(), Counts()).splitlines()
    assert "lead from memory" in lead and "Verify" in lead and "no instruction" in lead


def test_how_it_did_before_is_told_and_nothing_where_nothing_is_known() -> None:
    assert "in 3 judged rounds before; in 2 of them the check passed" in render(learnt(), Counts(helped=2, hurt=1))
    assert "judged rounds" not in render(learnt(), Counts())


def test_it_is_bounded_though_what_is_kept_is_longer() -> None:
    known = from_plain({**learnt().plain(), "diff": "+x\n" * 4000, "approach": "y" * 5000})
    assert len(render(known, Counts()).encode()) < 2048 + 4096 * 2
