"""The driver without a part that recovery needs: the control, in which a crash must do harm.

`forgetful_driver.py REPO MODEL FIRST STEP LEFT_OUT`; the rest is as in `driver`.
"""

import sys
from collections.abc import Mapping
from typing import Any

import warm_program
from donewhen.events import Event
from donewhen.session.log.writer import LogWriter
from donewhen.workspace.trees.maker import Maker
from runs import driver


def leave_out_undo() -> None:
    """A change without a result is not undone before it is repeated."""

    async def restore(self: Maker, tree: str) -> None:
        del self, tree

    Maker.restore = restore


def leave_out_intent() -> None:
    """A change is made without a note before it."""
    write = LogWriter.write

    def forgetful(
        self: LogWriter, *events: Event, note: tuple[str, Mapping[str, Any]] | None = None, sync: bool = False
    ) -> None:
        if note is None or note[0] != "native.begun":
            write(self, *events, note=note, sync=sync)

    LogWriter.write = forgetful


LEFT_OUT = {"undo": leave_out_undo, "intent": leave_out_intent}


if __name__ == "__main__":
    warm_program.load()
    LEFT_OUT[sys.argv.pop()]()
    driver.main()
