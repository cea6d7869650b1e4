"""The scripted agent as a program: each step works in every stream that it can print."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

import fake_agent
from donewhen.engines.external.agent_events import (
    AgentEvent,
    AgentProblem,
    AgentText,
    AgentToolCall,
    AgentToolResult,
    AgentTotals,
    AgentTurn,
)
from donewhen.engines.external.streams import reader
from fake_agent.outputs import OUTPUTS

AGENT = str(Path(fake_agent.__file__).parent)
SHAPES = sorted(OUTPUTS)
TELLING = sorted(set(OUTPUTS) - {"plain"})


def command(script: Any, *options: str) -> list[str]:
    return [sys.executable, AGENT, "--script", json.dumps(script), *options, "The task."]


def run(
    cwd: Path, script: Any, *options: str, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        command(script, *options),
        cwd=cwd,
        env={**os.environ, **(env or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=60,
    )


def said(cwd: Path, *steps: Mapping[str, Any]) -> str:
    ran = run(cwd, [steps])
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.decode()


def heard(cwd: Path, shape: str, *steps: Mapping[str, Any]) -> list[AgentEvent]:
    """Return what the reader of a stream makes of it."""
    ran, reads = run(cwd, [steps], "--stream", shape), reader(shape)
    happenings: list[AgentEvent] = []
    for line in ran.stdout.decode().splitlines():
        try:
            happenings += reads.value(json.loads(line))
        except json.JSONDecodeError:
            happenings += reads.text(line)
    return [*happenings, *reads.end(ran.returncode, ran.stderr.decode())]


def the(kind: type[Any], happenings: list[AgentEvent]) -> list[Any]:
    return [one for one in happenings if isinstance(one, kind)]


# -- in every stream --


@pytest.mark.parametrize("shape", SHAPES)
def test_text_is_read_from_every_stream(tmp_path: Path, shape: str) -> None:
    assert "Some words." in the(AgentText, heard(tmp_path, shape, {"say": "Some words."}))[-1].text


@pytest.mark.parametrize("shape", TELLING)
def test_a_command_and_its_result_are_read_from_every_stream(tmp_path: Path, shape: str) -> None:
    happenings = heard(tmp_path, shape, {"shell": "echo good"}, {"shell": "echo bad; exit 3"})
    good, bad = the(AgentToolResult, happenings)
    assert (good.ok, bad.ok) == (True, False)
    assert "good" in good.text
    assert [one.id for one in the(AgentToolCall, happenings)] == [good.id, bad.id]
    assert "echo good" in str(the(AgentToolCall, happenings)[0].input)


@pytest.mark.parametrize("shape", TELLING)
def test_a_refused_key_is_read_as_a_sign_in_problem(tmp_path: Path, shape: str) -> None:
    complaints = the(AgentProblem, heard(tmp_path, shape, {"unauthorized": True}))
    assert complaints
    assert {one.kind for one in complaints} == {"sign_in"}


@pytest.mark.parametrize("shape", TELLING)
def test_an_error_is_read_as_the_agent_s_own(tmp_path: Path, shape: str) -> None:
    complaints = the(AgentProblem, heard(tmp_path, shape, {"error": "it broke"}))
    assert complaints
    assert {one.kind for one in complaints} == {"agent"}
    assert any("it broke" in one.message for one in complaints)


@pytest.mark.parametrize("shape", sorted(set(TELLING) - {"copilot"}))
def test_tokens_are_read_where_the_stream_has_them(tmp_path: Path, shape: str) -> None:
    used = {"usage": {"input": 100, "output": 10}}
    happenings = heard(tmp_path, shape, used, {"say": "a"}, {"say": "b"})
    turns = [one.usage for one in the(AgentTurn, happenings) if one.usage]
    totals = [one.usage for one in the(AgentTotals, happenings) if one.usage]
    assert sum(one.total for one in turns) == 220 or totals[-1].total == 220


@pytest.mark.parametrize("shape", SHAPES)
def test_the_end_of_a_script_is_exit_0_and_an_error_is_not(tmp_path: Path, shape: str) -> None:
    assert run(tmp_path, [[{"say": "a"}]], "--stream", shape).returncode == 0
    assert run(tmp_path, [[{"error": "a"}]], "--stream", shape).returncode == 1


def test_the_fake_agent_can_claim_success_after_any_result(tmp_path: Path) -> None:
    ran = run(tmp_path, [[{"shell": "false"}, {"success": True}, {"exit": 7}]], "--stream", "claude")
    last = json.loads(ran.stdout.splitlines()[-1])
    assert (last["subtype"], last["is_error"], ran.returncode) == ("success", False, 7)


# -- actions --


def test_files_are_really_written_and_read(tmp_path: Path) -> None:
    text = said(tmp_path, {"write": {"path": "new/a.txt", "content": "hello"}}, {"read": "new/a.txt"})
    assert (tmp_path / "new" / "a.txt").read_text() == "hello"
    assert "hello" in text.splitlines()


def test_unreadable_and_unwritable_files_are_reported(tmp_path: Path) -> None:
    text = said(tmp_path, {"read": "missing"}, {"write": {"path": "/proc/none/a", "content": ""}})
    assert text.count("failed: [Errno") == 2


def test_a_command_that_leaves_a_process_behind_is_not_waited_for(tmp_path: Path) -> None:
    text = said(tmp_path, {"shell": "tail -f /dev/null & echo $! > pid; echo done"})
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
    assert "done\n[exit 0]" in text


def test_the_task_and_the_environment_can_be_shown(tmp_path: Path) -> None:
    ran = run(tmp_path, [[{"task": True}, {"env": True}]], env={"SEEN_BY": "the agent"})
    task, environment = ran.stdout.decode().splitlines()
    assert task == "The task."
    assert json.loads(environment)["SEEN_BY"] == "the agent"


def test_bytes_are_printed_as_they_are(tmp_path: Path) -> None:
    ran = run(tmp_path, [[{"print": '{"half": '}, {"print": {"base64": "//4K"}}]], "--stream", "plain")
    assert ran.stdout == b'{"half": \xff\xfe\n'


@pytest.mark.parametrize(("flood", "lines"), [(5_000_000, 4882), ({"bytes": 3_000_000, "line": 0}, 0)])
def test_a_flood_has_the_size_that_was_asked_for(tmp_path: Path, flood: Any, lines: int) -> None:
    output = run(tmp_path, [[{"flood": flood}]]).stdout
    assert len(output) == (flood if isinstance(flood, int) else flood["bytes"])
    assert output.count(b"\n") == lines


def test_the_fake_agent_can_be_killed_by_a_signal(tmp_path: Path) -> None:
    assert run(tmp_path, [[{"signal": 9}, {"say": "never"}]]).returncode == -9


def test_a_hanging_fake_agent_ignores_the_request_to_end(tmp_path: Path) -> None:
    with subprocess.Popen(command([[{"hang": True}]]), cwd=tmp_path) as agent:
        status = Path(f"/proc/{agent.pid}/status")
        while not int(status.read_text().split("SigIgn:")[1].split()[0], 16) & 1 << (signal.SIGTERM - 1):
            os.sched_yield()
        agent.send_signal(signal.SIGTERM)
        agent.kill()
        assert agent.wait() == -signal.SIGKILL


def test_a_fake_agent_that_waits_for_a_login_says_so(tmp_path: Path) -> None:
    with subprocess.Popen(command([[{"login": True}]]), cwd=tmp_path, stdout=subprocess.PIPE) as agent:
        assert agent.stdout is not None
        assert b"To sign in, open https://" in agent.stdout.readline()
        agent.terminate()
        assert agent.wait() == -signal.SIGTERM


def test_a_daemon_keeps_running_in_its_own_session(tmp_path: Path) -> None:
    text = said(tmp_path, {"daemon": "exec tail -f /dev/null"})
    pid = int(text.split("started ")[1])
    try:
        assert os.getsid(pid) not in (os.getsid(0), os.getpid())
    finally:
        os.kill(pid, signal.SIGKILL)


# -- the network --


class Answers(BaseHTTPRequestHandler):
    """A page, a proxy that shows its requests, and an MCP server with one tool."""

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""

    def do_GET(self) -> None:
        self._send(f"got {self.path}".encode())

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        result = {"tools": [{"name": "verify"}]} if asked["method"] == "tools/list" else {}
        self._send(json.dumps({"jsonrpc": "2.0", "id": asked.get("id"), "result": result}).encode())

    def _send(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def answering() -> Generator[str]:
    server = HTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_the_network_is_tried_directly_and_through_the_proxy(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    target = f"http://127.0.0.1:{port}/x"
    with answering() as proxy:
        ran = run(tmp_path, [[{"fetch": target}]], env={"http_proxy": proxy, "no_proxy": "", "NO_PROXY": ""})
    text = ran.stdout.decode()
    assert "direct: URLError" in text
    assert f"proxy: 200 got {target}" in text


def test_the_tools_of_an_mcp_server_are_listed_and_its_absence_is_reported(tmp_path: Path) -> None:
    with answering() as url:
        assert "tools: verify" in run(tmp_path, [[{"mcp": True}]], "--mcp", url).stdout.decode()
    assert "failed: no MCP server is offered" in said(tmp_path, {"mcp": True})


# -- counting invocations --

TWICE = [[{"say": "first"}], [{"say": "second"}]]


def test_invocations_are_counted_in_a_file(tmp_path: Path) -> None:
    state = str(tmp_path / "count")
    script = {"invocations": TWICE, "state": state}
    assert [run(tmp_path, script).stdout for _ in range(2)] == [b"first\n", b"second\n"]
    ran = run(tmp_path, TWICE, env={"DONEWHEN_FAKE_STATE": state})
    assert (ran.stdout, ran.returncode) == (b"error: the script has no invocation 3\n", 1)


def test_without_a_file_the_resumed_conversation_says_which_it_is(tmp_path: Path) -> None:
    assert run(tmp_path, TWICE, "--resume", "fake-1").stdout == b"second\n"
    assert run(tmp_path, TWICE, "--resume", "another").stdout == b"first\n"


def test_a_script_may_be_a_file_or_come_from_the_environment(tmp_path: Path) -> None:
    (tmp_path / "script.json").write_text(json.dumps([[{"say": "from a file"}]]))
    agent = [sys.executable, AGENT]
    for words, env in (
        ([*agent, "--script", "script.json", "x"], {}),
        ([*agent, "x"], {"DONEWHEN_FAKE_SCRIPT": "script.json"}),
    ):
        assert subprocess.check_output(words, cwd=tmp_path, env={**os.environ, **env}) == b"from a file\n"


@pytest.mark.parametrize(
    ("script", "options", "complaint"),
    [
        ([[{"dance": 1}]], (), "no step has these keys: dance"),
        ([[{"say": "a", "exit": 1}]], (), "no step has these keys: say, exit"),
        ({"steps": []}, (), "a script has `invocations`"),
        ([], ("--stream", "song"), "no stream is called song"),
    ],
)
def test_a_mistake_in_a_script_is_one_line(tmp_path: Path, script: Any, options: Any, complaint: str) -> None:
    ran = run(tmp_path, script, *options)
    assert (ran.returncode, ran.stdout) == (2, b"")
    assert ran.stderr.decode() == f"fake agent: {complaint}\n"


# -- how it starts --


def test_nothing_slow_and_nothing_of_donewhen_is_loaded_at_its_start(tmp_path: Path) -> None:
    program = f"import sys; sys.path.insert(0, {str(Path(AGENT).parent)!r}); import fake_agent.agent; {SHOW}"
    loaded = modules(tmp_path, program)
    slow = {"argparse", "asyncio", "dataclasses", "inspect", "pathlib", "subprocess", "urllib.request", "anyio"}
    assert not loaded & (slow - modules(tmp_path, f"import sys; {SHOW}"))
    assert not {name for name in loaded if name.startswith("donewhen")}


SHOW = "print(' '.join(sys.modules))"


def modules(cwd: Path, program: str) -> set[str]:
    return set(subprocess.check_output([sys.executable, "-c", program], cwd=cwd, text=True).split())
