"""A call that is forked from the warm program prints and ends like a call of the real one; the tests rely on that."""

import os
import subprocess
from pathlib import Path

import pytest

from program import PROGRAM, warm_program


@pytest.mark.parametrize(
    "words",
    [["--version"], ["list"], ["no-such-verb"], ["policy", "make && git push"], ["policy", ""], ["show", "nobody"]],
    ids=" ".join,
)
def test_a_warm_call_gives_the_same_exit_code_and_output_as_a_real_one(tmp_path: Path, words: list[str]) -> None:
    real = subprocess.run([PROGRAM, *words], cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    warm = warm_program().call(words, tmp_path, os.environ, b"", 60)
    assert warm == (real.returncode, real.stdout, real.stderr)
