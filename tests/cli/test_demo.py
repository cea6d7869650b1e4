"""`make demo` as a new user meets it."""

import subprocess
from pathlib import Path

from needs import needs

DEMO = Path(__file__).parents[2] / "scripts" / "demo"


def test_the_demo_refuses_what_is_not_done_and_keeps_a_command_inside() -> None:
    needs("bwrap")
    shown = subprocess.run([DEMO], capture_output=True, text=True, check=False)
    assert (shown.returncode, shown.stderr) == (0, ""), shown
    lines = shown.stdout.splitlines()
    judged = [line[52:].split()[:2] for line in lines[1:6]]
    assert judged == [*([["yes", "no"]] * 4), ["yes", "yes"]]
    assert "held-out is fail" in lines[4]
    walled = [line.split()[-2:] for line in lines[8:15]]
    assert walled == [["yes", "yes"], *([["yes", "no"]] * 6)]
