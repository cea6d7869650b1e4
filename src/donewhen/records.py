"""The decorator `frozen`: a frozen dataclass with slots, at a third of the normal definition cost.

`dataclass` generates and compiles six functions for such a class. A program with many small classes pays for that at
every start. Here only `__init__` is compiled. Comparison, hash and repr are shared by all records and use the field
names. Assignment to a field is not prevented at run time; only the type checker reports it. A record is still a
dataclass: `replace`, `fields` and `asdict` accept it.

`Stored` is the base of records that are kept as JSON objects, in the log or inside an event.
"""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from enum import Enum
from functools import cache
from operator import attrgetter
from types import NoneType
from typing import Any, ClassVar, NamedTuple, Self, TypeVar, cast, dataclass_transform, get_args, get_origin, overload

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


Reader = Callable[[Any], Any]


class WrongShape(ValueError):
    """A JSON value is not a list or an object where a record needs one."""


@frozen(kw_only=True)
class Stored:
    """A record that is kept as a JSON object. Keys that this version does not know survive `load` and `plain`.

    The key of a field is its name without a final `_`, or what the metadata of the field says under "key".
    """

    OPTIONAL: ClassVar[frozenset[str]] = frozenset()
    """Keys that `plain` leaves out if their value is None."""
    unknown: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)
    """The values of keys that this version does not know."""

    @classmethod
    def load(cls, body: Mapping[str, Any]) -> Self:
        """Return the record in a JSON object. A missing key has the default of its field, or an empty value."""
        if not isinstance(body, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - JSON of any shape
            raise WrongShape(f"not an object: {body!r}")
        known: dict[str, Any] = {}
        left = dict(body)
        for column in _columns(cls):
            if column.key in left:
                value = left.pop(column.key)
                known[column.name] = column.read(value) if column.read else value
            elif column.is_required:
                known[column.name] = column.empty
        return cls(**known, unknown=left)

    def plain(self) -> dict[str, Any]:
        """Return the JSON object that `load` reads."""
        body = {column.key: plain(getattr(self, column.name)) for column in _columns(type(self))}
        for key in self.OPTIONAL:
            if body[key] is None:
                del body[key]
        return {**body, **self.unknown}


_EMPTY: Mapping[Any, Any] = {str: "", int: 0, float: 0.0, bool: False, tuple: (), dict: {}, Mapping: {}}
"""The empty value of a type, by the type or what it is made from."""


class _Column(NamedTuple):
    name: str
    key: str
    read: Reader | None
    is_required: bool
    empty: Any


@cache
def _columns(cls: type[Stored]) -> tuple[_Column, ...]:
    return tuple(
        _Column(
            each.name,
            each.metadata.get("key", each.name.removesuffix("_")),
            reader(each.type),
            each.default is MISSING and each.default_factory is MISSING,
            _EMPTY.get(get_origin(each.type) or each.type),
        )
        for each in fields(cls)
        if each.name != "unknown"
    )


def reader(kind: Any) -> Reader | None:
    """Return the function that reads a value of this type out of JSON; None if the JSON value is used as it is.

    Texts, lists and records are what their type says. Numbers and other values are not checked.
    """
    parts = get_args(kind)
    if get_origin(kind) is tuple:
        return _tuple_reader(reader(parts[0]))
    if kind is str:
        return _text
    if NoneType in parts:
        read = next(filter(None, map(reader, parts)), None)
        return (lambda value: None if value is None else read(value)) if read else None
    if isinstance(kind, type) and issubclass(kind, Stored):
        return kind.load
    return _named_tuple_reader(kind) if isinstance(kind, type) and issubclass(kind, tuple) else None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def _tuple_reader(read: Reader | None) -> Reader:
    def read_all(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list | tuple):
            raise WrongShape(f"not a list: {value!r}")
        values = cast("list[Any]", value)
        return tuple(map(read, values)) if read else tuple(values)

    return read_all


def _named_tuple_reader(kind: Any) -> Reader:
    read_all = _tuple_reader(None)
    return lambda value: kind(*read_all(value)[: len(kind._fields)])


def plain(value: Any) -> Any:
    """Return a value as JSON has it: a record as an object, a tuple as a list, a member of an enum as its value."""
    if isinstance(value, Stored):
        return value.plain()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return [plain(item) for item in value]  # pyright: ignore[reportUnknownVariableType] - any tuple of plain data
    return value
