"""A proposed contract as data: checks with the reason for each, and the workspace settings that they need."""

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from donewhen.judge.contract import Check
from donewhen.records import frozen

Kind = Literal["tests", "types", "lint", "build"]
KINDS: tuple[Kind, ...] = ("tests", "types", "lint", "build")
"""In order of importance."""


@frozen(kw_only=True)
class FoundCheck:
    """A possible check, found in a repository."""

    kind: Kind
    runner: str
    command: str
    dir: str
    why: str
    """One sentence that names the file, and the line or key, from which this follows."""
    timeout_secs: float = 120
    otherwise: tuple[str, ...] = ()
    """Commands for the same purpose, to be tried in this order if `command` cannot start here."""
    only_if_clean: bool = False
    """True for a checker with default rules or a guessed scope: it may be stricter than the project."""


@frozen
class Hint:
    """A note about the proposal for a person, in one line."""

    text: str


@frozen
class Proposed:
    check: Check
    why: str
    kind: Kind = "tests"
    otherwise: tuple[str, ...] = ()
    only_if_clean: bool = False


@frozen
class Proposal:
    checks: tuple[Proposed, ...]
    workspace: Mapping[str, tuple[str, ...]]
    """Keys of `[workspace]` that the checks need."""
    hints: tuple[str, ...]
    offers: tuple[str, ...]
    """If no tests were found: other possible checks, each as lines of a check to paste."""
    wider: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Keys of `[workspace]` that give access to the host. Only a person may approve them."""
