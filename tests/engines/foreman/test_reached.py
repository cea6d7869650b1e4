"""The progress of a plan, and the code for no progress."""

from donewhen.engines.foreman.progress import HELD_OUT, LevelResult, Progress
from donewhen.union.combine import United
from donewhen.union.gate import Gated
from donewhen.union.integrate import Together
from donewhen.union.patch import Patch
from donewhen.union.reasons import Reason


def step(*kept: str, accepted: tuple[str, ...] = (), **missing: str) -> LevelResult:
    return LevelResult(
        round=1, name="level 0", tree="new", kept=kept, accepted=(*kept, *accepted), missing=missing, retries=()
    )


def test_a_rejected_union_is_distinguished_from_no_accepted_patch() -> None:
    rejected, nothing, something = Progress("base"), Progress("base"), Progress("base")
    rejected.add(step(accepted=("a",), a="no union with it was proven", b="changes nothing"))
    nothing.add(step(a="changes nothing"))
    something.add(step("a", b="changes nothing"))
    assert rejected.decline_reason() == ("union_rejected", "a: no union with it was proven; b: changes nothing")
    assert nothing.decline_reason() == ("nothing_accepted", "a: changes nothing")
    assert (something.decline_reason(), something.tree, rejected.tree) == (None, "new", "base")


def test_a_later_success_removes_a_failure_and_two_failures_keep_both_reasons() -> None:
    progress = Progress("base")
    progress.add(step("a", b="broke c", c="strays"))
    progress.add(step("b"))
    progress.add(step(c="strays again"))
    assert progress.included == ["a", "b"]
    assert progress.missing == {"c": "strays; retried: strays again"}
    assert progress.summary(3) == "2 of 3 subtasks are in: a, b; left out: c: strays; retried: strays again"


def refused(*reasons: Reason) -> United:
    """A union with `a` included and `b` refused at the gate."""
    accepted = Gated(patch=Patch(id="a", tree="ta"), status="accepted")
    rejected = Gated(patch=Patch(id="b", tree="tb"), status="rejected", reasons=reasons)
    return United(
        gated=(accepted, rejected),
        kept=("a",),
        dropped=(),
        together=Together("t"),
        check_deltas=None,
        runs=0,
        confirmations=0,
        flaky=(),
    )


def told_to_b(*reasons: Reason, held_out: str) -> str:
    result = LevelResult.from_union(
        refused(*reasons), frozenset({held_out}), has_earlier_work=False, round=1, name="level 0"
    )
    return result.retries[0].why


def test_a_held_out_check_is_hidden_even_if_the_text_does_not_name_it() -> None:
    reason = Reason("check_turned", "the answer must be 42", check="sesame")
    assert told_to_b(reason, held_out="sesame") == HELD_OUT
    assert told_to_b(reason, held_out="other") == "the answer must be 42"


def test_a_held_out_name_inside_other_words_hides_nothing_of_another_check() -> None:
    reason = Reason("check_turned", "tests is fail: 2 of 3 failed", check="tests")
    assert told_to_b(reason, held_out="fail") == "tests is fail: 2 of 3 failed"
    assert told_to_b(reason, held_out="tests") == HELD_OUT
