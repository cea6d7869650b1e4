"""Verdicts as the memory sees them: in order, without unjudged trees, and which checks are worse or flaky."""

from typing import Any

import pytest

from donewhen.event_records import CheckResult
from donewhen.events import BaselineCompleted
from donewhen.judge.contract import Check, Contract
from donewhen.session.log.notes import Baseline, Judged, ShownHint
from donewhen.session.log.state import Round, SessionState
from donewhen.session.recall.check_history import JudgedTree, failed_hints, is_flaky, is_worse, judged_trees


def judged(tree: str, **statuses: str) -> dict[str, Any]:
    results = [{"name": name, "status": status} for name, status in statuses.items()]
    return {"tree": tree, "results": results, "signatures": {name: {} for name in statuses}}


def told(*rounds: dict[str, Any] | None, hints: dict[int, dict[str, Any]] | None = None) -> SessionState:
    state = SessionState()
    state.baseline = BaselineCompleted(results=(CheckResult("a", "fail"),))
    state.baseline_note = Baseline(tree="base", signatures={"a": {}})
    shown = {n: ShownHint.load(hint) for n, hint in (hints or {}).items()}
    state.rounds = [
        Round(n, "native", judged=Judged.load(body) if body else None, hint=shown.get(n))
        for n, body in enumerate(rounds, 1)
    ]
    return state


REFUSED = {"green": False, "refused": "a link out of the tree"}


def test_the_newest_verdict_comes_first_the_baseline_last_and_unjudged_rounds_are_skipped() -> None:
    state = told(judged("one", a="fail"), REFUSED, judged("three", a="pass"), None)
    assert [one.tree for one in judged_trees(state)] == ["three", "one", "base"]
    assert [one.tree for one in judged_trees(state, up_to=2)] == ["one", "base"]
    assert [one.tree for one in judged_trees(SessionState())] == []


def test_a_check_that_was_flaky_once_is_ignored_in_this_session() -> None:
    state = told(judged("one", a="flaky", b="fail"), judged("two", a="pass", b="pass"))
    assert (is_flaky(state, "a"), is_flaky(state, "b")) == (True, False)


@pytest.mark.parametrize("status", ["fail", "timeout", "flaky", "vacuous", "tampered", "infra"])
def test_a_check_that_passed_and_no_longer_does_is_worse(status: str) -> None:
    contract = Contract(checks=(Check(name="a", command="x"), Check(name="b", command="x")))
    before, now = JudgedTree("t", {"a": "fail", "b": "pass"}, {}), JudgedTree("u", {"a": "pass", "b": status}, {})
    assert is_worse(now, before, contract)
    assert not is_worse(before, before, contract)
    assert not is_worse(JudgedTree("u", {"a": status, "b": "pass"}, {}), before, contract)


def test_a_hint_is_used_up_if_it_was_shown_and_did_not_help() -> None:
    shown, withheld = {"repair": "r", "check": "a", "text": "words"}, {"repair": "w", "check": "a", "text": ""}
    state = told(
        judged("one", a="fail"), judged("two", a="fail"), REFUSED, judged("four", a="pass"),
        hints={1: shown, 2: withheld, 3: {**shown, "repair": "x"}, 4: {**shown, "repair": "y"}},
    )  # fmt: skip
    assert list(failed_hints(state)) == [("r", "a")]
