"""Texts that cannot be parsed: the place of the first fault, and whether a change caused it."""

import sys

import pytest
from declared_sources import SOURCES
from hypothesis import given, settings
from hypothesis import strategies as st

from donewhen.syntax.faults import Parse, first_fault, parse_after_change
from donewhen.syntax.grammar import LANGUAGES, LanguageName
from tiers import examples

BROKEN: list[tuple[LanguageName, str, int]] = [
    ("python", "x = 1\ny = (\n", 2),
    ("python", "def f(:\n    pass\n", 1),
    ("javascript", "let a = 1;\nfunction f( {\n", 2),
    ("typescript", "const a: = 1;\n", 1),
    ("tsx", "const a = <p>;\n", 1),
    ("go", "package p\n\nfunc f( {\n}\n", 3),
    ("rust", "fn f() {}\nfn g( {}\n", 2),
    ("java", "class A {\n  int = 1;\n}\n", 2),
    ("c", "int f(void) {\n  return 1\n}\n", 2),
    ("cpp", "class A {\n  int f(;\n};\n", 2),
    ("ruby", "def f\n  x = [1,\nend\n", 2),
    ("php", "<?php\nfunction ( {\n", 2),
    ("python", "<<<<<<< ours\nx = 1\n=======\nx = 2\n>>>>>>> theirs\n", 1),
]


@pytest.mark.parametrize(("language", "text", "line"), BROKEN)
def test_a_syntax_error_is_reported_with_its_place_in_one_short_line(
    language: LanguageName, text: str, line: int
) -> None:
    fault = first_fault(language, text.encode())
    assert fault is not None
    assert abs(fault.line - line) <= 1, fault
    assert fault.column >= 1
    assert "\n" not in fault.message
    assert len(fault.message) < 90


@pytest.mark.parametrize("language", LANGUAGES)
def test_good_sources_have_no_fault(language: LanguageName) -> None:
    for source, _ in SOURCES[language]:
        assert first_fault(language, source.encode()) is None, source


@pytest.mark.parametrize(("language", "text", "line"), BROKEN)
def test_only_a_change_that_broke_a_text_has_a_fault(language: LanguageName, text: str, line: int) -> None:
    good = SOURCES[language][0][0].encode()
    broken = text.encode()
    assert parse_after_change(language, good, broken).state == "broke"
    assert parse_after_change(language, None, broken).state == "broke"
    assert parse_after_change(language, broken, broken + b"\n").state == "did not parse before either"
    assert parse_after_change(language, broken, good) == Parse("parses")
    assert parse_after_change(language, broken, None) == Parse("parses")


def test_a_long_offence_is_cut() -> None:
    fault = first_fault("python", b"x = 1\n" + b"@@@ $$$ " * 200)
    assert fault is not None
    assert len(fault.message) < 90


REFUSED_BY_PYTHON = b"def f():\n    return 1\n\ndef g(a=1, b): ...\n"


def test_source_accepted_by_the_grammar_and_refused_by_python_is_reported() -> None:
    assert first_fault("python", REFUSED_BY_PYTHON) is None
    found = parse_after_change("python", b"x = 1\n", REFUSED_BY_PYTHON)
    assert found.state == "broke"
    assert found.fault is not None
    assert found.fault.line == 4


def test_python_does_not_decide_about_new_files_or_files_it_never_accepted() -> None:
    assert parse_after_change("python", None, REFUSED_BY_PYTHON).state == "parses"
    assert parse_after_change("python", b"print 'of another age'\n", REFUSED_BY_PYTHON).state == "parses"


@pytest.mark.parametrize(
    ("text", "version"),
    [
        (b"type A = int\n", (3, 12)),
        (b"def f[T](a: T): ...\n", (3, 12)),
        (b"class A[T]: ...\n", (3, 12)),
        (b"x = f'{d['a']}'\n", (3, 12)),
        (b"try:\n    pass\nexcept A, B:\n    pass\n", (3, 14)),
    ],
)
def test_syntax_newer_than_this_python_is_not_a_fault(text: bytes, version: tuple[int, int]) -> None:
    assert parse_after_change("python", b"x = 1\n", text).state == "parses"
    refused = parse_after_change("python", b"x = 1\n", text + b"def g(a=1, b): ...\n").state
    assert refused == ("broke" if sys.version_info[:2] >= version else "parses")


def test_a_text_nested_too_deeply_for_python_is_not_a_fault() -> None:
    assert parse_after_change("python", b"x = 1\n", b"x = " + b"-" * 50_000 + b"1\n").state == "parses"


def test_a_warning_is_not_a_fault() -> None:
    assert parse_after_change("python", b"x = 1\n", b"x = '\\d'\n").state == "parses"


@given(st.sampled_from(LANGUAGES), st.binary(max_size=150))
@settings(max_examples=examples(60))
def test_any_bytes_parse_or_have_a_fault_inside_them(language: LanguageName, text: bytes) -> None:
    fault = first_fault(language, text)
    assert fault is None or 1 <= fault.line <= text.count(b"\n") + 1
