"""A new test file that is too large for memory is read in chunks, with the same result as in one piece."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from donewhen.judge.protect.contents.mixed_contents import accepted_part, large_file_rule

PIECE = 97
"""Small, so that a short text has many chunks, and not a multiple of any name's length."""

WORDS = st.sampled_from([
    "pytest_plugins", "pytest_plugin\u017f", "pytest_", "plugins", "TestMain", "TestMainLoop", "aTestMain",
    "# coding: x", "func", "\n", " ", "(", "x" * 50, "\u00e9", "s\u0301", "\ufb06", "\U0001d4f9",
])  # fmt: skip
TEXTS = st.lists(WORDS | st.text(max_size=5) | st.integers(0, 90).map("y".__mul__), max_size=40).map("".join)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "content"


def in_pieces(path: str, file: Path, content: bytes) -> bool:
    file.write_bytes(content)
    look = large_file_rule(path)
    assert look is not None
    return look(file, PIECE)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=TEXTS)
def test_a_go_test_read_in_chunks_is_judged_as_the_whole_text(file: Path, text: str) -> None:
    content = text.encode("utf-8", "surrogatepass")
    assert in_pieces("a_test.go", file, content) == (not accepted_part("a_test.go", None, content, ()).none)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=TEXTS)
def test_a_python_test_accepted_in_chunks_is_accepted_as_a_whole(file: Path, text: str) -> None:
    content = text.encode("utf-8", "surrogatepass")
    if in_pieces("test_a.py", file, content):
        assert not accepted_part("test_a.py", None, content, ()).none


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=TEXTS)
def test_a_python_test_without_plugins_and_encoding_is_accepted_in_chunks(file: Path, text: str) -> None:
    plain = text.replace("pytest_plugin", "pytest-plugin").replace("coding", "code").replace("\U0001d4f9", "")
    assert in_pieces("test_a.py", file, plain.encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize("before", range(PIECE - 16, PIECE + 2))
def test_a_name_is_found_at_any_chunk_boundary(file: Path, before: int) -> None:
    start = b"#" + b"z" * (before - 2) + b"\n"
    assert not in_pieces("test_a.py", file, start + b"pytest_plugins = ['x']\n")
    assert not in_pieces("a_test.go", file, start + b"TestMain")
    assert in_pieces("a_test.go", file, start + b"TestMainLoop TestMain2")


@pytest.mark.parametrize("before", range(PIECE - 8, PIECE + 2))
def test_an_encoding_in_the_second_line_is_found_at_any_chunk_boundary(file: Path, before: int) -> None:
    start = b"#" + b"z" * (before - 2) + b"\n"
    assert not in_pieces("test_a.py", file, start + b"# coding: utf-7\n")
    assert in_pieces("test_a.py", file, start + b"\n" + b"x = 1\n" * 40 + b"# coding: utf-7\n")


@pytest.mark.parametrize("path", ["conftest.py", "a/conftest.py", "pyproject.toml", "src/lib.rs", ".gitattributes"])
def test_files_that_must_be_parsed_are_not_read_in_chunks(path: str) -> None:
    assert large_file_rule(path) is None


@pytest.mark.parametrize(
    "text",
    ["func TestMain(m *testing.M) {}", "func /* here */ TestMain (m *testing.M) {}", "func\nTestMain(m *testing.M) {}"],
)
def test_a_new_go_test_with_a_main_function_is_not_graded(text: str) -> None:
    assert accepted_part("b_test.go", None, f"package a\n{text}\n".encode(), ()).none


def test_a_new_go_test_with_a_similar_name_is_accepted() -> None:
    assert not accepted_part("b_test.go", None, b"package a\nfunc TestMainLoop(t *testing.T) {}\n", ()).none
