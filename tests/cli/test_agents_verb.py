"""`donewhen agents`: the known agents with version, readiness or its reason, and governance."""

import json
import os
import pty
import resource
import subprocess
from pathlib import Path

import pytest

from donewhen.cli.verbs.agents import table
from donewhen.engines.external.discover.profile import shipped
from donewhen.server.methods.table import TABLE
from program import PROGRAM, Answer, donewhen
from repositories import repository

KNOWN = "codex"
SYSTEM = "/usr/bin:/bin"
OFFERED = [name for name, one in shipped().items() if any(way.package for way in one.interfaces.values())]
KEYS = [variable for one in shipped().values() for provider in one.providers for variable in provider.keys]


@pytest.fixture(autouse=True)
def nobody_has_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in KEYS:
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A directory on PATH that belongs to the test."""
    place = tmp_path / "bin"
    place.mkdir()
    return place


def program(directory: Path, name: str, text: str = "echo 4.5.6") -> Path:
    file = directory / name
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return file


def agents(*words: str, cwd: Path, programs: Path, **variables: str) -> Answer:
    return donewhen("agents", *words, cwd=cwd, env={"PATH": f"{programs}:{SYSTEM}", **variables})


def by_name(answer: Answer) -> dict[str, dict[str, str]]:
    assert answer.code == 0, answer.err
    return {one["name"]: one for one in map(json.loads, answer.out.splitlines())}


def write_settings(text: str) -> Path:
    file = Path(os.environ["XDG_CONFIG_HOME"], "donewhen", "config.toml")
    file.parent.mkdir()
    file.write_text(text)
    return file


@pytest.mark.promise("command.agents")
def test_agents_shows_version_readiness_interface_and_governance(tmp_path: Path, programs: Path) -> None:
    program(programs, shipped()[KNOWN].interfaces["cli"].program)
    variable = shipped()[KNOWN].providers[0].keys[0]
    answer = agents(cwd=tmp_path, programs=programs, **{variable: "sk-agents-secret"})
    head, *lines = answer.out.splitlines()
    assert (answer.code, answer.err) == (0, "")
    assert head.split() == ["agent", "version", "status", "way", "governance"]
    rows = {line.split()[0]: line for line in lines}
    assert list(rows) == OFFERED
    assert rows[KNOWN].split()[1:3] == ["4.5.6", "ready"] and f"{variable} is set" in rows[KNOWN]
    others = [line for name, line in rows.items() if name != KNOWN]
    assert all("missing" in line and "is not on PATH" in line for line in others)
    assert "sk-agents-secret" not in answer.out and "\x1b" not in answer.out
    assert all(line[head.index("governance") - 2 :].startswith("  ") for line in lines)


def test_agents_json_is_one_object_per_line_as_the_method_returns_it(tmp_path: Path, programs: Path) -> None:
    found = by_name(agents("--json", cwd=tmp_path, programs=programs))
    assert list(found) == OFFERED
    keys = {
        "name",
        "title",
        "version",
        "program",
        "way",
        "governance",
        "status",
        "reason",
        "provider",
        "key",
        "counted",
    }
    assert all(keys <= set(one) for one in found.values())
    assert {one["status"] for one in found.values()} <= {"ready", "missing", "not_configured"}
    assert TABLE["agents.list"]


def test_without_a_key_agents_says_which_variable_would_help(tmp_path: Path, programs: Path) -> None:
    program(programs, shipped()[KNOWN].interfaces["cli"].program)
    found = by_name(agents("--json", cwd=tmp_path, programs=programs))[KNOWN]
    assert found["status"] == "not_configured" and shipped()[KNOWN].providers[0].keys[0] in found["reason"]


@pytest.mark.promise("agent.path")
def test_a_pinned_program_is_used_and_a_broken_pin_is_reported(tmp_path: Path, programs: Path) -> None:
    program(programs, shipped()[KNOWN].interfaces["cli"].program)
    pin = program(tmp_path, "pinned", "echo 7.7.7")
    write_settings(f'[agent.{KNOWN}]\npath = "{pin}"\n')
    found = by_name(agents("--json", cwd=tmp_path, programs=programs))[KNOWN]
    assert (found["version"], found["program"]) == ("7.7.7", str(pin))
    pin.unlink()
    found = by_name(agents("--json", cwd=tmp_path, programs=programs))[KNOWN]
    assert found["status"] == "not_executable"
    assert found["reason"] == f"agent.{KNOWN}.path: {pin} does not exist"


@pytest.mark.promise("agent.command")
def test_a_command_in_the_settings_defines_an_agent(tmp_path: Path, programs: Path) -> None:
    program(programs, "my-agent")
    write_settings(
        '[agent.mine]\ncommand = "my-agent --task {task}"\n[agent.other]\ncommand = "no-such-agent {task}"\n'
    )
    found = by_name(agents("--json", cwd=tmp_path, programs=programs))
    assert [*found][-2:] == ["mine", "other"]
    assert found["mine"]["status"] == "ready"
    assert (found["other"]["status"], found["other"]["reason"]) == ("missing", "no-such-agent is not on PATH")


@pytest.mark.promise("trust.agent")
def test_agents_of_a_repository_count_only_after_trust(tmp_path: Path, programs: Path) -> None:
    program(programs, "my-agent")
    repo = repository(tmp_path / "repo", {"donewhen.toml": '[agent.mine]\ncommand = "my-agent {task}"\n'})
    before = agents("--json", cwd=repo, programs=programs)
    assert "mine" not in by_name(before)
    assert "agent.mine" in before.one_line and "donewhen trust" in before.one_line
    assert donewhen("trust", cwd=repo).code == 0
    (repo / "deep").mkdir()
    assert "mine" in by_name(agents("--json", cwd=repo / "deep", programs=programs))


def test_a_program_inside_the_repository_is_not_used_as_an_agent(tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo")
    inside = repo / "bin"
    inside.mkdir()
    program(inside, shipped()[KNOWN].interfaces["cli"].program, f"touch {tmp_path}/started")
    found = by_name(agents("--json", cwd=repo, programs=inside))[KNOWN]
    assert found["status"] == "missing" and "is inside the repository" in found["reason"]
    assert not (tmp_path / "started").exists()


BAD = [
    ('[agent."no name"]\ncommand = "a {task}"\n', "agent.no name"),
    (f"[agent.{'x' * 65}]\ncommand = 'a {{task}}'\n", "agent.xxx"),
    ("[agent.mine]\n", "agent.mine.command"),
    ("[agent.mine]\ncommand = ''\n", "agent.mine.command"),
    ("[agent.mine]\ncommand = 'my-agent'\n", "agent.mine.command"),
    ("[agent.mine]\ncommand = 3\n", "agent.mine.command"),
    ("[agent.mine]\npath = '/bin/true'\n", "agent.mine.command"),
    ("[agent.mine]\ncommand = 'a {task}'\npath = '/bin/true'\n", "agent.mine.path"),
    (f"[agent.{KNOWN}]\ncommand = 'a {{task}}'\n", f"agent.{KNOWN}.command"),
    (f"[agent.{KNOWN}]\npath = 'bin/{KNOWN}'\n", f"agent.{KNOWN}.path"),
    (f"[agent.{KNOWN}]\npath = ''\n", f"agent.{KNOWN}.path"),
    (f"[agent.{KNOWN}]\nproject_settings = 'yes'\n", f"agent.{KNOWN}.project_settings"),
    ("agent = 1\n", "'agent'"),
    ("[agent]\nmine = 1\n", "agent.mine"),
]


@pytest.mark.parametrize(("text", "key"), BAD)
def test_an_invalid_agent_table_is_one_line_with_file_and_key(tmp_path: Path, text: str, key: str) -> None:
    file = write_settings(text)
    answer = donewhen("agents", cwd=tmp_path)
    assert (answer.code, answer.out) == (2, "")
    assert str(file) in answer.one_line and key in answer.one_line


@pytest.mark.parametrize(("text", "key"), [BAD[2], BAD[8]])
def test_run_refuses_an_invalid_agent_table_too(tmp_path: Path, text: str, key: str) -> None:
    file = write_settings(text)
    answer = donewhen("run", "do it", "--check", "a=true", "--yes", cwd=repository(tmp_path / "repo"))
    assert answer.code == 2 and str(file) in answer.one_line and key in answer.one_line


def test_an_invalid_agent_table_of_a_repository_is_refused_before_trust_is_asked(tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo", {"donewhen.toml": "[agent.mine]\ncommand = 'my-agent'\n"})
    answer = donewhen("agents", cwd=repo)
    assert answer.code == 2 and "agent.mine.command" in answer.one_line


def test_pins_and_project_settings_of_known_agents_are_accepted(tmp_path: Path, programs: Path) -> None:
    write_settings(f'[agent.{KNOWN}]\npath = "/no/such/program"\nproject_settings = true\n')
    answer = agents(cwd=tmp_path, programs=programs)
    assert answer.code == 0 and "not executable" in answer.out


# -- doctor --


def test_doctor_lists_agents_and_names_a_broken_pin_as_a_problem(tmp_path: Path, programs: Path) -> None:
    path = {"PATH": f"{programs}:{SYSTEM}"}
    agent_program = program(programs, shipped()[KNOWN].interfaces["cli"].program)
    findings = json.loads(donewhen("doctor", "--json", cwd=tmp_path, env=path).out)["findings"]
    (found,) = [one for one in findings if one["name"] == "agents"]
    assert found["ok"] and f"{KNOWN} 4.5.6 (not configured)" in found["found"]
    agent_program.unlink()
    write_settings(f'[agent.{KNOWN}]\npath = "{agent_program}"\n')
    findings = json.loads(donewhen("doctor", "--json", cwd=tmp_path, env=path).out)["findings"]
    (found,) = [one for one in findings if one["name"] == "agents"]
    assert not found["ok"] and "does not exist" in found["fix"]


def test_doctor_reports_an_invalid_settings_file_without_failing(tmp_path: Path) -> None:
    file = write_settings("[agent.mine]\n")
    findings = json.loads(donewhen("doctor", "--json", cwd=tmp_path).out)["findings"]
    assert [one["found"] for one in findings if one["name"] == "agents" and str(file) in one["found"]]


# -- layout and cost --

ROW = {
    "name": "robo",
    "version": "1.2.3",
    "status": "not_configured",
    "way": "acp",
    "governance": "confined",
    "reason": "set ROBO_KEY or OPENAI_API_KEY, or sign in: robo login",
}


@pytest.mark.parametrize("width", [5, 20, 40, 60, 80, 120])
def test_on_a_terminal_lines_are_wrapped_and_complete(width: int) -> None:
    lines = list(table([ROW, {**ROW, "name": "another", "version": ""}], width))
    assert max(map(len, lines)) <= max(width, 5)
    if width >= 20:
        text = " ".join(" ".join(lines).split())
        assert all(word in text for word in ("robo", "1.2.3", "not configured", "acp", "confined", "ROBO_KEY", "login"))


def test_without_a_terminal_each_agent_is_one_line() -> None:
    assert len(list(table([{**ROW, "reason": "because " * 100}], None))) == 2


def test_names_from_settings_are_printed_without_control_characters() -> None:
    assert "\x1b" not in "".join(table([{**ROW, "reason": "\x1b[2J\x07"}], None))


def on_a_terminal(cwd: Path, **variables: str) -> str:
    """What `donewhen agents` prints to a real terminal."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "PATH": SYSTEM, "TERM": "xterm", **variables}
    process = subprocess.Popen([PROGRAM, "agents"], cwd=cwd, env=environment, stdout=theirs, stdin=subprocess.DEVNULL)
    os.close(theirs)
    printed = b""
    while True:
        try:
            chunk = os.read(ours, 65536)
        except OSError:
            break
        printed += chunk
    os.close(ours)
    assert process.wait() == 0
    return printed.decode()


def test_colour_is_printed_only_on_terminals_and_not_with_no_color(tmp_path: Path) -> None:
    assert "\x1b[" in on_a_terminal(tmp_path)
    assert "\x1b[" not in on_a_terminal(tmp_path, NO_COLOR="1")
    assert "\x1b[32m" not in on_a_terminal(tmp_path), "green is for what was verified"


def test_a_second_agents_call_within_half_a_minute_costs_under_three_tenths_of_a_second_of_cpu(
    tmp_path: Path, programs: Path
) -> None:
    asked = tmp_path / "asked"
    program(programs, shipped()[KNOWN].interfaces["cli"].program, f"echo . >> {asked}; echo 4.5.6")
    environment = {**os.environ, "PATH": f"{programs}:{SYSTEM}"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    spent: list[float] = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([PROGRAM, "agents"], cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert asked.read_text() == ".\n"
    assert min(spent[1:]) < 0.3
