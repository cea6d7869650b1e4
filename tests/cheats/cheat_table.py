"""One table from the rows of many tests of all workers.

Every test writes its row as a file. The test that writes the last one shows the table.
"""

import fcntl
import json
import os
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    number: int
    id: str
    language: str
    says: str
    control: str
    verdict: str
    stopped_by: str
    without: str
    """The result of the same cheat with that defence off, or without the check that catches it."""
    also: str = ""
    """What else stops it, and the result when that is off too."""
    why: str = ""


class Rows:
    """The rows of one test function."""

    def __init__(self, request: pytest.FixtureRequest, basetemp: Path, run: str) -> None:
        name = request.node.originalname
        place = basetemp.parent if "PYTEST_XDIST_WORKER" in os.environ else basetemp
        self._directory = place / f"rows-{name}-{run}"
        self._directory.mkdir(exist_ok=True)
        self._wanted = sum(getattr(item, "originalname", "") == name for item in request.session.items)

    def add(self, row: Row) -> list[Row]:
        """Return all rows to the test that adds the last one; nothing to the others."""
        with open(self._directory / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            (self._directory / f"{row.number}.json").write_text(json.dumps(asdict(row)))
            found = sorted(self._directory.glob("*.json"))
        if len(found) < self._wanted:
            return []
        rows = [Row(**json.loads(path.read_text())) for path in found]
        return sorted(rows, key=lambda each: each.number)


def shown(rows: Iterable[Row], without: str, summary: Callable[[list[Row]], Iterable[str]]) -> str:
    rows = list(rows)
    columns = ("id", "", "cheat", "control", "verdict", "stopped by", without, "also stopped by")
    cells = [
        (row.id, row.language, row.says, row.control, row.verdict, row.stopped_by, row.without, row.also)
        for row in rows
    ]
    if not any(row.also for row in rows):
        columns, cells = columns[:-1], [cell[:-1] for cell in cells]
    widths = [max(len(line[n]) for line in [columns, *cells]) for n in range(len(columns))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in [columns, *cells]
    ]
    return "\n".join([*lines, "", *summary(rows)])
