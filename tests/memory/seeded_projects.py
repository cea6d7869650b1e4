"""The form of a small project for seeded bugs, and what may differ between two runs of one bug.

The projects are next to it, for the tests and for bench/signatures.py: data only. A project has placeholders: @PAD@
becomes some comment lines, so that line numbers move, @A@ and @B@ become numbers in parameters and messages.
"""

from collections.abc import Mapping
from dataclasses import dataclass

Files = Mapping[str, str]


@dataclass(frozen=True)
class Bug:
    name: str
    file: str
    right: str
    wrong: str
    twin: str = ""
    """The bug that prints the same as this one except for numbers."""


@dataclass(frozen=True)
class Project:
    runner: str
    command: tuple[str, ...]
    files: Files
    bugs: tuple[Bug, ...]
    name: str = "shop"
    comment: str = "//"
    shuffles: tuple[str, ...] = ()
    """An option that changes the order, if the runner has one; @SEED@ in it becomes a number."""
    parallel: tuple[str, ...] = ()
    """An option for several workers."""
    colours: tuple[str, ...] = ()
    """An option for colours without a terminal; many tools have a variable for it, which is always set."""
    flaky: tuple[str, str] = ("", "")
    """A file, and a test added at its end that fails in some runs and is unrelated to the bug."""
