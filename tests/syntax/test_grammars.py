"""Which grammar a file is read with, and that every grammar is available."""

import pytest
from declared_sources import SOURCES

from donewhen.syntax.grammar import LANGUAGES, MOST_BYTES, LanguageName, SourceUnreadable, language_of, parse


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("a.py", "python"),
        ("src/a.b/types.PYI", "python"),
        ("a.jsx", "javascript"),
        ("a.mts", "typescript"),
        ("a.d.ts", "typescript"),
        ("a.tsx", "tsx"),
        ("a.h", "cpp"),
        ("a.c", "c"),
        ("x.gemspec", "ruby"),
        ("a.swift", None),
        ("Makefile", None),
        (".py", None),
        ("py", None),
        ("a.py/readme", None),
    ],
)
def test_a_language_is_known_by_the_ending_of_the_name(path: str, language: LanguageName | None) -> None:
    assert language_of(path) == language


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_grammar_reads_a_program_of_its_language(language: LanguageName) -> None:
    assert not parse(language, SOURCES[language][0][0].encode()).root_node.has_error


def test_a_text_beyond_the_limit_is_not_given_to_a_parser() -> None:
    with pytest.raises(SourceUnreadable):
        parse("c", b" " * (MOST_BYTES + 1))
