"""One test for a table of pure rows: it tries every row and lists those that fail.

A separate test for each row costs more than the row. Rows that need fixtures or show a promise stay single tests.
"""

import functools
from collections.abc import Callable, Iterable
from typing import TypeVar

Row = TypeVar("Row")


def every_row(rows: Iterable[Row]) -> Callable[[Callable[[Row], None]], Callable[[], None]]:
    """Turn a test of one row into a test of all rows. A table without rows is an error."""
    table = tuple(rows)
    assert table, "a table without rows tests nothing"

    def over_all_rows(test: Callable[[Row], None]) -> Callable[[], None]:
        @functools.wraps(test)
        def all_rows() -> None:
            failed = [f"{str(row)!a}: {problem}" for row in table if (problem := problem_of(test, row))]
            assert not failed, "\n".join(failed)

        del all_rows.__wrapped__  # pytest would take the row for a fixture
        return all_rows

    return over_all_rows


def problem_of(test: Callable[[Row], None], row: Row) -> str:
    """Return why the test of a row fails; empty if it passes."""
    try:
        test(row)
    except AssertionError as problem:
        return str(problem) or "assertion failed"
    return ""
