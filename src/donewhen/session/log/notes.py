"""Notes of a session: private facts that a resumed session needs. Each is a record with the kind and keys of the log.

A key that a log lacks has a default, and keys of later versions are kept. Engines have notes of their own, in their
packages. What a session was started with is in `start_record`.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Literal, NamedTuple

from donewhen.engines.interface import NoChange
from donewhen.event_records import CheckResult, RefusedPath
from donewhen.records import Stored

AttemptStop = Literal["done", "turns", "model_failed", "budget", "claim", "waits", "declines", "silence"]
OpinionStatus = Literal["passed", "unproven", "rejected", "inconclusive"]


class SessionNote(Stored):
    """Base of the notes of a session."""

    KIND: ClassVar[str]

    def note(self) -> tuple[str, Mapping[str, Any]]:
        """Return the kind and the body, as the log takes them."""
        return self.KIND, self.plain()


# Owners of a session, and its trees.


class OwnerChanged(SessionNote):
    """A process continues the session."""

    KIND = "owned"
    KEYS = MappingProxyType({"restarts": "anew"})
    restarts: bool
    """True if the session had ended; all limits then count again from the start."""


class ClockChanged(SessionNote):
    """A correction of the working time: the clock of the machine was changed, or the session waited for a place."""

    KIND = "clock"
    secs: float


class MakerTree(SessionNote):
    """The name of a maker tree: the one of the session, or the one of a part of the work."""

    KIND = "tree"
    OPTIONAL = frozenset({"part"})
    name: str
    part: str | None = None


class Discarded(SessionNote):
    """The trees and the branch of the session are removed."""

    KIND = "discarded"


# Contract, plan and baseline.


class ProposalNote(SessionNote):
    """A plan, a contract or both, as they were proposed to a person or edited by one."""

    KIND = "proposed"
    OPTIONAL = frozenset({"by_person"})
    plan: Mapping[str, Any] | None
    contract: Mapping[str, Any] | None
    """None if the contract is one that a person gave."""
    drafted: bool
    """False if the checks only replace ones that the planner could not draft."""
    why: tuple[str, ...]
    not_verified: tuple[str, ...]
    revised: bool | None
    reason: str
    by_person: bool | None = None


class ChangeRequest(SessionNote):
    """What a person wants changed in the last proposal."""

    KIND = "wish"
    text: str


class Baseline(SessionNote):
    """The base tree and its failures, as the memory needs them."""

    KIND = "baseline"
    tree: str
    signatures: Mapping[str, Any]
    """Failure signatures by check."""


# Rounds.


class ShownHint(Stored):
    """A hint from an earlier repair."""

    repair: str
    check: str
    signature: str
    times_helped: int
    text: str
    """Empty if the hint is withheld."""
    source: str = ""
    """The other repository that the repair comes from."""


class RoundBegun(SessionNote):
    KIND = "round"
    KEYS = MappingProxyType({"step": "rung"})
    OPTIONAL = frozenset({"hint"})
    n: int
    step: str
    hint: ShownHint | None = None


class Attempted(SessionNote):
    """The end of an attempt, and the captured tree or why it could not be captured."""

    KIND = "attempted"
    KEYS = MappingProxyType({"last_text": "said", "code": "word"})
    OPTIONAL = frozenset({"word", "claim", "waits_for", "reset_at", "candidate", "refused", "refused_paths"})
    n: int
    stop: AttemptStop
    last_text: str
    """What the engine wrote at the end."""
    problem: str
    code: str | None = None
    """For `declines`: the reason as a one-word code."""
    claim: NoChange | None = None
    waits_for: str | None = None
    reset_at: str | None = None
    candidate: str | None = None
    refused: str | None = None
    refused_paths: tuple[RefusedPath, ...] | None = None


class FailingCheck(NamedTuple):
    name: str
    status: str


class EditedPath(NamedTuple):
    """A change of a protected path. It is not graded."""

    path: str
    action: str
    reason: str


class Judged(SessionNote):
    """The verdict on a round; if the work was refused, only why."""

    KIND = "judged"
    OPTIONAL = frozenset(
        {"candidate", "tree", "results", "edits", "notes", "note_checks", "signatures", "receipt", "refused",
         "refused_paths"}
    )  # fmt: skip
    n: int
    green: bool
    candidate: str | None = None
    tree: str | None = None
    results: tuple[CheckResult, ...] | None = None
    """None if the work was refused and not judged."""
    failing: tuple[FailingCheck, ...] = ()
    edits: tuple[EditedPath, ...] | None = None
    discriminating: bool | None = None
    notes: tuple[str, ...] | None = None
    note_checks: tuple[str, ...] | None = None
    """The check of each note; empty for a note about all checks. Logs before 0.2 lack the key."""
    feedback: str = ""
    signatures: Mapping[str, Any] | None = None
    """Failure signatures by check."""
    receipt: str | None = None
    refused: str | None = None
    refused_paths: tuple[RefusedPath, ...] | None = None

    def plain(self) -> dict[str, Any]:
        body = Stored.plain(self)
        if self.results is None:
            del body["discriminating"]  # nothing was tested
        return body

    def notes_without(self, checks: frozenset[str]) -> Iterator[str]:
        """Yield the notes that are not about one of these checks."""
        notes = self.notes or ()
        about = self.note_checks if self.note_checks is not None else [note.partition(":")[0] for note in notes]
        yield from (note for note, check in zip(notes, about, strict=True) if check not in checks)


class Opinion(SessionNote):
    """The result of the evaluation of green work."""

    KIND = "opinion"
    OPTIONAL = frozenset({"feedback", "results", "evaluation", "probes", "revises"})
    n: int
    status: OpinionStatus
    summary: str
    feedback: str | None = None
    results: tuple[CheckResult, ...] | None = None
    evaluation: Mapping[str, Any] | None = None
    probes: tuple[str, ...] | None = None
    """Commands of the evaluator that fail on the work. They are checks from then on."""
    revises: bool | None = None
    """True if the work is sent back for another round."""


class LandingIntent(SessionNote):
    """What will be landed."""

    KIND = "landing"
    tree: str
    receipt: str
    at: str
    results: tuple[CheckResult, ...]


class AmendmentIntent(SessionNote):
    """What will be landed as a second commit: verified work with its left-out edits, approved and judged green."""

    KIND = "amendment"
    tree: str
    receipt: str
    at: str
    branch: str
    """Where the first commit is; empty if nothing was landed, and then nothing is landed now."""
    parent: str
    """The first commit."""


class AmendmentRed(SessionNote):
    """The work is not green with the left-out edits that a person approved. They stay left out."""

    KIND = "amendment_red"
    reason: str
