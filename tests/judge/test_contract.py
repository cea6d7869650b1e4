"""The contract as data: refused values, the text for an engine, and warnings."""

import datetime
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.errors import BadInput
from donewhen.judge.contract import Check, Contract, Quarantine, require_sound
from donewhen.judge.contract_lint import warnings_about

TESTS = Check(name="tests", command="pytest -q")
SECRET = Check(name="secret-one", command="python hidden.py 42", held_out=True, output_contains="forty-two")


@pytest.mark.promise("check.name")
@pytest.mark.parametrize("name", ["", "a b", "ü", "x" * 65, "a/b", "a\n"])
def test_a_name_that_is_empty_long_or_odd_is_refused(name: str) -> None:
    with pytest.raises(BadInput, match=r"check\[0\]\.name"):
        require_sound([replace(TESTS, name=name)])


@given(st.text(alphabet="abcXYZ019_.-", min_size=1, max_size=64))
def test_every_name_of_the_promised_characters_is_accepted(name: str) -> None:
    require_sound([replace(TESTS, name=name)])


@pytest.mark.parametrize(
    ("wrong", "key"),
    [
        (replace(TESTS, command="  "), "command"),
        (replace(TESTS, command="a\0b"), "command"),
        (replace(TESTS, dir="/etc"), "dir"),
        (replace(TESTS, dir="../other"), "dir"),
        (replace(TESTS, dir=""), "dir"),
        (replace(TESTS, timeout_secs=0), "timeout_secs"),
    ],
)
def test_an_invalid_value_of_a_check_is_refused_with_its_key(wrong: Check, key: str) -> None:
    with pytest.raises(BadInput, match=rf"check\[0\]\.{key}"):
        require_sound([wrong])


def test_a_repeated_name_is_refused() -> None:
    with pytest.raises(BadInput, match="repeats 'tests'"):
        require_sound([TESTS, TESTS])


def test_the_text_for_an_engine_has_description_checks_and_expectations() -> None:
    shown = Contract(
        checks=(replace(TESTS, dir="api", output_contains="passed"), replace(TESTS, name="no", expect_exit_zero=False)),
        description="the API answers",
    ).render()
    assert "the API answers" in shown
    assert "- tests (in api): pytest -q" in shown
    assert "'passed'" in shown
    assert "1 to 125" in shown


@given(st.lists(st.booleans(), max_size=5))
def test_nothing_of_a_held_out_check_is_in_the_text_for_an_engine(held: list[bool]) -> None:
    checks = tuple(
        Check(name=f"name{n}", command=f"command{n}", output_contains=f"output{n}", held_out=out)
        for n, out in enumerate(held)
    )
    shown = Contract(checks=checks).render()
    for n, out in enumerate(held):
        assert all((f"{word}{n}" in shown) is not out for word in ("name", "command", "output"))


def test_the_digest_changes_with_every_key() -> None:
    contract = Contract(checks=(TESTS, SECRET))
    others = [
        replace(contract, description="other"),
        replace(contract, protect=("a",)),
        replace(contract, editable=("a",)),
        replace(contract, min_evidence="exit"),
        replace(contract, checks=(TESTS,)),
        *(
            replace(contract, checks=(replace(TESTS, **change), SECRET))  # pyright: ignore[reportArgumentType] - one key of each type
            for change in (
                {"command": "x"}, {"dir": "x"}, {"expect_exit_zero": False}, {"output_contains": "x"},
                {"timeout_secs": 1}, {"min_tests": 2}, {"allow_skips": True}, {"held_out": True},
                {"quarantine": Quarantine("why", datetime.date(2026, 1, 1))},
            )
        ),
    ]  # fmt: skip
    assert len({contract.digest, *(other.digest for other in others)}) == len(others) + 1


def test_a_quarantine_holds_until_its_date_and_not_longer() -> None:
    check = replace(TESTS, quarantine=Quarantine("slow disk", datetime.date(2026, 12, 31)))
    assert check.in_quarantine(datetime.date(2026, 12, 31))
    assert not check.in_quarantine(datetime.date(2027, 1, 1))
    assert not TESTS.in_quarantine(datetime.date(2026, 1, 1))


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("pytest || true", "hides the failure"),
        ("pytest || exit 0", "hides the failure"),
        ("pytest ; true", "always succeeds"),
        ("server &", "background"),
        ("pytest | tee log", "pipe"),
        ("true", "proves nothing"),
        ("echo done", "proves nothing"),
        ("python --version", "version"),
        ("node -v && cargo -V", ""),
        ("pytest -q", ""),
        ("make a && make b", ""),
        ("test -f x || exit 1", ""),
    ],
)
def test_commands_that_can_hardly_fail_are_pointed_out(command: str, said: str) -> None:
    found = [warning.message for warning in warnings_about(Contract(checks=(replace(TESTS, command=command),)))]
    assert (said in found[0] and len(found) == 1) if said else found == []


def test_a_command_that_only_prints_is_fine_when_its_output_is_asserted() -> None:
    assert warnings_about(Contract(checks=(Check(name="a", command="cat version.txt", output_contains="2.0"),))) == []


@pytest.mark.parametrize("seconds", [0.01, 10**7])
def test_an_unreachable_timeout_is_pointed_out(seconds: float) -> None:
    (found,) = warnings_about(Contract(checks=(replace(TESTS, timeout_secs=seconds),)))
    assert found.key == "timeout_secs"


def test_promised_output_that_no_check_asserts_is_pointed_out() -> None:
    found = warnings_about(Contract(checks=(TESTS,), description="the CLI prints JSON"))
    assert [warning.key for warning in found] == ["description"]
    asserted = Contract(checks=(replace(TESTS, output_contains="{"),), description="the CLI prints JSON")
    assert warnings_about(asserted) == []
