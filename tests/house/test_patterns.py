"""No regular expression of the source runs long on any text that it gets.

How to make a quadratic one linear: a possessive repeat (`\\s*+`) before something that starts alike; a look-behind
that lets a search start only at the start of a run (`(?<!\\s)\\s+`); an end that may be missing (`"[^"]*"?`), so
that a search does not start again inside; `match` without a `.*` at the end, or `re.DOTALL`, where a line is read as
a whole.
"""

import re
from collections.abc import Iterable, Mapping

import pytest

from house.backtracking import EXPONENTIAL, growth, wrong_before_3_11_5
from house.patterns import Found, found

PUT_TOGETHER = {
    "engines/external/network/endpoints.py": "classes repeated once each, on lines that `heads` has bounded",
    "judge/globs.py": "workspace/wildcards makes it; tests/workspace/test_wildcards.py",
    "workspace/git/landing/git_config.py": "workspace/wildcards makes it; tests/workspace/test_wildcards.py",
    "workspace/policy/narrowing.py": "a person's own expression, only used in a process with a limit of CPU time",
}
"""Patterns that exist only at run time, and why they are safe."""

QUADRATIC = {
    "memory/masking.py: ABSOLUTE": "a name of at most 120 characters, which `NAME` found",
    "memory/masking.py: MASKS": "a message cut at `LONGEST`, 600 characters",
    "memory/template.py: VARIABLE": "what `masked` returns, cut at `LONGEST_MASKED`, 300 characters",
    "model/wires/openai_models.py: REASONING": "the name of a model, which a person chose",
    "readers/failures/findings.py: QUOTED": "a message cut at `LONGEST_MESSAGE`, 500 characters",
    "readers/compilers/gcc.py: LINKED": "what stands before a symbol, cut at `LONGEST_PLACE`, 400 characters",
    "syntax/merging/scan.py: _SEPARATOR_NEXT": "the space behind a comment, up to the next one",
    "workspace/git/landing/git_config.py: PIECES": "a pattern of at most `LONGEST_PATTERN`, 4,096 characters",
}
"""Patterns that take quadratic time, and why their text is short or not foreign."""

CATCHES = [
    (r"(a+)+$", 0, "match", EXPONENTIAL),
    (r"(?:ab|a[a-c]x?)*d", 0, "match", EXPONENTIAL),
    (r"(?:\w+\s*)+=", 0, "match", EXPONENTIAL),
    (r"((a*)?b)*c", 0, "match", EXPONENTIAL),
    (r'"(?:\\.|.)*"', 0, "match", EXPONENTIAL),
    (r"(?:.*,)*y", 0, "match", EXPONENTIAL),
    (r"(?i)(?:ab|AB)*c", 0, "match", EXPONENTIAL),
    (r".*x.*x.*y", 0, "match", 3),
    (r"a*a*b", 0, "search", 3),
    (r"\s*\s*\s*\(", 0, "match", 3),
    (rb"\d+\w+\S+!", 0, "match", 3),
    (r"(?>(?:a|a)*)c", 0, "match", EXPONENTIAL),
    (r"a(?:(b+)+c)?", 0, "match", EXPONENTIAL),
    (r"x(?:.*y)?", 0, "finditer", 2),
    (r"(?:.*b)?", 0, "finditer", 2),
    (r'"(?:[^"\\]++|\\.)*+"', re.DOTALL, "finditer", 2),
    (r"\s+#.*$", 0, "search", 2),
    (r"^\s*a", re.MULTILINE, "search", 2),
    (r"a*.*$", 0, "match", 2),
]
LETS_PASS = [
    (r"a*b", 0, "match", 1),
    (r"a*b", 0, "search", 2),
    (r"a*+a*b", 0, "match", 1),
    (r"(?:\w+\s+)+=", 0, "match", 1),
    (r'"(?:\\.|[^"\\])*"', 0, "match", 1),
    (r"\b\w+=", 0, "search", 1),
    (r"(?<!\w)\w+x", 0, "search", 1),
    (r"(?m)^[ \t]*x", 0, "search", 1),
    (r"(.*)", 0, "match", 1),
    (r"[a-z]{1,40}[a-z]{1,40}!", 0, "fullmatch", 1),
    (r"(?:ab|ac)*d", 0, "match", 1),
    (r"(?>(?:a|b)*)c", 0, "match", 1),
    (r"x(?:.*y)?", 0, "search", 1),
    (r"\d+", 0, "finditer", 1),
    (r"\w+\b", 0, "finditer", 1),
    (r"a.*?|b", 0, "finditer", 1),
    (r'"(?:[^"\\]++|\\.?)*+"?', re.DOTALL, "finditer", 1),
    (r"(?<!\s)\s++#.*", 0, "search", 1),
    (r"^[^\S\n]*+a", re.MULTILINE, "search", 1),
    (r".*x.*", re.DOTALL, "fullmatch", 1),
]


@pytest.mark.parametrize(("pattern", "flags", "how", "expected"), CATCHES + LETS_PASS)
def test_the_checker_knows_how_fast_the_work_grows(pattern: str | bytes, flags: int, how: str, expected: int) -> None:
    assert growth(pattern, flags, how) == expected


def test_every_pattern_of_the_source_is_examined() -> None:
    unknown = {one.place.partition(":")[0] for one in found() if one.pattern is None}
    assert unknown == set(PUT_TOGETHER), "a pattern is put together at run time: say in PUT_TOGETHER why that is safe"
    assert len(found()) > 500


def test_no_pattern_takes_more_than_linear_time_on_long_text() -> None:
    assert offences(found(), QUADRATIC) == []


def test_a_quadratic_pattern_needs_a_reason_and_a_reason_a_quadratic_pattern() -> None:
    planted = Found("a.py: WORD", r"\s+x", 0, "search")
    worse = Found("a.py: WORD", r"\s+\s+x", 0, "search")
    assert offences([planted], {}) == [r"a.py: WORD (search) takes n**2 time: '\\s+x'"]
    assert offences([planted], {"a.py: WORD": "ten characters"}) == []
    assert offences([worse], {"a.py: WORD": "ten characters"}) == [r"a.py: WORD (search) takes n**3 time: '\\s+\\s+x'"]
    linear = Found("a.py: WORD", r"(?<!\s)\s+x", 0, "search")
    assert offences([linear], {"a.py: WORD": "ten characters"}) == [
        "a.py: WORD is not quadratic; strike it off QUADRATIC"
    ]
    assert offences([linear], {}) == []


def offences(patterns: Iterable[Found], reasons: Mapping[str, str]) -> list[str]:
    grown = {one: growth(one.pattern, one.flags, one.how) for one in patterns if one.pattern is not None}
    slow = {one: k for one, k in grown.items() if k > (2 if one.place in reasons else 1)}
    stale = reasons.keys() - {one.place for one, k in grown.items() if k > 1}
    return [_line(one, k) for one, k in slow.items()] + [
        f"{place} is not quadratic; strike it off QUADRATIC" for place in sorted(stale)
    ]


@pytest.mark.parametrize(
    ("pattern", "is_wrong"),
    [
        (r"(?:ab|a)*+", True),
        (r'x(?:[^"]|"(?!"))++', True),
        (r"(a)?+", True),
        (r"[^a]*+b++.?+", False),
        (r"(?>(?:ab|a)*)", False),
    ],
)
def test_the_checker_knows_patterns_that_older_pythons_match_wrongly(pattern: str, is_wrong: bool) -> None:
    assert wrong_before_3_11_5(pattern) is is_wrong


def test_every_pattern_means_the_same_in_every_version_of_python() -> None:
    assert [
        one.place for one in found() if one.pattern is not None and wrong_before_3_11_5(one.pattern, one.flags)
    ] == []


def _line(one: Found, k: int) -> str:
    return f"{one.place} ({one.how}) takes {'exponential' if k == EXPONENTIAL else f'n**{k}'} time: {one.pattern!r}"
