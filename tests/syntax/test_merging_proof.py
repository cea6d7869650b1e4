"""Merges that are refused although each step looked right, and merges of long files and unusual places."""

import pytest

from donewhen.syntax.merging.merge import Conflict, MergedText, merge
from donewhen.syntax.merging.windows import SHORT


def functions(count: int, extra: bytes, every: int) -> bytes:
    """A long module with occasional additions."""
    pieces: list[bytes] = []
    for number in range(count):
        pieces.append(b"def f%d(a):\n    return a + %d\n\n\n" % (number, number))
        if extra and number % every == 0:
            pieces.append(b"def %b_%d():\n    return None\n\n\n" % (extra, number))
    return b"".join(pieces)


def test_a_long_file_is_merged_at_each_conflict_and_nowhere_else() -> None:
    base, ours, theirs = (functions(6000, extra, 1000) for extra in (b"", b"ours", b"theirs"))
    assert len(base) > SHORT

    result = merge("a.py", base, ours, theirs)

    assert isinstance(result, MergedText)
    both = ours
    for number in range(0, 6000, 1000):
        added = b"def ours_%d():\n    return None\n\n\n" % number
        both = both.replace(added, added + added.replace(b"ours", b"theirs"))
    assert result.text == both


def test_the_same_name_added_far_apart_in_a_long_file_is_a_conflict() -> None:
    base = functions(6000, b"", 1)
    ours, theirs = b"def new():\n    return 1\n\n\n" + base, base + b"def new():\n    return 2\n"

    result = merge("a.py", base, ours, theirs)

    assert isinstance(result, Conflict)
    assert "would not declare new" in result.places[0].why


def test_a_long_text_in_quotes_is_not_taken_for_a_program() -> None:
    words = b'TEXT = """\n' + functions(6000, b"", 1) + b'it\'s (not code\n"""\n'
    ours = words.replace(b"return a + 3000\n", b"return a + 3000 ours\n")
    theirs = words.replace(b"return a + 3000\n", b"return a + 3000 theirs\n")

    assert isinstance(merge("a.py", words, ours, theirs), Conflict)


def test_a_line_moved_by_both_sides_is_not_duplicated() -> None:
    base = b"class A:\n    @property\n    def a(self):\n        return 1\n"
    ours, theirs = (
        base.replace(b"    def a", b"    def %b(self):\n        return 2\n\n    def a" % name)
        for name in (b"ours", b"theirs")
    )

    result = merge("a.py", base, ours, theirs)

    assert isinstance(result, Conflict)
    assert "in the same place" in result.places[0].why


@pytest.mark.parametrize("path", ["a.py", "a.ts", "a.go", "a.rs", "a.java", "a.c", "a.cpp", "a.rb", "a.php"])
def test_two_invalid_lines_are_a_conflict_in_every_language(path: str) -> None:
    assert isinstance(merge(path, b"((\n", b"((\n]] ours\n", b"((\n]] theirs\n"), Conflict)


def test_a_conflict_names_line_and_symbol() -> None:
    base = b"import os\n\n\nclass Shop:\n    def total(self):\n        return 1\n"

    result = merge("a.py", base, base.replace(b"1", b"2"), base.replace(b"1", b"3"))

    assert isinstance(result, Conflict)
    assert [(place.line, place.symbol) for place in result.places] == [(6, "Shop.total")]


def test_every_conflicting_place_is_named() -> None:
    base = b"A = 1\nx = 0\ny = 0\nB = 1\n"

    result = merge("a.py", base, b"A = 2\nx = 0\ny = 0\nB = 2\n", b"A = 3\nx = 0\ny = 0\nB = 3\n")

    assert isinstance(result, Conflict)
    assert [(place.line, place.symbol) for place in result.places] == [(1, "A"), (4, "B")]


def test_an_unchanged_neighbour_keeps_its_unusual_white_space() -> None:
    base = b"D = {\n  'a' :1,\n\n      'b':   2,\n}\nE=[ 1,2 ]\n"
    ours, theirs = base.replace(b"2,\n}", b"2,\n  'c': 3,\n}"), base.replace(b"2,\n}", b"2,\n  'd': 4,\n}")

    assert merge("a.py", base, ours, theirs) == MergedText(
        base.replace(b"2,\n}", b"2,\n  'c': 3,\n  'd': 4,\n}"), ("entries of D",)
    )


def test_texts_that_do_not_parse_are_merged_by_lines_where_lines_do_not_conflict() -> None:
    base = b"def f(:\n1\n2\n3\n4\n"

    assert merge("a.py", base, b"def g(:\n1\n2\n3\n4\n", b"def f(:\n1\n2\n3\n5\n") == MergedText(
        b"def g(:\n1\n2\n3\n5\n"
    )


def test_a_merge_by_lines_that_no_longer_parses_is_a_conflict() -> None:
    base = b"x = [\n    1,\n    2,\n    3,\n]\n"
    ours, theirs = b"x = (\n    1,\n    2,\n    3,\n)\n", b"x = [\n    1,\n    2,\n    3,\n] + y[\n    0\n]\n"

    assert isinstance(merge("a.py", base, ours, theirs), Conflict)
