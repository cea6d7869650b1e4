"""The scripted agent as it talks over the Agent Client Protocol. Standard library only.

It asks leave before it writes or runs anything, and honours a refusal and a cancellation. Answers that a script gives
by method replace its own.
"""

import json
import os
import sys
from collections.abc import Mapping
from typing import Any

from fake_agent.actions import InputWatcher, put
from fake_agent.outputs import AgentOutput, Use

ASKS_FOR = ("edit", "execute", "fetch")
OPTIONS = [
    {"optionId": "always", "name": "Always", "kind": "allow_always"},
    {"optionId": "once", "name": "Once", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]
MODES = {
    "currentModeId": "default",
    "availableModes": [{"id": "default", "name": "Default"}, {"id": "careful", "name": "Careful"}],
}
MODELS = {
    "currentModelId": "fake-model",
    "availableModels": [{"modelId": name, "name": name} for name in ("fake-model", "other-model")],
}
CAPABLE: Mapping[str, Any] = {
    "protocolVersion": 1,
    "agentCapabilities": {
        "loadSession": True,
        "mcpCapabilities": {"http": True, "sse": False},
        "sessionCapabilities": {"resume": {}},
    },
    "agentInfo": {"name": "fake", "version": "1.0.0"},
    "authMethods": [{"id": "fake-api-key", "name": "Use an API key"}],
}


class Lines(InputWatcher):
    """Messages on our standard input and output."""

    def __init__(self) -> None:
        self._buffer = b""

    def send(self, **message: Any) -> None:
        put(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def message(self) -> Any:
        """The next one; None when there is nobody any more."""
        while b"\n" not in self._buffer:
            if not self._read():
                return None
        line, _, self._buffer = self._buffer.partition(b"\n")
        return json.loads(line) if line.strip() else {}

    @property
    def descriptors(self) -> list[int]:
        return [0]

    def read_input(self) -> None:
        """A cancellation may have come, or the end; other messages are lost."""
        alive = self._read()
        *lines, self._buffer = self._buffer.split(b"\n")
        self.interrupted = not alive or any(b'"session/cancel"' in line for line in lines)

    def _read(self) -> bool:
        piece = os.read(0, 1 << 16)
        self._buffer += piece
        return bool(piece)


class AcpOutput(AgentOutput):
    def __init__(self) -> None:
        super().__init__("fake-1", "")
        self.watcher = self.lines = Lines()
        self.prompt: Any = None
        """The id of the prompt that waits for its answer."""
        self._requests = 0
        self._problem: dict[str, Any] | None = None

    def reset(self) -> None:
        super().reset()
        self._problem = None

    def update(self, update: Mapping[str, Any]) -> None:
        self.lines.send(method="session/update", params={"sessionId": self.conversation, "update": update})

    def request(self, method: str, params: Mapping[str, Any]) -> None:
        answer = self._asked(method, params)
        self.say(json.dumps({name: answer[name] for name in ("result", "error") if name in answer}))

    def _asked(self, method: str, params: Mapping[str, Any]) -> Any:
        """The client's answer; a cancellation that comes instead is one."""
        self._requests += 1
        id = f"ask-{self._requests}"
        self.lines.send(id=id, method=method, params=params)
        while (message := self.lines.message()) is not None:
            if message.get("method") == "session/cancel":
                self.lines.interrupted = True
            if message.get("id") == id:
                return message
        self.lines.interrupted = True
        return {}

    def say(self, text: str) -> None:
        self.turn(text)
        for piece in (text[: len(text) // 2], text[len(text) // 2 :]):
            self.update({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": piece}})

    def call(self, use: Use) -> bool:
        self.turn()
        call = {"toolCallId": use.id, "title": use.tool, "kind": use.kind, "status": "pending"}
        self.update({"sessionUpdate": "tool_call", **call, "rawInput": dict(use.given)})
        if use.kind not in ASKS_FOR:
            return True
        params = {"sessionId": self.conversation, "toolCall": {"toolCallId": use.id}, "options": OPTIONS}
        outcome = self._asked("session/request_permission", params).get("result", {}).get("outcome", {})
        if outcome.get("optionId") == "once":
            self.update({"sessionUpdate": "tool_call_update", "toolCallId": use.id, "status": "in_progress"})
            return True
        return False

    def result(self, use: Use, ok: bool, text: str) -> None:
        content = [{"type": "content", "content": {"type": "text", "text": text}}]
        status = "completed" if ok else "failed"
        self.update({"sessionUpdate": "tool_call_update", "toolCallId": use.id, "status": status, "content": content})

    def use(self, usage: Mapping[str, Any]) -> None:
        super().use(usage)
        if usage.get("usd") is not None:
            cost = {"amount": self.usd + usage["usd"], "currency": "USD"}
            self.update({"sessionUpdate": "usage_update", "used": 1000, "size": 200000, "cost": cost})

    def fail(self, message: str, status: int = 0) -> None:
        super().fail(message, status)
        self._problem = {"code": -32000 if status == 401 else -32603, "message": message}

    def succeed(self) -> None:
        self._end("end_turn")

    def finish(self) -> int:
        if self._problem and not self.lines.interrupted and self.prompt is not None:
            self.lines.send(id=self.prompt, error=self._problem)
            self.prompt = None
        self._end("cancelled" if self.lines.interrupted else "end_turn")
        return 0

    def _end(self, reason: str) -> None:
        if self.prompt is None:
            return
        total = self.total
        used = {"inputTokens": total["input"], "outputTokens": total["output"], "totalTokens": sum(total.values())}
        cached = {"cachedReadTokens": total["cache_read"], "cachedWriteTokens": total["cache_write"]}
        usage = {"usage": {**used, **cached}} if any(total.values()) else {}
        self.lines.send(id=self.prompt, result={"stopReason": reason, **usage})
        self.prompt = None


class AcpServer:
    """Everything before a prompt: who we are, which session, which mode."""

    def __init__(self, output: AcpOutput, answers: Mapping[str, Any]) -> None:
        self.resumed = ""
        """The conversation that was asked for."""
        self._output = output
        self._answers = answers

    def prompted(self) -> str | None:
        """The next task; None when the client has gone."""
        while (message := self._output.lines.message()) is not None:
            method, params = message.get("method"), message.get("params", {})
            if method == "session/prompt" and method not in self._answers:
                self._output.reset()
                self._output.lines.interrupted = False
                self._output.prompt = message["id"]
                return "".join(one.get("text", "") for one in params["prompt"])
            if "id" in message:
                self._reply(message["id"], self._answer(method, params))
            if method == "session/load":
                self._output.say("told again, and late")
        return None

    def _reply(self, id: Any, answer: Mapping[str, Any] | None) -> None:
        if answer is not None:
            self._output.lines.send(id=id, **answer)

    def _answer(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any] | None:
        if method in self._answers:
            return self._answers[method]
        if method == "initialize":
            return {"result": CAPABLE}
        if method in ("session/new", "session/load", "session/resume"):
            return {"result": self._entered(method, params)}
        if method in ("session/set_mode", "session/set_model", "authenticate"):
            sys.stderr.write(f"{method} {json.dumps(params)}\n")
            return {"result": {}}
        return {"error": {"code": -32601, "message": f"Method not found: {method}"}}

    def _entered(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        servers = params.get("mcpServers", [])
        self._output.mcp_url = next((one["url"] for one in servers if one.get("type") == "http"), "")
        state: dict[str, Any] = {"modes": MODES, "models": MODELS}
        if method == "session/new":
            return {"sessionId": self._output.conversation, **state}
        self._output.conversation = self.resumed = params["sessionId"]
        if method == "session/load":
            self._output.say("told again from earlier")
        return state
