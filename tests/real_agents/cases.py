"""What every agent with tools must show, with every interface: one function per case. For stopping see `endings`.

A case returns what is worth printing, if anything.
"""

import json
import os
import socket
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from real_agents.endings import is_cancelled, leaves_no_daemon
from real_agents.scenery import KEY, README, UNAUTHORIZED, Real, report, stage
from repositories import git
from wire_server import Decides, Refuses

CREDENTIALS = (
    ".claude/.credentials.json", ".codex/auth.json", ".gemini/oauth_creds.json", ".qwen/oauth_creds.json",
    ".local/share/opencode/auth.json", ".aws/credentials", ".config/gh/hosts.yml", ".netrc",
)  # fmt: skip
THIEF = f"""
import pathlib

for place in [*(pathlib.Path.home() / one for one in {CREDENTIALS!r}), *pathlib.Path("/proc").glob("[0-9]*/environ")]:
    try:
        words = place.read_text(errors="replace").split("\\0")
    except OSError:
        continue
    print(*(word[:80] for word in words if "secret" in word or "KEY" in word or word.startswith("HOME=")), sep="\\n")
print("looked", "everywhere")
"""
"""Print what is kept in foreign directories, and the variables of every visible process."""


def succeeds(agent: Real, repo: Path, home: Path) -> str:
    with stage(agent, repo, agent.writes(repo / "answer.txt"), agent.says()) as here:
        run = here.run()
        assert (run.code, run.last.get("outcome")) == (0, "verified"), report(run, here)
        assert run.last["iterations"] == 1
        assert here.landed(run, "answer.txt") == "right"
        assert {event["ok"] for event in run.of("tool_result")} == {True}
        assert run.of("external_event")
        assert {_key_of(one.headers) for one in here.server.received} == {KEY}
    return ""


def repairs(agent: Real, repo: Path, home: Path) -> str:
    first, second = agent.writes(repo / "question.txt"), agent.writes(repo / "answer.txt")
    with stage(agent, repo, first, agent.says("FIRST ROUND"), second, agent.says("SECOND ROUND")) as here:
        run = here.run()
        assert (run.code, run.last.get("outcome")) == (0, "verified"), report(run, here)
        assert run.last["iterations"] == 2
        again = here.server.received[2].body
        assert b"it is not done" in again
        assert b"it is not done" not in here.server.received[1].body
        resumed = agent.terms.may_resume and (agent.way == "acp" or bool(agent.terms.resume))
        assert (b"FIRST ROUND" in again) == resumed, "it remembers exactly where its profile says that it goes on"
        assert (b"Earlier work on this task" in again) != resumed, "and is told the task again where not"
        assert b"say right" in again
    return f"repair: {'goes on with its conversation' if resumed else 'is told the task again'}"


def asks_the_policy(agent: Real, repo: Path, home: Path) -> str:
    """If its profile says `full`, about every command, also read-only ones; else about none.

    There are many rounds, because some agents end their task after a refusal.
    """
    reading, changing = "cat README", "touch changed.txt"
    rules = f'[external]\nrepair_invokes = 3\n\n[policy]\ndeny = ["{reading}", "{changing}"]\n'
    acts = [agent.runs(reading), agent.runs(changing), agent.writes(repo / "answer.txt"), agent.says()]
    with stage(agent, repo, *acts, more=rules) as here:
        run = here.run()
        assert (run.code, run.last.get("outcome")) == (0, "verified"), report(run, here)
        full = agent.terms.governance == "full"
        denied = [event["command"] for event in run.of("policy_denied") if event["rule"].startswith("policy.")]
        assert denied == ([reading, changing] if full else []), report(run, here)
        assert (README.strip().encode() in here.heard) != full
        changed = git(repo, "ls-tree", "--name-only", f"donewhen/{run.session}", "changed.txt")
        assert bool(changed) != full
    return f"policy: {agent.terms.governance}, commands refused: {len(denied)} of 2"


def keeps_to_its_tree(agent: Real, repo: Path, home: Path) -> str:
    """A write denied by the sandbox leaves no trace outside, and the work is judged."""
    outside = repo.parent / "outside.txt"
    with stage(agent, repo, agent.writes(outside), agent.says("I wrote it.")) as here:
        run = here.run("--max-iterations", "1")
        assert (run.code, run.last.get("outcome")) == (1, "red"), report(run, here)
        assert run.of("tool_call"), report(run, here)
        assert not outside.exists()
    return ""


def is_refused_by_the_provider(agent: Real, repo: Path, home: Path) -> str:
    with stage(agent, repo, Refuses(401, json.dumps(UNAUTHORIZED).encode()), again=True) as here:
        run = here.run("--max-iterations", "2")
        assert run.code == 3, report(run, here)
        assert "sign_in" in [event["kind"] for event in run.of("error")]
        assert KEY not in json.dumps(run.events)
    return ""


def keeps_to_the_limit_of_turns(agent: Real, repo: Path, home: Path) -> str:
    with stage(agent, repo, Decides(lambda _: agent.runs("echo once more")), again=True) as here:
        run = here.run("--max-turns", "3", "--max-iterations", "1")
        assert (run.code, run.last.get("outcome")) == (1, "red"), report(run, here)
        assert len(here.server.received) <= 4
    return ""


def cannot_read_the_credentials_of_others(agent: Real, repo: Path, home: Path) -> str:
    """Not even by a program that the policy cannot read."""
    secret = f"secret-{os.urandom(8).hex()}"
    for place in CREDENTIALS:
        (home / place).parent.mkdir(parents=True, exist_ok=True)
        (home / place).write_text(secret)
    acts = [agent.runs("python3 thief.py"), agent.writes(repo / "answer.txt"), agent.says()]
    with stage(agent, repo, *acts, files={"thief.py": THIEF}) as here:
        run = here.run()
        assert (run.code, run.last.get("outcome")) == (0, "verified"), report(run, here)
        assert b"HOME=" in here.heard, "it was run, and could read something"
        assert b"looked everywhere" in here.heard
        assert secret.encode() not in here.heard
        assert KEY.encode() not in here.heard
    return ""


def cannot_reach_another_host(agent: Real, repo: Path, home: Path) -> str:
    """Neither directly nor through the proxy, and the attempt through the proxy is reported."""
    with other_host() as (port, reached):
        directly = f"c = http.client.HTTPConnection('127.0.0.1', {port}, timeout=5); c.request('GET', '/')"
        proxied = (
            "c = http.client.HTTPConnection(os.environ['ALL_PROXY'].split('/')[2], timeout=5);"
            f" c.request('GET', 'http://127.0.0.1:{port}/'); print(c.getresponse().status)"
        )
        command = "; ".join(f'python3 -c "import http.client, os; {how}" 2>&1 | tail -1' for how in (directly, proxied))
        with stage(agent, repo, agent.runs(command), agent.writes(repo / "answer.txt"), agent.says()) as here:
            run = here.run()
            assert (run.code, run.last.get("outcome")) == (0, "verified"), report(run, here)
            assert not reached
            assert "network" in [event["rule"] for event in run.of("policy_denied")], report(run, here)
    return ""


Case = Callable[[Real, Path, Path], str]
CASES: dict[str, Case] = {
    "a task is done and verified": succeeds,
    "a red contract is repaired in the second round": repairs,
    "the policy is asked where the level says so": asks_the_policy,
    "a write outside of the tree leaves no trace": keeps_to_its_tree,
    "a key that is refused for good waits for a person": is_refused_by_the_provider,
    "the limit of turns is kept": keeps_to_the_limit_of_turns,
    "a command that never ends dies with the session": is_cancelled,
    "a command that becomes a daemon does not outlive the session": leaves_no_daemon,
    "the credentials of other tools are out of reach": cannot_read_the_credentials_of_others,
    "other hosts are out of reach": cannot_reach_another_host,
}


@contextmanager
def other_host() -> Generator[tuple[int, list[object]]]:
    """A service that the agent must not reach: its port, and its connections."""
    came: list[object] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def listen() -> None:
            try:
                while True:
                    connection, address = listener.accept()
                    came.append(address)
                    connection.close()
            except OSError:
                return  # closed at the end

        threading.Thread(target=listen, daemon=True).start()
        yield listener.getsockname()[1], came
        listener.shutdown(socket.SHUT_RDWR)


def _key_of(headers: Mapping[str, str]) -> str:
    known = ("x-api-key", "x-goog-api-key", "authorization")
    return next((headers[name].removeprefix("Bearer ") for name in known if name in headers), "")
