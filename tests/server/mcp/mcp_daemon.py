"""A daemon with MCP over HTTP in a process of its own, and a plain client for it that knows one version of MCP.

with running(home) as daemon:
    client = daemon.client("editor")
    client.tool("status")["sessions"]
"""

import contextlib
import http.client
import itertools
import json
import os
import re
import select
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from donewhen.server.mcp.clients import McpClients
from donewhen.workspace.state_dir import state_root
from program import PROGRAM

SECONDS = 120.0
LOOK_SECS = 0.25
T = TypeVar("T")
VERSION = "2026-07-28"
CHANGED = Path(__file__).with_name("serve_mcp.py")
ADDRESS = re.compile(r"http://127\.0\.0\.1:([0-9]+)/")
NUMBERS = itertools.count(1)
INFO = {"name": "test", "version": "1"}


@dataclass(frozen=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The message: as it is, or the last one of an event stream."""
        if not self.headers.get("content-type", "").startswith("text/event-stream"):
            return json.loads(self.body)
        return json.loads([line[5:] for line in self.body.decode().splitlines() if line.startswith("data:")][-1])


class ToolFailed(Exception):
    """A tool answered with an error: `kind` says which."""

    def __init__(self, found: Mapping[str, Any]) -> None:
        super().__init__(found["problem"])
        self.kind = found["kind"]


@dataclass(frozen=True)
class McpClientOfTests:
    port: int
    token: str
    name: str = ""

    def ask(self, body: Any, verb: str = "POST", path: str = "/mcp", **headers: str) -> Reply:
        given = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        given |= {"Authorization": f"Bearer {self.token}"} if self.token else {}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)) as connection:
            connection.request(verb, path, None if body is None else json.dumps(body).encode(), given)
            response = connection.getresponse()
            answered = {name.lower(): value for name, value in response.getheaders()}
            return Reply(response.status, answered, response.read())

    def request(self, method: str, params: Mapping[str, Any] | None = None, **headers: str) -> Reply:
        """Make one request as a stateless client does."""
        named = {"Mcp_Name": params["name"]} if params and "name" in params else {}
        given = {"MCP_Protocol_Version": VERSION, "Mcp_Method": method, **named, **headers}
        return self.ask(message(method, params), **given)

    def tools(self) -> list[dict[str, Any]]:
        return self.request("tools/list").json["result"]["tools"]

    def tool(self, name: str, **arguments: Any) -> Any:
        """Call a tool and return its result. Raise ToolFailed for an error of it."""
        result = self.request("tools/call", {"name": name, "arguments": arguments}).json["result"]
        if result.get("isError"):
            raise ToolFailed(result["structuredContent"])
        return result["structuredContent"]

    def refused(self, name: str, **arguments: Any) -> ToolFailed:
        """Return the error of a tool that must not answer."""
        try:
            found = self.tool(name, **arguments)
        except ToolFailed as error:
            return error
        raise AssertionError(f"{name} answered {found}")

    def verdict(self, **arguments: Any) -> Any:
        """Call `verify` until there is a verdict."""
        handle = arguments.get("handle") or self.tool("verify", **arguments)["handle"]

        def verdict() -> Any:
            found = self.tool("verify", handle=handle)
            return None if found["state"] == "running" else found

        return eventually(verdict)


def message(method: str, params: Mapping[str, Any] | None) -> dict[str, Any]:
    meta = {
        "io.modelcontextprotocol/protocolVersion": VERSION,
        "io.modelcontextprotocol/clientInfo": INFO,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**(params or {}), "_meta": meta}}


@dataclass(frozen=True)
class McpDaemon:
    process: "subprocess.Popen[bytes]"
    port: int
    state: Path

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    @property
    def audit(self) -> Path:
        return self.state / "daemon" / "audit.jsonl"

    def client(self, name: str, tools: Sequence[str] = (), session: str = "") -> McpClientOfTests:
        """Make a client with a token of its own, and with limits of its own: a number is added to its name."""
        named = f"{name}-{next(NUMBERS)}"
        return McpClientOfTests(self.port, McpClients(self.state).create(named, tools, session), named)

    def entries(self, client: McpClientOfTests) -> list[dict[str, Any]]:
        """Return the lines of the audit log about a client: intents and their outcomes."""
        entries: list[dict[str, Any]] = [json.loads(line) for line in self.audit.read_text().splitlines()]
        calls = {one["call"] for one in entries if one.get("client") == client.name}
        return [one for one in entries if one["call"] in calls]


@contextlib.contextmanager
def running(cwd: Path, *options: str) -> Generator[McpDaemon]:
    """Run `donewhen serve` in a directory; with `options`, the program serve_mcp, which has them."""
    command = [sys.executable, str(CHANGED), *options] if options else [str(PROGRAM), "serve", "--port", "0"]
    said = (cwd / "said-by-the-daemon.log").open("w+")
    with said, subprocess.Popen(command, cwd=cwd, stdin=subprocess.PIPE, stdout=said, stderr=said) as process:
        try:
            yield McpDaemon(process, _port(process, Path(said.name)), state_root(os.environ))
        finally:
            process.terminate()


def _port(process: "subprocess.Popen[bytes]", said: Path) -> int:
    """Wait until the daemon has said its address."""

    def port() -> int:
        assert process.poll() is None, said.read_text()
        found = ADDRESS.search(said.read_text())
        return int(found[1]) if found else 0

    return eventually(port)


def eventually(look: Callable[[], T | None]) -> T:
    """Look again and again until there is something, no more often than a client may ask."""
    until = time.monotonic() + SECONDS
    while not (found := look()):
        assert time.monotonic() < until
        select.select([], [], [], LOOK_SECS)
    return found
