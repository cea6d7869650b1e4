"""The results of the methods about loops and the inbox, by type. Loaded for types only."""

from typing import Any

from typing_extensions import TypedDict  # that of `typing` has no types at run time before Python 3.12


class ReadyLoopEntry(TypedDict):
    """A ready-made loop as it would be in a repository."""

    name: str
    what: str
    schedule: str
    is_added: bool
    level: str | None
    action: str | None
    missing: str
    """What the repository lacks for it; empty if nothing."""


class LoopCatalogue(TypedDict):
    """The ready-made loops."""

    loops: list[ReadyLoopEntry]
    forge: str
    no_forge: str
    """Why there is no forge."""


class AddedInput(TypedDict):
    """An input of a loop that was written."""

    name: str
    comment: str


class FilledValue(TypedDict):
    """A value that was filled in for the repository, and why it is this one."""

    key: str
    value: str
    why: str


class AddedLoop(TypedDict):
    """A ready-made loop that was written."""

    name: str
    file: str
    level: str
    schedule: str
    words: str
    action: str
    inputs: list[AddedInput]
    filled: list[FilledValue]
    trusted: list[str]
    """Keys that need trust, and have it."""
    budget: dict[str, float]


class LoopRow(TypedDict):
    """A loop in a list."""

    name: str
    intent: str
    level: str
    stated_level: str
    level_reason: str
    schedule: str
    words: str
    on: list[str]
    timezone: str
    next_at: str | None
    looked_at: str | None
    paused: str
    """Why it is paused; empty if it is not."""
    running: str
    """The session of the round that runs; empty if none does."""
    interrupted: str
    """The session of a round whose process died; empty if there is none."""
    strip: list[str]
    """Outcomes of the last rounds, the oldest first."""
    tokens_today: int
    usd_today: float | None
    action: str
    gate: str
    file: str
    trusted: bool
    widening: list[str]


class LoopList(TypedDict):
    """The loops of a repository."""

    loops: list[LoopRow]
    errors: list[str]
    """What is wrong with the loops that cannot be used."""


class PromotionEvidence(TypedDict):
    """What counts for a promotion."""

    sessions: list[str]
    needed: int
    fault: str


class LoopDetails(LoopRow):
    """A loop with its keys, as its file states them."""

    overlap: str
    jitter_secs: float
    inputs: list[dict[str, Any]]
    checks: list[str]
    own_checks: list[dict[str, Any]]
    maker: str
    checker: str
    engine: str
    model: str
    checker_engine: str
    checker_model: str
    never: list[str]
    allow: list[str]
    max_open: int
    draft: bool
    signoff: bool
    expires_days: float
    deliver: list[str]
    budget: dict[str, float]
    only_reads: bool
    next: list[str]
    evidence: PromotionEvidence | None


class OccurrenceEntry(TypedDict):
    """What became of one occurrence of a loop."""

    loop: str
    key: str
    due_at: str
    trigger: str
    status: str
    reason: str
    session: str
    attempts: int
    coalesced_into: str
    outcome: str
    finding: str
    input_tokens: int
    output_tokens: int
    usd: float | None
    started_at: str | None
    finished_at: str | None
    interrupted: bool


class RoundSummary(TypedDict):
    """How a round of a loop ended."""

    id: str
    """Its session."""
    loop: str
    outcome: str
    reason: str
    printed: str
    """The report, if it is to be printed."""
    is_cancelled: bool
    exit_code: int
    """That of `donewhen loop run`."""


class LoopProposalEntry(TypedDict):
    """What a loop wants to do with its work, as a gate sees it."""

    loop: str
    session: str
    level: str
    action: str
    """The kind of the action."""
    summary: str
    verified: bool
    unverified_reason: str
    """Why it is not verified; empty if it is."""
    paths: list[str]
    """The changed paths."""
    special_paths: list[str]
    """Those of them that are executable, links or submodules."""
    insertions: int
    deletions: int
    binary_files: int
    usd: float | None
    tokens: int
    tree: str
    """The judged tree. A decision is about it and nothing else."""
    base: str
    finding: str
    reason: str
    """Why a person has to decide; empty if it proceeds alone."""


class InboxEntry(TypedDict):
    """Something that waits for a person."""

    kind: str
    """The kind of a gate, `question`, `left_out`, `paused` or `promotion`."""
    session: str
    loop: str
    repo: str
    title: str
    reason: str
    since: str
    expires_at: str
    commands: list[str]
    """What a person may type."""
