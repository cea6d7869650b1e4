"""The results of the methods about the memory, by type. Loaded for types only."""

from typing import Any

from typing_extensions import TypedDict  # that of `typing` has no types at run time before Python 3.12


class FailureCause(TypedDict):
    """Why tests failed."""

    kind: str
    message: str
    place: str
    ids: list[str]


class SignaturePlace(TypedDict):
    """Where something failed."""

    key: str
    check: str
    phase: str


class SignatureCauses(TypedDict):
    """What failed."""

    key: str
    causes: list[FailureCause]


class FailureSignature(TypedDict):
    """By what a failure is recognised."""

    v: int
    reader: str
    recall: bool
    """True if a repair may be recalled for it."""
    ids: list[str]
    where: SignaturePlace
    what: SignatureCauses


class RepairEntry(TypedDict):
    """A repair in a list."""

    id: str
    check: str
    key: str
    approach: str
    repo: str
    learnt_here: bool
    model: str
    session: str
    at: str
    state: str
    offered: int
    shown: int
    helped: int
    hurt: int
    withheld: int
    withheld_passed: int
    withheld_red: int
    rate: list[float]


class RepairDetails(RepairEntry):
    """A repair with its failure and its change."""

    signature: FailureSignature
    diff: str
    round: int
    offers: list[dict[str, Any]]


class HintText(TypedDict):
    """The hint that a round would get."""

    repair: str
    signature: str
    times_helped: int
    text: str
    source: str


class TaggedTextEntry(TypedDict):
    """A remembered text."""

    repo: str
    source: str
    session: str
    tags: list[str]
    text: str
    at: str


class Imported(TypedDict):
    """How many repairs there were, and how many of them were new."""

    repairs: int
    new: int
