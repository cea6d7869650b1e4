"""The table of agents in docs/agents.md is generated from the profiles."""

import shutil
import subprocess
import sys
from pathlib import Path

from donewhen.engines.external.discover.profile import shipped

ROOT = Path(__file__).parents[3]


def agents_table(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(root / "scripts" / "agents-table"), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def copy(to: Path) -> Path:
    """The script, the page and the profiles, to be changed."""
    for place in ("scripts", "docs", "src"):
        shutil.copytree(ROOT / place, to / place, ignore=shutil.ignore_patterns("__pycache__"))
    return to / "docs" / "agents.md"


def test_the_table_of_agents_is_not_stale() -> None:
    checked = agents_table(ROOT, "--check")
    assert checked.returncode == 0, checked.stderr


def test_every_installable_agent_is_in_the_table_with_all_interfaces() -> None:
    page = (ROOT / "docs" / "agents.md").read_text()
    for one in shipped().values():
        for kind, way in one.interfaces.items():
            if way.package:
                assert f"| `{one.name}` | {kind} | `{way.program}` |" in page


def test_a_stale_table_is_detected_and_written_again(tmp_path: Path) -> None:
    page = copy(tmp_path)
    fresh = page.read_text()
    page.write_text(fresh.replace("| codex ", "| kodex ").replace("`codex`", "`kodex`"))
    stale = agents_table(tmp_path, "--check")
    assert stale.returncode == 1 and "scripts/agents-table" in stale.stderr
    assert agents_table(tmp_path).returncode == 0
    assert page.read_text() == fresh
    assert agents_table(tmp_path, "--check").returncode == 0


def test_a_page_without_its_markers_is_not_changed(tmp_path: Path) -> None:
    page = copy(tmp_path)
    page.write_text("nothing\n")
    assert agents_table(tmp_path).returncode == 2
    assert page.read_text() == "nothing\n"
