"""Path patterns with wildcards: the same answers as plain expressions, in bounded time."""

import re
import resource
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from donewhen.judge.globs import compiled
from donewhen.workspace.git.landing.git_config import _is_match  # pyright: ignore[reportPrivateUsage] - the matcher
from donewhen.workspace.wildcards import Element, Wildcard, expression
from tiers import examples

PLAIN = {Wildcard.STAR: "[^/]*", Wildcard.DIRECTORIES: "(?:[^/]*/)*"}
NAMES = st.lists(st.sampled_from(["a", "b", "[^/]", Wildcard.STAR]), min_size=1, max_size=5)
SEGMENTS = st.lists(NAMES | st.just([Wildcard.DIRECTORIES]), min_size=1, max_size=5)
PATHS = st.lists(st.text("ab", min_size=1, max_size=4), min_size=1, max_size=5).map("/".join)
SECONDS = 2.0


def joined(segments: list[list[Element]]) -> list[Element]:
    elements: list[Element] = []
    for at, segment in enumerate(segments):
        elements += segment
        elements += ["/"] if segment != [Wildcard.DIRECTORIES] and at < len(segments) - 1 else []
    return [*elements, "[^/]*"] if elements[-1] is Wildcard.DIRECTORIES else elements


@settings(max_examples=examples(500))
@given(SEGMENTS, PATHS)
def test_atomic_groups_give_the_same_answer_as_plain_wildcards(segments: list[list[Element]], path: str) -> None:
    elements = joined(segments)
    plain = "".join(PLAIN[one] if isinstance(one, Wildcard) else one for one in elements)
    assert bool(re.fullmatch(expression(elements), path)) == bool(re.fullmatch(plain, path))


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*a" * 30 + "*b", "a" * 4_000),
        ("**/a/" * 30 + "b", "a/" * 2_000 + "c"),
        ("**/*a*a*a*a*b", "/".join(["a" * 30] * 100)),
    ],
)
def test_a_pattern_with_many_wildcards_is_matched_quickly(pattern: str, path: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    assert compiled(pattern).fullmatch(path) is None
    assert not _is_match(pattern, path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_utime - before < SECONDS


def test_a_git_condition_with_many_stars_still_matches() -> None:
    assert _is_match("/*/*/*/*/*/*/*/*/*/**", str(Path("/a/b/c/d/e/f/g/h/i/j")))
    assert not _is_match("/*[!a]/b", "/x/b/b")
    assert _is_match("/*[!a]/b", "/x/b")
