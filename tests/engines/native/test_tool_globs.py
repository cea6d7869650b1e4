"""Patterns for paths: their meaning, and that none takes long."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.engines.native.tools.globs import MOST_BRACES, expanded, matcher


@pytest.mark.parametrize(
    ("pattern", "fits", "does_not"),
    [
        ("*.py", ["a.py", "x/y/a.py", ".py"], ["a.pyc", "a.py/b"]),
        ("src/*.py", ["src/a.py"], ["a.py", "src/x/a.py", "x/src/a.py"]),
        ("**/a.py", ["a.py", "x/a.py", "x/y/a.py"], ["b.py", "xa.py"]),
        ("src/**", ["src/a", "src/x/y"], ["srcs/a"]),
        ("src/**/test_*.py", ["src/test_a.py", "src/x/y/test_a.py"], ["src/a.py"]),
        ("*.{ts,tsx}", ["a.ts", "b/a.tsx"], ["a.js"]),
        ("{src,lib}/{a,b}.c", ["src/a.c", "lib/b.c"], ["src/c.c"]),
        ("[a-c]?.[!x]", ["b1.y"], ["d1.y", "b1.x", "b.y"]),
        ("[]x]", ["]", "x"], ["y"]),
        ("[a", ["[a"], ["a"]),
        (r"\*", ["*"], ["a"]),
        ("./a.py", ["a.py"], ["x/a.py"]),
        ("/a.py", ["a.py"], ["x/a.py"]),
        ("{a}", ["{a}"], ["a"]),
        ("a**b", ["axxb", "ab"], ["a/b"]),
    ],
)
def test_a_glob_matches_as_expected(pattern: str, fits: list[str], does_not: list[str]) -> None:
    matches = matcher(pattern)
    assert [path for path in fits if not matches(path)] == []
    assert [path for path in does_not if matches(path)] == []


PARTS = st.lists(st.sampled_from(["a", "b", "*", "?", "**"]), min_size=1, max_size=4).map("".join)


@given(
    st.lists(PARTS, min_size=2, max_size=4).map("/".join),
    st.lists(st.text("ab", min_size=1, max_size=4), min_size=1, max_size=4).map("/".join),
)
def test_glob_matching_agrees_with_a_regular_expression(pattern: str, path: str) -> None:
    parts = [
        "(?:[^/]+/)*" if part == "**" else re.sub(r"\*+", "[^/]*", part).replace("?", "[^/]") + "/"
        for part in pattern.split("/")
    ]
    assert matcher(pattern)(path) is bool(re.fullmatch("".join(parts), f"{path}/"))


@given(st.text("ab*?[]!-{},/\\", max_size=20), st.text("ab/-]", max_size=20))
def test_every_glob_pattern_is_accepted(pattern: str, path: str) -> None:
    matcher(pattern)(path)


def test_a_pathological_glob_pattern_is_answered() -> None:
    assert not matcher("*a" * 100 + "b")("a" * 255)
    assert not matcher("**/a/" * 100 + "b")("a/" * 1000 + "c")


def test_brace_expansion_is_bounded() -> None:
    assert len(expanded("{a,b}" * 30)) <= 2 * MOST_BRACES
    assert sorted(expanded("{a,{b,c}}d")) == ["ad", "bd", "cd"]
