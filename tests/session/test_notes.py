"""Notes of a session: what is written is read back, old logs load, and keys of a later version are kept."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.engines.external.engine import InvocationBegun, InvocationEnded
from donewhen.engines.foreman.engine import ApprovedNote, FarmedNote, PassedOverNote, SaidNote
from donewhen.engines.foreman.plan_request import PlanChangeNote, PlanNote, RejectedPlanNote
from donewhen.engines.foreman.progress import GatedNote, LevelResult, Retry, WorkedNote
from donewhen.engines.interface import NoChange
from donewhen.engines.native.notes import (
    CallBegunNote,
    CallResultNote,
    RoundNote,
    SystemNote,
    TurnFailedNote,
    TurnNote,
)
from donewhen.engines.planned.evaluation import Evaluation, Finding
from donewhen.engines.planned.notes import (
    EvaluationBegun,
    IgnoredEdits,
    PlanningBegun,
    RejectedDraft,
    UnusableEvaluation,
)
from donewhen.engines.planned.plan import Plan, PlanItem
from donewhen.engines.planned.tracker import ItemUpdate
from donewhen.event_records import CheckResult, GateReason, RefusedPath, RejectionCause, TestCounts
from donewhen.model.interface import Bill, Call, ModelFailed, Reply, Usage
from donewhen.records import Stored, WrongShape
from donewhen.session.log.notes import Attempted, Judged, ProposalNote, SessionNote, ShownHint
from session.recorded_logs import NAMES, log
from stored_values import records_of

KINDS = {cls.KIND: cls for cls in SessionNote.__subclasses__()}
NATIVE = (SystemNote, RoundNote, TurnNote, CallBegunNote, CallResultNote)
PLANNED = (PlanningBegun, EvaluationBegun, UnusableEvaluation, ItemUpdate)
FOREMAN = (ApprovedNote, FarmedNote, GatedNote, LevelResult, PlanChangeNote, PlanNote, SaidNote, WorkedNote)
ENGINES = {
    **{f"external.{cls.KIND}": cls for cls in (InvocationBegun, InvocationEnded)},
    **{f"foreman.{cls.KIND}": cls for cls in FOREMAN},
    **{f"native.{cls.KIND}": cls for cls in NATIVE},
    **{f"planned.{cls.KIND}": cls for cls in PLANNED},
}
NOT_RECORDED: list[type[Stored]] = [TurnFailedNote, RejectedDraft, IgnoredEdits, PassedOverNote, RejectedPlanNote]
INSIDE: list[type[Stored]] = [
    CheckResult, GateReason, RefusedPath, RejectionCause, TestCounts, NoChange, ShownHint, Call, Reply, Usage, Plan,
    PlanItem, Evaluation, Finding, Retry,
]  # fmt: skip


@given(st.sampled_from([*KINDS.values(), *ENGINES.values(), *NOT_RECORDED, *INSIDE]).flatmap(records_of))
def test_a_record_is_read_as_it_was_written_with_the_keys_of_a_later_version(record: Stored) -> None:
    body = json.loads(json.dumps(record.plain()))
    assert type(record).load(body) == written(record)
    assert type(record).load(body).plain() == body
    assert record.unknown.items() <= body.items()


def written(record: Stored) -> Stored:
    """The record without what a refused verdict does not keep."""
    if isinstance(record, Judged) and record.results is None:
        return Judged.load(record.plain())
    return record


@pytest.mark.parametrize("kind", ENGINES)
def test_the_notes_of_engines_in_recorded_logs_are_written_as_they_were(kind: str) -> None:
    notes = [record for name in NAMES for record in log(name) if record.kind == kind]
    assert notes
    for record in notes:
        assert ENGINES[kind].load(record.body).plain() == record.body


@pytest.mark.parametrize("name", NAMES)
def test_the_notes_of_recorded_logs_are_written_as_they_were(name: str) -> None:
    notes = [record for record in log(name) if record.seq is None and record.kind in KINDS]
    assert notes
    for record in notes:
        assert KINDS[record.kind].load(record.body).plain() == record.body


def test_the_recorded_logs_hold_every_kind_of_note() -> None:
    kinds = {record.kind for name in NAMES for record in log(name) if record.seq is None}
    assert set(KINDS) - kinds == {"clock", "discarded"}


def test_a_note_that_lacks_keys_has_defaults() -> None:
    attempted, judged = Attempted.load({"n": 1, "stop": "done"}), Judged.load({"n": 1, "green": False})
    assert (attempted.last_text, attempted.candidate, attempted.refused_paths) == ("", None, None)
    assert (judged.failing, judged.results, judged.feedback) == ((), None, "")
    assert ProposalNote.load({}).why == ()
    failed, turn = TurnFailedNote.load({"message": "busy"}), TurnNote.load({})
    assert (failed.usage, failed.cost_usd, turn.reply) == (Usage(), None, Reply())
    ended = InvocationEnded.load({"iteration": 1, "end": "died"})
    assert (ended.usage, ended.exit_code, ended.stopped_for, ended.conversation) == (Usage(), None, "", "")
    assert LevelResult.load({"round": 1, "name": "level 0"}).retries == ()


def test_a_recorded_failure_of_a_model_is_the_same_failure() -> None:
    failure = ModelFailed("no", "bad_request", True)
    failure.bill = Bill(Usage(3, 4), 0.5)
    body = json.loads(json.dumps(TurnFailedNote.of("maker", 1, failure).plain()))
    again = TurnFailedNote.load(body).failure()
    assert (str(again), vars(again)) == (str(failure), vars(failure))
    assert list(body) == ["role", "iteration", "message", "kind", "final", "usage", "cost_usd"]


def test_notes_about_a_check_are_left_out_by_their_check_and_not_by_their_text() -> None:
    body: dict[str, Any] = {"n": 1, "green": True, "notes": ["secret: a", "open: secret: b", "all"]}
    told = {**body, "note_checks": ["secret", "open", ""]}
    assert list(Judged.load(told).notes_without(frozenset({"secret"}))) == ["open: secret: b", "all"]
    misled = {**body, "note_checks": ["open", "secret", ""]}
    assert list(Judged.load(misled).notes_without(frozenset({"secret"}))) == ["secret: a", "all"]
    assert list(Judged.load(body).notes_without(frozenset({"secret"}))) == ["open: secret: b", "all"]


@pytest.mark.parametrize("body", [{"n": 1, "results": 3}, {"n": 1, "results": [3]}])
def test_a_list_that_is_none_is_no_note(body: dict[str, Any]) -> None:
    with pytest.raises(WrongShape):
        Judged.load(body)
