"""Kinds of gates: their ids, their reasons, and one way to decide for all who decide."""

import pytest

from donewhen.session.person.gates import GateKind


@pytest.mark.parametrize("kind", GateKind)
def test_every_kind_of_gate_says_why_it_waits_and_what_to_type(kind: GateKind) -> None:
    assert kind.reason
    assert {"donewhen approve {id}", "donewhen deny {id}"} <= {*kind.next}
    assert any(command.startswith("donewhen answer") for command in kind.next) == kind.is_proposal


def test_the_id_of_a_gate_that_opens_once_is_its_kind() -> None:
    assert (GateKind.AMENDMENT.id(), GateKind.CONTRACT.id(), GateKind.LANDING.id(2)) == (
        "amendment",
        "contract",
        "landing-2",
    )


def test_a_kind_that_only_a_newer_version_knows_is_none() -> None:
    assert GateKind.of("plan") is GateKind.PLAN
    assert GateKind.of("something new") is None
