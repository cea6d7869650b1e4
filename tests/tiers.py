"""How much of the long proofs runs: a sample of each in `make test`, all of them in `make test-all`.

The sample contains some tests of each file with whole runs or real processes. `@pytest.mark.sample(3)` makes
`make test` run three cases of a test, evenly spread; with 0 the test runs only in `make test-all`. A test that loops
over many cases uses `sampled`, one that loops over many moments uses every `SPARSE`-th.
"""

import os
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

import pytest

TIER = os.environ.get("DONEWHEN_TESTS", "")
"""`sample`, or empty. For tests that run tests."""
EVERYTHING = TIER != "sample"
"""True unless the Makefile sets the variable: pytest called by hand runs every case."""
WHOLE_RUNS = ("tests/runs/", "tests/cli/", "tests/server/daemon/")
"""Here nearly every test starts the program, and most take a second or more. One case of a test is in the sample."""
EVERY_RUN, EVERY_PROCESS = 9, 3
SHARES = {
    **dict.fromkeys(WHOLE_RUNS, EVERY_RUN),
    "tests/workspace/policy/": 1,
    "tests/loops/forge/": 1,
    "tests/server/acp/test_acp_texts.py": 1,
    **dict.fromkeys(
        ("tests/workspace/", "tests/union/", "tests/engines/native/", "tests/loops/", "tests/server/"),
        EVERY_PROCESS,
    ),
}
"""Directory → one in how many tests of each file is in the sample, those that show a promise first. In the directories
with 3, a test starts dozens of processes. The first directory that fits counts; elsewhere every test is in the
sample."""
SPARSE = 1 if EVERYTHING else 6
"""Every moment is tested, or every sixth."""
RARE = 1 if EVERYTHING else 35
"""The same for attacks that take seconds: every 35th."""

Case = TypeVar("Case")


def sampled(cases: Sequence[Case], most: int) -> list[Case]:
    """Return all cases, or at most `most` of them, evenly spread."""
    return list(cases) if EVERYTHING else spread(cases, most)


def spread(cases: Sequence[Case], most: int) -> list[Case]:
    """Return at most `most` cases, evenly spread."""
    if len(cases) <= most:
        return list(cases)
    return [cases[number * len(cases) // most] for number in range(most)]


def one_of_each(cases: Sequence[Case], kinds: Callable[[Case], set[Hashable]]) -> list[Case]:
    """Return all cases, or enough of them to have one of each kind."""
    if EVERYTHING:
        return list(cases)
    kept: list[Case] = []
    seen: set[Hashable] = set()
    for case in cases:
        if not kinds(case) <= seen:
            kept.append(case)
            seen |= kinds(case)
    return kept


def examples(most: int) -> int:
    """Return the number of random examples for a property."""
    return most if EVERYTHING else max(most // SPARSE, 20)


def left_out(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """Return the tests that are not in the sample."""
    if EVERYTHING:
        return []
    items = list(items)
    files: dict[str, dict[str, list[pytest.Item]]] = {}
    for item in items:
        file, _, name = item.nodeid.partition("::")
        files.setdefault(file, {}).setdefault(name.partition("[")[0], []).append(item)
    kept: set[pytest.Item] = set()
    for file, functions in files.items():
        share = next((share for directory, share in SHARES.items() if file.startswith(directory)), 1)
        for cases in _share(list(functions.values()), share):
            kept.update(spread(cases, _most(cases, 1 if file.startswith(WHOLE_RUNS) else len(cases))))
    return [item for item in items if item not in kept]


def _share(functions: list[list[pytest.Item]], share: int) -> list[list[pytest.Item]]:
    """Return one in `share` of the functions that may be in the sample, those that show a promise first."""
    functions = [cases for cases in functions if _most(cases, 1)]
    wanted = -(-len(functions) // share)
    promised = [cases for cases in functions if cases[0].get_closest_marker("promise")]
    others = [cases for cases in functions if cases not in promised]
    first = spread(promised, wanted)
    return [*first, *spread(others, wanted - len(first))]


def _most(cases: list[pytest.Item], otherwise: int) -> int:
    mark = cases[0].get_closest_marker("sample")
    return mark.args[0] if mark else otherwise
