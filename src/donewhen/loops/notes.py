"""Notes of a loop round, in the log of its session: what it needs to continue after its process died."""

from collections.abc import Mapping
from typing import Any, Literal

from donewhen.engines.interface import EngineNote
from donewhen.records import Stored

NOTEBOOK = "loop"
"""The notebook of a round in the log of its session."""
CheckerVerdict = Literal["confirmed", "refuted", "unproven"]


class InputOutput(Stored):
    """What the command of an input printed."""

    name: str
    text: str
    failing: tuple[str, ...] = ()
    """Ids of failed tests that a reader found in it."""


class RoundNamed(EngineNote):
    """`round_started` was reported."""

    KIND = "named"
    loop: str


class RoundBegan(EngineNote):
    """The round has begun: what earlier rounds ended with, and what the inputs printed."""

    KIND = "began"
    recalled: tuple[str, ...]
    """One line per earlier round, the newest first."""
    inputs: tuple[InputOutput, ...]


class UnusableCheck(EngineNote):
    """An answer of the checker that could not be used."""

    KIND = "unusable_check"
    n: int
    issues: tuple[str, ...]


class CheckerDone(EngineNote):
    """What the checker says about the work of a session round."""

    KIND = "checked"
    n: int
    verdict: CheckerVerdict
    summary: str
    evidence: str
    turns: int


class LoopProposal(EngineNote):
    """What is to be done with the work, and what the gate decided."""

    KIND = "proposal"
    kind: str
    verified: bool
    proceeds: bool
    reason: str
    """Why a person must decide; empty if it proceeds."""
    finding: str
    summary: str
    onto: str = ""
    """The branch that was checked out when the round began; the action is for it."""
    shown: Mapping[str, Any] | None = None
    """The proposal as a gate sees it; None in logs of earlier versions."""


class ActionBegun(EngineNote):
    """An action is about to be carried out. Without a result, it is unknown whether it was."""

    KIND = "action_begun"
    gate: str
    """The id of the gate at which a person approved it; empty if the gate let it proceed."""
    at: str


class ActionDone(EngineNote):
    """The receipt of an action."""

    KIND = "action_done"
    receipt: Mapping[str, Any]
