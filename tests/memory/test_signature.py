"""When two logs have the same failure: real runs of real tools on seeded bugs, and the rules one by one."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from seeded_projects import Bug, Project
from seeded_runs import is_there, log_of
from seeded_scripts import NODE, PYTEST, UNITTEST

from donewhen.memory.signature import (
    VERSION,
    Failed,
    Signature,
    from_json,
    matches,
    same_place,
    signature_of,
)
from needs import leave_out
from tiers import examples

RECORDED = Path(__file__).parents[1] / "readers" / "failure_logs"


def recorded(name: str) -> bytes:
    return (RECORDED / f"{name}.log").read_bytes()


def bug_named(project: Project, name: str) -> Bug:
    return next(bug for bug in project.bugs if bug.name == name)


def failing(*ids: str, key: str = "a", check: str = "tests", v: int = VERSION) -> Signature:
    failed = tuple(Failed(id, "KeyError", f"'{key}'", "shop.py:label") for id in ids)
    return Signature(check=check, failed=failed, reader="pytest", v=v)


@pytest.mark.sample(0)
@pytest.mark.parametrize("project", [PYTEST, UNITTEST, NODE], ids=lambda project: project.runner)
def test_two_runs_of_one_bug_match_and_two_bugs_do_not(project: Project, tmp_path: Path) -> None:
    if not is_there(project):
        leave_out(project.command[0])
    names = ("label has no such method", "label asks for a wrong key", "money is not there")
    runs = {
        name: [signature_of(log_of(project, bug_named(project, name), number, tmp_path)) for number in (0, 1)]
        for name in names
    }
    for name, (one, other) in runs.items():
        assert matches(one, other), (name, one, other)
        assert (one.place_digest(), one.cause_digest()) == (other.place_digest(), other.cause_digest()), name
        assert one.may_be_recalled
    firsts = [one for one, _ in runs.values()]
    assert not any(matches(a, b) for at, a in enumerate(firsts) for b in firsts[at + 1 :])
    assert same_place(firsts[0], firsts[1]), "the same test, for another reason"


@pytest.mark.sample(0)
def test_an_unrelated_second_failure_does_not_hide_a_bug(tmp_path: Path) -> None:
    bug = bug_named(PYTEST, "label asks for a wrong key")
    alone, beside = (signature_of(log_of(PYTEST, bug, number, tmp_path)) for number in (0, 2))
    assert (len(alone.ids), len(beside.ids)) == (1, 2)
    assert matches(alone, beside)


def test_places_match_if_most_failures_are_the_same() -> None:
    ten = [f"t{n}" for n in range(10)]
    assert same_place(failing(*ten), failing(*ten[:7]))
    assert not same_place(failing(*ten), failing(*ten[:6]))
    assert not same_place(failing("a"), failing("a", check="lint"))


def test_a_run_that_stopped_at_its_first_failure_matches_the_complete_run() -> None:
    assert matches(failing("a"), failing("a", "b", "c"))
    assert not matches(failing("a"), failing("b"))
    assert not matches(failing("a"), failing("a", "b", key="b"))


def test_a_shared_second_failure_does_not_make_two_bugs_equal() -> None:
    clock = Failed("clock", "", "expected: <n> got: <n>", "spec.rb")
    one, other = failing("total", "sum"), failing("total", "sum", key="b")
    beside = [replace(each, failed=(*each.failed, clock)) for each in (one, other)]
    assert not matches(*beside)
    assert matches(one, beside[0])
    assert not matches(one, beside[1])


def test_causes_match_without_numbers_lines_and_temporary_names() -> None:
    log = recorded("tests_pytest/missing_file").decode()
    moved = log.replace("pytest-of-ada/pytest-13", "pytest-of-eve/pytest-99").replace("shop.py:46", "shop.py:7")
    assert signature_of(log).cause_digest() == signature_of(moved).cause_digest()
    (kind, message, place) = signature_of(log).causes[0]
    assert (kind, place) == ("FileNotFoundError", "shop.py:saved"), "the frames of the standard library are not ours"
    assert message == "[Errno <n>] No such file or directory: '<path>'"


def test_the_missing_name_is_part_of_the_cause() -> None:
    log = recorded("tests_pytest/import").decode()
    assert not matches(signature_of(log), signature_of(log.replace("monies", "coins")))


def test_failures_of_the_base_with_the_same_reason_are_left_out() -> None:
    base = signature_of(recorded("tests_pytest/attribute"))
    both = recorded("tests_pytest/attribute").decode().replace(
        "=========================== short test summary info ============================\n",
        "_____ test_new _____\ntest_shop.py:9: in test_new\n    new()\nE   KeyError: 'n'\n"
        "===== short test summary info =====\nFAILED test_shop.py::test_new - KeyError: 'n'\n",
    )  # fmt: skip
    assert len(signature_of(both).ids) == 2
    assert signature_of(both, base=base).ids == ("test_shop.py::test_new",)
    nothing_new = signature_of(recorded("tests_pytest/attribute"), base=base)
    assert (nothing_new.ids, nothing_new.may_be_recalled) == ((), False)
    assert not matches(nothing_new, base)
    assert not matches(base, nothing_new)


def test_a_test_that_fails_for_another_reason_than_on_the_base_is_kept() -> None:
    log = recorded("tests_pytest/attribute").decode()
    base = signature_of(log.replace("uppercase", "capitals"))
    assert signature_of(log, base=base).ids == ("test_shop.py::test_label_names_the_customer",)


def test_an_unknown_log_is_grouped_but_never_recalled() -> None:
    log = "step one\nkiln 7 overheated: error 1203 in /srv/kiln/7\ndone\n"
    one, other = signature_of(log, "kiln"), signature_of(log.replace("7", "12").replace("1203", "9"), "kiln")
    assert (one.reader, one.ids, one.may_be_recalled) == ("template", (), False)
    assert matches(one, other)
    assert not matches(one, signature_of("the oven is missing a door\n", "kiln"))
    assert signature_of("waiting\nthe job timed out after 360 minutes\n").phase == "timeout"


def test_a_signature_is_the_same_after_storing_and_loading() -> None:
    one = signature_of(recorded("tests_cargo/assertion"), "tests")
    told = json.loads(json.dumps(one.as_json()))
    assert from_json(told) == one
    assert (told["where"]["key"], told["what"]["key"], told["v"]) == (one.place_digest(), one.cause_digest(), 1)
    assert from_json({"where": 3, "what": {"causes": [None]}, "v": "x"}).v == 0


def test_signatures_of_two_versions_never_match() -> None:
    one = failing("a")
    assert not matches(one, failing("a", v=2))


@settings(max_examples=examples(80))
@given(st.binary(max_size=500) | st.text(max_size=500))
def test_any_log_gets_a_signature_that_matches_itself(log: bytes | str) -> None:
    one = signature_of(log)
    assert one == signature_of(log)
    assert matches(one, one) or not one.causes


def test_hostile_text_is_bounded_and_cleaned() -> None:
    line = "E   KeyError: '" + "\x1b[2J\x00\u202e" + "x" * 1_000_000 + "'"
    log = recorded("tests_pytest/attribute").decode().replace(
        "E       AttributeError: 'str' object has no attribute 'uppercase'", line
    )  # fmt: skip
    told = json.dumps(signature_of(log * 50).as_json(), ensure_ascii=False)
    assert len(told) < 20_000
    assert told.isprintable()
