"""Patterns of a contract: what they cover, at the root and below, for any file name."""

import re
from fnmatch import fnmatchcase

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from donewhen.errors import BadInput
from donewhen.judge.globs import compiled, first_match
from tiers import examples

COVERED = [
    ("tests/**", "tests/a.py"),
    ("tests/**", "tests/deep/er/a.py"),
    ("tests", "tests/deep/a.py"),
    ("tests/", "tests/deep/a.py"),
    ("tests", "tests"),
    ("./tests", "tests/a"),
    ("conftest.py", "conftest.py"),
    ("**/conftest.py", "conftest.py"),
    ("**/conftest.py", "a/b/conftest.py"),
    ("a/**/z.py", "a/z.py"),
    ("a/**/z.py", "a/b/c/z.py"),
    ("**", "anything/at/all"),
    ("*.py", "a.py"),
    ("tests/test_*.py", "tests/test_a.py"),
    ("packages/*/tests", "packages/one/tests/deep/a.py"),
    ("a?c", "abc"),
    ("a[bc]d", "acd"),
    ("a[!bc]d", "axd"),
    ("a[a-c]", "ab"),
    ("a[]]", "a]"),
    ("a[", "a["),
    ("größe/*", "größe/x"),
    ("odd/*", "odd/\udcff"),
    ("two\nlines", "two\nlines/x"),
    ("a+(b)|c", "a+(b)|c"),
]
NOT_COVERED = [
    ("tests/**", "tests"),
    ("tests/**", "more/tests/a.py"),
    ("tests", "tests2/a.py"),
    ("conftest.py", "a/conftest.py"),
    ("*.py", "a/b.py"),
    ("tests/*", "tests/deep/a.py"),
    ("a?c", "a/c"),
    ("a[!b]c", "a/c"),
    ("a*c", "a/c"),
    ("a[z-a]", "ab"),
    ("Tests", "tests/a"),
    ("a.c", "abc"),
]


@pytest.mark.parametrize(("pattern", "path"), COVERED)
def test_a_pattern_matches_its_paths(pattern: str, path: str) -> None:
    assert first_match([pattern], path) == pattern


@pytest.mark.parametrize(("pattern", "path"), NOT_COVERED)
def test_a_pattern_does_not_match_other_paths(pattern: str, path: str) -> None:
    assert first_match([pattern], path) == ""


@pytest.mark.parametrize("pattern", ["", "/", ".", "../x", "a/../b"])
def test_an_empty_or_outward_pattern_is_refused_by_name(pattern: str) -> None:
    with pytest.raises(BadInput, match=re.escape(repr(pattern))):
        compiled(pattern)


NAMES = st.text(
    st.characters(codec="utf-8", exclude_characters="/\0") | st.sampled_from("\udcff\n*?[]!-"), min_size=1, max_size=6
)
PATHS = st.lists(NAMES.filter(lambda name: name not in (".", "..")), min_size=1, max_size=4).map("/".join)
PIECES = st.sampled_from(["a", "b", "*", "**", "?", "[ab]", "[!a]", "[", "]", "a*", "*b", "."])
PATTERNS = st.lists(st.lists(PIECES, min_size=1, max_size=3).map("".join), min_size=1, max_size=4).map("/".join)


@settings(max_examples=examples(100))
@given(PATHS)
def test_a_path_without_wildcards_covers_itself_and_everything_below(path: str) -> None:
    literal = re.sub(r"[*?\[]", "x", path)
    assert first_match([literal], literal) == first_match([literal], f"{literal}/below") == literal
    assert not first_match([literal], f"above/{literal}")
    assert not first_match([literal], f"{literal}x")


@settings(max_examples=examples(150))
@given(PATTERNS, PATHS)
def test_any_pattern_is_accepted_and_two_stars_cover_everything_below(pattern: str, path: str) -> None:
    if all(part in (".", "..") for part in pattern.split("/")) or ".." in pattern.split("/"):
        return
    first_match([pattern], path)
    assert first_match(["**"], path)
    assert first_match([f"**/{re.sub(r'[*?[]', 'x', path)}"], f"some/where/{re.sub(r'[*?[]', 'x', path)}")


@settings(max_examples=examples(100))
@given(
    st.lists(st.sampled_from(["a", "b", "*", "?", "[ab]", "[!a]"]), min_size=1, max_size=5),
    st.text("abc", min_size=1, max_size=6),
)
def test_within_one_name_a_pattern_matches_as_in_the_shell(pieces: list[str], name: str) -> None:
    pattern = "".join(pieces)
    assert bool(compiled(pattern).fullmatch(name)) == fnmatchcase(name, pattern)
