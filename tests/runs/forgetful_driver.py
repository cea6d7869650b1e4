"""The driver without a part that recovery needs: the control, in which a crash must do harm.

`forgetful_driver.py REPO MODEL FIRST STEP LEFT_OUT`; the rest is as in `driver`, or in `amend_driver`.
"""

import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import warm_program
from donewhen.events import Event
from donewhen.session.log.writer import LogWriter
from donewhen.session.person import left_out
from donewhen.workspace.trees.maker import Maker
from runs import amend_driver, driver


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


def leave_out_amendment() -> None:
    """A repeated approval does not know what the one before was about to land."""
    decidable = left_out.require_decidable
    left_out.require_decidable = lambda log, approved: replace(decidable(log, approved), intent=None)


LEFT_OUT = {
    "undo": (leave_out_undo, driver.main),
    "intent": (leave_out_intent, driver.main),
    "amendment": (leave_out_amendment, amend_driver.main),
}


if __name__ == "__main__":
    warm_program.load()
    leave_out, drive = LEFT_OUT[sys.argv.pop()]
    leave_out()
    drive()
