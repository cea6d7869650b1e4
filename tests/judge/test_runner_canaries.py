"""Where a test that must fail is added. The real runs show that runners report it."""

from pathlib import Path

import pytest

from donewhen.judge.runners import Canary, canary, instrument_command
from donewhen.workspace.beneath import Root
from repositories import write

TOKEN = "c0ffee5ea1"
CRATE = '[package]\nname = "a-b"\n'
JUPITER = "package a.b;\nimport org.junit.jupiter.api.Test;\nclass ATest {}\n"


def added(root: Path, command: str, files: dict[str, str], dir: str = ".") -> Canary:
    write(root, files)
    found = canary(instrument_command(command, Root(root / dir), "/side"), Root(root), dir, TOKEN)
    assert found is not None
    assert found.name in TOKEN
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
        ("cargo test", {"Cargo.toml": CRATE, "tests/a.rs": "fn x() {}", "tests/b.rs": "use a_b::c;"}, "tests/b.rs"),
        ("cargo test", {"Cargo.toml": CRATE, "tests/a.rs": "fn x() {}"}, f"tests/canary_{TOKEN}.rs"),
        ("cargo test --test b", {"Cargo.toml": "[package]\n", "tests/b.rs": ""}, "tests/b.rs"),
        ("bundle exec rspec", {"spec/a_spec.rb": ""}, "spec/a_spec.rb"),
        ("phpunit", {"tests/ATest.php": "<?php\n"}, f"tests/Canary_{TOKEN}Test.php"),
        ("mvn test", {"src/test/java/a/b/ATest.java": JUPITER}, f"src/test/java/a/b/Canary_{TOKEN}Test.java"),
    ],
)
def test_a_canary_is_placed_where_the_command_looks_for_tests(
    tmp_path: Path, command: str, files: dict[str, str], path: str
) -> None:
    assert list(added(tmp_path, command, files).files) == [path]


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
    assert f'\nit("{TOKEN}"' in content["a.test.ts"].decode()


def test_a_java_canary_uses_the_package_and_framework_of_its_neighbour(tmp_path: Path) -> None:
    content = next(iter(added(tmp_path, "./gradlew test", {"src/test/java/ATest.java": JUPITER}).files.values()))
    assert content.startswith(b"package a.b;")
    assert b"@org.junit.jupiter.api.Test" in content


@pytest.mark.parametrize("command", ["make lint", "cargo test --lib", "pytest", "dotnet test", "npx jest"])
def test_there_is_no_canary_where_no_test_can_be_added(tmp_path: Path, command: str) -> None:
    write(tmp_path, {"Cargo.toml": "[package]\n", "a.test.js": "// nothing is declared here\n"})
    assert canary(instrument_command(command, Root(tmp_path), "/side"), Root(tmp_path), ".", TOKEN) is None
