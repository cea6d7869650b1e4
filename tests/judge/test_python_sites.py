"""The directories of installed Python packages, for any owner of the directories on PATH."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from donewhen.judge import tool_identity
from needs import needs, needs_root

PROGRAM = (
    "import sys; sys.path.insert(0, sys.argv[2]); "
    "from donewhen.judge.tool_identity import python_sites; python_sites(sys.argv[1], ())"
)


def test_the_packages_of_interpreters_and_environments_are_found(tmp_path: Path) -> None:
    for place in ("tool/lib/python3.11/site-packages", ".pyenv/versions/3.12/lib/python3.12/site-packages"):
        (tmp_path / place).mkdir(parents=True)
    path = f"{tmp_path}/tool/bin:{tmp_path}/.pyenv/shims:{tmp_path}/missing/bin"
    found = [
        str(site.relative_to(tmp_path)) for site in tool_identity.python_sites(path, ()) if tmp_path in site.parents
    ]
    assert found == ["tool/lib/python3.11/site-packages", ".pyenv/versions/3.12/lib/python3.12/site-packages"]


def test_directories_of_other_users_on_path_are_skipped() -> None:
    needs_root()
    with tempfile.TemporaryDirectory() as private:
        for name in ("bin", "lib", ".pyenv/versions"):
            Path(private, name).mkdir(parents=True)
        os.chmod(private, 0o700)
        source = Path(tool_identity.__file__).parents[2]
        becoming = [needs("setpriv"), "--reuid=65534", "--regid=65534", "--clear-groups", "--"]
        python = next(one for one in ("/usr/bin/python3", sys.executable) if os.path.exists(one))
        command = [*becoming, python, "-c", PROGRAM, f"{private}/bin:{private}/.pyenv/shims", str(source)]
        done = subprocess.run(command, cwd="/", capture_output=True, text=True, check=False)
        assert "PermissionError" not in done.stderr
