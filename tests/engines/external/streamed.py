"""Recorded streams of real agents, read as the engine reads them: bytes to lines to events.

The real programs printed the files in `recorded/` against the scripted model server. They were shortened afterwards.
"""

from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from donewhen.engines.external import streams
from donewhen.engines.external.agent_events import AgentEvent, AgentStopped, AgentTotals
from donewhen.engines.external.run.cli_agent import JsonLine, LineSplitter

RECORDED = Path(__file__).parent / "recorded"
FIELDS = (
    "type", "subtype", "message", "content", "data", "id", "usage", "result", "is_error", "error", "errors", "text",
    "model", "name", "input", "modelUsage", "total_cost_usd", "toolCallId", "role", "stopReason", "exitCode", "cost",
    "session_id", "task_id", "patch", "status", "rate_limit_info", "resetsAt", "shellExecution", "statusCode",
)  # fmt: skip
WORDS = (
    "assistant", "user", "system", "init", "tool_use", "tool_result", "text", "assistant.message", "session.error",
    "tool.execution_start", "tool.execution_complete", "message_end", "tool_execution_end", "session", "error",
    "task_updated", "rate_limit_event", "rejected", "<synthetic>",
)  # fmt: skip
"""Parts of streams, without the words that end one."""


def bytes_of(shape: str, case: str) -> bytes:
    return (RECORDED / shape / f"{case}.jsonl").read_bytes()


def heard(shape: str, printed: bytes, exit_code: int | None = 0, stderr: str = "") -> list[AgentEvent]:
    """Return what a reader makes of a complete invocation."""
    reader, lines = streams.reader(shape), LineSplitter()
    happened: list[AgentEvent] = []
    for line in (*lines.feed(printed), *lines.end()):
        happened += reader.value(line.value) if isinstance(line, JsonLine) else reader.text(line.text)
    return [*happened, *reader.end(exit_code, stderr)]


def anything() -> st.SearchStrategy[Any]:
    """Any JSON, and JSON that is nearly what an agent would print."""
    leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.sampled_from(WORDS)
    names = st.sampled_from(FIELDS) | st.text(max_size=5)
    return st.recursive(
        leaves, lambda more: st.lists(more, max_size=3) | st.dictionaries(names, more, max_size=5), max_leaves=12
    )


def claims(shape: str, values: list[Any], text: str, exit_code: int | None) -> list[AgentEvent]:
    """Return what a reader takes for an end or a sum in any output."""
    reader = streams.reader(shape)
    happened = [one for value in values for one in reader.value(value)]
    happened += [*reader.text(text), *reader.end(exit_code, text)]
    return [one for one in happened if isinstance(one, AgentStopped | AgentTotals)]
