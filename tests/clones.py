"""Another copy of this checkout with its own virtual environment, for another place or another user.

Installed packages are hard links where the file system allows it, so a copy costs little. A change of such a file
changes this checkout as well: only its owner may write to it.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

CHECKOUT = Path(__file__).parents[1]
SCRIPT = """\
#!/bin/sh
'''exec' "{python}" "$0" "$@"
' '''
{body}"""
"""Works with blanks in the path of the interpreter."""


def copy_checkout(place: Path, python: str) -> Path:
    """Copy all files that git tracks or would track to `place`, and make a `.venv` there for that interpreter."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=CHECKOUT, check=True, capture_output=True,
    ).stdout  # fmt: skip
    for path in filter(None, os.fsdecode(listed).split("\0")):
        if (CHECKOUT / path).is_file():
            (place / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(CHECKOUT / path, place / path)
    _make_venv(place, python)
    # A user who may not write here would compile every module again at each start.
    subprocess.run([place / ".venv/bin/python", "-m", "compileall", "-q", place / "src"], check=True)
    return place


def _make_venv(place: Path, python: str) -> None:
    venv = place / ".venv"
    subprocess.run([python, "-m", "venv", "--without-pip", str(venv)], check=True)
    packages = venv / Path(sysconfig.get_path("purelib")).relative_to(sys.prefix)
    packages.rmdir()
    _link_tree(Path(sysconfig.get_path("purelib")), packages)
    for path in packages.glob("*donewhen*.pth"):
        path.unlink()
        path.write_text(str(place / "src"))
    for program in Path(sysconfig.get_path("scripts")).iterdir():
        target = venv / "bin" / program.name
        if target.exists() or program.is_symlink() or not os.access(program, os.X_OK):
            continue
        shutil.copy(program, target)
        start, _, body = program.read_bytes().partition(b"\n")
        if start.startswith(b"#!") and b"python" in start:
            target.write_text(SCRIPT.format(python=venv / "bin" / "python", body=body.decode()))


def _link_tree(source: Path, target: Path) -> None:
    linked = subprocess.run(["cp", "-al", source, target], check=False, capture_output=True)
    if linked.returncode != 0:
        shutil.rmtree(target, ignore_errors=True)
        subprocess.run(["cp", "-a", source, target], check=True)
