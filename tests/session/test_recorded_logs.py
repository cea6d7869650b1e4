"""Old logs load: the views of recorded logs are the same as when they were written."""

import json

import pytest

from donewhen.session.person.gates import GateKind
from session.recorded_logs import NAMES, expected, log, replay_of, seen_in

NEW_IN_0_2 = ("edited", "by_person")


@pytest.mark.parametrize("name", NAMES)
def test_a_recorded_log_shows_the_same_as_when_it_was_written(name: str) -> None:
    seen, before = seen_in(log(name)), expected(name)
    assert list(seen) == list(before)
    for part, shown in seen.items():
        assert shown == before[part], part


@pytest.mark.parametrize("name", NAMES)
def test_a_log_without_the_fields_of_0_2_is_replayed_in_the_same_way(name: str) -> None:
    records = log(name)
    for record in records:
        for field in NEW_IN_0_2 if record.seq is not None else ():
            record.body.pop(field, None)
    assert json.loads(json.dumps(replay_of(records))) == expected(name)["replay"]


def test_the_recorded_logs_hold_every_kind_of_gate() -> None:
    gates = {record.body["gate"] for name in NAMES for record in log(name) if record.kind == "gate_opened"}
    assert gates == {kind.value for kind in GateKind}
