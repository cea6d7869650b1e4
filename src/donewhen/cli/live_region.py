"""A few rows at the bottom of a terminal that are written over in place, and lines that scroll by above them.

    region.draw(rows, lines)      region.clear(lines)

Nothing is left to be undone: the cursor is hidden only within one write, and no screen mode is switched, so that a
program that is killed at any moment leaves a terminal that works. What the rows say is not known here.
"""

import os
from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

_BEGIN, _END = "\x1b[?2026h\x1b[?25l", "\x1b[?25h\x1b[?2026l"
"""All at once, for terminals that can; others see a cursor that does not run about."""
_REST_OF_ROW, _BELOW = "\x1b[K", "\x1b[J"


class Region:
    def __init__(self, console: Console) -> None:
        self._console = console
        self._drawn: list[int] = []
        """How many columns each row took that stands on the terminal now; the cursor is in the last one."""
        self._columns = 0
        """Of the terminal when they were drawn."""
        self._lost = False

    def size(self) -> tuple[int, int]:
        """Columns and rows of now. The console would keep the COLUMNS that it was started with."""
        try:
            columns, lines = os.get_terminal_size(self._console.file.fileno())
        except (OSError, ValueError):
            columns, lines = self._console.size
        return columns or 80, lines or 24

    def draw(self, rows: Sequence[Text], lines: Iterable[Text] = ()) -> None:
        """Write the rows over those of before; the lines go above them and stay."""
        if self._lost:
            return
        try:
            self._write(self._frame(rows, lines))
        except OSError:
            self._lost = True  # a terminal that went away is no reason to stop the work
        self._drawn = [cell_len(row.plain) for row in rows]

    def _frame(self, rows: Sequence[Text], lines: Iterable[Text]) -> str:
        scrolled = "".join(f"{self._coded(line)}\n" for line in lines)
        body = "\n".join(self._coded(row) + _REST_OF_ROW for row in rows)
        # Lines of any length may leave something of the old rows behind; rows alone never do, unless the terminal broke
        # them when it became narrower: what it does not see erased it would join again when it becomes wider.
        broken, self._columns = self._columns != self.size()[0], self.size()[0]
        wiped = self._wiped() if scrolled or not rows or broken else ""
        return _BEGIN + self._to_top() + wiped + scrolled + body + (_BELOW if rows else "") + "\r" + _END

    def clear(self, lines: Iterable[Text] = ()) -> None:
        self.draw((), lines)

    def _to_top(self) -> str:
        """To the first row."""
        return "\r" + _up(self._height(self._drawn[:-1]))

    def _wiped(self) -> str:
        """Row by row: a terminal may take the erasing of all it shows for a page to be kept in its history."""
        more = max(0, self._height(self._drawn) - 1)
        return _REST_OF_ROW + f"\n{_REST_OF_ROW}" * more + _up(more)

    def _height(self, widths: Sequence[int]) -> int:
        """In rows of the terminal; one that became narrower has broken long rows into several."""
        columns, lines = self.size()
        return min(lines, sum(max(1, -(-width // columns)) for width in widths))

    def _coded(self, text: Text) -> str:
        with self._console.capture() as captured:
            self._console.print(text, end="", soft_wrap=True)
        return captured.get()

    def _write(self, data: str) -> None:
        self._console.file.write(data)
        self._console.file.flush()


def _up(rows: int) -> str:
    return f"\x1b[{rows}A" if rows else ""
