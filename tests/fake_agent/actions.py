"""What the scripted agent really does: commands, daemons, requests to the network. Standard library only.

Its commands are started by hand. It plays a foreign program that runs inside the walls, so the one place where
donewhen itself starts processes is not for it; and the usual module for it is slow to import.
"""

import os
import select
import signal
from typing import Any

OUTPUT_BYTES = 1 << 20
POLL_SECS = 0.05
FETCH_SECS = 5.0


class InputWatcher:
    """Whoever may be told to stop while a command runs; nobody, but for a protocol."""

    interrupted = False

    @property
    def descriptors(self) -> list[int]:
        """Descriptors that may bring it."""
        return []

    def read_input(self) -> None:
        """Called when one of them is readable."""


def put(data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(1, rest) :]


def put_line(text: str) -> None:
    put(text.encode() + b"\n")


def run(command: str, watcher: InputWatcher) -> tuple[int, str]:
    """A shell command in a session of its own, as the shells of real agents are; its exit code and its output."""
    reading, writing = os.pipe()
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
        (os.POSIX_SPAWN_DUP2, writing, 1),
        (os.POSIX_SPAWN_DUP2, writing, 2),
    ]
    pid = os.posix_spawn("/bin/sh", ["sh", "-c", command], os.environ, file_actions=actions, setsid=True)
    os.close(writing)
    output, status = b"", 0
    while True:
        # Whoever stays behind may hold the pipe open, so its end is not waited for once the command has ended.
        ended, status = os.waitpid(pid, os.WNOHANG)
        ready, _, _ = select.select([reading, *watcher.descriptors], [], [], 0 if ended else POLL_SECS)
        if reading in ready and (piece := os.read(reading, 1 << 16)):
            output = (output + piece)[-OUTPUT_BYTES:]
        elif ended:
            break
        if set(ready) - {reading} and not ended:
            watcher.read_input()
        if watcher.interrupted and not ended:
            os.killpg(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            status = signal.SIGKILL
            break
        if ended:
            output += _rest(reading)
            break
    os.close(reading)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code, output.decode("utf-8", "replace")


def _rest(reading: int) -> bytes:
    """What the pipe still holds, and no more."""
    output = b""
    while select.select([reading], [], [], 0)[0] and (piece := os.read(reading, 1 << 16)):
        output += piece
    return output


def daemon(command: str) -> int:
    """A command as a daemon: forked twice, in a session of its own, with nothing of ours open. Its pid."""
    reading, writing = os.pipe()
    if not (child := os.fork()):
        os.setsid()
        if not (grandchild := os.fork()):
            nothing = os.open("/dev/null", os.O_RDWR)
            for number in (0, 1, 2):
                os.dup2(nothing, number)
            os.execv("/bin/sh", ["sh", "-c", command])
        os.write(writing, str(grandchild).encode())
        os._exit(0)
    os.waitpid(child, 0)
    pid = int(os.read(reading, 20))
    os.close(reading)
    os.close(writing)
    return pid


def fetched(url: str) -> tuple[bool, str]:
    """What comes of a request, once past the proxy of the environment and once through it."""
    from http.client import HTTPException
    from urllib.request import ProxyHandler, build_opener

    lines: list[str] = []
    reached = False
    for way, proxies in (("direct", ProxyHandler({})), ("proxy", ProxyHandler())):
        try:
            with build_opener(proxies).open(url, timeout=FETCH_SECS) as answer:
                lines.append(f"{way}: {answer.status} {answer.read(400).decode('utf-8', 'replace')}")
                reached = True
        except (OSError, ValueError, HTTPException) as error:
            lines.append(f"{way}: {type(error).__name__}: {error}")
    return reached, "\n".join(lines)


def tools_of(url: str) -> tuple[bool, str]:
    """The names of the tools that an MCP server offers."""
    if not url:
        return False, "no MCP server is offered"
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "fake", "version": "1"}}
    try:
        _, session = _mcp(url, {"id": 1, "method": "initialize", "params": hello}, "")
        _mcp(url, {"method": "notifications/initialized"}, session)
        answer, _ = _mcp(url, {"id": 2, "method": "tools/list", "params": {}}, session)
        return True, "tools: " + ", ".join(one["name"] for one in answer["result"]["tools"])
    except (OSError, ValueError, KeyError) as error:
        return False, f"{type(error).__name__}: {error}"


def _mcp(url: str, message: dict[str, Any], session: str) -> tuple[Any, str]:
    import json
    from urllib.request import Request, urlopen

    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    if session:
        headers["Mcp-Session-Id"] = session
    request = Request(url, json.dumps({"jsonrpc": "2.0", **message}).encode(), headers)
    with urlopen(request, timeout=FETCH_SECS) as answer:
        body = answer.read().decode()
        data = [line[5:] for line in body.splitlines() if line.startswith("data:")]
        payload = data[-1] if data else body
        return json.loads(payload) if payload.strip() else None, answer.headers.get("Mcp-Session-Id", session)
