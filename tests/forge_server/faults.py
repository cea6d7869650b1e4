"""Faults of the test forge. Each is used for one request."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Answers:
    """An answer without the effect, such as a refusal or a limit."""

    status: int
    message: str = "no"
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    value: Any = None
    """The whole body, as bytes or as what becomes JSON; without it, an object with the message."""
    is_wrong: bool = False
    """It breaks the description on purpose, so that it is not validated."""


@dataclass(frozen=True)
class Drops:
    """The connection is closed without an answer, before the effect or after it."""

    after_effect: bool = False


@dataclass(frozen=True)
class Hangs:
    """No answer comes while the block lasts; the effect is there or not."""

    after_effect: bool = False


Fault = Answers | Drops | Hangs
