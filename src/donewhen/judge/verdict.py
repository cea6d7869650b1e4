"""What the judge says about one tree: one result per check, and what else a person should know. Plain data."""

from collections.abc import Mapping
from dataclasses import field
from enum import Enum
from typing import TYPE_CHECKING, Literal

from donewhen.records import frozen

if TYPE_CHECKING:
    from donewhen.readers.reading import Tests


class Status(Enum):
    PASS = "pass"
    FAIL = "fail"
    FLAKY = "flaky"
    TIMEOUT = "timeout"
    VACUOUS = "vacuous"
    TAMPERED = "tampered"
    INFRA = "infra"


EvidenceKind = Literal["sidecar", "text", "exit"]
Phase = Literal["baseline", "round", "rerun", "control", "gate", "union", "final"]


@frozen(kw_only=True)
class Result:
    """How one check went on one tree."""

    name: str
    status: Status
    exit_code: int | None = None
    signal: int | None = None
    duration_ms: int = 0
    output_tail: str = ""
    """The last lines, without secrets; colours are kept, for people."""
    tests: "Tests | None" = None
    runner: str = ""
    evidence: EvidenceKind = "exit"
    reasons: tuple[str, ...] = ()
    """Why it is not a pass, or what a person should know about the pass; one line each."""
    attempt: int = 1
    cached: bool = False
    quarantined: bool = False
    passed: frozenset[str] = field(default=frozenset(), repr=False)
    """Names of the tests that passed, where the runner's report has them."""


@frozen
class Edit:
    """A change of a protected path: it was made, it is reported, and it is not graded."""

    path: str
    action: Literal["added", "modified", "deleted"]
    reason: str
    """Which rule protects the path, in words."""
    parts: tuple[str, ...] = ()
    """For a file that mixes product and judge: the parts that were taken from the base; empty means all of it."""


@frozen
class VerdictNote:
    """What a person should know about one check, or about all of them when `check` is empty."""

    check: str
    text: str

    def __str__(self) -> str:
        return f"{self.check}: {self.text}" if self.check else self.text


@frozen(kw_only=True)
class Verdict:
    base: str
    """The commit that the protection was taken from."""
    candidate: str
    """The tree that was made (C)."""
    tree: str
    """The tree that was judged (J)."""
    results: tuple[Result, ...]
    edits: tuple[Edit, ...] = ()
    discriminating: bool | None = None
    """Whether some check is red without the product's changes; None when that was not asked."""
    notes: tuple[VerdictNote, ...] = ()
    baseline: tuple[Result, ...] = field(default=())
    logs: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """Of each check that did not pass, more of what it printed than is shown; without secrets."""

    @property
    def green(self) -> bool:
        """Every check that decides has passed, and there is one."""
        deciding = [result for result in self.results if not result.quarantined]
        return bool(deciding) and all(result.status is Status.PASS for result in deciding)
