"""Names that stand twice: those that may, each beside one like it that may not."""

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
def test_what_may_repeat_is_left_alone_and_what_may_not_is_told(row: tuple[LanguageName, str, str, str, str]) -> None:
    language, _, legitimate, clashing, name = row
    assert new_duplicates(language, None, legitimate.encode()) == []
    assert [one.name for one in new_duplicates(language, None, clashing.encode())] == [name]


def test_there_are_more_than_sixty_pairs() -> None:
    assert len(TABLE) > 60


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_old_clash_is_not_told_again(language: LanguageName) -> None:
    for _, _, clashing, _ in PAIRS[language]:
        assert new_duplicates(language, clashing.encode(), clashing.encode()) == []


def test_a_third_one_beside_an_old_clash_is_told_with_all_lines() -> None:
    two = b"def f(): ...\ndef f(): ...\n"
    three = two + b"\ndef f(): ...\n"
    assert new_duplicates("python", two, three) == [Duplicate("f", "function", (1, 2, 4))]


def test_an_old_clash_elsewhere_does_not_excuse_a_new_one() -> None:
    old = b"class A:\n    def f(self): ...\n    def f(self): ...\n"
    new = old + b"class B:\n    def f(self): ...\n    def f(self): ...\n"
    assert [one.name for one in new_duplicates("python", old, new)] == ["B.f"]


def test_an_old_clash_that_moved_down_is_not_told() -> None:
    old = b"class A:\n    def f(self): ...\n    def f(self): ...\n"
    assert new_duplicates("python", old, b"import os\n\n" + old) == []


def test_a_text_that_does_not_parse_has_no_duplicates_to_tell() -> None:
    assert new_duplicates("python", None, b"def f(): ...\ndef f(): ...\nx = = 1\n") == []


def test_a_file_that_is_gone_has_no_duplicates() -> None:
    assert new_duplicates("python", b"def f(): ...\n", None) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_sources_of_other_tests_hold_no_duplicates_by_themselves(language: LanguageName) -> None:
    for source, _ in SOURCES[language]:
        assert new_duplicates(language, None, source.encode()) == []
