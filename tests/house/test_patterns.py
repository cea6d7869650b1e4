"""No regular expression of the source can be made to run for long by the text that it is given."""

import pytest

from house.backtracking import EXPONENTIAL, growth
from house.patterns import Found, found

PUT_TOGETHER = {
    "engines/external/network/endpoints.py": "classes repeated once each, on lines that `heads` has bounded",
    "judge/protect/globs.py": "workspace/wildcards makes it; tests/workspace/test_wildcards.py",
    "workspace/landing/included.py": "workspace/wildcards makes it; tests/workspace/test_wildcards.py",
    "workspace/policy/narrowing.py": "a person's own expression, only used in a process with a limit of CPU time",
}
"""Where a pattern only exists at run time, and why that is safe."""

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
]


@pytest.mark.parametrize(("pattern", "flags", "how", "expected"), CATCHES + LETS_PASS)
def test_the_checker_knows_how_fast_the_work_grows(pattern: str | bytes, flags: int, how: str, expected: int) -> None:
    assert growth(pattern, flags, how) == expected


def test_every_pattern_of_the_source_is_examined() -> None:
    unknown = {one.place.partition(":")[0] for one in found() if one.pattern is None}
    assert unknown == set(PUT_TOGETHER), "a pattern is put together at run time: say in PUT_TOGETHER why that is safe"
    assert len(found()) > 500


def test_no_pattern_takes_more_than_quadratic_time() -> None:
    grown = {one: growth(one.pattern, one.flags, one.how) for one in found() if one.pattern is not None}
    assert [_line(one, k) for one, k in grown.items() if k > 2] == []


def _line(one: Found, k: int) -> str:
    return f"{one.place} ({one.how}) takes {'exponential' if k == EXPONENTIAL else f'n**{k}'} time: {one.pattern!r}"
