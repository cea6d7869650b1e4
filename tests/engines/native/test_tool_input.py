"""The input of tools: accepted input fits the tool, and everything else is named."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.engines.native.tools import TABLE
from donewhen.engines.native.tools.tool import PYTHON_KINDS, ToolFailed

PROMISED = {
    "read_file": {"path": True, "start": False, "end": False},
    "list_dir": {"path": False},
    "find_files": {"pattern": True, "path": False},
    "grep_files": {"pattern": True, "path": False, "glob": False},
    "write_file": {"path": True, "content": True},
    "edit_file": {"path": True, "old": True, "new": True, "all": False},
    "shell": {"command": True, "timeout_secs": False},
    "ask_user": {"prompt": True},
    "report_no_change": {"kind": True, "summary": True, "evidence": True},
    "update_tracker": {"item": True, "state": True, "note": False},
}
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
NAMES = st.sampled_from([*{name for takes in PROMISED.values() for name in takes}, "other", ""])


def test_the_tools_take_exactly_what_is_promised() -> None:
    found = {name: {one.name: one.required for one in tool.parameters} for name, tool in TABLE.items()}
    assert found == PROMISED


@pytest.mark.parametrize("name", PROMISED)
def test_the_schema_says_the_same_as_the_check(name: str) -> None:
    spec = TABLE[name].spec()
    assert spec.parameters["required"] == [one for one, required in PROMISED[name].items() if required]
    assert list(spec.parameters["properties"]) == list(PROMISED[name])
    assert spec.parameters["additionalProperties"] is False
    assert all(one["description"] for one in spec.parameters["properties"].values())


@given(st.sampled_from(list(PROMISED)), st.dictionaries(NAMES, VALUES, max_size=4))
def test_accepted_arguments_have_the_right_type_and_others_are_named(tool: str, given_input: dict[str, Any]) -> None:
    takes = {one.name: one for one in TABLE[tool].parameters}
    try:
        passed = TABLE[tool].checked_input(given_input)
    except ToolFailed as failed:
        assert str(failed).startswith(tool)
        assert len(str(failed)) < 300
        return
    assert all(type(value) is PYTHON_KINDS[takes[name].kind] for name, value in passed.items())
    assert {name for name, one in takes.items() if one.required} <= passed.keys() <= takes.keys()
