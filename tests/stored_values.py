"""Values of any type that events and notes have, for property tests: records, lists and JSON of every shape."""

from collections.abc import Mapping
from types import NoneType
from typing import Any, ClassVar, Literal, get_args, get_origin

from hypothesis import strategies as st

from donewhen.records import Stored

TEXTS = st.text(max_size=5)
LEAVES = st.none() | st.booleans() | st.integers(-9, 9) | TEXTS
JSON = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2))
OBJECTS = st.dictionaries(TEXTS, JSON, max_size=2)
LATER = st.dictionaries(TEXTS.map("later_{}".format), JSON, max_size=2)
"""Keys of a later version."""
SIMPLE: dict[Any, st.SearchStrategy[Any]] = {
    str: TEXTS, int: st.integers(-9, 9), float: st.integers(-9, 9).map(float), bool: st.booleans(),
    NoneType: st.none(), Any: JSON, dict: OBJECTS, Mapping: OBJECTS,
}  # fmt: skip


def values_of(kind: Any) -> st.SearchStrategy[Any]:
    """Values of an annotated type."""
    made, parts = get_origin(kind) or kind, get_args(kind)
    if made in SIMPLE:
        return SIMPLE[made]
    if made is Literal:
        return st.sampled_from(parts)
    if made is tuple:
        of_one = values_of(parts[0])
        return st.lists(of_one, max_size=2).map(tuple) if parts[-1] is ... else st.tuples(*map(values_of, parts))
    if isinstance(made, type) and issubclass(made, Stored):
        return records_of(made)
    if isinstance(kind, type) and "_fields" in vars(kind):
        return st.builds(kind, **{name: values_of(inner) for name, inner in kind.__annotations__.items()})
    return st.one_of(*map(values_of, parts))


def records_of(cls: type[Stored]) -> st.SearchStrategy[Stored]:
    known = {name: values_of(kind) for name, kind in cls.__annotations__.items() if get_origin(kind) is not ClassVar}
    return st.builds(cls, **known, unknown=LATER)
