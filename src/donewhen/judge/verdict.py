"""The verdict of the judge on one tree: one result per check, and notes for a person. Plain data."""

from collections.abc import Mapping
from dataclasses import field
from enum import Enum
from typing import TYPE_CHECKING, Literal

from donewhen.records import frozen

if TYPE_CHECKING:
    from donewhen.readers.result import Tests


class CheckStatus(Enum):
    PASS = "pass"
    FAIL = "fail"
    FLAKY = "flaky"
    TIMEOUT = "timeout"
    VACUOUS = "vacuous"
    TAMPERED = "tampered"
    INFRA = "infra"

    @property
    def is_red(self) -> bool:
        """True if the command itself failed, so that its output can name the failures."""
        return self in (CheckStatus.FAIL, CheckStatus.TIMEOUT)

    @property
    def is_believable(self) -> bool:
        """False for a green that is not what it seems: worse than red, whatever the base was."""
        return self not in (CheckStatus.VACUOUS, CheckStatus.TAMPERED)

    @property
    def blames_machine(self) -> bool:
        """True if the machine may be the reason: the next run on the same tree may have another status."""
        return self in (CheckStatus.FLAKY, CheckStatus.TIMEOUT, CheckStatus.INFRA)


EvidenceKind = Literal["sidecar", "text", "exit"]
Basis = Literal["declared", "observed", "names"]
Phase = Literal["baseline", "round", "rerun", "control", "gate", "union", "final"]


@frozen(kw_only=True)
class Result:
    """The result of one check on one tree."""

    name: str
    status: CheckStatus
    exit_code: int | None = None
    signal: int | None = None
    duration_ms: int = 0
    output_tail: str = ""
    """The last lines, without secrets. Colours are kept for people."""
    tests: "Tests | None" = None
    runner: str = ""
    evidence: EvidenceKind = "exit"
    reasons: tuple[str, ...] = ()
    """Why it is not a pass, or what a person should know about the pass. One line each."""
    attempt: int = 1
    cached: bool = False
    quarantined: bool = False
    passed: frozenset[str] = field(default=frozenset(), repr=False)
    """Names of the tests that passed, where the runner's report has them."""


@frozen
class Edit:
    """A change of a protected path. It is reported and not graded."""

    path: str
    action: Literal["added", "modified", "deleted"]
    reason: str
    """The rule that protects the path, as text."""
    parts: tuple[str, ...] = ()
    """For a file with product and judging parts: the parts restored from the base. Empty means the whole file."""


@frozen
class VerdictNote:
    """A note for a person about one check, or about all of them if `check` is empty."""

    check: str
    text: str

    def __str__(self) -> str:
        return f"{self.check}: {self.text}" if self.check else self.text


@frozen(kw_only=True)
class Verdict:
    base: str
    """The commit from which protected paths were restored."""
    candidate: str
    """The captured tree, before protected paths were restored."""
    tree: str
    """The judged tree: the candidate with protected paths from the base."""
    results: tuple[Result, ...]
    edits: tuple[Edit, ...] = ()
    discriminating: bool | None = None
    """True if some check is red without the product's changes; None if that was not tested."""
    basis: tuple[Basis, ...] = ()
    """What decided which changes count: the product that the contract declares, what the checks used on the base, and
    names, where a run on the base was red or could not be observed. Empty if nothing was compared with a base."""
    notes: tuple[VerdictNote, ...] = ()
    baseline: tuple[Result, ...] = field(default=())
    logs: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """For each check that did not pass: more of its output than is shown, without secrets."""

    @property
    def green(self) -> bool:
        """True if at least one check decides and every deciding check passed."""
        deciding = [result for result in self.results if not result.quarantined]
        return bool(deciding) and all(result.status is CheckStatus.PASS for result in deciding)
