"""JSON of strangers: what is read, what is refused with a reason, and that nothing else happens."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.server.rpc.bounded_json import DEEPEST, LONGEST, JsonRefused, load

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(VALUES)
def test_what_json_can_say_is_read_as_it_is(value: object) -> None:
    assert load(json.dumps(value)) == value
    assert load(json.dumps(value, ensure_ascii=False).encode()) == value


@given(st.binary(max_size=200) | st.text(max_size=200))
def test_any_input_is_read_or_refused_with_one_line(data: str | bytes) -> None:
    try:
        load(data)
    except JsonRefused as error:
        assert str(error)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ("[" * 100_000, f"nested deeper than {DEEPEST}"),
        ('{"a":' * 100_000, f"nested deeper than {DEEPEST}"),
        ('{"a": 1, "a": 2}', "same key twice"),
        ("[NaN]", "NaN"),
        ("[Infinity]", "Infinity"),
        ("[1e999]", "too large"),
        ("1" * 5000, "not JSON"),
        ('["\\ud800"]', "UTF-8"),
        (b"\xff\xfe", "UTF-8"),
        (b"\xef\xbb\xbf{}", "not JSON"),
        ("", "not JSON"),
        ("{} {}", "not JSON"),
        ('"' + "a" * LONGEST + '"', "longer than"),
    ],
)
def test_what_readers_disagree_on_is_refused_with_the_reason(data: str | bytes, why: str) -> None:
    with pytest.raises(JsonRefused, match=why):
        load(data)


def test_the_limit_of_depth_allows_what_it_says() -> None:
    assert load("[" * DEEPEST + "]" * DEEPEST)
    with pytest.raises(JsonRefused):
        load("[" * (DEEPEST + 1) + "]" * (DEEPEST + 1))


def test_brackets_inside_of_texts_do_not_count_as_depth() -> None:
    text = json.dumps(["[{" * 1000, '\\"[' * 100])

    assert load(text) == json.loads(text)


def test_a_pair_of_surrogates_is_one_character() -> None:
    assert load('["\\ud83d\\ude00"]') == ["😀"]


def test_without_the_limit_of_depth_the_reader_of_the_standard_library_breaks() -> None:
    with pytest.raises(RecursionError):
        json.loads("[" * 100_000)
