"""What a caller sends is checked strictly, and whatever is wrong is one line that names the parameter."""

import subprocess
import sys
from typing import Any

import pytest

from donewhen.server.methods.subscriptions import SUBSCRIPTIONS
from donewhen.server.methods.table import TABLE
from donewhen.server.parameters import WrongParameters, validators
from tables import every_row

CHECKS = validators({**TABLE, **SUBSCRIPTIONS})
START = {"intent": "say right"}
NUMBER = "must be a whole number"
SURROGATE = "\ud800"


WRONG: list[tuple[str, Any, str]] = [
    ("session.get", {}, "parameter 'id' is missing"),
    ("session.get", {"id": 3}, "parameter 'id' must be a text"),
    ("session.get", {"id": None}, "parameter 'id' must be a text"),
    ("session.get", {"id": "a", "verbose": True}, "parameter 'verbose' is unknown; known parameters: id"),
    ("session.get", ["a"], "params must be an object with the parameters by name"),
    ("session.get", "a", "params must be an object with the parameters by name"),
    ("session.get", {"id": SURROGATE}, "parameter 'id' contains half of a surrogate pair"),
    ("session.list", {"limit": True}, f"parameter 'limit' {NUMBER}"),
    ("session.list", {"limit": "1"}, f"parameter 'limit' {NUMBER}"),
    ("session.list", {"limit": 1.0}, f"parameter 'limit' {NUMBER}"),
    ("session.list", {"limit": -1}, "parameter 'limit' must be 0 or more"),
    ("session.list", {"limit": 10**400}, f"parameter 'limit' must be a number below {2**53}"),
    ("session.list", {"limit": 2**60}, f"parameter 'limit' must be a number below {2**53}"),
    ("session.diff", {"id": "a", "candidate": 1}, "parameter 'candidate' must be true or false"),
    ("session.diff", {"id": "a", "candidate": "yes"}, "parameter 'candidate' must be true or false"),
    ("contract.check", {"subject": "other"}, "parameter 'subject' must be 'working', 'as-is' or 'head'"),
    ("memory.forget", {"ids": "x"}, "parameter 'ids' must be a list"),
    ("memory.forget", {"ids": ["x", 1]}, "parameter 'ids.1' must be a text"),
    ("memory.forget", {"ids": [SURROGATE]}, "parameter 'ids' contains half of a surrogate pair"),
    ("models.list", {"x": 1}, "parameter 'x' is unknown; known parameters: none"),
    ("session.start", {**START, "checks": {"t": {"command": "c", "x": 1}}}, "parameter 'checks.t.x' is unknown"),
    ("session.start", {**START, "checks": {"t": {"dir": "x"}}}, "parameter 'checks.t.command' is missing"),
    ("session.start", {**START, "checks": {"t": 3}}, "parameter 'checks.t' must be a text"),
    ("session.start", {**START, "checks": []}, "parameter 'checks' must be an object"),
    ("session.start", {**START, "max_usd": True}, "parameter 'max_usd' must be a number"),
    ("session.start", {**START, "max_usd": float("nan")}, f"parameter 'max_usd' must be a number below {2**53}"),
    ("session.start", {**START, "max_usd": float("inf")}, f"parameter 'max_usd' must be a number below {2**53}"),
    ("session.start", {**START, "editable": ["a", None]}, "parameter 'editable.1' must be a text"),
    ("board.subscribe", {"from": {"s": "1"}}, f"parameter 'from.s' {NUMBER}"),
]


@every_row(WRONG)
def test_a_wrong_parameter_is_named_in_one_line(row: tuple[str, Any, str]) -> None:
    method, params, problem = row
    with pytest.raises(WrongParameters) as refused:
        CHECKS[method](params)
    assert str(refused.value) == f"{method}: {problem}"


RIGHT: list[tuple[str, Any, Any]] = [
    ("models.list", None, {}),
    ("models.list", [], {}),
    ("session.list", {}, {}),
    ("session.list", {"limit": 0, "repo": "/r"}, {"limit": 0, "repo": "/r"}),
    ("session.start", {**START, "max_minutes": 5}, {**START, "max_minutes": 5.0}),
    ("session.start", {**START, "max_iterations": None}, {**START, "max_iterations": None}),
    ("session.start", {**START, "checks": {"t": "true"}}, {**START, "checks": {"t": "true"}}),
    (
        "session.start",
        {**START, "checks": {"t": {"command": "true", "min_tests": 2}}},
        {**START, "checks": {"t": {"command": "true", "min_tests": 2}}},
    ),
    ("board.subscribe", {"from": None}, {"from_": None}),
    ("board.subscribe", {"from": 0}, {"from_": 0}),
    ("board.subscribe", {"from": {"s": 3}}, {"from_": {"s": 3}}),
    ("session.subscribe", {"id": "s", "from_seq": 1}, {"id": "s", "from_seq": 1}),
]


@every_row(RIGHT)
def test_right_parameters_become_arguments_as_they_are(row: tuple[str, Any, Any]) -> None:
    method, params, arguments = row
    assert CHECKS[method](params) == arguments


def test_a_long_unknown_name_is_cut_in_the_line_about_it() -> None:
    with pytest.raises(WrongParameters) as refused:
        CHECKS["session.get"]({"x" * 10_000: 1})
    assert len(str(refused.value)) < 300


def test_the_table_of_methods_loads_nothing_that_checks_types_or_runs_sessions() -> None:
    code = "import sys, donewhen.server.methods.table, donewhen.server.parameters; print('\\n'.join(sys.modules))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    loaded = set(told.stdout.split())
    heavy = {"pydantic", "rich", "donewhen.session.session", "donewhen.session.crew", "donewhen.judge.judge", "mcp"}
    assert "donewhen.server.methods.sessions" in loaded
    assert loaded & heavy == set()
