"""A small Python environment for checks that run in the sandbox: the pytest of this test run, and little else.

Hundreds of checks start it, so it must load little. The environment that runs the tests contains plugins, which every
pytest there would load, and often a slow interpreter.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from needs import needs

PACKAGES = ("pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments")
SYSTEM_PYTHON = "/usr/bin/python3"


def toolbox(box: Path) -> Path:
    """Make a virtual environment with the pytest of this test run and without plugins."""
    subprocess.run([quick_interpreter(), "-m", "venv", "--without-pip", box], check=True)
    theirs, ours = Path(pytest.__file__).parents[1], next(box.glob("lib/python*/site-packages"))
    for name in PACKAGES:
        shutil.copytree(theirs / name, ours / name)
        for facts in theirs.glob(f"{name}-*.dist-info"):
            shutil.copytree(facts, ours / facts.name)
    shutil.copy(theirs / "py.py", ours)
    # Hundreds of short runs: the garbage collector and repeated compilation would cost more than they save.
    (ours / "short-lived.pth").write_text("import gc; gc.disable()\n")
    subprocess.run([box / "bin" / "python", "-m", "compileall", "-q", ours], check=True)
    program(box / "bin" / "pytest", f"#!{box}/bin/python\nimport pytest\nraise SystemExit(pytest.main())\n")
    program(box / "bin" / "run-suite", "#!/bin/sh\nexec python -m pytest -q\n")
    beside = Path(sys.executable).with_name("ruff")
    (box / "bin" / "ruff").symlink_to(beside if beside.exists() else needs("ruff"))
    return box


def quick_interpreter() -> str:
    """Return the system's Python if it is new enough: distributions build it optimised, version managers do not."""
    asks = [SYSTEM_PYTHON, "-c", "import sys, venv; sys.exit(sys.version_info < (3, 11))"]
    there = os.access(SYSTEM_PYTHON, os.X_OK) and subprocess.run(asks, capture_output=True, check=False).returncode == 0
    return SYSTEM_PYTHON if there else sys.executable


def program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)
