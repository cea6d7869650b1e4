"""Unions of 32 branches in real repositories, gates and checks included: number of verdicts, time, exactness.

python bench/run.py union_projects
"""

import os
import sys
import tempfile
import time
from pathlib import Path

import anyio

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from tests.union import unions
from tests.union.projects import project
from tests.union.test_real_unions import assert_exact, clashing, row_text, united

BRANCHES = 32


def main() -> None:
    for ending in (".py", ".ts"):
        for kind in (unions.none, unions.pair, unions.pair_across_files, unions.triple):
            with tempfile.TemporaryDirectory() as name:
                os.environ["XDG_STATE_HOME"] = f"{name}/state"
                union = clashing(kind, BRANCHES)
                root = project(Path(name, "repo"), union, ending)
                began = time.perf_counter()
                found, ran = anyio.run(united, root, [item.id for item in union.items])
                took = time.perf_counter() - began
                assert_exact(union, found)
                print(f"{row_text(union, ending, found, ran)}; {took:.1f} s, {took / BRANCHES * 1000:.0f} ms a branch")


if __name__ == "__main__":
    main()
