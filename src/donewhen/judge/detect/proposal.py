"""A proposed contract as data: checks with the reason for each, and what the workspace needs for them."""

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from donewhen.judge.contract import Check
from donewhen.records import frozen

Kind = Literal["tests", "types", "lint", "build"]
KINDS: tuple[Kind, ...] = ("tests", "types", "lint", "build")
"""In the order in which they matter."""


@frozen(kw_only=True)
class Found:
    """Something in a repository that could be a check."""

    kind: Kind
    runner: str
    command: str
    dir: str
    why: str
    """One sentence that names the file and the line or key that says so."""
    timeout_secs: float = 120


@frozen
class Hint:
    """Something a person should know about the proposal, in one line."""

    text: str


@frozen
class Proposed:
    check: Check
    why: str
    kind: Kind = "tests"


@frozen
class Proposal:
    checks: tuple[Proposed, ...]
    workspace: Mapping[str, tuple[str, ...]]
    """Keys of `[workspace]` that the checks need."""
    hints: tuple[str, ...]
    offers: tuple[str, ...]
    """When no tests were found: what else there is, each as the lines of a check to paste."""
    wider: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Keys of `[workspace]` that open a door to the host; only a person says yes to them."""
