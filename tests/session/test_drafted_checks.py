"""Checks drafted by a model: read like donewhen.toml, and refused if they could hardly fail."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.session.planned.drafted_checks import read_drafts
from donewhen.session.settings.schema import CHECK

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)


def test_allowed_keys_of_a_draft_become_a_check() -> None:
    entry = {
        "name": "cli",
        "command": "python3 -m shop",
        "dir": "app",
        "expect_exit_zero": False,
        "output_contains": "usage",
        "timeout_secs": 30,
        "covers": [1, 2],
    }
    found = read_drafts([entry])
    (check,) = found.checks
    assert (check.name, check.command, check.dir) == ("cli", "python3 -m shop", "app")
    assert (check.expect_exit_zero, check.output_contains, check.timeout_secs) == (False, "usage", 30)
    assert (found.entries, found.issues) == ((entry,), ())


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ({"name": "a", "command": "true"}, "proves nothing"),
        ({"name": "a", "command": "pytest -q || true"}, "hides the failure"),
        ({"name": "a", "command": "pytest -q; true"}, "always succeeds"),
        ({"name": "a", "command": "pytest -q &"}, "in the background"),
        ({"name": "a", "command": "pytest -q | tee log"}, "only the last program of a pipe"),
        ({"name": "a", "command": "python3 --version"}, "prints a version"),
        ({"name": "a", "command": "grep -q x f && echo yes || echo no"}, "hides the failure"),
        ({"name": "a", "command": "…"}, "is a placeholder"),
        ({"name": "short-name", "command": "pytest -q"}, "is a placeholder, not a name"),
        ({"name": "a b", "command": "pytest -q"}, "checks[0].name"),
        ({"name": "a", "command": " "}, "needs a name and a command"),
        ({"name": "a", "command": "pytest -q", "dir": "../x"}, "checks[0].dir"),
        ({"name": "a", "command": "pytest -q", "dir": 3}, "checks[0].dir' must be text"),
        ({"name": "a", "command": "pytest -q", "timeout_secs": 0}, "must be more than 0"),
        ({"name": "a", "command": "pytest -q", "timeout_secs": float("inf")}, "must be a finite number"),
        ({"name": "a", "command": "pytest -q", "timeout_secs": float("nan")}, "must be a finite number"),
        ({"name": "a", "command": "pytest -q", "timeout_secs": 86400}, "is more than 3600"),
        ({"name": "a", "command": "pytest -q", "expect_exit_zero": "no"}, "checks[0].expect_exit_zero' must be"),
        ({"name": "a", "command": "pytest -q", "held_out": True}, "is for a person to decide"),
        ({"name": "a", "command": "pytest -q", "quarantine": {"reason": "x"}}, "is for a person to decide"),
        ({"name": "a", "command": "pytest -q", "allow_skips": True}, "is for a person to decide"),
        ({"name": "a", "command": "pytest -q", "min_tests": 0}, "is for a person to decide"),
        ({"name": "a", "command": "pytest -q", "color": "red"}, "unknown key 'checks[0].color'"),
    ],
)
def test_a_weak_or_invalid_drafted_check_is_refused_by_name(entry: dict[str, Any], why: str) -> None:
    found = read_drafts([entry])
    assert (found.checks, found.entries) == ((), ())
    assert why in "; ".join(found.issues)


@pytest.mark.parametrize("command", ["go test ./...", "test -f hello.txt", "grep -q div README", "make check"])
def test_an_ordinary_drafted_command_is_a_check(command: str) -> None:
    assert read_drafts([{"name": "a", "command": command}]).issues == ()


def test_every_drafted_check_is_examined_and_the_good_ones_are_kept() -> None:
    entries = [
        {"name": "a", "command": "true"},
        {"name": "b", "command": "pytest -q"},
        {"name": "b", "command": "make check"},
        {"name": "c", "command": ":"},
    ]
    found = read_drafts(entries)
    assert [check.name for check in found.checks] == ["b"]
    assert [issue.partition("]")[0] for issue in found.issues] == ["checks[0", "'checks[2", "checks[3"]


@given(st.lists(st.dictionaries(st.sampled_from([*CHECK, "covers", "x"]), JSON, max_size=5), max_size=4))
def test_any_draft_gives_a_valid_check_or_an_issue(entries: list[dict[str, Any]]) -> None:
    found = read_drafts(entries)
    assert len(found.checks) == len(found.entries)
    assert len(found.checks) + len({issue.partition("]")[0].strip("'") for issue in found.issues}) == len(entries)
    assert len({check.name for check in found.checks}) == len(found.checks)
