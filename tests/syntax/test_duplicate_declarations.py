"""Duplicate names: allowed ones, each with a similar one that is not allowed."""

import pytest
from declared_sources import SOURCES
from repeated_sources import PAIRS

from donewhen.syntax.duplicates import Duplicate, new_duplicates
from donewhen.syntax.grammar import LANGUAGES, LanguageName
from tables import every_row

TABLE: list[tuple[LanguageName, str, str, str, str]] = [
    (language, *pair) for language in LANGUAGES for pair in PAIRS[language]
]


@every_row(TABLE)
def test_duplicates_are_reported_only_where_they_are_not_allowed(row: tuple[LanguageName, str, str, str, str]) -> None:
    language, _, legitimate, clashing, name = row
    assert new_duplicates(language, None, legitimate.encode()) == []
    assert [one.name for one in new_duplicates(language, None, clashing.encode())] == [name]


def test_there_are_more_than_sixty_pairs() -> None:
    assert len(TABLE) > 60


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_old_duplicate_is_not_reported_again(language: LanguageName) -> None:
    for _, _, clashing, _ in PAIRS[language]:
        assert new_duplicates(language, clashing.encode(), clashing.encode()) == []


def test_a_third_declaration_next_to_an_old_duplicate_is_reported_with_all_lines() -> None:
    two = b"def f(): ...\ndef f(): ...\n"
    three = two + b"\ndef f(): ...\n"
    assert new_duplicates("python", two, three) == [Duplicate("f", "function", (1, 2, 4))]


def test_an_old_duplicate_elsewhere_does_not_excuse_a_new_one() -> None:
    old = b"class A:\n    def f(self): ...\n    def f(self): ...\n"
    new = old + b"class B:\n    def f(self): ...\n    def f(self): ...\n"
    assert [one.name for one in new_duplicates("python", old, new)] == ["B.f"]


def test_an_old_duplicate_that_moved_down_is_not_reported() -> None:
    old = b"class A:\n    def f(self): ...\n    def f(self): ...\n"
    assert new_duplicates("python", old, b"import os\n\n" + old) == []


def test_a_text_that_does_not_parse_reports_no_duplicates() -> None:
    assert new_duplicates("python", None, b"def f(): ...\ndef f(): ...\nx = = 1\n") == []


def test_a_deleted_file_has_no_duplicates() -> None:
    assert new_duplicates("python", b"def f(): ...\n", None) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_sources_of_other_tests_hold_no_duplicates(language: LanguageName) -> None:
    for source, _ in SOURCES[language]:
        assert new_duplicates(language, None, source.encode()) == []
