"""A test of a table tries every row and lists those that fail."""

import pytest

from tables import every_row


def test_every_failing_row_is_listed_and_no_other() -> None:
    @every_row([1, 2, 3, 4])
    def is_odd(number: int) -> None:
        assert number % 2

    with pytest.raises(AssertionError) as failure:
        is_odd()
    assert [line[:4] for line in str(failure.value).splitlines() if ": " in line] == ["'2':", "'4':"]


def test_a_table_without_rows_is_an_error() -> None:
    with pytest.raises(AssertionError, match="without rows"):
        every_row([])
