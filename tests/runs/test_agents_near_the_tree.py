"""An agent whose program is in, next to or above the repository: it starts, and the tree is not affected.

Each layout is a whole run, as the user who runs the tests and, if that is root, as an ordinary user.
"""

import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from needs import leave_out, needs, needs_root
from program import donewhen
from repositories import git
from repositories import write as put
from runs.agents import NO_KEYS, opencode, run_with_engine
from runs.scenes import scene
from world_readable import world_readable_code

NOBODY = 65534
OTHER_PYTHON = "/usr/bin/python3"
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
PLACES = {"STATE": ".local/state", "CONFIG": ".config", "CACHE": ".cache"}
MAIN = "from donewhen.cli.app import main; main()"
SECRET = "what the sibling project holds"
DATA = "what the agent was installed with"
AGENT = """#!/bin/sh
test "$1" = --version && { echo 1.0; exit; }
cat %(data)s || exit 9
cat ../other/secret.txt %(code)s/other/secret.txt
ls -a %(code)s
mkdir -p tools && echo new > tools/new.txt && echo right > answer.txt && echo done writing
"""


@dataclass(frozen=True)
class Ground:
    """A directory with projects: `shop` is worked on, `other` must not be visible."""

    home: Path
    becoming: tuple[str, ...] = ()
    """The command prefix that runs a command as another user."""
    program_code: str = ""
    """The code of the program for that user."""
    apart: Path | None = None
    """The directory of programs and projects, if not in the home."""

    @property
    def place(self) -> Path:
        return self.apart or self.home

    @property
    def code(self) -> Path:
        return self.place / "code"

    @property
    def shop(self) -> Path:
        return self.code / "shop"

    def program(self, place: str, data: str = "") -> Path:
        """The agent at a path below the directory; `data` is a file of its installation, relative to the program."""
        path = self.place / place
        path.parent.mkdir(parents=True, exist_ok=True)
        installed = path.parent / data if data else path
        path.write_text(
            AGENT % {"data": f'"$(dirname "$(readlink -f "$0")")"/{data}' if data else '"$0"', "code": self.code}
        )
        path.chmod(0o755)
        if data:
            installed.parent.mkdir(parents=True, exist_ok=True)
            installed.write_text(DATA)
        return path

    def run(self, program: Path, more: str = "") -> list[dict[str, Any]]:
        put(self.home, {".config/donewhen/config.toml": f'{more}\n[agent.mine]\ncommand = "{program} {{task}}"\n'})
        words = ["run", "say right", "--engine", "external:mine", "--json"]
        xdg = {f"XDG_{kind}_HOME": str(self.home / place) for kind, place in PLACES.items()}
        env = {"PATH": SYSTEM_PATH, "HOME": str(self.home), **xdg, **NO_KEYS}
        if not self.becoming:
            answer = donewhen(*words, cwd=self.shop, env=env)
            code, out, err = answer.code, answer.out, answer.err
        else:
            for place in (self.home, self.place):
                own(place, NOBODY)
            command = [*self.becoming, OTHER_PYTHON, "-c", MAIN, *words]
            ran = subprocess.run(
                command,
                cwd=self.shop,
                env={**env, "PYTHONPATH": self.program_code},
                capture_output=True,
                text=True,
                check=False,
                timeout=120,
            )
            for place in (self.home, self.place):
                own(place, os.getuid())
            code, out, err = ran.returncode, ran.stdout, ran.stderr
        assert code == 0, err + out
        return [json.loads(line) for line in out.splitlines()]

    def landed(self, events: list[dict[str, Any]]) -> dict[str, str]:
        """The changes of the agent's branch, by path."""
        names = git(self.shop, "diff", "--name-only", "HEAD", f"donewhen/{events[0]['session']}").split()
        return {name: git(self.shop, "show", f"donewhen/{events[0]['session']}:{name}") for name in names}


def own(directory: Path, user: int) -> None:
    subprocess.run(["chown", "-R", f"{user}:{user}", directory], check=True)


@pytest.fixture
def ground() -> Generator[Ground]:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        made = Ground(Path(name))
        made.home.chmod(0o755)
        yield with_projects(made)


def with_projects(ground: Ground) -> Ground:
    scene(ground.shop, {".gitignore": "node_modules\n.venv\n", "tools/kept.txt": "kept\n", "committed/agent": ""})
    put(ground.code, {"other/secret.txt": SECRET})
    return ground


@contextmanager
def in_private(ground: Ground) -> Generator[Ground]:
    """The same, with programs and projects in a directory that no other user may enter, outside every home."""
    needs_root()
    with tempfile.TemporaryDirectory(dir="/srv") as name:
        yield with_projects(replace(ground, apart=Path(name)))


@pytest.fixture
def ground_of_another_user(ground: Ground) -> Generator[Ground]:
    needs_root()
    needs("setpriv")
    becoming = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--")
    command = [*becoming, OTHER_PYTHON, "-c", "import sys; sys.exit(sys.version_info < (3, 11))"]
    if subprocess.run(command, cwd="/", check=False, capture_output=True).returncode:
        leave_out("a python3 of 3.11 or later that every user may run")
    with world_readable_code() as code:
        yield replace(ground, becoming=becoming, program_code=str(code))


def committed(ground: Ground) -> Path:
    program = ground.program("code/shop/committed/agent")
    git(ground.shop, "commit", "-qam", "agent")
    return program


def linked(ground: Ground, to: str) -> Path:
    link = ground.place / ".local/bin/agent"
    link.parent.mkdir(parents=True)
    link.symlink_to(ground.program(to))
    return link


def in_packages(ground: Ground) -> Path:
    program = ground.program("code/shop/node_modules/agent/cli.sh", "lib/data.txt")
    link = ground.shop / "node_modules/.bin/agent"
    link.parent.mkdir()
    link.symlink_to("../agent/cli.sh")
    assert program.exists()
    return link


LAYOUTS: dict[str, Callable[[Ground], Path]] = {
    "committed in the repository": committed,
    "in the repository, not committed": lambda ground: ground.program("code/shop/tools/agent"),
    "at the root of the repository, not committed": lambda ground: ground.program("code/shop/agent"),
    "in a directory of the repository that is not committed": lambda ground: ground.program("code/shop/mine/agent"),
    "in the packages of the repository": in_packages,
    "in an environment of the repository": lambda ground: ground.program(
        "code/shop/.venv/bin/agent", "../lib/data.txt"
    ),
    "directly in the parent directory": lambda ground: ground.program("code/agent"),
    "in a prefix that is the parent directory": lambda ground: ground.program("code/bin/agent", "../lib/data.txt"),
    "in a directory beside the repository": lambda ground: ground.program("code/agents/agent", "data.txt"),
    "behind a link to the parent directory": lambda ground: linked(ground, "code/agent"),
    "behind a link into the repository": lambda ground: linked(ground, "code/shop/tools/agent"),
    "in an ordinary prefix": lambda ground: ground.program("opt/agent/bin/agent", "../lib/data.txt"),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_agent_program_at_any_path_starts_and_the_tree_stays_writable_and_isolated(
    ground: Ground, layout: str
) -> None:
    starts_and_works(ground, layout)


@pytest.mark.parametrize(
    "layout",
    [
        "in the repository, not committed",
        "in the packages of the repository",
        "directly in the parent directory",
        "in a prefix that is the parent directory",
        "in an ordinary prefix",
    ],
)
def test_the_same_holds_for_an_ordinary_user(ground_of_another_user: Ground, layout: str) -> None:
    starts_and_works(ground_of_another_user, layout)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_agent_program_anywhere_in_a_private_directory_outside_the_home_starts(ground: Ground, layout: str) -> None:
    with in_private(ground) as private:
        starts_and_works(private, layout)


def test_an_ordinary_user_may_have_agent_and_projects_in_a_private_directory(ground_of_another_user: Ground) -> None:
    with in_private(ground_of_another_user) as private:
        starts_and_works(private, "in a directory beside the repository")


def test_an_agent_starts_in_a_private_directory_of_its_own(ground: Ground) -> None:
    needs_root()
    with tempfile.TemporaryDirectory(dir="/srv") as name:
        program = replace(ground, apart=Path(name)).program("deep/below/bin/agent", "../lib/data.txt")
        program.write_text(program.read_text().replace(f"{name}/code", str(ground.code)))
        assert DATA in json.dumps(ground.run(program))


def starts_and_works(ground: Ground, layout: str) -> None:
    program = LAYOUTS[layout](ground)
    before = git(ground.shop, "status", "--porcelain")
    events = ground.run(program)
    told = json.dumps(events)
    assert "done writing" in told
    assert SECRET not in told
    assert (DATA in told) == ("data.txt" in program.read_text())
    assert ground.landed(events) == {"answer.txt": "right", "tools/new.txt": "new"}
    assert git(ground.shop, "status", "--porcelain") == before


def test_packages_of_the_repository_are_writable_inside_and_unchanged_outside(ground: Ground) -> None:
    program = in_packages(ground)
    agent = ground.shop / "node_modules/agent/cli.sh"
    agent.write_text(agent.read_text() + "echo changed > node_modules/agent/lib/data.txt && echo changed them\n")
    events = ground.run(program)
    assert "changed them" in json.dumps(events)
    assert (ground.shop / "node_modules/agent/lib/data.txt").read_text() == DATA


def test_shared_packages_are_not_mounted_twice(ground: Ground) -> None:
    program = in_packages(ground)
    events = ground.run(program, more='[workspace]\nshare = ["node_modules"]\n')
    assert DATA in json.dumps(events)
    assert ground.landed(events) == {"answer.txt": "right", "tools/new.txt": "new"}


def test_a_command_that_names_the_repository_itself_leaves_it_writable(ground: Ground) -> None:
    program = ground.program("opt/agent/bin/agent", "../lib/data.txt")
    events = ground.run(Path(f"{program} --root {ground.shop} --above {ground.code}"))
    assert SECRET not in json.dumps(events)
    assert ground.landed(events) == {"answer.txt": "right", "tools/new.txt": "new"}


def test_an_agent_in_a_toolchain_sees_no_credentials_beside_it(ground: Ground) -> None:
    put(ground.home, {".cargo/credentials.toml": SECRET, ".local/share/keyrings/login": SECRET, ".local/lib/x": ""})
    program = ground.program(".cargo/bin/agent")
    program.write_text(program.read_text() + "cat ~/.cargo/credentials.toml\n")
    assert SECRET not in json.dumps(ground.run(program))
    program = ground.program(".local/bin/agent")
    program.write_text(program.read_text() + "cat ~/.local/share/keyrings/login\n")
    assert SECRET not in json.dumps(ground.run(program))


@pytest.mark.parametrize("place", ["", "shop", "shop/tools", "agents"])
def test_a_pinned_acp_agent_near_the_tree_starts_and_can_write_everywhere_in_it(tmp_path: Path, place: str) -> None:
    repo = scene(tmp_path / "code/shop", {"tools/kept.txt": "kept\n"})
    put(tmp_path / "code", {"other/secret.txt": SECRET})
    steps = [{"shell": "echo right > answer.txt; echo new > tools/new.txt; cat ../other/secret.txt; ls .."}]
    engine = opencode(tmp_path / "code" / place, steps)
    ran = run_with_engine(repo, engine)
    assert (ran.code, ran.last["outcome"]) == (0, "verified"), ran.events
    assert SECRET not in json.dumps(ran.events)
    assert git(repo, "diff", "--name-only", "HEAD", f"donewhen/{ran.session}").split() == [
        "answer.txt",
        "tools/new.txt",
    ]


def test_a_program_of_the_repository_that_became_a_link_shows_nothing_of_the_home(ground: Ground) -> None:
    """A later commit may replace a program that the user allowed by a link to the user's files."""
    hidden = ground.program("private/work/bin/agent", "../lib/data")
    named = ground.shop / "committed" / "agent"
    named.unlink()
    named.symlink_to(hidden)
    git(ground.shop, "commit", "-qam", "exchange it")
    with pytest.raises(AssertionError) as failed:
        ground.run(named)
    assert DATA not in str(failed.value)


def test_the_same_program_named_by_the_user_sees_its_installation(ground: Ground) -> None:
    ground.run(ground.program("private/work/bin/agent", "../lib/data"))
