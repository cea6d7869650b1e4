"""The parameters of `session.start`: those of `donewhen run`, by the names of its options.

They are loaded for type checks and for the description of the methods only.
"""

from typing import (
    Annotated,
    NotRequired,  # that of `typing` has no types at run time before Python 3.12
)

from pydantic import with_config
from typing_extensions import TypedDict


@with_config(extra="forbid")
class QuarantineTable(TypedDict):
    """Why a flaky check does not decide, and until when."""

    reason: str
    until: Annotated[str, "A date, such as 2026-12-31."]


@with_config(extra="forbid")
class CheckTable(TypedDict):
    """A check with the keys of `[[check]]` in donewhen.toml, except for its name."""

    command: str
    dir: NotRequired[str]
    expect_exit_zero: NotRequired[bool]
    output_contains: NotRequired[str]
    timeout_secs: NotRequired[float]
    min_tests: NotRequired[int]
    allow_skips: NotRequired[bool]
    held_out: NotRequired[bool]
    quarantine: NotRequired[QuarantineTable]


class StartSettings(TypedDict):
    """How a session works. Without a value, the settings of the repository count."""

    repo: NotRequired[Annotated[str, "The repository, as an absolute path; empty: the directory of the caller."]]
    base: NotRequired[Annotated[str, "The commit to start from; empty: HEAD."]]
    dirty: NotRequired[Annotated[bool, "Start from HEAD with the uncommitted changes."]]
    checks: NotRequired[
        Annotated[dict[str, str | CheckTable], "Checks of the contract by name: a command, or a table."]
    ]
    contract: NotRequired[Annotated[str, "A file in the form of donewhen.toml; empty: none."]]
    max_iterations: NotRequired[Annotated[int | None, "Rounds (attempt and verdict), over all engines."]]
    yes: NotRequired[Annotated[bool, "Accept the proposed contract, ask nothing."]]
    ask: NotRequired[Annotated[bool, "Allow questions although there is no terminal."]]
    plan: NotRequired[Annotated[bool, "Only plan; the work begins when a person approves the plan."]]
    engine: NotRequired[str]
    model: NotRequired[str]
    land: NotRequired[str]
    editable: NotRequired[list[str]]
    allow_green: NotRequired[bool]
    max_turns: NotRequired[int]
    max_minutes: NotRequired[float]
    max_tokens: NotRequired[int]
    max_usd: NotRequired[float]


class StartOptions(StartSettings):
    """What a session is started with."""

    intent: Annotated[str, "What you want, in words."]
