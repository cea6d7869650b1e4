"""Killed at any line of its code, the storage keeps what it acknowledged and repairs itself at the next start."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tiers import SPARSE


@pytest.mark.parametrize("scene", ["write", "rebuild"])
def test_a_process_killed_anywhere_loses_no_acknowledged_record(
    scene: str, tmp_path: Path, show_table: Callable[[str], None]
) -> None:
    program = Path(__file__).with_name("crash_points.py")
    done = subprocess.run(
        [sys.executable, program, scene, tmp_path, str(SPARSE)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[0]) >= 100 // SPARSE
    show_table(f"storage, {scene}: killed at {done.stdout.strip()} lines, and again in the start after it")
