"""How much of the long proofs runs: a sample of each in `make test`, all of them in `make test-all`.

Of the tests of whole runs, some of each file are in the sample. `@pytest.mark.sample(3)` has `make test` run three
cases of a test, evenly spread; with 0 the test runs in `make test-all` alone. A test that goes over many cases by
itself takes `sampled` of them, one that goes over many moments takes every `SPARSE`-th.
"""

import os
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

import pytest

EVERYTHING = os.environ.get("DONEWHEN_TESTS") != "sample"
"""So it is unless the Makefile says otherwise: whoever names a test gets all of it."""
WHOLE_RUNS = ("tests/runs/", "tests/cli/")
"""Here nearly every test starts the program, and most take a second or more."""
EVERY_RUN, MOST_RUNS = 6, 2
"""Of the tests of whole runs, every sixth of a file runs, with at most two of its cases."""
SPARSE = 1 if EVERYTHING else 6
"""Every moment is tried, or every sixth."""
RARE = 1 if EVERYTHING else 20
"""The same for attacks and moments that take seconds each: every twentieth."""

Case = TypeVar("Case")


def sampled(cases: Sequence[Case], most: int) -> list[Case]:
    """All cases, or so many of them, evenly spread."""
    if EVERYTHING or len(cases) <= most:
        return list(cases)
    return [cases[number * len(cases) // most] for number in range(most)]


def one_of_each(cases: Sequence[Case], kind: Callable[[Case], Hashable]) -> list[Case]:
    """All cases, or the first of each kind."""
    if EVERYTHING:
        return list(cases)
    first: dict[Hashable, Case] = {}
    for case in cases:
        first.setdefault(kind(case), case)
    return list(first.values())


def examples(most: int) -> int:
    """How many random examples a property is tried on."""
    return most if EVERYTHING else max(most // SPARSE, 20)


def left_out(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """The tests that do not run, because a sample is enough."""
    if EVERYTHING:
        return []
    items = list(items)
    by_function: dict[tuple[str, str], list[pytest.Item]] = {}
    for item in items:
        file, _, name = item.nodeid.partition("::")
        by_function.setdefault((file, name.partition("[")[0]), []).append(item)
    by_file: dict[str, list[tuple[str, str]]] = {}
    for file, name in by_function:
        by_file.setdefault(file, []).append((file, name))
    kept: set[pytest.Item] = set()
    for file, functions in by_file.items():
        of_runs = file.startswith(WHOLE_RUNS)
        for function in functions[:: EVERY_RUN if of_runs else 1]:
            cases = by_function[function]
            mark = cases[0].get_closest_marker("sample")
            kept.update(sampled(cases, mark.args[0] if mark else MOST_RUNS if of_runs else len(cases)))
    return [item for item in items if item not in kept]
