"""The decorator `frozen`: a frozen dataclass with slots, at a third of the normal definition cost.

`dataclass` generates and compiles six functions for such a class. A program with many small classes pays for that at
every start. Here only `__init__` is compiled. Comparison, hash and repr are shared by all records and use the field
names. Assignment to a field is not prevented at run time; only the type checker reports it. A record is still a
dataclass: `replace`, `fields` and `asdict` accept it.

`Stored` is the base of records that are kept as JSON objects, in the log or inside an event.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from functools import cache
from operator import attrgetter
from types import NoneType
from typing import Any, ClassVar, NoReturn, Self, TypeVar, cast, dataclass_transform, get_args, get_origin, overload

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


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Stored:
    """A record that is kept as a JSON object. Keys that this version does not know survive `load` and `plain`.

    The annotations of a class are its fields. Classes are not dataclasses: generating code for each of them would make
    every start slower. The key of a field is its name without a final `_`, or what `KEYS` says.
    """

    KEYS: ClassVar[Mapping[str, str]] = {}
    """Keys that differ from the names of their fields, by name."""
    OPTIONAL: ClassVar[frozenset[str]] = frozenset()
    """Keys that `plain` leaves out if their value is None."""
    _names: ClassVar[tuple[str, ...]] = ()
    unknown: Mapping[str, Any] = field(default_factory=dict[str, Any], kw_only=True)
    """The values of keys that this version does not know."""

    def __init_subclass__(cls) -> None:
        cls._names = tuple(name for name, kind in cls.__annotations__.items() if get_origin(kind) is not ClassVar)

    def __init__(self, *values: Any, **named: Any) -> None:
        known = {**dict(zip(self._names, values, strict=False)), **named}
        for name in self._names:
            if name not in known and not hasattr(type(self), name):
                raise TypeError(f"{type(self).__name__} needs {name}")
            self.__dict__[name] = known.pop(name) if name in known else getattr(type(self), name)
        self.__dict__["unknown"] = known.pop("unknown", {})
        if known or len(values) > len(self._names):
            raise TypeError(f"{type(self).__name__} has no {', '.join(known) or 'further field'}")

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a record does not change: {type(self).__name__}.{name}")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash(tuple(self.__dict__[name] for name in self._names))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.__dict__.items())})"

    def changed(self, **fields: Any) -> Self:
        """Return a copy with other values of these fields."""
        return type(self)(**{**self.__dict__, **fields})

    @classmethod
    def load(cls, body: Mapping[str, Any]) -> Self:
        """Return the record in a JSON object. A missing key has the default of its field, or an empty value."""
        if not isinstance(body, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - JSON of any shape
            raise WrongShape(f"not an object: {body!r}")
        left, known = dict(body), dict[str, Any]()
        for name, key, read, empty in _columns(cls):
            if key in left:
                value = left.pop(key)
                known[name] = read(value) if read else value
            else:
                known[name] = getattr(cls, name, empty)
        return cls(**known, unknown=left)

    def plain(self) -> dict[str, Any]:
        """Return the JSON object that `load` reads."""
        body = {key: plain(self.__dict__[name]) for name, key, *_ in _columns(type(self))}
        for key in self.OPTIONAL:
            if body[key] is None:
                del body[key]
        return {**body, **self.unknown}


_EMPTY: Mapping[Any, Any] = {str: "", int: 0, float: 0.0, bool: False, tuple: (), dict: {}, Mapping: {}}
"""The empty value of a type, by the type or what it is made from."""


@cache
def _columns(cls: type[Stored]) -> tuple[tuple[str, str, Reader | None, Any], ...]:
    """Return name, key, reader and empty value of every field. Made when a record of the class is used first."""
    kinds = cls.__annotations__
    return tuple(
        (
            name,
            cls.KEYS.get(name, name.removesuffix("_")),
            reader(kinds[name]),
            _EMPTY.get(get_origin(kinds[name]) or kinds[name]),
        )
        for name in cls._names  # pyright: ignore[reportPrivateUsage] - its own helper
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
