"""Errors of calls for programs: each has a kind, and facts beside its one-line message."""

from collections.abc import Mapping
from typing import Any

from donewhen.errors import BadInput, DonewhenError, NeedsPerson


class CallRefused(BadInput):
    """A call that is not carried out. `kind` is the word for programs, `data` are further facts."""

    def __init__(self, kind: str, message: str, data: Mapping[str, Any] | None = None, code: int = -32000) -> None:
        super().__init__(message)
        self.kind = kind
        self.data = data or {}
        self.code = code


class CallFailed(DonewhenError):
    """A call whose process ended with an error that is described by its kind, its message and its exit code."""

    def __init__(self, kind: str, message: str, exit_code: int, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.exit_code = exit_code
        self.data = data or {}


def kind_of(error: DonewhenError) -> str:
    """Return the word for programs that says what kind of error it is."""
    if isinstance(error, CallRefused | CallFailed):
        return error.kind
    if isinstance(error, BadInput):
        return "bad_input"
    return "needs_person" if isinstance(error, NeedsPerson) else "machinery"


def facts_of(error: DonewhenError) -> dict[str, Any]:
    """Return what else a program may want to know about an error."""
    return dict(error.data) if isinstance(error, CallRefused | CallFailed) else {}
