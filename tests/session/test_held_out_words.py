"""Held-out checks: texts about them are recognised by a field, never guessed from words."""

from pathlib import Path
from typing import Any

import pytest

from donewhen.engines.planned.plan import one_item
from donewhen.judge.contract import Check, Contract
from donewhen.judge.protect import Guard
from donewhen.judge.verdict import CheckStatus, Edit, Result, Verdict, VerdictNote
from donewhen.session.log.notes import Judged
from donewhen.session.log.state import SessionState
from donewhen.session.loop import feedback
from donewhen.session.loop.judge_round import judged_note
from donewhen.session.planned.evaluator_input import _warnings  # pyright: ignore[reportPrivateUsage] - the rule itself
from donewhen.workspace.beneath import Root

HIDDEN = Check(name="ran", command="sh ci/secret.sh", held_out=True)
SHOWN = Check(name="tests", command="sh ci/open.sh")
CONTRACT = Contract(checks=(SHOWN, HIDDEN))
NOTES = (VerdictNote("tests", "no test ran: of 3"), VerdictNote("ran", "the answer is 42"), VerdictNote("", "slow"))


def judged(**more: Any) -> Judged:
    verdict = Verdict(
        base="b", candidate="c", tree="t", results=(Result(name="tests", status=CheckStatus.PASS),), **more
    )
    return judged_note(1, verdict, CONTRACT)


def warned(judged: Judged, *held_out: str) -> list[str]:
    return list(_warnings(SessionState(), judged, one_item("do it", ()).changed(filled=()), frozenset(held_out)))


def test_an_evaluator_gets_every_note_except_those_about_held_out_checks() -> None:
    assert warned(judged(notes=NOTES), "ran") == ["tests: no test ran: of 3", "slow"]
    assert warned(judged(notes=NOTES)) == ["tests: no test ran: of 3", "ran: the answer is 42", "slow"]


def test_notes_of_an_old_log_are_matched_by_the_name_at_their_start() -> None:
    body = judged(notes=NOTES).plain()
    del body["note_checks"]
    assert warned(Judged.load(body), "ran") == ["tests: no test ran: of 3", "slow"]


@pytest.mark.parametrize(("held_out", "words"), [(True, "a check runs it"), (False, "check 'ran' runs it")])
def test_the_reason_for_a_protected_script_names_no_held_out_check(tmp_path: Path, held_out: bool, words: str) -> None:
    (tmp_path / "ci").mkdir()
    (tmp_path / "ci" / "secret.sh").write_text("#!/bin/sh\ntest -s answer.txt\n")
    check = Check(name="ran", command="sh ci/secret.sh", held_out=held_out)
    assert Guard(Contract(checks=(check,)), Root(tmp_path)).reason("ci/secret.sh", True) == words


def test_feedback_has_neither_the_name_nor_the_command_nor_the_output_of_a_held_out_check(tmp_path: Path) -> None:
    (tmp_path / "ci").mkdir()
    (tmp_path / "ci" / "secret.sh").write_text("#!/bin/sh\ntest -s answer.txt\n")
    reason = Guard(CONTRACT, Root(tmp_path)).reason("ci/secret.sh", True)
    red = Result(name="ran", status=CheckStatus.FAIL, exit_code=1, output_tail="42", reasons=("it is not 42",))
    words = feedback.of_verdict(
        Verdict(
            base="b",
            candidate="c",
            tree="t",
            results=(red, Result(name="tests", status=CheckStatus.FAIL, exit_code=1, output_tail="it ran, and failed")),
            edits=(Edit("ci/secret.sh", "modified", reason),),
        ),
        CONTRACT,
    )
    assert [leak for leak in ("'ran'", "## ran", "sh ci/secret.sh", "42") if leak in words] == []
    assert "it ran, and failed" in words
