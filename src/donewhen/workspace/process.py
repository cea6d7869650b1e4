"""STUB of the signatures while the launcher is written; replaced by the real module."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path


class End(Enum):
    EXITED = "exited"
    SIGNALLED = "signalled"
    TIMED_OUT = "timed_out"
    COULD_NOT_START = "could_not_start"
    LIMIT = "limit"
