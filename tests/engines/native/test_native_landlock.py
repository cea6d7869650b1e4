"""The native engine at the weaker isolation level: Landlock, copied trees, and not the repository's own path."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest
from workshop import calls, done, read, script, shell, workshop, write

from donewhen.workspace.process.launch import Launcher
from donewhen.workspace.sandbox.level import Level, SandboxProbe, recorded_probe
from donewhen.workspace.state_dir import state_root
from needs import leave_out
from program import donewhen
from repositories import commit
from repositories import write as put

pytestmark = pytest.mark.anyio

NO_NAMESPACES = {
    "level": "landlock",
    "bwrap": None,
    "bwrap_version": "",
    "bwrap_problem": "bubblewrap is not installed",
    "overlay": False,
    "overlay_problem": "no user namespaces",
}


async def probed(state: Path) -> SandboxProbe:
    async with Launcher.open() as launcher:
        return await recorded_probe(launcher, state)


@pytest.fixture
def weaker_wall(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that appears to forbid namespaces: the probe result says so."""
    # With this isolation the Python of a virtual environment may be unreadable.
    monkeypatch.setenv("PATH", "/usr/local/bin:/usr/bin:/bin")
    state = state_root(os.environ)
    if not anyio.run(probed, state).landlock_abi:
        leave_out("landlock")
    record = state / "probe.json"
    record.write_text(json.dumps({**json.loads(record.read_text()), **NO_NAMESPACES}))


@pytest.mark.usefixtures("weaker_wall")
async def test_every_tool_works_with_landlock_and_cannot_reach_the_rest_of_the_machine(
    root: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    async with workshop(root) as shop:
        assert shop.place.probe.level is Level.LANDLOCK
        wanted: list[tuple[str, Mapping[str, Any]]] = [
            read("a.txt"),
            ("grep_files", {"pattern": "two"}),
            ("find_files", {"pattern": "*.py"}),
            ("list_dir", {}),
            ("edit_file", {"path": "src/app.py", "old": "a - b", "new": "a + b"}),
            write("new/file.txt", "new\n"),
            shell("cat new/file.txt src/app.py; echo made > by-shell"),
            shell(f"echo x > {outside}; cat {root}/a.txt; echo x > {root}/a.txt"),
        ]
        attempt = await shop.attempt(script(calls(*wanted), done()))
        told = [result["preview"] for result in shop.pages.told("tool_result")]
        assert attempt.stop == "done"
        # Where temporary files are not in /tmp, the policy denies the last command.
        assert [result["ok"] for result in shop.pages.told("tool_result")][:7] == [True] * 7
        assert told[1:4] == ["a.txt:2:two", "src/app.py", ".gitignore\na.txt\nsrc/"]
        assert told[6] == "new\ndef add(a, b):\n    return a + b\n[exit code 0]"
        assert shop.content("by-shell") == "made\n"
    assert not outside.exists()
    assert (root / "a.txt").read_text() == "one\ntwo\nthree\n"


@pytest.mark.usefixtures("weaker_wall")
def test_a_session_with_landlock_ends_verified_and_names_its_isolation_level(root: Path, tmp_path: Path) -> None:
    put(root, {"check.sh": "grep -q 'a + b' src/app.py\n"})
    commit(root)
    steps = [
        {"tool": {"name": "shell", "input": {"command": "sed -i 's/a - b/a * b/' src/app.py"}}},
        {"text": "Done."},
        {"tool": {"name": "edit_file", "input": {"path": "src/app.py", "old": "a * b", "new": "a + b"}}},
        {"text": "Now it is done."},
    ]
    (tmp_path / "steps.json").write_text(json.dumps(steps))
    model = f"scripted:{tmp_path}/steps.json"
    answer = donewhen("run", "make add right", "--check", "add=sh check.sh", "--model", model, "--json", cwd=root)
    assert answer.code == 0, answer.err
    events = [json.loads(line) for line in answer.out.splitlines()]
    assert (events[0]["isolation"], events[0]["path_transparent"]) == ("landlock", False)
    assert (events[-1]["outcome"], events[-1]["iterations"]) == ("verified", 2)


@pytest.mark.usefixtures("weaker_wall")
def test_a_machine_whose_landlock_is_too_old_is_refused_with_the_reason_and_the_fix(root: Path) -> None:
    put(root, {"check.sh": "true\n"})
    commit(root)
    record = state_root(os.environ) / "probe.json"
    problem = "Landlock is version 5 and version 6 is needed, Linux 6.12 or later"
    old = {"level": "none", "landlock_abi": 5, "landlock_problem": problem}
    record.write_text(json.dumps({**json.loads(record.read_text()), **old}))
    answer = donewhen("run", "x", "--check", "add=sh check.sh", "--model", "scripted:/dev/null", cwd=root)
    assert answer.code == 4
    assert problem in answer.one_line and "fix: " in answer.one_line
