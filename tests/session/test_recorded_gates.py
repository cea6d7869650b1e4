"""Recorded logs of finished sessions, with a gate of every kind: newer code reads them as the code that wrote them did.

`recorded_logs/expected.json` is what that code said about each of them. The logs are never changed.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from donewhen.cli.views.ending import EndingFacts, next_commands
from donewhen.server.methods import about
from donewhen.session.log.state import told
from donewhen.session.outcome import Outcome, SessionResult
from donewhen.session.verbs.replay import legs
from donewhen.storage.record import Record

LOGS = Path(__file__).parent / "recorded_logs"
EXPECTED: dict[str, Any] = json.loads((LOGS / "expected.json").read_text())
NEW_IN_0_2 = ("edited", "by_person")


def recorded(name: str) -> list[Record]:
    return [Record(**json.loads(line)) for line in (LOGS / f"{name}.jsonl").read_text().splitlines()]


def decisions(records: list[Record]) -> list[Any]:
    """What a replay would decide: during each segment, and between it and the next one."""
    return [[one.decisions, len(one.entries), one.takes_edits] for one in legs(records)]


def read(records: list[Record]) -> dict[str, Any]:
    events = [record for record in records if record.seq is not None]
    state, waits = about(told(records)), about(told(_until_it_waited(records)))
    result = SessionResult(records[0].session, Outcome(state["outcome"]), state["reason"])
    waiting = SessionResult(records[0].session, Outcome.WAITING, "")
    facts = {
        "state": state,
        "gate": waits["gate"],
        "next": next_commands(result, EndingFacts(events)),
        "next_while_it_waited": next_commands(waiting, EndingFacts(_until_it_waited(events))),
        "replayed": decisions(records),
    }
    return json.loads(json.dumps(facts))


def _until_it_waited(records: list[Record]) -> list[Record]:
    at = next(index for index, one in enumerate(records) if one.kind == "state_changed" and one.body["to"] == "waiting")
    return records[: at + 1]


@pytest.mark.parametrize("name", EXPECTED)
def test_a_recorded_log_gives_the_same_state(name: str) -> None:
    assert read(recorded(name)) == EXPECTED[name]


@pytest.mark.parametrize("name", EXPECTED)
def test_a_log_without_the_fields_of_0_2_is_replayed_in_the_same_way(name: str) -> None:
    records = recorded(name)
    for record in records:
        for field in NEW_IN_0_2 if record.seq is not None else ():
            record.body.pop(field, None)
    assert json.loads(json.dumps(decisions(records))) == EXPECTED[name]["replayed"]


def test_every_recorded_log_is_read() -> None:
    assert {file.stem for file in LOGS.glob("*.jsonl")} == {*EXPECTED}
