"""The decorator `frozen`: a frozen dataclass with slots, at a third of the normal definition cost.

`dataclass` generates and compiles six functions for such a class. A program with many small classes pays for that at
every start. Here only `__init__` is compiled. Comparison, hash and repr are shared by all records and use the field
names. Assignment to a field is not prevented at run time; only the type checker reports it. A record is still a
dataclass: `replace`, `fields` and `asdict` accept it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform, overload

T = TypeVar("T")


@overload
def frozen(cls: type[T], /) -> type[T]: ...
@overload
def frozen(*, kw_only: bool = False) -> Callable[[type[T]], type[T]]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[Any] | None = None, /, *, kw_only: bool = False) -> Any:
    """Turn a class with annotated fields into a record."""

    def record(cls: type[Any]) -> type[Any]:
        return _record(cls, kw_only)

    return record(cls) if cls else record


def _record(cls: type[Any], kw_only: bool) -> type[Any]:
    own = vars(cls)
    made = dataclass(slots=True, eq=False, repr=False, kw_only=kw_only)(cls)
    compared = [each.name for each in fields(made) if each.compare]
    made.__compared__ = attrgetter(*compared) if compared else _nothing
    for name, method in _SAME_FOR_ALL.items():
        if name not in own:
            setattr(made, name, method)
    return made


def _nothing(_record: object) -> tuple[()]:
    return ()


def _equal(self: Any, other: object) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    compared = self.__class__.__compared__
    return compared(self) == compared(other)


def _hash(self: Any) -> int:
    return hash(self.__class__.__compared__(self))


def _shown(self: Any) -> str:
    shown = (f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
    return f"{self.__class__.__qualname__}({', '.join(shown)})"


_SAME_FOR_ALL: dict[str, Callable[..., Any]] = {"__eq__": _equal, "__hash__": _hash, "__repr__": _shown}
