"""The results of the methods about contracts, verdicts, receipts and unions, by type. Loaded for types only."""

from typing_extensions import TypedDict  # that of `typing` has no types at run time before Python 3.12


class ProposedCheck(TypedDict):
    """A check that was found in a repository."""

    name: str
    command: str
    dir: str
    why: str


class ProductEntry(TypedDict):
    """What the work may change, of what the checks use."""

    pattern: str
    reason: str


class StatedContract(TypedDict):
    """What is or would be added to donewhen.toml."""

    file: str
    is_new: bool
    """True if there was no file before."""
    checks: list[ProposedCheck]
    """Checks that the file did not have."""
    known: list[str]
    """Names of the checks that the file had."""
    workspace: dict[str, list[str]]
    """Keys of `[workspace]` that the checks need."""
    product: list[ProductEntry]
    """Known only after the checks were run."""
    notes: list[str]


class RunTests(TypedDict):
    """The test counts that a runner reported."""

    collected: int
    passed: int
    failed: int
    skipped: int


class JudgedCheck(TypedDict):
    """The result of one check on one tree."""

    name: str
    status: str
    exit_code: int | None
    signal: int | None
    duration_ms: int
    output_tail: str
    tests: RunTests | None
    runner: str
    evidence: str
    reasons: list[str]
    attempt: int
    cached: bool
    quarantined: bool


class UngradedEdit(TypedDict):
    """A change of a protected path. It is not graded."""

    path: str
    action: str
    reason: str
    parts: list[str]


class TreeVerdict(TypedDict):
    """A verdict on one tree."""

    green: bool
    outcome: str
    summary: str
    base: str
    candidate: str
    tree: str
    """The judged tree: the candidate with protected paths from the base."""
    results: list[JudgedCheck]
    edits: list[UngradedEdit]
    notes: list[str]


class VerifiedReceipt(TypedDict):
    """What a receipt certifies, judged again."""

    same: bool
    differences: list[str]
    digest: str
    anchor: str
    """The commit that carries the digest of the receipt; empty if there is none."""
    summary: str
    verdict: TreeVerdict


class UnionPart(TypedDict):
    """One branch or patch of a union."""

    id: str
    title: str
    status: str
    """`in`, `left out`, or what the gate says."""
    reasons: list[str]
    """Why it is not in."""
    notes: list[str]


class ReconciledPath(TypedDict):
    """A file in which changes of two parts were merged by syntax."""

    path: str
    how: str


class OpenCheck(TypedDict):
    """A check that decides nothing, and why."""

    name: str
    detail: str


class UnionResult(TypedDict):
    """What became of a union."""

    is_complete: bool
    """True if all parts are in."""
    branch: str
    commit: str
    summary: str
    note: str
    parts: list[UnionPart]
    reconciled: list[ReconciledPath]
    flaky: list[str]
    open_checks: list[OpenCheck]
