"""`donewhen plan`, `approve` and `run --engine planned` on real projects: from an intent to a branch."""

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import real_projects as real

from needs import needs
from program import donewhen
from runs.planned_scenes import (
    PASS,
    Script,
    check,
    checks_of,
    crew,
    ended,
    item,
    landed,
    log,
    plan,
    planned,
    roles,
    statuses,
)
from runs.planned_scenes import build as run_planned
from runs.scenes import call, run_json, say, shell

OURS = str(Path(sys.executable).parent)
ELSEWHERE = ":".join(entry for entry in os.environ["PATH"].split(":") if entry != OURS)
"""PATH without the tools of the user who runs these tests: detection depends on what is installed."""


@dataclass(frozen=True)
class Project:
    root: Path
    intent: str
    found: str
    """The command that the repository already has."""
    shows: str
    """A command that is red before the work and green after it."""
    changed: str
    """The file to work on."""
    work: str
    """The command that does the work."""


def shares(root: Path, name: str) -> None:
    """Ignored, and available to commands; there is no other contract."""
    real.ignoring(root, name)
    (root / "donewhen.toml").write_text(f'[workspace]\nshare = ["{name}"]\n')


def inflection(tmp: Path) -> Project:
    root = real.new_repository(tmp / "inflection")
    real.unpack("inflection-0.5.1.tar.gz", root)
    real.install_python(root)
    shares(root, ".venv")
    source = (
        "def initials(name: str) -> str:\\n    return ''.join(word[0] for word in humanize(name).split()).upper()\\n"
    )
    return Project(
        real.committed(root),
        "add initials(), which gives the first letters of the words of a name",
        ".venv/bin/python -m pytest -q",
        """.venv/bin/python -c "from inflection import initials; assert initials('active_record') == 'AR'" """.strip(),
        "inflection/__init__.py",
        f'printf "\\n\\n{source}" >> inflection/__init__.py',
    )


MARK = """
module.exports.genericErrorMark = Symbol.for('fastify-error-generic')
"""


def fastify_error(tmp: Path) -> Project:
    root = real.new_repository(tmp / "fastify-error")
    real.unpack("fastify-error-4.2.0.tgz", root)
    real.install_node(root)
    shares(root, "node_modules")
    return Project(
        real.committed(root),
        "export genericErrorMark, the symbol that marks an error of ours",
        "npm run test:unit",
        "node -e \"const e = require('.'); process.exit(e('A', 'm')()[e.genericErrorMark] === true ? 0 : 1)\"",
        "index.js",
        f"cat >> index.js <<'END'\n{MARK}END",
    )


LINES_GO = """package wordwrap

import "strings"

// WrapLines gives the lines of a wrapped text.
func WrapLines(s string, lim uint) []string {
	return strings.Split(WrapString(s, lim), "\\n")
}
"""


def go_wordwrap(tmp: Path) -> Project:
    needs("go")
    root = real.new_repository(tmp / "go-wordwrap")
    package = "golang-github-mitchellh-go-wordwrap-dev.deb"
    real.unpack(package, root, "usr/share/gocode/src/github.com/mitchellh/go-wordwrap")
    return Project(
        real.committed(root),
        "add WrapLines, which gives the lines of a wrapped text",
        "go test ./...",
        "go doc WrapLines",
        "lines.go",
        f"cat > lines.go <<'END'\n{LINES_GO}END",
    )


def steps(project: Project) -> Script:
    """A planner that reads first, a builder that completes the plan, an evaluator that tries the result."""
    items = [item("make it", project.shows), item("break nothing", outcome="all that worked still works")]
    drafts = [check("shows", project.shows, 1), check("tests", project.found, 2)]
    looks = [call("list_dir"), call("read_file", path=project.changed if project.changed != "lines.go" else "go.mod")]
    return crew(
        [*looks, planned(*drafts, items=items)],
        [shell(project.work), call("update_tracker", item=1, state="completed"), say("it is made")],
        [shell(project.shows), shell(f"git diff --stat; {project.found}"), PASS],
    )


@pytest.mark.sample(0)
@pytest.mark.parametrize("make", [inflection, fastify_error, go_wordwrap])
def test_a_real_project_is_planned_approved_built_evaluated_and_landed(
    make: Callable[[Path], Project],
    tmp_path: Path,
    real_home: Path,
    monkeypatch: pytest.MonkeyPatch,
    show_table: Callable[[str], None],
) -> None:
    needs("bwrap")
    monkeypatch.setenv("HOME", str(real_home))
    monkeypatch.setenv("PATH", ELSEWHERE)
    project = make(tmp_path)
    if (project.root / "donewhen.toml").exists():
        assert donewhen("trust", cwd=project.root).code == 0
    repo, script = project.root, steps(project)
    waits = plan(repo, script, intent=project.intent)
    assert waits.code == 3, waits.err
    assert checks_of(waits.one("contract_proposed")) == {"shows": project.shows, "tests": project.found}
    assert [one["status"] for one in waits.one("baseline_completed")["results"]] == ["fail", "pass"]
    broken = waits.one("planning_completed")["items"][1]
    assert (broken["verify"], broken["is_detected"]) == ([project.found], True)
    approved = run_json(repo, "approve", waits.session, "--json")
    assert ended(approved) == (0, "verified"), approved.err
    at_once = run_planned(repo, script, "--yes", intent=project.intent)
    assert ended(at_once) == (0, "verified"), at_once.err
    for ran in (log(repo, waits.session), at_once):
        assert (roles(ran), statuses(ran)) == ({"planner": 3, "maker": 3, "evaluator": 3}, ["passed"])
        assert [one["ok"] for one in ran.of("tool_result")] == [True] * 6, ran.of("tool_result")
        assert list(landed(repo, ran.session)) == [project.changed]
    assert at_once.last["tree"] == approved.last["tree"]
    took = sum(one["duration_ms"] for one in approved.last["results"])
    results = ", ".join(f"{one['name']} {one['status']}" for one in approved.last["results"])
    show_table(f"planned on {repo.name}: {project.changed}; {results} ({took} ms); {json.dumps(statuses(at_once))}")
