"""Rows at the bottom of a terminal that are overwritten in place, with lines that scroll above them.

    region.draw(rows, lines)      region.clear(lines)

There is no terminal state to restore: the cursor is hidden only within one write, and no screen mode is changed. So a
program that is killed at any moment leaves a working terminal. This module does not know the content of the rows.
"""

import os
from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

_BEGIN, _END = "\x1b[?2026h\x1b[?25l", "\x1b[?25h\x1b[?2026l"
"""Synchronised output, for terminals that support it; for others, hiding the cursor avoids visible jumps."""
_REST_OF_ROW, _BELOW = "\x1b[K", "\x1b[J"


class LiveRegion:
    def __init__(self, console: Console) -> None:
        self._console = console
        self._drawn: list[int] = []
        """Width in columns of each row that is on the terminal now; the cursor is in the last row."""
        self._columns = 0
        """Width of the terminal when the rows were drawn."""
        self._lost = False

    def size(self) -> tuple[int, int]:
        """Return the current columns and rows. The console would keep the COLUMNS value from its start."""
        try:
            columns, lines = os.get_terminal_size(self._console.file.fileno())
        except (OSError, ValueError):
            columns, lines = self._console.size
        return columns or 80, lines or 24

    def draw(self, rows: Sequence[Text], lines: Iterable[Text] = ()) -> None:
        """Overwrite the previous rows; the lines go above them and stay."""
        if self._lost:
            return
        try:
            self._console.file.write(self._frame(rows, lines))
            self._console.file.flush()
        except OSError:
            self._lost = True  # a lost terminal must not stop the session
        self._drawn = [cell_len(row.plain) for row in rows]

    def _frame(self, rows: Sequence[Text], lines: Iterable[Text]) -> str:
        scrolled = "".join(f"{self._encode(line)}\n" for line in lines)
        body = "\n".join(self._encode(row) + _REST_OF_ROW for row in rows)
        # New lines of any length may leave parts of the old rows visible. Rows alone never do, unless the terminal
        # wrapped them when it became narrower: it would join wrapped rows that are not erased when it becomes wider.
        broken, self._columns = self._columns != self.size()[0], self.size()[0]
        wiped = self._erase_sequence() if scrolled or not rows or broken else ""
        to_first_row = "\r" + _up(self._height(self._drawn[:-1]))
        return _BEGIN + to_first_row + wiped + scrolled + body + (_BELOW if rows else "") + "\r" + _END

    def clear(self, lines: Iterable[Text] = ()) -> None:
        self.draw((), lines)

    def _erase_sequence(self) -> str:
        """Erase row by row: if all is erased at once, a terminal may keep it as a page in its history."""
        more = max(0, self._height(self._drawn) - 1)
        return _REST_OF_ROW + f"\n{_REST_OF_ROW}" * more + _up(more)

    def _height(self, widths: Sequence[int]) -> int:
        """Return the height in terminal rows; a terminal that became narrower has wrapped long rows."""
        columns, lines = self.size()
        return min(lines, sum(max(1, -(-width // columns)) for width in widths))

    def _encode(self, text: Text) -> str:
        with self._console.capture() as captured:
            self._console.print(text, end="", soft_wrap=True)
        return captured.get()


def _up(rows: int) -> str:
    return f"\x1b[{rows}A" if rows else ""
