"""Paths in a user's command: the command sees what it names and nothing else."""

from pathlib import Path

import pytest

from donewhen.engines.external.discover.programs import mentioned_paths


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for name in ("home/a.py", "home/dir/b.py", "c.sh"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    return tmp_path / "home"


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("python3 @/a.py {task}", ["a.py"]),
        ("sh -c 'exec ~/a.py \"$0\"' {task}", ["a.py"]),
        ("$HOME/dir/b.py --x=${HOME}/a.py {task}", ["dir/b.py", "a.py"]),
        ("x <@/a.py >@/nothing; @/dir", ["a.py", "dir"]),
        ("no@/a.py x~/a.py ./dir/b.py {task}", []),
        ("@/a.py @/a.py", ["a.py"]),
        ("", []),
    ],
)
def test_an_existing_program_named_by_its_full_path_is_found(home: Path, command: str, found: list[str]) -> None:
    expected = [str(home / name) for name in found]
    assert mentioned_paths(command.replace("@", str(home)), str(home)) == expected
