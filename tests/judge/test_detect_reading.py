"""The inputs of detection: workflow files, targets, command lines, and any directory."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from donewhen.judge.contract import require_sound
from donewhen.judge.detect import propose
from donewhen.judge.detect.ci_commands import pipeline_commands, plain_commands, workflow_commands
from donewhen.judge.detect.recognise import recognise
from donewhen.judge.detect.survey import MOST_BYTES, survey
from donewhen.judge.detect.targets import JUSTFILES, MAKEFILES, targets
from donewhen.judge.protect.base_files import BaseFiles
from donewhen.judge.runners.script_text import text_of
from donewhen.workspace.beneath import Root
from repositories import write
from tiers import examples

WORKFLOW = """
on: push
jobs:
  test:
    defaults: {}
    steps:
      - uses: actions/checkout@v4
      - name: plain
        run: make test
      - run: "npm test"
      - name: several lines
        working-directory: ./web
        run: |
          npm ci
          # a comment
          npm run lint && \\
            npm run unit
      - run: >-
          cargo test
        working-directory: crates/
      - run: go test ./...   # all of it
"""


def all_programs(name: str) -> bool:
    return bool(name)


def test_run_lines_of_a_workflow_are_read_with_their_line_and_directory() -> None:
    assert list(workflow_commands(WORKFLOW)) == [
        (9, "make test", "."),
        (10, "npm test", "."),
        (14, "npm ci", "web"),
        (16, "npm run lint &&  npm run unit", "web"),
        (19, "cargo test", "crates"),
        (21, "go test ./...", "."),
    ]


def test_scripts_of_a_pipeline_are_read_with_their_line() -> None:
    unit = "unit:\n  script:\n    - pip install .\n    - 'pytest -q'\n  tags: [x]\n"
    text = f"stages: [a]\n{unit}lint:\n  script: ruff check\n"
    assert [(line, command) for line, command, _ in pipeline_commands(text)] == [
        (4, "pip install ."),
        (5, "pytest -q"),
        (8, "ruff check"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "pytest ${{ matrix.args }}", "pytest $ARGS", "pytest | tee log", "pytest > log", "pytest `x`", "cd sub", "",
        "pytest $(ls)", "pytest 'unclosed", "pytest &", "pytest tests/*.py",
    ],
)  # fmt: skip
def test_a_ci_command_that_depends_on_its_context_is_not_used(text: str) -> None:
    assert list(plain_commands(text)) == []


def test_quoted_words_of_a_plain_command_stay_together() -> None:
    assert list(plain_commands("pytest -k 'not slow' && ruff check .")) == [
        ("pytest", "-k", "not slow"),
        ("ruff", "check", "."),
    ]


@pytest.mark.parametrize(
    ("command", "runner", "arguments"),
    [
        ("pytest -q tests", "pytest", ["-q", "tests"]),
        ("python3.12 -m pytest", "pytest", []),
        ("CI=1 uv run --extra dev pytest -x", "pytest", ["-x"]),
        ("uv run --no-sync python -m unittest discover", "unittest", ["discover"]),
        ("poetry run coverage run -m pytest", "pytest", []),
        (".venv/bin/pytest", "pytest", []),
        ("npx --no-install vitest run", "vitest", ["run"]),
        ("c8 --100 node --test", "node:test", []),
        ("cargo test --workspace", "cargo-test", ["--workspace"]),
        ("cargo t", "cargo-test", []),
        ("nyc _mocha", "mocha", []),
        ("npx react-scripts test", "jest", []),
        ("./mvnw -B verify", "maven", ["-B"]),
        ("bundle exec rspec", "rspec", []),
        ("go test ./...", "go", ["./..."]),
    ],
)
def test_the_tool_behind_a_command_is_recognised(command: str, runner: str, arguments: list[str]) -> None:
    tool = recognise(command.split())
    assert tool is not None and (tool.runner, list(tool.arguments)) == (runner, arguments)


@pytest.mark.parametrize(
    "command",
    ["echo pytest", "pip install pytest", "cargo fetch", "react-scripts build", "npm test", "uv run", "env", ""],
)
def test_an_unknown_tool_is_not_guessed(command: str) -> None:
    assert recognise(command.split()) is None


@pytest.mark.parametrize("name", [*MAKEFILES, *JUSTFILES])
def test_make_targets_are_read_with_prerequisites_and_recipe(tmp_path: Path, name: str) -> None:
    write(tmp_path, {name: "VALUE := a:b\n\ntest: build\n\t@pytest -q\n\t-echo done\n\nbuild:\n\tmake it\n"})
    found = targets(survey(tmp_path), ".")
    assert set(found) == {"test", "build"}
    assert (found["test"].line, found["test"].needs) == (3, ("build",))
    assert found["test"].recipe == ((4, "pytest -q"), (5, "echo done"))


@pytest.mark.parametrize(
    ("makefile", "is_a_check"),
    [
        ("test:\n\tpytest\n", False),
        ("test: unit\nunit:\n\tpytest\n", False),
        ("test:\n\t$(MAKE) unit\nunit:\n\tpytest\n", False),
        ("test: test\n", False),
        ("test:\n\t$(PYTHON) -m pytest\n", True),
        ("test: prog\n\t./prog\nprog:\n\tcc prog.c\n", True),
        ("tests-of-something:\n\t./prog\n", False),
    ],
)
def test_only_a_target_with_unrecognised_commands_becomes_a_check(
    tmp_path: Path, makefile: str, is_a_check: bool
) -> None:
    write(tmp_path, {"Makefile": makefile})
    assert bool(propose(tmp_path, all_programs).checks) is is_a_check


# -- any directory --


def test_directories_generated_by_tools_are_listed_but_not_entered(tmp_path: Path) -> None:
    names = ["node_modules", ".venv", "target", "vendor", ".tox", "__pycache__"]
    write(tmp_path, {f"{name}/inner/file": "" for name in names})
    write(tmp_path, {"python-here/pyvenv.cfg": "", "python-here/lib/file": "", "src/file": ""})
    seen = survey(tmp_path)
    assert set(seen.files) == {".", "src"}
    assert seen.not_entered == {*names, "python-here"}


def test_a_huge_repository_is_surveyed_from_the_top_up_to_a_limit(tmp_path: Path) -> None:
    for number in range(15):
        write(tmp_path, {f"d{number:02}/deep/f{inner}": "" for inner in range(20)})
    write(tmp_path, {"z/package.json": "{}"})
    seen = survey(tmp_path, most_entries=200)
    assert not seen.complete and seen.has("z/package.json")
    assert sum(len(names) for names in seen.files.values()) <= 200 + 20
    assert survey(tmp_path).complete


def test_outward_links_pipes_and_huge_files_are_not_read(tmp_path: Path) -> None:
    root = tmp_path / "root"
    outside = '{"scripts": {"test": "jest"}}'
    write(tmp_path, {"package.json": outside, "elsewhere/package.json": outside, "root/inside.json": outside})
    (root / "package.json").symlink_to("../package.json")
    (root / "linked").symlink_to("../elsewhere")
    (root / "loop").symlink_to(".")
    os.mkfifo(root / "Makefile")
    (root / "pyproject.toml").write_bytes(b"#" * (MOST_BYTES + 1))
    (root / "ok").mkdir()
    (root / "ok" / "package.json").symlink_to("../inside.json")
    assert [one.check.dir for one in propose(root, all_programs).checks] == ["ok"]


def test_names_that_are_not_valid_text_are_skipped(tmp_path: Path) -> None:
    write(tmp_path, {b"broken \xff/package.json": b'{"scripts": {"test": "jest"}}', b"two\nlines/setup.py": b"x"})
    assert propose(tmp_path, all_programs).checks == ()


def test_a_directory_that_cannot_be_listed_counts_as_empty(tmp_path: Path) -> None:
    assert survey(tmp_path / "missing").files == {".": ()}


def test_extremely_nested_json_and_toml_are_reported_as_invalid(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "package.json": "[" * 100_000,
            "pyproject.toml": "a = " + "[" * 100_000,
            "Cargo.toml": "[a]\nb.c = 1\nb.c = 2\n",
        },
    )
    assert len(propose(tmp_path, all_programs).hints) == 3


MANIFESTS = [
    "pyproject.toml", "setup.cfg", "tox.ini", "noxfile.py", "package.json", "Cargo.toml", "go.mod", "pom.xml",
    "Makefile", "justfile", ".github/workflows/ci.yml", ".gitlab-ci.yml", "docker-compose.yml", ".env.example",
    ".gitignore", "pnpm-workspace.yaml", "tsconfig.json", "test_a.py", "mypy.ini", "composer.json", "Rakefile",
]  # fmt: skip
FRAGMENTS = [
    "[tool.pytest.ini_options]\n", "testpaths = 3\n", "[tool]\npytest = 1\n", '{"scripts": ["test"]}',
    '{"scripts": {"test": 1}}', '{"scripts": {"test": "npm run test"}}', '{"workspaces": {"packages": 4}}',
    "[workspace]\nmembers = 1\n", "run: |\n", "- run:\n", "script:\n  - \n", "test: test\n\tpytest\n",
    "commands = pytest\n", "[testenv]\n", "image: postgres\n", "A=postgres://\n", "packages:\n", "- run: pytest \0\n",
    "[dependencies]\na = 1\n", "\x00", "\r\n", "\t", "'", '"', "{", "}", "[", "%(x)s\n", "[mypy]\nfiles = %\n", "é",
]  # fmt: skip


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(
        st.sampled_from(MANIFESTS), st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=8), max_size=6), max_size=6
    )
)
def test_any_files_give_a_valid_proposed_contract(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, list[str]]
) -> None:
    root = tmp_path_factory.mktemp("any")
    write(root, {name: "".join(parts).encode("utf-8", "replace") for name, parts in files.items()})
    found = propose(root, all_programs)
    require_sound([one.check for one in found.checks])
    assert all(one.why and "\n" not in one.check.command for one in found.checks)


@given(st.text(alphabet="run: |->\n\t 'x\"#script&;$", max_size=120))
def test_any_text_can_be_read_as_a_workflow(text: str) -> None:
    for line, command, directory in (*workflow_commands(text), *pipeline_commands(text)):
        assert line >= 1 and directory and "\n" not in command
        list(plain_commands(command))


def test_a_very_long_line_is_cut_for_patterns_and_complete_for_parsers(tmp_path: Path) -> None:
    long = "x" * 30_000
    (tmp_path / "Makefile").write_text(f"test:\n\tpytest {long}\nbuild:\n\tmake\n")
    (tmp_path / "package.json").write_text(json.dumps({"name": long}))
    seen = survey(tmp_path)
    assert [len(line) for line in seen.text("Makefile").splitlines()] == [5, 20_000, 6, 5]
    assert seen.json("package.json") == {"name": long}
    assert text_of(Root(tmp_path), "Makefile") == seen.text("Makefile") == BaseFiles(Root(tmp_path)).read("Makefile")
    assert BaseFiles(Root(tmp_path)).read("package.json") == json.dumps({"name": long})
