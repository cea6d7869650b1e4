"""How the scripted agent tells what it does, in the streams that real agents print. Standard library only.

Each voice is a likeness of one agent's stream: the events that carry something, in their order, with the fields that
readers look at. What a real agent prints is in the recorded streams of the tests.
"""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from fake_agent.actions import InputWatcher, put_line

MODEL = "fake-model"
NOTHING: Mapping[str, int] = {"input": 0, "output": 0, "cache_read": 0, "cache_write": 0}


class Use(NamedTuple):
    """A tool that is used, as the script has it."""

    id: str
    tool: str
    kind: str
    """As the Agent Client Protocol sorts tools."""
    given: Mapping[str, Any]


class AgentOutput:
    """Prints its words as they are, and keeps what every voice has to know. Each say and each call is a turn."""

    def __init__(self, conversation: str, task: str) -> None:
        self.conversation = conversation
        self.task = task
        self.mcp_url = ""
        self.watcher = InputWatcher()
        self.usage: Mapping[str, Any] = {}
        self.reset()
        self.begin()

    def reset(self) -> None:
        """Nothing said, nothing used, not ended."""
        self.total: dict[str, int] = dict(NOTHING)
        self.usd = 0.0
        self.turns = 0
        self.said = ""
        self.failed = False
        self.ended = False

    def turn(self, said: str = "") -> dict[str, int]:
        """One more turn; the tokens that it used."""
        self.turns += 1
        self.said = said or self.said
        used = {name: int(self.usage.get(name, 0)) for name in NOTHING}
        self.total = {name: self.total[name] + used[name] for name in NOTHING}
        self.usd += self.usage.get("usd") or 0.0
        return used

    def use(self, usage: Mapping[str, Any]) -> None:
        """From here on, each turn uses this."""
        self.usage = usage

    def finish(self) -> int:
        """The end of the script; the exit code."""
        if not self.ended:
            self.succeed()
        return 1 if self.failed else 0

    # -- what differs from voice to voice --

    def begin(self) -> None:
        pass

    def say(self, text: str) -> None:
        self.turn(text)
        put_line(text)

    def call(self, use: Use) -> bool:
        """Whether the call may be made; without anybody to ask it may."""
        self.turn()
        put_line(f"{use.tool}: {json.dumps(use.given)}")
        return True

    def result(self, use: Use, ok: bool, text: str) -> None:
        del use
        put_line(text if ok else f"failed: {text}")

    def request(self, method: str, params: Mapping[str, Any]) -> None:
        """Only a protocol has requests."""

    def update(self, update: Mapping[str, Any]) -> None:
        """Nor has anything else this kind of news."""

    def fail(self, message: str, status: int = 0) -> None:
        self.failed = self.ended = True
        self.complain(message, status)

    def complain(self, message: str, status: int) -> None:
        del status
        put_line(f"error: {message}")

    def succeed(self) -> None:
        """Says that all went well."""
        self.ended = True


def emit(type: str, **fields: Any) -> None:
    put_line(json.dumps({"type": type, **fields}))


class Claude(AgentOutput):
    def begin(self) -> None:
        told = {"cwd": ".", "tools": ["shell", "write"], "mcp_servers": [], "permissionMode": "acceptEdits"}
        emit("system", subtype="init", session_id=self.conversation, model=MODEL, **told)

    def _message(self, part: Mapping[str, Any], used: Mapping[str, int]) -> None:
        message = {"id": f"msg_{self.turns}", "type": "message", "role": "assistant", "model": MODEL}
        message |= {"content": [part], "stop_reason": None, "usage": _claude_usage(used)}
        emit("assistant", message=message, parent_tool_use_id=None, session_id=self.conversation)

    def say(self, text: str) -> None:
        self._message({"type": "text", "text": text}, self.turn(text))

    def call(self, use: Use) -> bool:
        self._message({"type": "tool_use", "id": use.id, "name": use.tool, "input": dict(use.given)}, self.turn())
        return True

    def result(self, use: Use, ok: bool, text: str) -> None:
        part = {"type": "tool_result", "tool_use_id": use.id, "content": text, "is_error": not ok}
        emit("user", message={"role": "user", "content": [part]}, session_id=self.conversation)

    def complain(self, message: str, status: int) -> None:
        # A refused key ends, with the real one, in a success that is an error.
        subtype = "success" if status else "error_during_execution"
        self._result(subtype, is_error=True, result=message, errors=[message], api_error_status=status or None)

    def succeed(self) -> None:
        self.ended = True
        self._result("success", is_error=False, result=self.said)

    def _result(self, subtype: str, **fields: Any) -> None:
        counted = {"num_turns": self.turns, "duration_ms": 1, "total_cost_usd": self.usd}
        emit(
            "result",
            subtype=subtype,
            session_id=self.conversation,
            usage=_claude_usage(self.total),
            modelUsage={"fake-model": _claude_sums(self.total)} if any(self.total.values()) else {},
            **counted,
            **fields,
        )


def _claude_usage(used: Mapping[str, int]) -> dict[str, int]:
    """With the tokens of the cache apart from the others."""
    return {
        "input_tokens": used["input"] - used["cache_read"] - used["cache_write"],
        "cache_read_input_tokens": used["cache_read"],
        "cache_creation_input_tokens": used["cache_write"],
        "output_tokens": used["output"],
    }


def _claude_sums(used: Mapping[str, int]) -> dict[str, int]:
    told = _claude_usage(used)
    return {
        "inputTokens": told["input_tokens"],
        "outputTokens": told["output_tokens"],
        "cacheReadInputTokens": told["cache_read_input_tokens"],
        "cacheCreationInputTokens": told["cache_creation_input_tokens"],
    }


class Codex(AgentOutput):
    def begin(self) -> None:
        emit("thread.started", thread_id=self.conversation)
        emit("turn.started")

    def say(self, text: str) -> None:
        self.turn(text)
        emit("item.completed", item={"id": f"item_{self.turns}", "type": "agent_message", "text": text})

    def call(self, use: Use) -> bool:
        self.turn()
        if use.kind == "edit":
            what: dict[str, Any] = {"type": "file_change", "changes": [{"path": use.given.get("path"), "kind": "add"}]}
        else:
            command = use.given.get("command") or f"{use.tool} {json.dumps(use.given)}"
            what = {"type": "command_execution", "command": command, "aggregated_output": "", "exit_code": None}
        self._open = {"id": use.id, **what}
        emit("item.started", item={**self._open, "status": "in_progress"})
        return True

    def result(self, use: Use, ok: bool, text: str) -> None:
        del use
        item = {**self._open, "status": "completed" if ok else "failed"}
        if item["type"] == "command_execution":
            item |= {"aggregated_output": text, "exit_code": 0 if ok else 1}
        emit("item.completed", item=item)

    def complain(self, message: str, status: int) -> None:
        said = f"unexpected status {status}: {message}" if status else message
        emit("error", message=said)
        emit("turn.failed", error={"message": said})

    def succeed(self) -> None:
        self.ended = True
        total = self.total
        usage = {"input_tokens": total["input"], "cached_input_tokens": total["cache_read"]}
        emit("turn.completed", usage={**usage, "output_tokens": total["output"]})


class Gemini(AgentOutput):
    def begin(self) -> None:
        emit("init", session_id=self.conversation, model=MODEL)
        emit("message", role="user", content=self.task)

    def say(self, text: str) -> None:
        self.turn(text)
        emit("message", role="assistant", content=text, delta=True)

    def call(self, use: Use) -> bool:
        self.turn()
        emit("tool_use", tool_name=use.tool, tool_id=use.id, parameters=dict(use.given))
        return True

    def result(self, use: Use, ok: bool, text: str) -> None:
        fields = {"output": text} if ok else {"output": text, "error": {"type": "TOOL_ERROR", "message": text}}
        emit("tool_result", tool_id=use.id, status="success" if ok else "error", **fields)

    def complain(self, message: str, status: int) -> None:
        said = {
            "type": "ApiError" if status else "Error",
            "message": f"{message} (status {status})" if status else message,
        }
        emit("result", status="error", error=said, stats=self._stats())

    def succeed(self) -> None:
        self.ended = True
        emit("result", status="success", stats=self._stats())

    def _stats(self) -> dict[str, Any]:
        total = self.total
        sums = {"total_tokens": total["input"] + total["output"], "input_tokens": total["input"]}
        sums |= {"output_tokens": total["output"], "cached": total["cache_read"]}
        return {**sums, "duration_ms": 1, "tool_calls": self.turns, "models": {MODEL: sums}}


class Opencode(AgentOutput):
    def _emit(self, type: str, part: Mapping[str, Any]) -> None:
        emit(type, timestamp=1, sessionID=self.conversation, part={"sessionID": self.conversation, **part})

    def _step_ends(self, used: Mapping[str, int], reason: str) -> None:
        cache = {"read": used["cache_read"], "write": used["cache_write"]}
        fresh = used["input"] - used["cache_read"] - used["cache_write"]
        tokens = {"input": fresh, "output": used["output"], "reasoning": 0, "cache": cache}
        cost = self.usage.get("usd") or 0
        self._emit("step_finish", {"type": "step-finish", "reason": reason, "cost": cost, "tokens": tokens})

    def say(self, text: str) -> None:
        self._emit("step_start", {"type": "step-start"})
        self._emit("text", {"type": "text", "text": text})
        self._step_ends(self.turn(text), "stop")

    def call(self, use: Use) -> bool:
        del use
        self._emit("step_start", {"type": "step-start"})
        return True

    def result(self, use: Use, ok: bool, text: str) -> None:
        state: dict[str, Any] = {"status": "completed", "output": text} if ok else {"status": "error", "error": text}
        state["input"] = dict(use.given)
        self._emit("tool_use", {"type": "tool", "callID": use.id, "tool": use.tool, "state": state})
        self._step_ends(self.turn(), "tool-calls")

    def complain(self, message: str, status: int) -> None:
        data = {"message": message, **({"statusCode": status} if status else {})}
        name = "APIError" if status else "UnknownError"
        emit("error", timestamp=1, sessionID=self.conversation, error={"name": name, "data": data})


class Copilot(AgentOutput):
    def _told(self, text: str, calls: list[dict[str, Any]]) -> None:
        used = self.turn(text)
        turn = {"turnId": str(self.turns)}
        emit("assistant.turn_start", data=turn)
        message = {"messageId": f"m{self.turns}", "content": text, "toolRequests": calls}
        emit("assistant.message", data={**message, "outputTokens": used["output"]})

    def say(self, text: str) -> None:
        self._told(text, [])
        emit("assistant.turn_end", data={"turnId": str(self.turns)})

    def call(self, use: Use) -> bool:
        self._told("", [{"toolCallId": use.id, "name": use.tool, "arguments": dict(use.given)}])
        emit("tool.execution_start", data={"toolCallId": use.id, "toolName": use.tool, "arguments": dict(use.given)})
        return True

    def result(self, use: Use, ok: bool, text: str) -> None:
        said = {"result": {"content": text}} if ok else {"error": {"message": text, "code": "failure"}}
        emit("tool.execution_complete", data={"toolCallId": use.id, "toolName": use.tool, "success": ok, **said})
        emit("assistant.turn_end", data={"turnId": str(self.turns)})

    def complain(self, message: str, status: int) -> None:
        kind = {"errorType": "authentication", "statusCode": status} if status else {"errorType": "query"}
        emit("session.error", data={"message": message, **kind})
        self._result(1)

    def succeed(self) -> None:
        self.ended = True
        self._result(0)

    def _result(self, code: int) -> None:
        emit("result", sessionId=self.conversation, exitCode=code, usage={"premiumRequests": 0})


class Pi(AgentOutput):
    def begin(self) -> None:
        emit("session", version=3, id=self.conversation, cwd=".")
        emit("agent_start")

    def _message(self, parts: list[dict[str, Any]], used: Mapping[str, int], stop: str, **more: Any) -> None:
        fresh = used["input"] - used["cache_read"] - used["cache_write"]
        usage: dict[str, Any] = {"input": fresh, "output": used["output"]}
        usage |= {"cacheRead": used["cache_read"], "cacheWrite": used["cache_write"]}
        usage["cost"] = {"total": self.usage.get("usd") or 0}
        self._last = {"role": "assistant", "model": MODEL, "content": parts, "usage": usage, "stopReason": stop, **more}
        emit("turn_start")
        emit("message_start", message=self._last)
        emit("message_end", message=self._last)

    def say(self, text: str) -> None:
        self._message([{"type": "text", "text": text}], self.turn(text), "stop")
        emit("turn_end", message=self._last, toolResults=[])

    def call(self, use: Use) -> bool:
        part = {"type": "toolCall", "id": use.id, "name": use.tool, "arguments": dict(use.given)}
        self._message([part], self.turn(), "toolUse")
        emit("tool_execution_start", toolCallId=use.id, toolName=use.tool, args=dict(use.given))
        return True

    def result(self, use: Use, ok: bool, text: str) -> None:
        came = {"content": [{"type": "text", "text": text}]}
        emit("tool_execution_end", toolCallId=use.id, toolName=use.tool, result=came, isError=not ok)
        emit("turn_end", message=self._last, toolResults=[])

    def complain(self, message: str, status: int) -> None:
        said = f"{status} {message}" if status else message
        self._message([], self.turn(), "error", errorMessage=said)
        emit("turn_end", message=self._last, toolResults=[])
        emit("agent_end", messages=[self._last])

    def succeed(self) -> None:
        self.ended = True
        emit("agent_end", messages=[])


OUTPUTS: Mapping[str, type[AgentOutput]] = {
    "plain": AgentOutput,
    "claude": Claude,
    "codex": Codex,
    "gemini": Gemini,
    "opencode": Opencode,
    "copilot": Copilot,
    "pi": Pi,
}
