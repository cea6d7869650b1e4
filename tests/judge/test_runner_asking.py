"""How runners are instrumented, and when they are not, because it would break something of the person's."""

from pathlib import Path

import pytest

from donewhen.judge.runners import instrument_command
from donewhen.workspace.beneath import Root
from repositories import write


def instrumented_text(base: Path, command: str) -> str:
    return instrument_command(command, Root(base), "/side").command


@pytest.fixture
def base(tmp_path: Path) -> Path:
    write(tmp_path, {"package.json": '{"scripts": {"test": "jest", "both": "tsc && jest", "deep": "npm test"}}'})
    return tmp_path


@pytest.mark.parametrize("command", ["pytest -q", "make test", "tox", "sh -c 'anything'"])
def test_pytest_gets_its_report_option_by_a_variable_for_any_command(base: Path, command: str) -> None:
    found = instrument_command(command, Root(base), "/a side")
    assert found.command == command
    assert found.variables["PYTEST_ADDOPTS"] == "'--junitxml=/a side/pytest.xml'"


@pytest.mark.parametrize("files", [{"pytest.ini": "[pytest]\naddopts = -p no:junitxml\n"}, {}])
def test_pytest_without_its_report_plugin_is_not_instrumented(base: Path, files: dict[str, str]) -> None:
    write(base, files)
    command = "pytest" if files else "pytest -p no:junitxml"
    assert "PYTEST_ADDOPTS" not in instrument_command(command, Root(base), "/side").variables


@pytest.mark.parametrize(
    ("command", "added"),
    [
        ("npx jest src", " --json --outputFile=/side/jest.json"),
        ("npm test", " -- --json --outputFile=/side/jest.json"),
        ("npm test -- src", " --json --outputFile=/side/jest.json"),
        ("npm run deep", " -- -- --json --outputFile=/side/jest.json"),
        ("pnpm test", " --json --outputFile=/side/jest.json"),
        ("yarn test", " --json --outputFile=/side/jest.json"),
        ("vitest run", " --reporter=default --reporter=json --outputFile.json=/side/vitest.json"),
        ("vitest run --reporter=dot", " --reporter=json --outputFile.json=/side/vitest.json"),
        ("vendor/bin/phpunit tests", " --log-junit /side/phpunit.xml"),
        ("dotnet test", " --logger 'trx;LogFilePrefix=dotnet' --results-directory /side"),
    ],
)
def test_arguments_are_added_to_a_simple_command(base: Path, command: str, added: str) -> None:
    assert instrumented_text(base, command) == command + added


@pytest.mark.parametrize(
    "command",
    [
        *("npx jest | tee log", "npx jest; true", "npx jest && echo ok", "npx jest > log", "npx jest $(ls)", "jest #"),
        *(
            "npm run both",
            "pnpm test -- src",
            "yarn test -- src",
            "jest -- src",
            "jest --json",
            "mocha",
            "cargo test",
            "python -m unittest",
            "make test",
        ),
        *("phpunit --log-junit x.xml", "vitest run --outputFile=x", "dotnet test --results-directory x", "npm ci"),
    ],
)
def test_any_other_command_is_not_changed(base: Path, command: str) -> None:
    assert instrumented_text(base, command) == command


def test_reporters_in_the_settings_of_a_person_are_not_replaced(base: Path) -> None:
    write(base, {"vitest.config.ts": "export default { test: { reporters: ['verbose'] } }"})
    assert instrumented_text(base, "vitest run") == "vitest run"
    write(base, {"phpunit.xml": '<phpunit><logging><junit outputFile="x"/></logging></phpunit>'})
    assert instrumented_text(base, "phpunit") == "phpunit"


def test_go_gets_an_argument_to_name_its_tests_where_possible(base: Path) -> None:
    found = instrument_command("go test ./...", Root(base), "/side")
    assert found.command == "go test -v ./..."
    assert "GOFLAGS" not in found.variables
    assert instrumented_text(base, "go test -json ./...") == "go test -json ./..."
    among_others = instrument_command("go vet ./... && go test ./...", Root(base), "/side")
    assert among_others.command == "go vet ./... && go test ./..."
    assert among_others.variables["GOFLAGS"] == "-v"


@pytest.mark.parametrize(
    ("command", "in_file", "formatters"),
    [
        ("rspec", "", "--format progress"),
        ("rspec", "--color\n--format documentation\n", "--format documentation"),
        ("rspec -f d --out x", "--format progress", "-f d --out x"),
        ("bundle exec rspec --format=html", "", "--format=html"),
    ],
)
def test_rspec_keeps_its_given_formatters(base: Path, command: str, in_file: str, formatters: str) -> None:
    write(base, {".rspec": in_file})
    options = instrument_command(command, Root(base), "/side").variables["SPEC_OPTS"]
    assert options == f"{formatters} --format json --out /side/rspec.json"


def test_node_options_are_set_only_for_node_s_own_runner(base: Path) -> None:
    options = instrument_command("node --test", Root(base), "/side").variables["NODE_OPTIONS"]
    assert options.endswith("--test-reporter=junit --test-reporter-destination=/side/node.xml")
    assert "NODE_OPTIONS" not in instrument_command("npm test", Root(base), "/side").variables
    assert "NODE_OPTIONS" not in instrument_command("node --test --test-reporter=dot", Root(base), "/side").variables


def test_a_script_that_leads_out_of_the_tree_is_not_read(tmp_path: Path) -> None:
    write(tmp_path, {"outside.sh": "pytest\n", "base/a": ""})
    (tmp_path / "base" / "link.sh").symlink_to(tmp_path / "outside.sh")
    for command in ("sh ../outside.sh", f"sh {tmp_path}/outside.sh", "sh link.sh"):
        assert instrument_command(command, Root(tmp_path / "base"), "/side").expected == ()
