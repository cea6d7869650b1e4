"""`donewhen doctor`: what this machine lacks, what that costs, and the line to type."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from donewhen.errors import MachineryBroke
from donewhen.session.workplace import enforce_isolation
from donewhen.workspace.sandbox import level
from donewhen.workspace.sandbox.level import Level, SandboxProbe
from needs import needs
from program import donewhen

MISSING = SandboxProbe(Level.NONE, None, "", "bubblewrap is not installed", True, "", 0, True)


@pytest.mark.promise("command.doctor")
def test_doctor_names_the_level_that_is_really_enforced(tmp_path: Path) -> None:
    needs("bwrap")
    answer = donewhen("doctor", cwd=tmp_path, env={"ANTHROPIC_API_KEY": "sk-doctor-secret"})
    assert (answer.code, answer.err) == (0, "")
    assert "level bubblewrap" in answer.out
    assert "anthropic:" in answer.out
    assert "sk-doctor-secret" not in answer.out


def test_doctor_as_json_is_one_object_with_every_finding(tmp_path: Path) -> None:
    findings = json.loads(donewhen("doctor", "--json", cwd=tmp_path).out)["findings"]
    names = [finding["name"] for finding in findings]
    assert names[0] == "isolation" and {"git", "overlayfs", "seccomp", "landlock", "disk", "state"} <= set(names)
    assert all(set(finding) == {"name", "ok", "found", "cost", "fix"} for finding in findings)


@pytest.mark.parametrize(
    ("distribution", "line"),
    [
        ("debian", "sudo apt-get install bubblewrap"),
        ("ubuntu", "sudo apt-get install bubblewrap"),
        ("fedora", "sudo dnf install bubblewrap"),
        ("arch", "sudo pacman -S bubblewrap"),
    ],
)
def test_a_missing_bubblewrap_comes_with_the_line_for_the_distribution(distribution: str, line: str) -> None:
    assert level.fix(MISSING, {"ID": distribution}) == line


def test_full_isolation_needs_no_fix() -> None:
    assert level.fix(replace(MISSING, level=Level.BUBBLEWRAP), {"ID": "debian"}) == ""


@pytest.mark.promise("workspace.isolation.required")
def test_required_isolation_refuses_a_machine_without_isolation_and_names_the_fix() -> None:
    with pytest.raises(MachineryBroke, match="fix: "):
        enforce_isolation(MISSING, "required")
    assert enforce_isolation(replace(MISSING, level=Level.LANDLOCK), "required").level is Level.LANDLOCK


@pytest.mark.promise("workspace.isolation.best")
def test_best_isolation_uses_the_best_level_of_the_machine() -> None:
    assert enforce_isolation(MISSING, "best").level is Level.NONE
    assert enforce_isolation(replace(MISSING, level=Level.BUBBLEWRAP), "best").level is Level.BUBBLEWRAP


def test_a_state_directory_that_cannot_be_made_is_one_line_and_exit_2(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    answer = donewhen("doctor", cwd=tmp_path, env={"XDG_STATE_HOME": str(tmp_path / "file")})
    assert answer.code == 2 and str(tmp_path / "file") in answer.one_line
