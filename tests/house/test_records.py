"""A record behaves like a frozen dataclass with slots."""

from dataclasses import asdict, dataclass, field, fields, replace

from hypothesis import given
from hypothesis import strategies as st

from donewhen.records import frozen


@frozen
class Point:
    x: int
    y: tuple[int, ...] = ()
    note: str = field(default="", compare=False, repr=False)


@frozen
class Other:
    x: int
    y: tuple[int, ...] = ()


@frozen(kw_only=True)
class Named:
    name: str = "n"

    def __repr__(self) -> str:
        return "its own"


@frozen
class Nothing:
    pass


@dataclass(frozen=True, slots=True)
class Expected:
    x: int
    y: tuple[int, ...] = ()
    note: str = field(default="", compare=False, repr=False)


values = st.tuples(st.integers(0, 2), st.lists(st.integers(0, 2), max_size=2).map(tuple), st.text(max_size=1))


@given(values, values)
def test_records_are_equal_and_hashed_and_shown_as_frozen_dataclasses_are(
    one: tuple[int, tuple[int, ...], str], other: tuple[int, tuple[int, ...], str]
) -> None:
    assert (Point(*one) == Point(*other)) == (Expected(*one) == Expected(*other))
    if Point(*one) == Point(*other):
        assert hash(Point(*one)) == hash(Point(*other))
    assert repr(Point(*one)) == repr(Expected(*one)).replace("Expected", "Point")


def test_records_of_two_classes_are_never_equal() -> None:
    assert Point(1) != Other(1)
    assert Nothing() == Nothing()
    assert hash(Nothing()) == hash(Nothing())
    assert repr(Nothing()) == "Nothing()"


def test_a_record_is_accepted_by_functions_for_dataclasses() -> None:
    assert replace(Point(1), x=2) == Point(2)
    assert asdict(Point(1, (2,))) == {"x": 1, "y": (2,), "note": ""}
    assert [each.name for each in fields(Point)] == ["x", "y", "note"]


def test_a_record_has_no_attributes_besides_its_fields() -> None:
    assert not hasattr(Point(1), "__dict__")


def test_a_method_defined_by_a_record_is_kept() -> None:
    assert repr(Named(name="x")) == "its own"
    assert Named() == Named(name="n")
