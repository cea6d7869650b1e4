"""How a check stands beside the base: what counts as broken, what as evidence, and what decides nothing."""

import pytest

from donewhen.judge.verdict import Result, Status
from donewhen.session.beside import compared

SOME = frozenset({"test_a", "test_b"})


def result(status: Status, passed: frozenset[str] = frozenset(), quarantined: bool = False) -> Result:
    return Result(name="c", status=status, passed=passed, quarantined=quarantined)


@pytest.mark.parametrize(
    ("before", "now", "stands"),
    [
        (result(Status.PASS), result(Status.PASS), "kept"),
        (result(Status.FAIL), result(Status.PASS), "gained"),
        (result(Status.PASS), result(Status.FAIL), "turned"),
        (result(Status.PASS), result(Status.TIMEOUT), "turned"),
        (result(Status.PASS), result(Status.TAMPERED), "turned"),
        (result(Status.PASS), result(Status.FLAKY), "unknown"),
        (result(Status.PASS), result(Status.INFRA), "unknown"),
        (result(Status.INFRA), result(Status.INFRA), "open"),
        (result(Status.FAIL), result(Status.FAIL), "open"),
        (result(Status.FAIL, SOME), result(Status.FAIL, SOME), "kept"),
        (result(Status.FAIL, SOME), result(Status.FAIL, frozenset({"test_a"})), "turned"),
        (result(Status.FAIL, SOME), result(Status.TAMPERED, SOME), "turned"),
        (result(Status.FAIL, SOME), result(Status.VACUOUS, SOME), "turned"),
        (result(Status.FAIL), result(Status.TAMPERED), "turned"),
        (result(Status.VACUOUS), result(Status.VACUOUS), "open"),
        (result(Status.PASS, quarantined=True), result(Status.FAIL, quarantined=True), "open"),
    ],
)
def test_a_check_stands_as_it_is_beside_the_base(before: Result, now: Result, stands: str) -> None:
    assert compared(before, now)[0] == stands
