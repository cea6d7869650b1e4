"""Outcomes: their properties, and the places that have to name every one of them."""

import re
from pathlib import Path
from typing import get_args

from donewhen.session.outcome import OF_STOP, Outcome, StopKind

README = Path(__file__).parents[2] / "README.md"
DECIDED_BY_CONCLUDE = {"green", "claim", "inconclusive"}


def test_the_readme_names_every_outcome_with_its_exit_code() -> None:
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \| (\d+) \|", README.read_text(), re.MULTILINE)
    named = {name: int(code) for names, code in rows for name in re.findall(r"\w+", names)}
    assert named == {outcome.value: outcome.exit_code for outcome in Outcome}


def test_every_reason_to_stop_has_an_outcome_or_is_decided_at_the_end() -> None:
    assert {*OF_STOP} | DECIDED_BY_CONCLUDE == {*get_args(StopKind)}


def test_an_outcome_of_a_newer_version_is_unknown() -> None:
    assert Outcome.of("red") is Outcome.RED
    assert Outcome.of("something new") is Outcome.of(None) is None


def test_an_outcome_after_which_nothing_is_left_to_do_is_final() -> None:
    assert {one for one in Outcome if one.is_success} < {one for one in Outcome if one.is_final}
    assert not Outcome.WAITING.is_final
