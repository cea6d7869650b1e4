"""Receipts: written, read, changed, compared."""

import datetime
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.errors import BadInput
from donewhen.judge.contract import Check, Contract, Quarantine
from donewhen.judge.receipt import Circumstances, differences, read, written
from donewhen.judge.verdict import CheckStatus, Edit, Result, Verdict
from donewhen.readers.result import Tests

NOW = datetime.datetime(2026, 5, 4, 3, 2, 1, tzinfo=datetime.UTC)
CONTRACT = Contract(
    checks=(
        Check(name="tests", command="pytest", quarantine=Quarantine("why", datetime.date(2026, 12, 31))),
        Check(name="lint", command="ruff check"),
    ),
    protect=("tests/**",),
)
VERDICT = Verdict(
    base="b" * 40,
    candidate="c" * 40,
    tree="d" * 40,
    results=(
        Result(name="tests", status=CheckStatus.PASS, exit_code=0, tests=Tests(2, 2, 0, 0), evidence="sidecar"),
        Result(name="lint", status=CheckStatus.PASS, exit_code=0),
    ),
    edits=(Edit("tests/a.py", "modified", "a test of the base"),),
)
WHERE = Circumstances(as_is=False, isolation="bubblewrap", path_transparent=True, tools={"python": "3"}, duration_ms=5)
TEXT = written(VERDICT, CONTRACT, WHERE, NOW)


def test_a_receipt_holds_contract_trees_results_isolation_tools_and_costs() -> None:
    told = json.loads(TEXT)
    assert told["contract_digest"] == CONTRACT.digest
    assert (told["base"], told["candidate"], told["tree"]) == (VERDICT.base, VERDICT.candidate, VERDICT.tree)
    assert [(r["name"], r["status"], r["evidence"]) for r in told["results"]] == [
        ("tests", "pass", "sidecar"),
        ("lint", "pass", "exit"),
    ]
    assert told["isolation"] == {"level": "bubblewrap", "path_transparent": True}
    assert told["tools"] == {"python": "3"}
    assert told["costs"] == {"duration_ms": 5, "tokens": 0, "usd": 0.0}
    assert told["edits"][0]["path"] == "tests/a.py"


def test_a_receipt_reads_back_with_the_same_contract() -> None:
    assert read(TEXT.encode(), "r").contract == CONTRACT


@given(st.data())
def test_a_receipt_with_any_changed_value_is_refused(data: st.DataObject) -> None:
    told = json.loads(TEXT)
    key = data.draw(st.sampled_from(sorted(told)))
    told[key] = data.draw(st.one_of(st.integers(), st.text(max_size=5), st.none()).filter(lambda v: v != told[key]))
    with pytest.raises(BadInput):
        read(json.dumps(told).encode(), "r")


@given(st.binary(max_size=200))
def test_bytes_that_are_not_a_receipt_are_refused_in_one_line(noise: bytes) -> None:
    with pytest.raises(BadInput) as error:
        read(noise, "r")
    assert "\n" not in str(error.value)


def test_deeply_nested_text_is_refused() -> None:
    with pytest.raises(BadInput):
        read(b"[" * 200_000, "r")


def test_durations_and_costs_make_no_difference_between_verdicts() -> None:
    slower = replace(VERDICT, results=tuple(replace(r, duration_ms=999, attempt=2) for r in VERDICT.results))
    assert list(differences(read(TEXT.encode(), "r"), slower)) == []


def test_differences_between_verdicts_are_named() -> None:
    tests, lint = VERDICT.results
    other = replace(
        VERDICT, tree="e" * 40, results=(replace(tests, status=CheckStatus.FAIL, tests=Tests(2, 1, 1, 0)), lint)
    )
    found = list(differences(read(TEXT.encode(), "r"), other))
    assert len(found) == 3
    assert "tree" in found[0]
    assert found[1] == "tests: status is fail, the receipt has pass"
    assert "failed" in found[2]
    assert list(differences(read(TEXT.encode(), "r"), replace(VERDICT, results=(tests,)))) == [
        "lint: only in the receipt"
    ]
