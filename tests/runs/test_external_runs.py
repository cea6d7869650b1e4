"""Whole runs with an external agent: what it gets, what is believed of it, and which engine comes next.

The agents here are shell lines (`agents`): agents with a protocol are tested with the scripted one.
"""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from program import PROGRAM
from repositories import git
from runs.agents import NO_KEYS, configure, configure_agent, run_with_engine
from runs.scenes import RIGHT, run, run_json, run_verb, scene, script
from wire_server import Answer, Says, serving

TASK = "printf %s {task} > task.txt"
DO_IT = "echo right > answer.txt"


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return scene(tmp_path / "repo")


def landed(repo: Path, session: str, path: str) -> str:
    return git(repo, "show", f"donewhen/{session}:{path}")


# -- the task --


@pytest.mark.promise("agent.command")
def test_the_first_task_has_intent_contract_and_rules_and_no_repair_text(repo: Path) -> None:
    ran = run_with_engine(repo, configure_agent(f"{TASK}; {DO_IT}"), intent="make 'it' $(say) right")
    assert (ran.code, ran.last["outcome"]) == (0, "verified")
    task = landed(repo, ran.session, "task.txt")
    assert "make 'it' $(say) right" in task
    assert "grep -qx right answer.txt" in task
    assert "Do not commit, push" in task
    assert "not done" not in task
    assert ran.one("engine_selected") == ran.one("engine_selected") | {"engine": "external", "agent": "hand"}


@pytest.mark.parametrize("quoted", ["{task}", '"{task}"', "'{task}'", 'a"{task}"b'])
def test_the_task_is_one_argument_however_the_command_quotes_it(repo: Path, quoted: str) -> None:
    ran = run_with_engine(
        repo, configure_agent(f"set -- {quoted}; echo $# > count.txt; {DO_IT}"), intent="a 'b' \"c\" $(d) \\ `e`\n\nf"
    )
    assert landed(repo, ran.session, "count.txt") == "1"


def test_repair_text_names_the_failures_and_comes_only_with_a_repair_round(repo: Path) -> None:
    once = "test -e first && " + f"{{ {TASK}; {DO_IT}; }} || {{ touch first; printf %s {{task}} > before.txt; }}"
    ran = run_with_engine(repo, configure_agent(once))
    assert (ran.code, ran.last["iterations"]) == (0, 2)
    assert "not done" not in landed(repo, ran.session, "before.txt")
    repair = landed(repo, ran.session, "task.txt")
    assert "it is not done" in repair
    assert "## done: fail (exit code 1)" in repair
    assert [event["max"] for event in ran.of("iteration_started")] == [2, 2]


def test_repair_invokes_limits_how_often_an_agent_is_called_again(repo: Path) -> None:
    ran = run_with_engine(repo, configure_agent("echo x >> calls # {task}", more="[external]\nrepair_invokes = 3\n"))
    assert (ran.code, ran.last["outcome"]) == (1, "red")
    assert ran.last["iterations"] == 4


def test_files_named_by_the_command_are_readable_and_not_writable(repo: Path, tmp_path: Path, home: Path) -> None:
    for place in (tmp_path / "my agent", home / "tools"):
        place.mkdir()
        (place / "agent.py").write_text("import sys, beside; open('task.txt', 'w').write(sys.argv[1]); beside.work()")
        (place / "beside.py").write_text("def work(): open('answer.txt', 'w').write('right\\n')")
    (home / "private").write_text("mine")
    touch = f"touch {home}/tools/x 2>/dev/null; cat {home}/private.txt ~/private > seen.txt 2>&1"
    ran = run_with_engine(repo, configure_agent(f"{touch}; python3 ~/tools/agent.py {{task}}"))
    assert (ran.code, ran.last["outcome"]) == (0, "verified")
    assert "say right" in landed(repo, ran.session, "task.txt")
    assert "mine" in landed(repo, ran.session, "seen.txt")  # it was named
    assert not (home / "tools" / "x").exists()


# -- claims --


def test_an_agent_that_says_it_succeeded_is_not_believed(repo: Path) -> None:
    ran = run_with_engine(repo, configure_agent('echo \'{"type":"result","subtype":"success"}\'; exit 0 # {task}'))
    assert (ran.code, ran.last["outcome"]) == (1, "red")
    assert ran.of("external_event")[0]["raw"] == {"type": "result", "subtype": "success"}


def test_an_agent_that_fails_after_the_work_is_judged_by_the_work(repo: Path) -> None:
    ran = run_with_engine(repo, configure_agent(f"{DO_IT}; echo 'no luck' >&2; exit 7 # {{task}}"))
    assert (ran.code, ran.last["outcome"]) == (0, "verified")
    assert ran.one("error") == ran.one("error") | {"kind": "agent", "message": "hand exited with 7: no luck"}


def test_a_killed_agent_is_called_again_without_using_a_round(repo: Path) -> None:
    twice = f"echo x >> calls; test $(wc -l < calls) = 2 && {{ {DO_IT}; exit 0; }}; kill -9 $$ # {{task}}"
    ran = run_with_engine(repo, configure_agent(twice))
    assert (ran.code, ran.last["outcome"], ran.last["iterations"]) == (0, "verified", 1)
    assert "died" in ran.one("error")["message"]


def test_the_tree_of_an_agent_that_always_dies_is_judged(repo: Path) -> None:
    ran = run_with_engine(repo, configure_agent("kill -9 $$ # {task}"))
    assert (ran.code, ran.last["outcome"]) == (4, "failed")
    assert len(ran.of("error")) == 3
    assert [event["status"] for event in ran.of("check_completed") if event["phase"] == "round"] == ["fail"]


def test_a_vanished_program_is_a_failure_and_the_tree_is_judged(repo: Path, tmp_path: Path) -> None:
    ran = run_with_engine(repo, configure_agent("env no-such-program {task}"))
    assert (ran.code, ran.last["outcome"]) == (4, "failed")
    assert "could not start" in ran.one("error")["message"]
    assert ran.last["results"][0]["status"] == "fail"


def test_a_hanging_agent_is_stopped_after_its_timeout_and_its_work_counts(repo: Path) -> None:
    more = "[external]\ntimeout_secs = 1\n"
    ran = run_with_engine(repo, configure_agent(f"{DO_IT}; sleep 1000 # {{task}}", more=more))
    assert (ran.code, ran.last["outcome"]) == (0, "verified")
    assert "external.timeout_secs" in ran.one("error")["message"]


@pytest.mark.parametrize(
    "prints",
    [
        "head -c 20000 /dev/urandom",
        'printf \'{"type": "assis\'',
        "printf '\\377\\376{}\\n[1,'",
        "printf '\\033]0;title\\007\\033[2J'",
        "head -c 300000000 /dev/zero",
        "yes | head -c 100000000",
        "echo 'Please log in: https://login.example/device'; read answer",
        "exec sh -c 'exit 0'",
        "cp /bin/true /usr/local/bin/hand; mv /bin/true /bin/sh",
    ],
)
def test_any_agent_output_gives_one_outcome_and_a_verdict(repo: Path, prints: str) -> None:
    ran = run_with_engine(repo, configure_agent(f"{DO_IT}; {prints} # {{task}}"))
    assert (ran.code, ran.last["outcome"]) == (0, "verified")
    assert sum(len(json.dumps(event)) for event in ran.events) < 4_000_000


def test_cut_agent_output_is_reported_once(repo: Path) -> None:
    ran = run_with_engine(repo, configure_agent(f"{DO_IT}; seq 5000 # {{task}}"))
    assert len(ran.of("external_event")) == 2000
    assert ran.one("error")["message"] == "hand prints more than is kept; the rest is dropped"


# -- the next engine --


@pytest.mark.promise("events.engine-declined")
def test_after_a_red_agent_native_continues_on_its_work(repo: Path) -> None:
    engine = configure_agent("echo kept > kept.txt # {task}")
    ran = run(repo, RIGHT, "--engine", engine)
    assert (ran.code, ran.last["outcome"]) == (0, "verified")
    assert [event["engine"] for event in ran.of("engine_selected")] == ["external", "native"]
    declined = ran.one("engine_declined")
    assert (declined["engine"], declined["reason"], declined["next"]) == ("external", "red", "native")
    assert landed(repo, ran.session, "kept.txt") == "kept"


def test_iterations_are_counted_over_all_ladder_steps(repo: Path) -> None:
    engine = configure_agent("echo x >> calls # {task}")
    ran = run(repo, RIGHT, "--engine", engine, "--max-iterations", "2")
    assert (ran.code, ran.last["outcome"], ran.last["iterations"]) == (1, "red", 2)
    assert ran.last["reason"].startswith("2 rounds done")
    assert [event["engine"] for event in ran.of("engine_selected")] == ["external"]


def test_a_missing_agent_declines_and_native_works(repo: Path) -> None:
    configure('[agent.claude-code]\npath = "/nowhere/claude"\n')
    ran = run(repo, RIGHT, "--engine", "external:claude-code")
    assert (ran.code, ran.last["outcome"]) == (0, "verified")
    declined = ran.one("engine_declined")
    assert (declined["reason"], declined["next"]) == ("not_ready", "native")
    assert "/nowhere/claude" in declined["detail"]


def test_without_a_ready_engine_nothing_is_started(repo: Path) -> None:
    configure('[agent.claude-code]\npath = "/nowhere/claude"\n')
    answer = run_verb(repo, "run", "x", "--engine", "external:claude-code", env={**NO_KEYS, "PATH": "/usr/bin:/bin"})
    assert answer.code == 2
    assert len(answer.err.splitlines()) == 1
    assert "/nowhere/claude" in answer.err
    assert run_verb(repo, "list").out == ""


def test_an_unknown_agent_is_refused_and_nothing_is_started(repo: Path) -> None:
    answer = run_verb(repo, "run", "x", "--engine", "external:nobody")
    assert (answer.code, answer.out) == (2, "")
    assert "unknown agent 'nobody'; use claude-code" in answer.err
    assert len(answer.err.splitlines()) == 1
    assert run_verb(repo, "list").out == ""


def test_without_a_model_auto_uses_a_ready_agent(repo: Path) -> None:
    configure_agent(f"{DO_IT} # {{task}}")
    ran = run_with_engine(repo, "auto", env={"PATH": "/usr/bin:/bin"})
    assert (ran.code, ran.last["outcome"]) == (0, "verified")
    assert ran.one("engine_selected")["agent"] == "hand"


@pytest.mark.parametrize(
    ("intent", "engines"),
    [("refactor the answer across all files", ["foreman", "external"]), ("say right", ["native"])],
)
def test_auto_splits_a_complex_intent_or_uses_an_agent_and_gives_routine_work_to_native(
    repo: Path, intent: str, engines: list[str]
) -> None:
    with serving(*(Says(Answer(text="I have nothing to do")) for _ in range(8))) as server:
        configure_agent(f"{DO_IT} # {{task}}", more=f'[model]\nuse = "openai-chat:m"\nbase_url = "{server.url}/v1"\n')
        ran = run_with_engine(repo, "auto", intent=intent, env={"PATH": "/usr/bin:/bin", "OPENAI_API_KEY": "x"})
    assert [event["engine"] for event in ran.of("engine_selected")] == engines


@pytest.mark.parametrize(("key", "value"), [("max_turns", 0), ("timeout_secs", 0), ("repair_invokes", -1)])
def test_a_limit_that_allows_nothing_is_refused(repo: Path, key: str, value: int) -> None:
    configure(f"[external]\n{key} = {value}\n")
    answer = run_verb(repo, "run", "x", "--engine", "external")
    assert answer.code == 2
    assert f"external.{key}" in answer.err


@pytest.mark.parametrize("url", ["not-a-url", "ftp://host/mcp", "http://", "http://host:port/mcp"])
def test_an_invalid_mcp_address_is_refused_and_nothing_is_started(repo: Path, url: str) -> None:
    configure(f'[external]\nmcp_url = "{url}"\n')
    answer = run_verb(repo, "run", "x", "--engine", "external")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.count("\n") == 1
    assert "external.mcp_url: not an http or https address" in answer.err


# -- stopping --


def marked(mark: str) -> list[str]:
    found = subprocess.run(["pgrep", "-f", mark], capture_output=True, text=True, check=False).stdout
    return found.split()


def test_cancel_ends_the_agent_and_its_processes_and_keeps_its_work(repo: Path) -> None:
    mark = f"86399.{os.getpid()}"
    daemon = f"setsid sh -c 'trap \"\" TERM HUP; sleep {mark}' >/dev/null 2>&1 &"
    engine = configure_agent(f"echo half > half.txt; {daemon} echo up; trap '' TERM INT HUP; sleep {mark} # {{task}}")
    command = [PROGRAM, "run", "x", "--engine", engine, "--json"]
    with subprocess.Popen(command, cwd=repo, stdout=subprocess.PIPE, env={**os.environ, **NO_KEYS}) as running:
        assert running.stdout is not None
        session = ""
        for line in running.stdout:
            event = json.loads(line)
            session = event["session"]
            if event["type"] == "external_event":
                break
        assert marked(mark)
        began = time.monotonic()
        assert run_verb(repo, "cancel", session).code == 0
        assert time.monotonic() - began < 2
        assert marked(mark) == []
        running.stdout.read()
    assert running.wait() == 130
    assert "half.txt" in run_verb(repo, "diff", session).out


def test_a_session_cancelled_before_its_start_does_not_call_the_agent(repo: Path, tmp_path: Path) -> None:
    engine = configure_agent(f"touch {tmp_path}/called # {{task}}")
    with subprocess.Popen(
        [PROGRAM, "run", "x", "--engine", engine, "--json"],
        cwd=repo,
        stdout=subprocess.PIPE,
        env={**os.environ, **NO_KEYS},
    ) as running:
        assert running.stdout is not None
        running.stdout.readline()
        running.send_signal(signal.SIGINT)
        events = [json.loads(line) for line in running.stdout]
    assert running.wait() == 130
    assert (events[-1]["outcome"], events[-1]["iterations"]) == ("cancelled", 0)
    assert "external_event" not in [event["type"] for event in events]


@pytest.mark.parametrize("dies_first", [False, True], ids=["the first one", "one after a death"])
def test_an_interrupted_invocation_is_repeated_from_the_tree_before_it(repo: Path, dies_first: bool) -> None:
    count = "n=$HOME/.donewhen-agent/n; echo . >> $n; set -- $(wc -l < $n)"
    dies, hangs = ("test $1 != 1 || kill -9 $$; ", 2) if dies_first else ("", 1)
    engine = configure_agent(
        f"{count}; {dies}echo x >> calls; echo up; test $1 != {hangs} || sleep 1000; {DO_IT} # {{task}}"
    )
    command = [PROGRAM, "run", "x", "--engine", engine, "--json"]
    with subprocess.Popen(command, cwd=repo, stdout=subprocess.PIPE, env={**os.environ, **NO_KEYS}) as running:
        assert running.stdout is not None
        session = ""
        for line in running.stdout:
            event = json.loads(line)
            session = event["session"]
            if event["type"] == "external_event":
                break
        running.kill()
    went_on = run_json(repo, "resume", session, "--json", env=NO_KEYS)
    assert (went_on.code, went_on.last["outcome"], went_on.last["iterations"]) == (0, "verified", 1)
    assert landed(repo, session, "calls") == "x"


def test_a_native_run_is_not_affected_by_installed_agents(repo: Path, tmp_path: Path) -> None:
    configure_agent("exit 1 # {task}")
    ran = run_json(repo, "run", "x", "--model", script(tmp_path / "s.json", RIGHT), "--json")
    assert (ran.code, [event["engine"] for event in ran.of("engine_selected")]) == (0, ["native"])


def test_a_session_of_an_agent_cannot_be_replayed_and_says_so(repo: Path) -> None:
    ran = run_with_engine(repo, configure_agent(f"{DO_IT} # {{task}}"))
    answer = run_verb(repo, "replay", ran.session)
    assert answer.code == 2
    assert "cannot be replayed: hand worked on it" in answer.err
