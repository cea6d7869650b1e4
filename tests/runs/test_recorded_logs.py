"""Old logs load: the views of recorded logs are the same as when they were written."""

from pathlib import Path

import pytest

from runs.recorded_logs import NAMES, expected, log, seen_in


@pytest.mark.parametrize("name", NAMES)
def test_a_recorded_log_shows_the_same_as_when_it_was_written(name: str, tmp_path: Path) -> None:
    del tmp_path
    seen, before = seen_in(log(name)), expected(name)
    assert list(seen) == list(before)
    for part, shown in seen.items():
        assert shown == before[part], part
