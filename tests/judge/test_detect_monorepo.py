"""Repositories of several packages, shared environments, and services."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from donewhen.judge.detect import Proposal, propose
from repositories import write

SOME_TEST = "def test_it():\n    assert True\n"
SET_UP = "[tool.pytest.ini_options]\n"


def all_programs(name: str) -> bool:
    return bool(name)


def package(**keys: object) -> str:
    return json.dumps(keys, indent=2)


def proposed(root: Path, files: Mapping[str, str]) -> Proposal:
    write(root, files)
    return propose(root, all_programs)


def with_directories(proposal: Proposal) -> list[tuple[str, str, str]]:
    return [(one.check.name, one.check.dir, one.check.command) for one in proposal.checks]


def test_each_package_of_a_mixed_repository_gets_its_own_check(tmp_path: Path) -> None:
    found = proposed(
        tmp_path,
        {
            "backend/pyproject.toml": SET_UP,
            "backend/tests/test_a.py": SOME_TEST,
            "frontend/package.json": package(scripts={"test": "vitest run"}),
            "service/go.mod": "module m\n",
            "service/a_test.go": "",
        },
    )
    assert with_directories(found) == [
        ("tests-backend", "backend", "python3 -m pytest -q"),
        ("tests-frontend", "frontend", "npm test"),
        ("tests-service", "service", "go test ./..."),
    ]


def test_a_root_script_that_runs_all_workspaces_is_one_check(tmp_path: Path) -> None:
    member = package(scripts={"test": "jest"})
    root = package(workspaces=["packages/*"], scripts={"test": "npm test --workspaces"})
    found = proposed(
        tmp_path, {"package.json": root, "packages/a/package.json": member, "packages/b/package.json": member}
    )
    assert with_directories(found) == [("tests", ".", "npm test")]


@pytest.mark.parametrize(
    "root",
    [
        {"package.json": package(workspaces=["packages/*"])},
        {"package.json": package(), "pnpm-workspace.yaml": "packages:\n  - 'packages/*'\n"},
    ],
    ids=["npm", "pnpm"],
)
def test_workspaces_without_a_root_script_get_their_own_checks(tmp_path: Path, root: dict[str, str]) -> None:
    found = proposed(tmp_path, {**root, "packages/a/package.json": package(scripts={"test": "jest"})})
    assert [(name, where) for name, where, _ in with_directories(found)] == [("tests-packages-a", "packages/a")]


def test_members_of_a_uv_workspace_use_the_environment_of_the_root(tmp_path: Path) -> None:
    found = proposed(
        tmp_path,
        {
            ".gitignore": ".venv\n",
            ".venv/bin/python": "",
            "uv.lock": "",
            "pyproject.toml": '[tool.uv.workspace]\nmembers = ["packages/*"]\n',
            "packages/a/pyproject.toml": SET_UP,
            "packages/a/test_a.py": SOME_TEST,
        },
    )
    assert with_directories(found) == [("tests-packages-a", "packages/a", "uv run --no-sync pytest -q")]
    assert found.workspace == {"share": (".venv",)}


def test_a_member_without_its_own_environment_uses_the_root_s_by_path(tmp_path: Path) -> None:
    files = {".gitignore": ".venv/\n", ".venv/bin/python": "", "sub/setup.py": "", "sub/test_a.py": SOME_TEST}
    assert with_directories(proposed(tmp_path, files)) == [("tests-sub", "sub", "../.venv/bin/python -m pytest -q")]


def test_packages_covered_by_the_root_s_testpaths_are_not_tested_twice(tmp_path: Path) -> None:
    found = proposed(
        tmp_path,
        {
            "pyproject.toml": SET_UP + 'testpaths = ["packages/*/tests"]\n',
            "tests/test_root.py": SOME_TEST,
            "packages/a/pyproject.toml": SET_UP,
            "packages/a/tests/test_a.py": SOME_TEST,
        },
    )
    assert with_directories(found) == [("tests", ".", "python3 -m pytest -q")]


def test_modules_of_a_go_workspace_get_their_own_checks(tmp_path: Path) -> None:
    files = {"go.work": "use ./a\nuse ./b\n", "a/go.mod": "module a\n", "a/a_test.go": "", "b/go.mod": "module b\n"}
    assert with_directories(proposed(tmp_path, files)) == [("tests-a", "a", "go test ./...")]


def test_modules_of_a_maven_build_belong_to_its_root(tmp_path: Path) -> None:
    files = {"pom.xml": "<module>a</module>", "a/pom.xml": "", "a/src/test/java/ATest.java": ""}
    assert with_directories(proposed(tmp_path, files)) == [("tests", ".", "mvn -o -B -q test")]


@pytest.mark.parametrize(
    "place", ["examples/one", "tests/fixtures/project", "docs", "node_modules/dep", "third_party/x"]
)
def test_manifests_in_fixtures_are_not_packages(tmp_path: Path, place: str) -> None:
    assert proposed(tmp_path, {f"{place}/package.json": package(scripts={"test": "jest"})}).checks == ()


def test_odd_directory_names_give_valid_check_names_and_quoted_commands(tmp_path: Path) -> None:
    found = proposed(tmp_path, {"my café (2)/setup.py": "", "my café (2)/test_a.py": SOME_TEST, ".venv/bin/python": ""})
    assert with_directories(found) == [("tests-my-caf-2", "my café (2)", "../.venv/bin/python -m pytest -q")]


# -- shared paths --


@pytest.mark.parametrize(
    ("rule", "shared"),
    [
        ("node_modules/", True),
        ("/node_modules", True),
        ("**/node_modules", True),
        ("node_*", True),
        ("# node_modules", False),
        ("other/", False),
        ("node_modules\n!node_modules", False),
    ],
)
def test_only_paths_ignored_by_git_are_shared(tmp_path: Path, rule: str, shared: bool) -> None:
    files = {".gitignore": rule + "\n", "node_modules/a.js": "", "package.json": package(scripts={"test": "jest"})}
    assert proposed(tmp_path, files).workspace == ({"share": ("node_modules",)} if shared else {})


def test_an_environment_that_ignores_itself_is_shared(tmp_path: Path) -> None:
    files = {".venv/.gitignore": "*\n", ".venv/bin/python": "", "test_a.py": SOME_TEST}
    assert proposed(tmp_path, files).workspace == {"share": (".venv",)}


def test_the_environment_of_a_package_is_shared_at_its_own_path(tmp_path: Path) -> None:
    files = {
        ".gitignore": "node_modules\n",
        "web/node_modules/a.js": "",
        "web/package.json": package(scripts={"test": "jest"}),
    }
    assert proposed(tmp_path, files).workspace == {"share": ("web/node_modules",)}


# -- services --


@pytest.mark.parametrize(
    ("files", "wider"),
    [
        ({"docker-compose.yml": "services:\n  db:\n    image: postgres:16\n"}, {"reach": ("localhost:5432",)}),
        ({"compose.yaml": "services:\n  c:\n    image: docker.io/library/redis\n"}, {"reach": ("localhost:6379",)}),
        (
            {".env.example": "DATABASE_URL=postgresql://u:p@localhost/db\n"},
            {"reach": ("localhost:5432",), "env": ("DATABASE_URL",)},
        ),
        (
            {
                ".github/workflows/a.yml": "services:\n  db:\n    image: 'postgres'\n",
                ".env.example": "PG='postgres://x'\n",
            },
            {"reach": ("localhost:5432",), "env": ("PG",)},
        ),
        ({"docker-compose.yml": "services:\n  web:\n    image: nginx\n"}, {}),
    ],
)
def test_services_are_reported_with_the_lines_to_add_and_never_opened(
    tmp_path: Path, files: dict[str, str], wider: dict[str, tuple[str, ...]]
) -> None:
    found = proposed(tmp_path, {**files, "test_a.py": SOME_TEST})
    assert found.wider == wider
    assert found.workspace == {}
    told = [hint for hint in found.hints if "[workspace]" in hint]
    assert all(value in " ".join(told) for values in wider.values() for value in values)
