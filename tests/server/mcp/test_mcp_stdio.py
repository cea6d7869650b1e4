"""`donewhen mcp`: MCP over stdio for a program that starts it, through the daemon if one runs, else alone."""

import json
import os
import subprocess
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from mcp_daemon import LOOK_SECS, eventually

from donewhen.server.mcp.audit import problem_of
from donewhen.workspace.state_dir import state_root
from program import PROGRAM, donewhen
from runs.scenes import RIGHT, script


def spoken(repo: Path, work: Callable[[Any], Awaitable[Any]], *options: str, mode: str = "auto") -> Any:
    """Start `donewhen mcp` by the official SDK and do some work with its client."""
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client

    async def session() -> Any:
        server = StdioServerParameters(command=str(PROGRAM), args=["mcp", *options], env={**os.environ}, cwd=str(repo))
        async with Client(stdio_client(server), mode=mode) as client:
            return await work(client)

    return anyio.run(session)


async def run_to_the_end(client: Any, repo: Path) -> Any:
    model = script(repo.parent / "script.json", RIGHT)
    began = await client.call_tool("run", {"intent": "say right", "model": model})
    while True:
        known = await client.call_tool("status", {"session": began.structured_content["id"]})
        if known.structured_content["state"] == "finished":
            return known.structured_content
        await anyio.to_thread.run_sync(threading.Event().wait, LOOK_SECS)


@pytest.mark.promise("command.mcp")
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_a_program_that_starts_the_command_uses_the_tools_in_its_own_directory(repo: Path, mode: str) -> None:
    async def work(client: Any) -> Any:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        return tools, await run_to_the_end(client, repo)

    tools, known = spoken(repo, work, mode=mode)
    assert "run" in tools and "verify" in tools
    assert (known["outcome"], known["repo"]) == ("verified", str(repo))
    assert problem_of(state_root(os.environ) / "daemon" / "audit.jsonl") == ""


@pytest.mark.promise("command.mcp")
def test_with_a_daemon_the_calls_go_through_it_and_a_session_outlives_its_client(repo: Path) -> None:
    slow = [{"tool": {"name": "shell", "input": {"command": "while [ ! -f ../go ]; do sleep 0.05; done"}}}, *RIGHT]
    model = script(repo.parent / "slow.json", slow)

    async def work(client: Any) -> Any:
        return (await client.call_tool("run", {"intent": "say right", "model": model})).structured_content["id"]

    with subprocess.Popen([PROGRAM, "serve", "--no-board"], cwd=repo.parent, stderr=subprocess.PIPE) as daemon:
        session = ""
        try:
            eventually(lambda: (state_root(os.environ) / "daemon" / "rpc.sock").exists())
            session = spoken(repo, work)
            assert known_of(repo, session)["live"]
        finally:
            donewhen("cancel", session, cwd=repo)
            daemon.terminate()


def known_of(repo: Path, session: str) -> dict[str, Any]:
    return next(
        one for one in map(json.loads, donewhen("list", "--json", cwd=repo).out.splitlines()) if one["id"] == session
    )


@pytest.mark.promise("mcp.governed")
def test_a_token_file_says_which_client_it_is_and_what_it_may_use(repo: Path) -> None:
    made = donewhen("mcp", "--new-client", "reader", "--allow", "contract", "--token-file", "../reader", cwd=repo)
    assert made.code == 0, made.err
    token = repo.parent / "reader"
    assert token.stat().st_mode & 0o777 == 0o600

    async def work(client: Any) -> Any:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        return tools, await client.call_tool("contract", {}), await client.call_tool("status", {})

    tools, contract, status = spoken(repo, work, "--token-file", str(token))
    assert tools == ["contract"]
    assert contract.structured_content["checks"] and status.is_error
    audit = (state_root(os.environ) / "daemon" / "audit.jsonl").read_text()
    assert '"client":"reader"' in audit and token.read_text().strip() not in audit
    assert donewhen("mcp", "--remove-client", "reader", cwd=repo).code == 0
    assert donewhen("mcp", "--token-file", str(token), cwd=repo).code == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--token-file", "missing"), "missing: No such file or directory"),
        (("--token-file", "open"), "others can read this token file"),
        (("--new-client", "a"), "--new-client needs --token-file"),
        (("--new-client", "a/b", "--token-file", "t"), "is no name of a client"),
        (("--new-client", "a", "--token-file", "t", "--allow", "approve"), "there is no tool 'approve'"),
        (("--allow", "run"), "--allow needs --new-client"),
        (("--remove-client", "nobody"), "there is no client 'nobody'"),
        (("--remove-client", "a", "--new-client", "b"), "exclude each other"),
    ],
)
def test_bad_options_are_one_line_that_names_the_problem(repo: Path, options: tuple[str, ...], words: str) -> None:
    (repo / "open").write_text("x")
    (repo / "open").chmod(0o644)
    answer = donewhen("mcp", *options, cwd=repo)
    assert answer.code == 2
    assert words in answer.one_line
