"""`make demo` as a new user meets it."""

import subprocess
from pathlib import Path

from needs import needs

DEMO = Path(__file__).parents[2] / "scripts" / "demo"


def test_the_demo_gets_out_without_the_sandbox_and_stays_in_with_it() -> None:
    needs("bwrap")
    shown = subprocess.run([DEMO], capture_output=True, text=True, check=False)
    assert (shown.returncode, shown.stderr) == (0, ""), shown
    rows = [line.split()[-2:] for line in shown.stdout.splitlines()[1:8]]
    assert rows == [["yes", "yes"], *([["yes", "no"]] * 6)]
