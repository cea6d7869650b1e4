"""Notes of planned work: what was asked of the planner and the evaluator so far. Kinds and keys never change.

A key that a log lacks has a default, and keys of later versions are kept. The updates of plan items are in `tracker`.
"""

from types import MappingProxyType

from donewhen.engines.interface import EngineNote
from donewhen.engines.planned.plan import Plan

ProposalKey = tuple[int, ...]
"""Identifies a proposal: attempts and rejected drafts of another one do not count."""


class PlanningBegun(EngineNote):
    """Work on a proposal began, which is reported once."""

    KIND = "plans"
    KEYS = MappingProxyType({"proposal": "for"})
    proposal: ProposalKey


class RejectedDraft(EngineNote):
    """A draft cannot be used, or asks only for what is green already."""

    KIND = "draft"
    KEYS = MappingProxyType({"proposal": "for"})
    proposal: ProposalKey
    issues: tuple[str, ...]
    green: bool
    """True if every check of the draft passes before any work."""
    plan: Plan | None
    """None if the draft could not be read."""


class EvaluationBegun(EngineNote):
    """The evaluation of a round began, which is reported once."""

    KIND = "evaluates"
    n: int


class UnusableEvaluation(EngineNote):
    """An evaluation of a round cannot be used."""

    KIND = "unusable"
    n: int
    issues: tuple[str, ...]


class IgnoredEdits(EngineNote):
    """Changes in the tracker's file that do not count, one line each."""

    KIND = "ignored"
    lines: tuple[str, ...]
