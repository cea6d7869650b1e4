"""Errors of calls for programs: each has a kind, and facts beside its one-line message."""

from collections.abc import Mapping
from typing import Any

from donewhen.errors import BadInput, DonewhenError


class CallRefused(BadInput):
    """A call that is not carried out. `kind` is the word for programs, `data` are further facts."""

    def __init__(self, kind: str, message: str, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.data = data or {}


class CallFailed(DonewhenError):
    """A call whose process ended with an error that is described by its kind, its message and its exit code."""

    def __init__(self, kind: str, message: str, exit_code: int, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.exit_code = exit_code
        self.data = data or {}
