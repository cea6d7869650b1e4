"""`donewhen init && donewhen check` on real projects of several ecosystems: the contract, the verdict, one table."""

import os
import re
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import real_projects as real

import postgres
from needs import needs
from program import Answer, donewhen
from repositories import git, write
from tiers import sampled

OURS = str(Path(sys.executable).parent)
ELSEWHERE = ":".join(entry for entry in os.environ["PATH"].split(":") if entry != OURS)
"""PATH without the tools of the user who runs these tests: the proposal depends on what is installed."""


@dataclass(frozen=True)
class Project:
    name: str
    ecosystem: str
    root: Path
    expected: tuple[str, ...]
    """The checks that the contract must have: name, command, directory."""
    left_out: tuple[str, ...] = ()
    """Checks that are detected and cannot start here."""
    env: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class Seen:
    project: Project
    init: Answer
    check: Answer

    @property
    def checks(self) -> tuple[str, ...]:
        file = self.project.root / "donewhen.toml"
        entries = file.read_text().split("[[check]]")[1:] if file.exists() else []
        return tuple(
            " | ".join(re.findall(r'^(?:name|command|dir) = "(.*)"$', entry, re.MULTILINE)) for entry in entries
        )

    @property
    def row(self) -> str:
        verdict = {0: "verified", 1: "red", 2: "no contract"}.get(self.check.code, f"exit {self.check.code}")
        head = f"{self.project.name:<18}{self.project.ecosystem:<26}{verdict:<13}"
        checks = [f"{check}  ({self.result_of(check.partition(' ')[0])})" for check in self.checks]
        return "\n".join(f"{'' if number else head:<57}{check}" for number, check in enumerate(checks or ["–"]))

    def result_of(self, name: str) -> str:
        """What the last run printed about a check, without its duration."""
        found = re.search(rf"^{re.escape(name)}: (.*?)(?:, [\d.]+ s)?$", self.check.out, re.MULTILINE)
        return found[1] if found else "no result"


def look_at(project: Project) -> Seen:
    env = {"PATH": ELSEWHERE, **project.env}
    return Seen(project, donewhen("init", cwd=project.root, env=env), donewhen("check", cwd=project.root, env=env))


# -- the projects --


def uv_project(tmp: Path) -> Project:
    root = real.new_repository(tmp / "itsdangerous")
    real.unpack("itsdangerous-2.2.0.tar.gz", root)
    real.install_python(
        root,
        "freezegun-1.5.1-py3-none-any.whl",
        "python_dateutil-2.9.0.post0-py2.py3-none-any.whl",
        "six-1.16.0-py2.py3-none-any.whl",
        editable="src",
    )
    real.ignoring(root, ".venv/")
    (root / "uv.lock").write_text('version = 1\nrequires-python = ">=3.8"\n')
    path = f"{real.uv_alone(tmp / 'uv')}:{ELSEWHERE}"
    expected = "tests | uv run --no-sync pytest -q"
    return Project("itsdangerous", "Python, uv, pytest", real.committed(root), (expected,), env={"PATH": path})


def venv_project(tmp: Path) -> Project:
    root = real.new_repository(tmp / "inflection")
    real.unpack("inflection-0.5.1.tar.gz", root)
    real.install_python(root)
    real.ignoring(root, ".venv/")
    expected = "tests | .venv/bin/python -m pytest -q"
    return Project("inflection", "Python, .venv, pytest", real.committed(root), (expected,))


def pyenv_project(tmp: Path) -> Project:
    root = real.new_repository(tmp / "xmltodict")
    real.unpack("xmltodict-0.13.0.tar.gz", root)
    home = tmp / "home"
    shims = real.version_manager(home, "3.99.1")
    (root / ".python-version").write_text("3.99.1\n")
    expected = "tests | python3 -m unittest discover -s tests"
    env = {"HOME": str(home), "PYENV_ROOT": str(home / ".pyenv"), "PATH": f"{shims}:/usr/bin:/bin"}
    return Project("xmltodict", "Python, pyenv, unittest", real.committed(root), (expected,), env=env)


def node_project(tmp: Path) -> Project:
    root = real.new_repository(tmp / "fastify-error")
    real.unpack("fastify-error-4.2.0.tgz", root)
    real.install_node(root)
    real.ignoring(root, "node_modules")
    expected = "tests | npm run test:unit"
    return Project("@fastify/error", "Node, npm, node:test", real.committed(root), (expected,), ("types", "lint"))


def mocha_project(tmp: Path) -> Project:
    root = real.new_repository(tmp / "delegates")
    real.unpack("delegates-0.1.0.tgz", root)
    real.install_node(root)
    real.ignoring(root, "node_modules")
    expected = "tests | npx --no-install mocha --require should --reporter spec --bail"
    return Project("delegates", "Node, make, mocha", real.committed(root), (expected,))


def cargo_project(tmp: Path) -> Project:
    needs("cargo")
    root = real.new_repository(tmp / "shlex")
    real.unpack("librust-shlex-dev.deb", root, "usr/share/cargo/registry/shlex-*")
    expected = "tests | cargo test --offline"
    return Project("shlex", "Rust, cargo offline", real.committed(root), (expected,))


def go_project(tmp: Path) -> Project:
    needs("go")
    root = real.new_repository(tmp / "go-wordwrap")
    package = "golang-github-mitchellh-go-wordwrap-dev.deb"
    real.unpack(package, root, "usr/share/gocode/src/github.com/mitchellh/go-wordwrap")
    return Project("go-wordwrap", "Go", real.committed(root), ("tests | go test ./...",))


def project_without_tests(tmp: Path) -> Project:
    root = real.new_repository(tmp / "sortedcontainers")
    real.unpack("sortedcontainers-2.4.0.tar.gz", root)
    return Project("sortedcontainers", "Python without tests", real.committed(root), ())


def monorepo(tmp: Path) -> Project:
    root = real.new_repository(tmp / "monorepo")
    real.unpack("inflection-0.5.1.tar.gz", root / "backend")
    real.unpack("delegates-0.1.0.tgz", root / "frontend")
    real.unpack("librust-shlex-dev.deb", root / "native", "usr/share/cargo/registry/shlex-*")
    real.install_python(root)
    real.install_node(root / "frontend")
    real.ignoring(root, ".venv", "node_modules")
    expected = (
        "tests-backend | ../.venv/bin/python -m pytest -q | backend",
        "tests-frontend | npx --no-install mocha --require should --reporter spec --bail | frontend",
        "tests-native | cargo test --offline | native",
    )
    return Project("monorepo of three", "Python + Node + Rust", real.committed(root), expected)


PROJECTS: list[Callable[[Path], Project]] = [
    uv_project,
    venv_project,
    pyenv_project,
    node_project,
    mocha_project,
    cargo_project,
    go_project,
    project_without_tests,
    monorepo,
]


@pytest.mark.promise("command.init")
def test_real_projects_get_a_sensible_contract_and_their_verdict(
    tmp_path: Path, real_home: Path, monkeypatch: pytest.MonkeyPatch, show_table: Callable[[str], None]
) -> None:
    needs("bwrap")
    monkeypatch.setenv("HOME", str(real_home))
    projects = [make(tmp_path / make.__name__) for make in sampled(PROJECTS, 2)]
    with ThreadPoolExecutor(2) as pool:
        seen = list(pool.map(look_at, projects))
    heading = f"{'project':<18}{'ecosystem':<26}{'check':<13}contract"
    show_table("\n".join(["donewhen init && donewhen check", heading, *(one.row for one in seen)]))
    assert [complaint for one in seen for complaint in complaints(one)] == []


def complaints(seen: Seen) -> list[str]:
    """Return what is not as expected, with all output."""
    project = seen.project
    told = f"{seen.init.out}{seen.init.err}{seen.check.out}{seen.check.err}"
    codes = (0, 0) if project.expected else (2, 2)
    found = [
        *([f"exit codes {seen.init.code}, {seen.check.code}"] if (seen.init.code, seen.check.code) != codes else []),
        *([f"checks {seen.checks}"] if seen.checks != project.expected else []),
        *(f"{name} is not named" for name in project.left_out if f"{name} is left out" not in seen.init.err),
    ]
    return [f"{project.name}: {complaint}\n{told}" for complaint in found]


def test_a_project_that_needs_postgresql_is_verified_once_it_may_reach_it(
    tmp_path: Path, show_table: Callable[[str], None]
) -> None:
    needs("bwrap")
    root = real.new_repository(tmp_path / "pg8000")
    real.unpack("pg8000-1.31.2.tar.gz", root)
    kept = {"__init__.py", "conftest.py", "test_copy.py", "test_prepared_statement.py"}
    # The whole suite takes minutes; the selected part also needs the server.
    real.remove(*(root / "test" / name for name in ("dbapi", "legacy", "test_readme.py")))
    real.remove(*(path for path in (root / "test" / "native").iterdir() if path.name not in kept))
    real.install_python(
        root,
        "scramp-1.4.5-py3-none-any.whl",
        "asn1crypto-1.5.1-py2.py3-none-any.whl",
        "python_dateutil-2.9.0.post0-py2.py3-none-any.whl",
        "six-1.16.0-py2.py3-none-any.whl",
        editable="src",
    )
    real.describe(root, "pg8000-1.31.2")
    real.ignoring(root, ".venv/")
    real.committed(root)
    with postgres.running() as port:
        env = {"PGPORT": str(port), "PGHOST": "localhost", "PGPASSWORD": "unasked"}
        before = donewhen("init", cwd=root, env=env)
        assert before.code == 0 and "names PostgreSQL" in before.err and "reach" in before.err
        assert "tests is not green" in before.err and "reach" not in (root / "donewhen.toml").read_text()
        write(root, {"donewhen.toml": reaching((root / "donewhen.toml").read_text(), port, list(env))})
        assert donewhen("check", cwd=root, env=env).code == 3, "a door to the host needs trust"
        assert donewhen("trust", cwd=root).code == 0
        after = donewhen("check", cwd=root, env=env)
    assert after.code == 0, after.out + after.err
    shown = Seen(Project("pg8000", "Python, PostgreSQL", root, ()), before, after)
    show_table("\n".join(["donewhen init && donewhen check, with a server to reach", shown.row]))
    assert git(root, "status", "--short") == "?? donewhen.toml"


def reaching(text: str, port: int, names: list[str]) -> str:
    return text.replace("[workspace]\n", f'[workspace]\nreach = ["localhost:{port}"]\nenv = {names}\n', 1)
