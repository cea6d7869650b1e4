"""Where a test that must fail is added. The real runs show that runners report it."""

from pathlib import Path

import pytest

from donewhen.judge.runners import Canary, canary, instrument_command
from donewhen.judge.runners.canary import MOST_FILES, MOST_TESTS
from donewhen.judge.runners.python_assertions import METHODS
from donewhen.workspace.beneath import Root
from repositories import write

TOKEN = "c0ffee5ea1"
CRATE = '[package]\nname = "a-b"\n'
JUPITER = "package a.b;\nimport org.junit.jupiter.api.Test;\nclass ATest {}\n"


def added(root: Path, command: str, files: dict[str, str], dir: str = ".") -> Canary:
    write(root, files)
    found = canary(instrument_command(command, Root(root / dir), "/side"), Root(root), dir, TOKEN)
    assert found is not None
    assert all(test.name == f"{TOKEN}_{test.number:02}" for test in found.tests)
    return found


@pytest.mark.parametrize(
    ("command", "files", "path"),
    [
        ("pytest", {"tests/test_b.py": "", "tests/test_a.py": "", "src/a.py": ""}, "tests/test_a.py"),
        ("pytest tests/test_b.py", {"tests/test_b.py": "", "tests/test_a.py": ""}, "tests/test_b.py"),
        ("pytest tests/test_b.py::test_x -q", {"tests/test_b.py": "", "tests/test_a.py": ""}, "tests/test_b.py"),
        ("pytest deep", {"deep/er/test_b.py": "", "test_a.py": ""}, "deep/er/test_b.py"),
        ("pytest", {".venv/test_x.py": "", "node_modules/test_x.py": "", "a/b/c/test_y.py": ""}, "a/b/c/test_y.py"),
        ("python -m unittest t.test_b", {"t/test_b.py": "TestCase", "t/test_a.py": "TestCase"}, "t/test_b.py"),
        ("npx jest", {"src/a.test.tsx": "it('x', () => {});\n"}, "src/a.test.tsx"),
        ("npx jest", {"src/__tests__/a.js": "", "__tests__/a.js": "test('x', () => {});"}, "__tests__/a.js"),
        ("mocha", {"test/a.js": "describe('x', () => { it('y', () => {}); });"}, "test/a.js"),
        ("go test ./b/...", {"b/b_test.go": 'import "testing"', "a_test.go": 'import "testing"'}, "b/b_test.go"),
        ("cargo test", {"Cargo.toml": "[package]\n"}, f"tests/canary_{TOKEN}.rs"),
        ("cargo test", {"Cargo.toml": "[workspace]\n", "m/Cargo.toml": "[package]\n"}, f"m/tests/canary_{TOKEN}.rs"),
        ("cargo test", {"Cargo.toml": CRATE, "tests/b.rs": "use a_b::c;", "src/lib.rs": "#[test]"}, "tests/b.rs"),
        ("cargo test --lib", {"Cargo.toml": CRATE, "tests/b.rs": "", "src/a.rs": "#[cfg(test)]"}, "src/a.rs"),
        ("cargo test", {"Cargo.toml": CRATE, "src/lib.rs": "fn x() {}"}, f"tests/canary_{TOKEN}.rs"),
        ("cargo test --test b", {"Cargo.toml": "[package]\n", "tests/b.rs": ""}, "tests/b.rs"),
        ("bundle exec rspec", {"spec/a_spec.rb": ""}, "spec/a_spec.rb"),
        ("phpunit", {"tests/ATest.php": "<?php\n"}, f"tests/Canary_{TOKEN}Test.php"),
        ("mvn test", {"src/test/java/a/b/ATest.java": JUPITER}, f"src/test/java/a/b/Canary_{TOKEN}Test.java"),
    ],
)
def test_a_canary_is_placed_where_the_command_looks_for_tests(
    tmp_path: Path, command: str, files: dict[str, str], path: str
) -> None:
    assert next(iter(added(tmp_path, command, files).files)) == path


def test_canary_paths_are_relative_to_the_repository_for_a_check_in_a_subdirectory(tmp_path: Path) -> None:
    found = added(tmp_path, "pytest", {"web/test_a.py": "", "test_b.py": ""}, dir="web")
    assert list(found.files) == ["web/test_a.py"]


@pytest.mark.parametrize("end", ["", "\n", "\n\n\n\n \n", "\r\n"])
def test_a_file_with_an_added_canary_keeps_its_content(tmp_path: Path, end: str) -> None:
    before = f"def test_a():\n    pass{end}"
    content = added(tmp_path, "pytest", {"test_a.py": before}).files["test_a.py"]
    assert content.startswith(before.encode())


def test_a_unittest_canary_is_inserted_before_the_main_block(tmp_path: Path) -> None:
    text = "import unittest\nclass T(unittest.TestCase): pass\nif __name__ == '__main__':\n    unittest.main()\n"
    content = added(tmp_path, "python test_a.py", {"test_a.py": text}).files["test_a.py"].decode()
    assert content.index(TOKEN) < content.index("unittest.main()")


def test_a_script_canary_uses_the_test_style_of_its_file(tmp_path: Path) -> None:
    content = added(tmp_path, "vitest run", {"a.test.ts": "x.test('a'); it.each([1])('y', () => {});"}).files
    assert f'\nit("{TOKEN}_00"' in content["a.test.ts"].decode()


def test_a_java_canary_uses_the_package_and_framework_of_its_neighbour(tmp_path: Path) -> None:
    content = next(iter(added(tmp_path, "./gradlew test", {"src/test/java/ATest.java": JUPITER}).files.values()))
    assert content.startswith(b"package a.b;")
    assert b"@org.junit.jupiter.api.Test" in content


@pytest.mark.parametrize("command", ["make lint", "cargo test --lib", "pytest", "dotnet test", "npx jest"])
def test_there_is_no_canary_where_no_test_can_be_added(tmp_path: Path, command: str) -> None:
    write(tmp_path, {"Cargo.toml": "[package]\n", "a.test.js": "// nothing is declared here\n"})
    assert canary(instrument_command(command, Root(tmp_path), "/side"), Root(tmp_path), ".", TOKEN) is None


STYLES = {
    "test_a.py": (
        "pytest",
        "import pytest, numpy.testing as npt\nfrom mine import assert_that\n\n"
        "def test_a():\n    npt.assert_allclose(1, 1)\n"
        "    assert_that(1)\n    with pytest.raises(OSError): pass\n",
        ["with pytest.raises(ValueError):", "npt.assert_allclose(["],
    ),
    "test_b.py": (
        "pytest",
        "class B(Base):\n    def test_b(self):\n        self.assertIn(1, [1]); self.assertMine()\n",
        ["self.assertIn(", "B.test_"],
    ),
    "test_c.py": ("python -m unittest", "from django.test import TestCase\n", ["self.assertEqual("]),
    "c.test.js": ("npx jest", "it('a', () => { expect(f()).toBe(1); });", ["expect("]),
    "d.test.ts": (
        "npx mocha",
        "import { expect, assert as sure } from 'chai';\nimport { equal } from './product';\n"
        "it('a', () => { expect(f()).to.equal(1); sure.isTrue(x); equal(1, 1); });",
        [").to.equal(", "sure.isTrue(false)"],
    ),
    "e.test.mjs": (
        "npx mocha",
        "import { expect } from './own.mjs';\nit('a', () => { expect(1).toBe(1); });",
        ["throw"],
    ),
    "f_test.go": (
        "go test",
        'import (\n\t"testing"\n\tcheck "github.com/stretchr/testify/require"\n)\nfunc TestA(t *testing.T) {'
        " check.True(t, true) }\n",
        ["check.True(t, false)"],
    ),
}


@pytest.mark.parametrize("path", STYLES)
def test_a_canary_fails_through_the_assertions_that_its_file_uses_and_through_no_others(
    tmp_path: Path, path: str
) -> None:
    command, text, expected = STYLES[path]
    found = added(tmp_path, command, {path: text})
    content = found.files[path].decode().removeprefix(text)
    assert [call for call in expected if call not in content] == []
    assert len(found.tests) == len([call for call in expected if not call.startswith("B.")]), content


def test_the_values_of_a_canary_cannot_be_guessed(tmp_path: Path) -> None:
    write(tmp_path, {"test_a.py": "assert 1"})
    instrumented = instrument_command("pytest", Root(tmp_path), "/side")
    made = [canary(instrumented, Root(tmp_path), ".", f"token{number}") for number in range(20)]
    assert len({found.files["test_a.py"].partition(b"    assert ")[2] for found in made if found}) > 15


def test_only_the_wanted_tests_are_added_and_they_keep_their_numbers(tmp_path: Path) -> None:
    files = {"test_a.py": "import pytest\npytest.fail()\nassert 1\n", "test_b.py": "assert 1\n"}
    every = added(tmp_path, "pytest", files)
    assert [(test.number, test.path) for test in every.tests] == [(0, "test_a.py"), (2, "test_a.py"), (1, "test_b.py")]
    instrumented = instrument_command("pytest", Root(tmp_path), "/side")
    some = canary(instrumented, Root(tmp_path), ".", TOKEN, (2,))
    assert some is not None
    assert [test.number for test in some.tests] == [2]
    assert list(some.files) == ["test_a.py"]
    assert some.files["test_a.py"].decode().count("def test_") == 1


def test_every_file_gets_a_test_before_one_of_them_gets_many(tmp_path: Path) -> None:
    methods = "".join(f"        self.{name}()\n" for name in METHODS)
    text = f"class T(B):\n    def test_a(self):\n{methods}"
    found = added(tmp_path, "pytest", {f"test_{number}.py": text for number in range(MOST_FILES + 9)})
    assert len(found.tests) == MOST_TESTS
    assert len(found.files) == MOST_FILES


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cargo test --lib", "cargo test --no-fail-fast --lib"),
        ("cargo +nightly t", "cargo +nightly t --no-fail-fast"),
        ("cargo test --no-fail-fast", "cargo test --no-fail-fast"),
        ("cargo test -p a && cargo test -p b", "cargo test -p a && cargo test -p b"),
    ],
)
def test_cargo_runs_all_test_programs_only_if_it_must_keep_going(command: str, expected: str) -> None:
    assert instrument_command(command, Root("/nowhere"), "/side", keep_going=True).command == expected
    assert instrument_command(command, Root("/nowhere"), "/side").command == command
