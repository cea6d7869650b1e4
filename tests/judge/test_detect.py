"""Proposals for a repository by its files: one table per ecosystem, then what must not be proposed."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from donewhen.judge.detect import Proposal, propose
from repositories import write

Propose = Callable[..., Proposal]
SOME_TEST = "def test_it():\n    assert True\n"
UNITTEST = "import unittest\n\n\nclass T(unittest.TestCase):\n    def test_it(self):\n        pass\n"
SET_UP = "[tool.pytest.ini_options]\n"


@pytest.fixture
def proposed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Propose:
    """Propose for these files; every program exists unless it is named as missing."""
    monkeypatch.setenv("CARGO_HOME", str(tmp_path / "no-cargo"))
    monkeypatch.setenv("GOPATH", str(tmp_path / "no-go"))

    def make(files: Mapping[str, str], missing: tuple[str, ...] = ()) -> Proposal:
        root = tmp_path / "repository"
        root.mkdir()
        write(root, files)
        return propose(root, lambda name: name not in missing)

    return make


def commands(proposal: Proposal) -> list[str]:
    return [f"{one.check.name}: {one.check.command}" for one in proposal.checks]


def package(scripts: Mapping[str, str], **more: object) -> str:
    return json.dumps({"name": "p", "scripts": scripts, **more}, indent=2)


VENV = {".gitignore": ".venv/\n", ".venv/pyvenv.cfg": "", ".venv/bin/python": ""}
PYTHON: dict[str, tuple[dict[str, str], list[str]]] = {
    "pytest by its settings": (
        {"pyproject.toml": SET_UP, "tests/test_a.py": SOME_TEST},
        ["tests: python3 -m pytest -q"],
    ),
    "pytest through the virtual environment": (
        {**VENV, "pyproject.toml": SET_UP, "tests/test_a.py": SOME_TEST},
        ["tests: .venv/bin/python -m pytest -q"],
    ),
    "pytest through uv": (
        {**VENV, "uv.lock": "", "pyproject.toml": SET_UP, "tests/test_a.py": SOME_TEST},
        ["tests: uv run --no-sync pytest -q"],
    ),
    "pytest through poetry": (
        {"poetry.lock": "", "pyproject.toml": SET_UP, "tests/test_a.py": SOME_TEST},
        ["tests: poetry run pytest -q"],
    ),
    "pytest through hatch": (
        {"pyproject.toml": "[tool.hatch.envs.default]\ndependencies = ['pytest']\n", "tests/test_a.py": SOME_TEST},
        ["tests: hatch run pytest -q"],
    ),
    "pytest as the workflow calls it": (
        {
            "pyproject.toml": SET_UP,
            "tests/unit/test_a.py": SOME_TEST,
            ".github/workflows/ci.yml": "jobs:\n  a:\n    steps:\n      - run: pytest -v --cov=p tests/unit\n",
        },
        ["tests: python3 -m pytest -q tests/unit"],
    ),
    "quick tests rather than long ones": (
        {
            "tests/unit/test_a.py": SOME_TEST,
            "tests/integration/test_b.py": SOME_TEST,
            ".gitlab-ci.yml": "a:\n  script:\n    - pytest tests/integration\n    - pytest tests/unit\n",
        },
        ["tests: python3 -m pytest -q tests/unit"],
    ),
    "pytest as tox would call it": (
        {"tox.ini": "[testenv]\ncommands =\n  pytest {posargs} -m quick\n", "test_a.py": SOME_TEST},
        ["tests: python3 -m pytest -q -m quick"],
    ),
    "pytest as nox would call it": (
        {"noxfile.py": "def t(session):\n    session.run('pytest', 'sub')\n", "sub/test_a.py": SOME_TEST},
        ["tests: python3 -m pytest -q sub"],
    ),
    "a make target that only calls pytest is no second check": (
        {"Makefile": "test:\n\tpytest tests\n", "setup.py": "", "tests/test_a.py": SOME_TEST},
        ["tests: python3 -m pytest -q tests"],
    ),
    "unittest in a package": (
        {"setup.py": "", "tests/__init__.py": "", "tests/test_a.py": UNITTEST},
        ["tests: python3 -m unittest discover"],
    ),
    "unittest in a plain directory": (
        {"setup.py": "", "tests/test_a.py": UNITTEST},
        ["tests: python3 -m unittest discover -s tests"],
    ),
    "unittest with names that it does not look for by itself": (
        {"setup.py": "", "p/tests/__init__.py": "", "p/tests/a_test.py": UNITTEST},
        ["tests: python3 -m unittest discover -p '*_test.py'"],
    ),
    "unittest as the workflow calls it": (
        {
            "setup.py": "",
            "tests/test_a.py": UNITTEST,
            ".github/workflows/ci.yml": "- run: |\n    pip install .\n    python -m unittest -v tests/test_a.py\n",
        },
        ["tests: python3 -m unittest -v tests/test_a.py"],
    ),
    "no manifest at all": ({"test_a.py": SOME_TEST}, ["tests: python3 -m pytest -q"]),
    "checkers that are set up": (
        {
            "pyproject.toml": SET_UP + "[tool.ruff]\n[tool.mypy]\nstrict = true\n[tool.pyright]\n",
            "src/p/__init__.py": "",
            "test_a.py": SOME_TEST,
        },
        [
            "tests: python3 -m pytest -q",
            "types-mypy: mypy src",
            "types-pyright: pyright",
            "lint: ruff check .",
        ],
    ),
    "a call that can never fail is no check": (
        {
            "setup.cfg": "[tool:pytest]\n[flake8]\n",
            "test_a.py": SOME_TEST,
            ".github/workflows/a.yml": "- run: flake8 . --exit-zero\n",
        },
        ["tests: python3 -m pytest -q", "lint: flake8"],
    ),
    "flake8 in setup.cfg": (
        {"setup.cfg": "[tool:pytest]\n[flake8]\n", "test_a.py": SOME_TEST},
        ["tests: python3 -m pytest -q", "lint: flake8"],
    ),
}

JAVASCRIPT: dict[str, tuple[dict[str, str], list[str]]] = {
    "npm": ({"package.json": package({"test": "vitest run"})}, ["tests: npm test"]),
    "pnpm by its lock": (
        {"package.json": package({"test": "jest"}), "pnpm-lock.yaml": ""},
        ["tests: pnpm test"],
    ),
    "yarn by packageManager": (
        {"package.json": package({"test": "mocha"}, packageManager="yarn@4.1.0")},
        ["tests: yarn test"],
    ),
    "bun": ({"package.json": package({"test": "bun test"}), "bun.lock": ""}, ["tests: bun run test"]),
    "a chain is taken apart": (
        {
            "package.json": package(
                {"test": "npm run lint && npm run unit && npm run types", "lint": "eslint .", "unit": "node --test",
                 "types": "tsd"}
            )
        },
        ["tests: npm run unit", "types: npm run types", "lint: npm run lint"],
    ),
    "scripts that change files are no checks": (
        {"package.json": package({"test": "jest", "lint": "eslint --fix .", "eslint": "eslint ."})},
        ["tests: npm test", "lint: npm run eslint"],
    ),
    "a runner without a script": (
        {"package.json": package({}, devDependencies={"vitest": "1"}), "src/a.test.ts": ""},
        ["tests: npx --no-install vitest run"],
    ),
    "a runner as a make target calls it": (
        {
            "package.json": package({}, devDependencies={"mocha": "*"}),
            "Makefile": "test:\n\t@./node_modules/.bin/mocha \\\n\t\t--require should \\\n\t\t--bail\n\n.PHONY: test",
            "test/index.js": "",
        },
        ["tests: npx --no-install mocha --require should --bail"],
    ),
    "node's own runner without a script": (
        {"package.json": package({}), "a.test.js": "import test from 'node:test'\n"},
        ["tests: node --test"],
    ),
    "types by tsconfig": (
        {
            "package.json": package({"test": "vitest run"}, devDependencies={"typescript": "5"}),
            "tsconfig.json": '{\n  // only types\n  "compilerOptions": {"noEmit": true}\n}\n',
        },
        ["tests: npm test", "types: npx --no-install tsc --noEmit"],
    ),
}  # fmt: skip

COMPILED: dict[str, tuple[dict[str, str], list[str]]] = {
    "cargo": (
        {"Cargo.toml": '[package]\nname = "p"\n', "src/lib.rs": "#[test]\nfn a() {}\n"},
        ["tests: cargo test --offline"],
    ),
    "a cargo workspace is one check": (
        {
            "Cargo.toml": '[workspace]\nmembers = ["crates/*"]\n',
            "crates/a/Cargo.toml": '[package]\nname = "a"\n',
            "crates/a/src/lib.rs": "#[test]\nfn a() {}\n",
            "crates/b/Cargo.toml": '[package]\nname = "b"\n[dependencies]\na = { path = "../a" }\n',
        },
        ["tests: cargo test --offline --workspace"],
    ),
    "cargo as the workflow calls it": (
        {
            "Cargo.toml": '[package]\nname = "p"\n',
            "src/lib.rs": "#[test]\nfn a() {}\n",
            ".github/workflows/ci.yml": "- run: cargo test --all-features\n- run: cargo fmt --all -- --check\n",
        },
        ["tests: cargo test --offline --all-features", "lint: cargo fmt --check"],
    ),
    "vendored crates": (
        {
            "Cargo.toml": '[package]\nname = "p"\n[dependencies]\nserde = "1"\n[lints.clippy]\nall = "warn"\n',
            ".cargo/config.toml": '[source.crates-io]\nreplace-with = "v"\n[source.v]\ndirectory = "vendor"\n',
            "vendor/serde/Cargo.toml": "",
            "src/lib.rs": "#[test]\nfn a() {}\n",
        },
        ["tests: cargo test --offline", "lint: cargo clippy --offline --all-targets -- -D warnings"],
    ),
    "go": ({"go.mod": "module m\n", "a_test.go": ""}, ["tests: go test ./..."]),
    "maven": ({"pom.xml": "", "src/test/java/ATest.java": ""}, ["tests: mvn -o -B -q test"]),
    "maven through its wrapper": (
        {"pom.xml": "", "mvnw": "", "src/test/java/ATest.java": ""},
        ["tests: ./mvnw -o -B -q test"],
    ),
    "gradle through its wrapper": (
        {"build.gradle.kts": "", "gradlew": "", "src/test/kotlin/ATest.kt": ""},
        ["tests: ./gradlew --offline --no-daemon test"],
    ),
    "dotnet": (
        {"All.sln": "", "T/T.csproj": '<PackageReference Include="Microsoft.NET.Test.Sdk" />'},
        ["tests: dotnet test --no-restore"],
    ),
}

OTHERS: dict[str, tuple[dict[str, str], list[str]]] = {
    "phpunit from vendor": (
        {"composer.json": "{}", "phpunit.xml.dist": "", "vendor/bin/phpunit": ""},
        ["tests: vendor/bin/phpunit"],
    ),
    "rspec": ({".rspec": "", "spec/a_spec.rb": ""}, ["tests: rspec"]),
    "rspec through bundler": (
        {"Gemfile": "", "Gemfile.lock": "", "spec/a_spec.rb": ""},
        ["tests: bundle exec rspec"],
    ),
    "rake": ({"Rakefile": "Rake::TestTask.new\n", "test/a_test.rb": ""}, ["tests: rake test"]),
    "mix": ({"mix.exs": "", "test/a_test.exs": ""}, ["tests: mix test"]),
    "make": (
        {"Makefile": "all: x\nx:\n\tcc a.c\ntest: x\n\t./x --self-test\nlint:\n\tcppcheck .\n"},
        ["tests: make test", "lint: make lint"],
    ),
    "just": ({"justfile": "test:\n  ./check.sh\n"}, ["tests: just test"]),
    "a script that only the workflow knows": (
        {"run-tests.sh": "", ".github/workflows/a.yml": "steps:\n  - run: ./run-tests.sh --all\n"},
        ["tests: ./run-tests.sh --all"],
    ),
}


@pytest.mark.parametrize("name", PYTHON)
def test_python_projects_get_the_check_that_fits_them(proposed: Propose, name: str) -> None:
    files, expected = PYTHON[name]
    assert commands(proposed(files)) == expected


@pytest.mark.parametrize("name", JAVASCRIPT)
def test_javascript_projects_get_the_check_that_fits_them(proposed: Propose, name: str) -> None:
    files, expected = JAVASCRIPT[name]
    assert commands(proposed(files)) == expected


@pytest.mark.parametrize("name", COMPILED)
def test_compiled_projects_get_the_check_that_fits_them(proposed: Propose, name: str) -> None:
    files, expected = COMPILED[name]
    assert commands(proposed(files)) == expected


@pytest.mark.parametrize("name", OTHERS)
def test_other_projects_get_the_check_that_fits_them(proposed: Propose, name: str) -> None:
    files, expected = OTHERS[name]
    assert commands(proposed(files)) == expected


@pytest.mark.parametrize("name", PYTHON)
def test_every_proposed_check_has_a_reason_and_names_an_existing_file(proposed: Propose, name: str) -> None:
    files, _ = PYTHON[name]
    for one in proposed(files).checks:
        assert any(path in one.why for path in files), one.why


# -- not proposed --


def test_nothing_is_proposed_for_an_empty_repository(proposed: Propose) -> None:
    assert proposed({"README.md": "hello\n"}) == Proposal((), {}, (), ())


def test_the_npm_placeholder_script_is_not_a_test(proposed: Propose) -> None:
    found = proposed(
        {"package.json": package({"test": 'echo "Error: no test specified" && exit 1', "build": "tsc -b"})}
    )
    assert found.checks == ()
    assert len(found.offers) == 1 and 'command = "npm run build"' in found.offers[0]


def test_without_tests_the_build_and_the_linter_are_offered_and_not_proposed(proposed: Propose) -> None:
    found = proposed({"Cargo.toml": '[package]\nname = "p"\n', "src/main.rs": "fn main() {}\n", "clippy.toml": ""})
    assert found.checks == () and found.workspace == {}
    assert [offer.splitlines()[3] for offer in found.offers] == [
        'command = "cargo clippy --offline --all-targets -- -D warnings"',
        'command = "cargo check --offline"',
    ]


def test_pytest_settings_without_tests_are_reported_and_give_no_check(proposed: Propose) -> None:
    found = proposed({"pyproject.toml": SET_UP, "src/p.py": ""})
    assert found.checks == ()
    assert "no test file" in found.hints[0]


def test_a_configured_tool_that_is_not_installed_is_reported(proposed: Propose) -> None:
    found = proposed({"pyproject.toml": SET_UP + "[tool.ruff]\n", "test_a.py": SOME_TEST}, missing=("ruff",))
    assert commands(found) == ["tests: python3 -m pytest -q"]
    assert any("ruff is set up in pyproject.toml:2, but ruff is not installed here" in hint for hint in found.hints)


def test_crates_that_are_not_downloaded_are_reported_and_nothing_is_proposed(proposed: Propose) -> None:
    manifest = '[package]\nname = "p"\n[dependencies]\nserde = "1"\n'
    found = proposed({"Cargo.toml": manifest, "src/lib.rs": "#[test]\nfn a() {}\n"})
    assert found.checks == () and "cargo fetch" in found.hints[0]


def test_downloaded_crates_are_enough_for_a_proposal(
    proposed: Propose, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cargo" / "registry" / "cache").mkdir(parents=True)
    monkeypatch.setenv("CARGO_HOME", str(tmp_path / "cargo"))
    manifest = '[package]\nname = "p"\n[dependencies]\nserde = "1"\n'
    found = proposed({"Cargo.toml": manifest, "src/lib.rs": "#[test]\nfn a() {}\n"})
    assert commands(found) == ["tests: cargo test --offline"]


def test_a_missing_package_manager_is_replaced_by_npm(proposed: Propose) -> None:
    found = proposed({"package.json": package({"test": "jest"}), "pnpm-lock.yaml": ""}, missing=("pnpm",))
    assert commands(found) == ["tests: npm test"]


def test_a_make_target_with_a_more_direct_alternative_is_left_out(proposed: Propose) -> None:
    found = proposed({"Makefile": "test:\n\t./all.sh\n", "pyproject.toml": SET_UP, "test_a.py": SOME_TEST})
    assert commands(found) == ["tests: python3 -m pytest -q"]


@pytest.mark.parametrize("name", ["package.json", "pyproject.toml", "Cargo.toml"])
def test_an_invalid_manifest_is_reported_and_the_rest_works(proposed: Propose, name: str) -> None:
    found = proposed({name: "{ this is [ no manifest", "spec/a_spec.rb": "", ".rspec": ""})
    assert commands(found) == ["tests: rspec"]
    assert any(hint.startswith(name) for hint in found.hints)


# -- tests anywhere, and checks that may not fit --

ANYWHERE = {
    "beside the sources": {"pkg/sub/deep/numbers_test.py": SOME_TEST, "pkg/sub/deep/numbers.py": ""},
    "in testing": {"testing/test_a.py": SOME_TEST},
    "in a nested package": {"a/b/__init__.py": "", "a/b/tests/test_a.py": SOME_TEST},
    "with mocks of unittest": {"src/p/test_a.py": f"from unittest import mock\n\n\n{SOME_TEST}"},
}


@pytest.mark.parametrize("place", ANYWHERE)
def test_pytest_modules_are_found_anywhere(proposed: Propose, place: str) -> None:
    assert commands(proposed(ANYWHERE[place])) == ["tests: python3 -m pytest -q"]


def test_tests_outside_of_packages_are_run_apart_from_the_packages(proposed: Propose) -> None:
    found = proposed({"app/setup.py": "", "app/test_a.py": SOME_TEST, "testing/test_b.py": SOME_TEST})
    assert commands(found) == ["tests: python3 -m pytest -q testing", "tests-app: python3 -m pytest -q"]


def test_examples_alone_are_not_the_tests_of_a_project(proposed: Propose) -> None:
    assert commands(proposed({"examples/x/test_c.py": SOME_TEST})) == []


def test_another_command_is_known_if_the_first_cannot_start(proposed: Propose) -> None:
    found = proposed(
        {"pyproject.toml": SET_UP, "poetry.lock": "", "tests/test_a.py": UNITTEST, "Makefile": "test:\n\t./x\n"}
    )
    assert commands(found) == ["tests: poetry run pytest -q"]
    assert found.checks[0].otherwise == (
        "python -m pytest -q", "poetry run python -m unittest discover -s tests", "make test",
    )  # fmt: skip


RULES = {
    "[tool.ruff]\nline-length = 100\n": {"lint": True},
    "[tool.ruff]\nselect = ['E']\n": {"lint": False},
    "[tool.ruff.lint]\nselect = ['E']\n": {"lint": False},
    "[tool.mypy]\nstrict = true\n": {"types": True},
    "[tool.mypy]\nfiles = ['p']\n": {"types": False},
    "[tool.pyright]\n": {"types": True},
    "[tool.pyright]\ninclude = ['p']\n": {"types": False},
}


@pytest.mark.parametrize("settings", RULES)
def test_a_checker_without_stated_rules_is_proposed_only_if_it_is_clean(proposed: Propose, settings: str) -> None:
    found = proposed({"pyproject.toml": SET_UP + settings, "test_a.py": SOME_TEST})
    assert {one.check.name: one.only_if_clean for one in found.checks if one.kind != "tests"} == RULES[settings]


def test_a_checker_that_the_project_calls_is_proposed_even_if_it_is_red(proposed: Propose) -> None:
    workflow = {".github/workflows/a.yml": "- run: ruff check .\n"}
    found = proposed({"pyproject.toml": SET_UP + "[tool.ruff]\n", "test_a.py": SOME_TEST, **workflow})
    assert [one.only_if_clean for one in found.checks] == [False, False]
