"""The merge by lines: agreed parts byte for byte, and correct differences."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.syntax.merging.lines import diff_lines, number_lines, split_lines
from donewhen.syntax.merging.merge import Conflict, ConflictPlace, MergedText, merge

few_lines = st.lists(st.sampled_from([0, 1, 2, 3, 4]), max_size=30)


@given(st.binary())
def test_joined_lines_give_the_text(text: bytes) -> None:
    assert b"".join(split_lines(text)) == text


@given(few_lines, few_lines)
def test_hunks_lead_from_one_text_to_the_other(old: list[int], new: list[int]) -> None:
    made: list[int] = []
    at = 0
    for hunk in diff_lines(old, new):
        assert hunk.old_start >= at
        made += old[at : hunk.old_start]
        assert len(made) == hunk.new_start
        made += new[hunk.new_start : hunk.new_end]
        at = hunk.old_end
    assert made + old[at:] == new


@given(few_lines, few_lines)
def test_two_hunks_never_touch(old: list[int], new: list[int]) -> None:
    hunks = diff_lines(old, new)

    assert all(one.old_end < two.old_start or one.new_end < two.new_start for one, two in pairwise(hunks))


def test_an_expensive_pair_of_texts_gets_a_coarse_answer() -> None:
    old, new = [number % 7 for number in range(40_000)], [number * 3 % 5 for number in range(40_000)]

    assert diff_lines(old, new)


def test_equal_lines_have_equal_numbers() -> None:
    assert number_lines([b"a", b"b"], [b"b", b"c"]) == [[0, 1], [1, 2]]


@given(st.lists(st.integers(0, 3), min_size=8, max_size=20), st.integers(0, 2), st.integers(5, 7))
def test_changes_in_different_places_of_plain_text_are_merged(lines: list[int], early: int, late: int) -> None:
    base = [b"%d %d\n" % (at, line) for at, line in enumerate(lines)]
    ours, theirs = [*base], [*base]
    ours[early], theirs[late] = b"ours\n", b"theirs\n"
    both = [*ours]
    both[late] = b"theirs\n"

    assert merge("notes.txt", b"".join(base), b"".join(ours), b"".join(theirs)) == MergedText(b"".join(both))


def test_without_a_grammar_neighbouring_lines_conflict() -> None:
    result = merge("notes.txt", b"a\nb\nc\n", b"a\nB\nc\n", b"a\nb\nC\n")

    assert result == Conflict((ConflictPlace(2, "", "both sides changed these lines"),))


def test_binary_content_is_never_merged() -> None:
    result = merge("logo.bin", b"a\n\0\nb\n1\n2\n", b"A\n\0\nb\n1\n2\n", b"a\n\0\nb\n1\n3\n")

    assert isinstance(result, Conflict)


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_line_endings_are_kept(end: bytes) -> None:
    base, ours, theirs = (
        text.replace(b"\n", end)
        for text in (b"import os\n\nx = 1\n", b"import os\nimport re\n\nx = 1\n", b"import os\nimport sys\n\nx = 1\n")
    )

    result = merge("a.py", base, ours, theirs)

    assert isinstance(result, MergedText)
    assert result.text == b"import os\nimport re\nimport sys\n\nx = 1\n".replace(b"\n", end)


def test_a_missing_final_newline_stays_missing() -> None:
    result = merge("a.py", b"A = 1", b"A = 1\nB = 2", b"A = 1\nC = 3")

    assert result == MergedText(b"A = 1\nB = 2\nC = 3", ("sibling definitions after A",))


def test_tabs_stay_tabs() -> None:
    base = b"class A:\n\tdef a(self):\n\t\treturn 1\n"
    ours, theirs = base + b"\n\tdef b(self):\n\t\treturn 2\n", base + b"\n\tdef c(self):\n\t\treturn 3\n"

    result = merge("a.py", base, ours, theirs)

    assert isinstance(result, MergedText)
    assert result.text == ours + b"\n\tdef c(self):\n\t\treturn 3\n"
