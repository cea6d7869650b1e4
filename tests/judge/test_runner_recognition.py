"""Which runner a command calls, through wrappers, package managers, makefiles and scripts of the base."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from donewhen.judge.runners import instrument_command
from donewhen.judge.runners.split_command import split
from donewhen.workspace.beneath import Root
from repositories import write
from tiers import examples

FILES = {
    "package.json": json.dumps(
        {
            "scripts": {
                "test": "npm run unit",
                "unit": "cross-env CI=1 jest --ci",
                "both": "eslint . && vitest run",
                "native": "node --test",
                "round": "npm run round; npm run round",
            }
        }
    ),
    "composer.json": json.dumps({"scripts": {"test": ["phpunit --testdox"]}}),
    "Makefile": (
        "PY = python3\n.PHONY: test\nall: test\n\ntest: unit\n\tcargo test\n\n"
        "unit:\n\t@go test ./...\n\nlint:\n\truff .\n"
    ),
    "sub/Makefile": "check:\n\tbundle exec rspec\n",
    "justfile": "default: test\n\ntest *args:\n    uv run pytest {{args}}\n",
    "tox.ini": "[testenv]\ncommands = pytest {posargs}\n",
    "scripts/test.sh": "#!/bin/sh\nset -e\nmocha\n",
    "manage.py": "",
    "tests/test_a.py": "import unittest\nunittest.main()\n",
    "loose.js": "import test from 'node:test';\n",
}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("base")
    write(root, FILES)
    return root


@pytest.mark.parametrize(
    ("command", "runners"),
    [
        ("pytest -q", ["pytest"]),
        ("python3.12 -m pytest tests", ["pytest"]),
        ("uv run --frozen pytest", ["pytest"]),
        ("uv run --with x -- python -m pytest", ["pytest"]),
        ("poetry run pytest && npx jest", ["pytest", "jest"]),
        ("PYTHONPATH=src timeout 60 .venv/bin/pytest", ["pytest"]),
        ("coverage run -m pytest", ["pytest"]),
        ("python -m unittest discover -s tests", ["unittest"]),
        ("python manage.py test", ["unittest"]),
        ("python tests/test_a.py", ["unittest"]),
        ("tox -e py311", ["pytest"]),
        ("npm test", ["jest"]),
        ("yarn unit", ["jest"]),
        ("pnpm run both", ["vitest"]),
        ("pnpm vitest run", ["vitest"]),
        ("npm exec -- vitest run", ["vitest"]),
        ("npx --yes mocha", ["mocha"]),
        ("npx react-scripts test --watchAll=false", ["jest"]),
        ("npx react-scripts build", []),
        ("c8 mocha | tee log", ["mocha"]),
        ("npm run native", ["node:test"]),
        ("node --test a.test.js", ["node:test"]),
        ("node loose.js", ["node:test"]),
        ("node --experimental-vm-modules node_modules/jest/bin/jest.js", ["jest"]),
        ("make", ["go", "cargo"]),
        ("make -j2 test V=1", ["go", "cargo"]),
        ("make -C sub check", ["rspec"]),
        ("cd sub && make check", ["rspec"]),
        ("make lint", []),
        ("just test", ["pytest"]),
        ("./scripts/test.sh", ["mocha"]),
        ("sh scripts/test.sh", ["mocha"]),
        ("cargo +stable test --all", ["cargo"]),
        ("cargo build", []),
        ("go vet ./...", []),
        ("bundle exec rspec", ["rspec"]),
        ("vendor/bin/phpunit", ["phpunit"]),
        ("php vendor/bin/phpunit", ["phpunit"]),
        ("composer test", ["phpunit"]),
        ("./mvnw -B verify", ["maven"]),
        ("./gradlew test", ["gradle"]),
        ("dotnet test", ["dotnet"]),
        ("npm run round", []),
        ("npm test -w web", []),
        (f"{'env ' * 3000} pytest", []),
        (f"{'env ' * 30} pytest", ["pytest"]),
        ("echo pytest", []),
        ("cat <<E\nx\nE", []),
        ("echo 'unclosed", []),
    ],
)
def test_a_runner_is_recognised_in_the_words_of_a_command(base: Path, command: str, runners: list[str]) -> None:
    assert list(instrument_command(command, Root(base), "/side").expected) == runners


@pytest.mark.parametrize(
    "command",
    [
        "a | b",
        "a; b",
        "a && b",
        "a > f",
        "a 2>&1",
        "a $(b)",
        "a `b`",
        "a &",
        "(a)",
        "a # b",
        "a\nb",
        "a \\",
        "a <<E\nE",
    ],
)
def test_only_one_plain_command_is_simple(command: str) -> None:
    assert not split(command).is_simple


@pytest.mark.parametrize("command", ["a", "A=1 a b", "a 'b; c'", 'a "b | c"', "a $HOME/*.py", " a \\\n b "])
def test_quotes_and_variables_leave_a_command_simple(command: str) -> None:
    assert split(command).is_simple


@settings(max_examples=examples(200))
@given(st.text(alphabet="ab -='\"\\$`|&;<>()#\n\0é", max_size=40) | st.sampled_from(sorted(FILES.values())))
def test_any_command_gets_an_answer(text: str) -> None:
    instrumented = instrument_command(text, Root(Path("/nowhere")), "/side")
    assert instrumented.command == text or instrumented.expected
