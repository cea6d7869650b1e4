"""The common ways to sort imports and names. A row that is sorted in one of these ways stays sorted."""

import re
from collections.abc import Sequence

from donewhen.syntax.merging.pieces import Sorting

_NAME = re.compile(rb"^(?:from|import|use)\s+(?:type\s+)?(\S+)")
_QUOTED = re.compile(rb"""["'<]([^"'>]*)(["'>]?)""")


def _as_written(order: bytes) -> tuple[int, bytes]:
    return 0, order


def _without_case(order: bytes) -> tuple[int, bytes]:
    return 0, order.lower()


def _by_kind_of_name(order: bytes) -> tuple[int, bytes]:
    """Sort CONSTANTS, then Classes, then functions."""
    name = order.strip(b"\"'")
    kind = 0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2
    return kind, name.lower()


def _by_module(order: bytes) -> tuple[int, bytes]:
    """Sort by the module that is imported from, whatever is imported."""
    quoted = [name for name, closed in _QUOTED.findall(order) if closed]
    name = _NAME.match(order)
    return 0, (quoted[-1] if quoted else name[1] if name else order).lower()


def _plain_imports_first(order: bytes) -> tuple[int, bytes]:
    return int(order.startswith(b"from ")), _by_module(order)[1]


SORTINGS: Sequence[Sorting] = (_by_kind_of_name, _plain_imports_first, _by_module, _as_written, _without_case)
