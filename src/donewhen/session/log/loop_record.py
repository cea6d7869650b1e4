"""What a loop round was started with, besides what every session has. `loops` gives it its meaning."""

from collections.abc import Mapping
from typing import Any

from donewhen.records import Stored


class LoopRecord(Stored):
    """One loop round. Later changes of the loop's file do not affect it."""

    loop: str
    occurrence: str
    """The key under which the round was claimed."""
    trigger: str
    """What made the loop due, in words."""
    reads_only: bool
    """True if the maker and the checker only read."""
    checker_engine: str
    checker_model: str
    """Empty for the model of the maker."""
    table: Mapping[str, Any]
    """The loop as its file states it."""
    limits: Mapping[str, Any]
    """What this round may use; the limits of the day and of the whole life are included."""
    dry_run: bool = False
    """True if the action is only described."""
