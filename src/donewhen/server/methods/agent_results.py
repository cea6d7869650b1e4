"""The results of the methods for agents, by type. They are loaded for type checks and for `--schema` only."""

from typing_extensions import TypedDict  # that of `typing` has no types at run time before Python 3.12


class WorkResult(TypedDict):
    """The result of one check."""

    name: str
    """For a held-out check, a name that stands for all of them."""
    status: str
    exit_code: int | None
    output_tail: str


class JudgedWork(TypedDict):
    """A verdict on the newest work of a session."""

    green: bool
    outcome: str
    tree: str
    results: list[WorkResult]
    not_graded: list[str]
    """Paths whose changes do not count: they are restored from the base."""


class ShownCheck(TypedDict):
    """A check that an agent may see."""

    name: str
    command: str
    dir: str
    timeout_secs: float


class ShownContract(TypedDict):
    """A contract as an agent may see it: without held-out checks."""

    description: str
    checks: list[ShownCheck]
    protect: list[str]
    editable: list[str]
    text: str
    """The same in words."""


class AskedQuestion(TypedDict):
    """How far a question to a person is."""

    state: str
    """`waiting`, `answered` or `expired`."""
    answer: str


class KeptNote(TypedDict):
    """A note in the memory."""

    id: str
    """A person can list and forget the note by this tag."""
    text: str
    by: str
    at: str
