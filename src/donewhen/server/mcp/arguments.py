"""Checks the arguments of a tool against its schema, strictly: nothing unknown, nothing too long, no other type."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

from donewhen.server.call_errors import CallRefused
from donewhen.server.mcp.tools import TOOLS, McpTool

LONGEST_PROBLEM = 300


def require_fitting(spec: McpTool, in_session: bool, given: Mapping[str, Any]) -> None:
    """Raise CallRefused with the first problem in one line."""
    for error in _validator(spec.name, in_session).iter_errors({**given}):  # pyright: ignore[reportUnknownMemberType] - a deprecated overload
        where = ".".join(map(str, error.absolute_path))
        problem = " ".join(error.message.split())
        if len(problem) > LONGEST_PROBLEM:  # it repeats what was given
            problem = f"it is not as its description says ({error.validator})"
        raise CallRefused("bad_input", f"{spec.name}: {f'{where}: ' if where else ''}{problem}")


@cache
def _validator(tool: str, in_session: bool) -> Draft202012Validator:
    return Draft202012Validator(TOOLS[tool].schema(in_session))
