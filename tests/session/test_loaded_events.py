"""Events that are read out of a log: the same as were written; what is missing or unknown stops no reader."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.events import CheckStarted, Event, PlanText, UnknownEvent, load
from donewhen.storage.record import Record
from stored_values import values_of

KNOWN = [cls for cls in Event.__subclasses__() if cls is not UnknownEvent]


def any_event(cls: type[Event]) -> st.SearchStrategy[Event]:
    return st.builds(cls, **{name: values_of(kind) for name, kind in cls.__annotations__.items()})


@given(event=st.sampled_from(KNOWN).flatmap(any_event), subtask=st.sampled_from(["", "a"]))
def test_an_event_is_read_as_it_was_written(event: Event, subtask: str) -> None:
    event = event.of_subtask(subtask) if subtask else event
    body = json.loads(json.dumps(event.fields()))
    assert load(event.type(), body) == event
    assert load(event.type(), body).fields() == body
    assert load(event.type(), {**body, "later": 1}) == event


@pytest.mark.promise("events.unknown-types")
@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("weather_changed", {"to": "rain"}),
        ("check_started", {"name": "a"}),
        ("contract_proposed", {"contract": {}, "why": 3}),
    ],
)
def test_an_unknown_type_and_a_body_that_does_not_fit_its_type_are_kept_as_they_are(
    kind: str, body: dict[str, Any]
) -> None:
    assert load(kind, body) == UnknownEvent(kind=kind, body=body)


def test_an_event_about_the_whole_session_belongs_to_no_subtask() -> None:
    assert (PlanText(text="a").subtask, PlanText(text="a").of_subtask("b").subtask) == ("", "b")
    assert "subtask" not in PlanText(text="a").fields()


def test_a_record_reads_its_event_once() -> None:
    record = Record("5e551011", 1, "", "check_started", {"name": "a", "phase": "round"}, 1)
    assert record.event == CheckStarted(name="a", phase="round")
    assert record.event is record.event
    assert record == Record("5e551011", 1, "", "check_started", {"name": "a", "phase": "round"}, 1)
