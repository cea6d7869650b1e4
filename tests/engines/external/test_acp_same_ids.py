"""Protocol calls with reused ids: models give ids and need not give new ones."""

from donewhen.engines.external.acp.updates import UpdateReader
from donewhen.engines.external.agent_events import AgentEvent, AgentToolCall, AgentToolResult, AgentTurn


def told(*updates: tuple[str, str]) -> list[AgentEvent]:
    """Updates of one call, each a kind and a status."""
    reader = UpdateReader()
    happened: list[AgentEvent] = []
    for kind, status in updates:
        about = {"toolCallId": "call_0", "kind": "execute", "rawInput": {"command": "x"}, "status": status}
        happened += reader.update({"sessionUpdate": kind, **about})
    return happened


def test_a_call_with_the_id_of_one_that_returned_is_another_turn() -> None:
    once = [("tool_call", "in_progress"), ("tool_call_update", "completed")]
    assert [type(one) for one in told(*once, *once)] == [AgentToolCall, AgentToolResult, AgentTurn] * 2


def test_a_late_update_of_a_finished_call_is_not_a_new_call() -> None:
    happened = told(("tool_call", "in_progress"), ("tool_call_update", "completed"), ("tool_call_update", "completed"))
    assert [type(one) for one in happened] == [AgentToolCall, AgentToolResult, AgentTurn]
