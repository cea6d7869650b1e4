"""JSON objects in model replies: found in any surrounding text, and no reply breaks the search."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from donewhen.engines.typed_reply import (
    LONGEST_REPLY,
    MOST_STARTS,
    InvalidReply,
    cleaned,
    cut,
    describe_value,
    object_in,
    one_line,
    only_object_in,
)
from tiers import examples

GOOD = '{"verdict": "pass", "n": 3}'
OPPOSITE = '{"verdict": "fail", "n": 3}'
FORM = 'one JSON object, {"verdict"}'


def issue_in(reply: str, *wanted: str) -> str:
    with pytest.raises(InvalidReply) as unreadable:
        object_in(reply, wanted)
    (issue,) = unreadable.value.issues
    return issue


def issue_in_the_only(reply: str) -> str:
    with pytest.raises(InvalidReply) as unreadable:
        only_object_in(reply, ["verdict"], FORM)
    (issue,) = unreadable.value.issues
    return issue


@pytest.mark.parametrize(
    "reply",
    [
        GOOD,
        f"```json\n{GOOD}\n```",
        f"```\n{GOOD}\n```\n",
        f"Here {{as asked}} it is: {GOOD} Good luck {{you}}!",
        f"fn main() {{ if x {{}} }} {GOOD}",
        f'a set {{"a", "b"}} in Python, then {GOOD}',
        f"\ufeff{GOOD}",
        f"[{GOOD}]",
    ],
)
def test_an_object_is_found_in_any_surrounding_text(reply: str) -> None:
    assert object_in(reply) == {"verdict": "pass", "n": 3}
    assert only_object_in(reply, ["verdict"], FORM) == {"verdict": "pass", "n": 3}


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ("", "the reply is empty; answer with one JSON object"),
        (" \n\t", "the reply is empty"),
        ("no", "contains no readable JSON object"),
        ("[1, 2]", "contains no readable JSON object"),
        ("{}", "contains no readable JSON object"),
        ('{"verdict": ', "the JSON of the reply is broken"),
        ('{"verdict": "a" "b"}', "broken: Expecting ',' delimiter in line 1, column 17"),
        ('{"other": 1}', "has no 'verdict'"),
        ('{"a":' * 100_000, "nested too deeply"),
        ('{"' * 400_000, "contains no readable JSON object"),
        ("x" * (LONGEST_REPLY + 1), "longer than"),
        ("{" * 10_000_000, "longer than"),
    ],
    ids=lambda value: value[:20],
)
def test_a_reply_without_an_object_says_in_one_line_what_is_wrong(reply: str, words: str) -> None:
    assert words in issue_in(reply, "verdict")


def test_the_object_with_most_of_the_wanted_keys_is_used_or_the_first_of_equals() -> None:
    reply = '{"a": 1} {"a": 2, "b": 2} {"a": 3, "b": 3} {"c": 4}'
    assert object_in(reply, ["a", "b"]) == {"a": 2, "b": 2}
    assert object_in(reply, ["c"]) == {"c": 4}
    assert object_in(reply) == {"a": 1}


def test_whole_numbers_stay_whole_and_very_long_ones_are_harmless() -> None:
    found = object_in('{"a": 120, "b": ' + "9" * 10_000 + ', "c": NaN, "d": -1e999, "e": 123456789012345}')
    assert (found["a"], type(found["a"])) == (120, int)
    assert found["b"] == float("inf")
    assert found["c"] != found["c"]
    assert found["d"] == -float("inf")
    assert found["e"] == 123456789012345


def test_line_breaks_inside_strings_are_tolerated() -> None:
    assert object_in('{"a": "one\ntwo"}') == {"a": "one\ntwo"}


# -- replies where quotations matter --


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (f"{GOOD} {OPPOSITE}", "2 different answers"),
        (f'{{"verdict": "fail", "why": "it printed "{GOOD}" and"}}', "broken JSON next to complete JSON"),
        (f'{{"why": "it printed "{GOOD}" and", "verdict": "fail"}}', "broken JSON next to complete JSON"),
        (f'{{"why": "a brace }} and "{GOOD}" and', "broken JSON next to complete JSON"),
        (f"{{'verdict': 'fail', 'why': 'it printed {GOOD}'}}", "broken JSON next to complete JSON"),
        (f"{{verdict: fail, why: {GOOD}}}", "broken JSON next to complete JSON"),
        (f"{GOOD} and {OPPOSITE[:-1]}", "broken JSON next to complete JSON"),
        (GOOD + '{"x": 1}' * MOST_STARTS + OPPOSITE, "broken JSON next to complete JSON"),
        ("", "the reply is empty"),
        ('{"other": 1}', "has no 'verdict'"),
    ],
    ids=lambda value: value[:30],
)
def test_a_reply_that_may_be_a_quotation_is_not_used(reply: str, words: str) -> None:
    assert words in issue_in_the_only(reply)


def test_a_repeated_reply_counts_once() -> None:
    assert only_object_in(f"{GOOD}\nonce more: {GOOD}", ["verdict"], FORM)["verdict"] == "pass"


def test_a_reply_that_quotes_another_one_inside_a_string_is_used() -> None:
    reply = json.dumps({"verdict": "fail", "why": f"it printed {GOOD}"})
    assert only_object_in(reply, ["verdict"], FORM)["verdict"] == "fail"


# -- text --


@pytest.mark.parametrize(
    ("told", "clean"),
    [
        ("a\0b\x1b[2Jc\x7f", "ab[2Jc"),
        ("a\r\nb\rc\u2028d\te", "a\nb\nc\nd\te"),
        ("rm \u202egnp.sh\u202c", "rm gnp.sh"),
        ("half \ud83d a pair", "half \ufffd a pair"),
        ("ü 漢 🎉", "ü 漢 🎉"),
    ],
)
def test_text_loses_characters_that_are_unsafe_for_terminals_and_files(told: str, clean: str) -> None:
    assert cleaned(told) == clean


def test_long_text_is_cut_with_a_mark() -> None:
    assert (cut("abcdef", 6), cut("abcdefg", 6)) == ("abcdef", "abcde…")
    assert describe_value("y" * 200) == f"'{'y' * 100}'…"


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ("x\n", "'x\\n'"),
        ({}, "an object"),
        ([], "a list"),
        (True, "a truth value"),
        (None, "nothing"),
        (2.5, "a number"),
    ],
)
def test_a_value_of_the_wrong_type_is_described_briefly(told: object, words: str) -> None:
    assert describe_value(told) == words


# -- property tests --

json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(st.text(min_size=1, max_size=6), json_values, min_size=1, max_size=4)
broken_json = st.text(alphabet='{}[]":, \n\\verdict1\ud800\0', max_size=80)


@settings(max_examples=examples(150))
@given(st.text() | broken_json | objects.map(json.dumps))
def test_any_text_gives_an_object_or_lines_with_the_reasons(reply: str) -> None:
    for wanted in ([], ["verdict"]):
        try:
            assert object_in(reply, wanted)
        except InvalidReply as unreadable:
            assert unreadable.issues
            assert all(issue.isprintable() for issue in unreadable.issues)


@settings(max_examples=examples(100))
@given(objects, st.text(alphabet="words {}\n`:[]", max_size=30))
def test_prose_with_braces_around_an_object_is_ignored(told: dict[str, Any], words: str) -> None:
    found = object_in(f"{words}\n```json\n{json.dumps(told)}\n```\n{words}")
    assert json.dumps(found) == json.dumps(object_in(json.dumps(told)))


@settings(max_examples=examples(150))
@given(st.text(alphabet=st.characters(exclude_categories=[])))
def test_cleaned_text_can_be_stored_and_cleaning_it_again_changes_nothing(told: str) -> None:
    assert cleaned(cleaned(told)) == cleaned(told)
    assert one_line(one_line(told)) == one_line(told)
    assert "\0" not in cleaned(told).encode().decode()
    assert len(one_line(told).splitlines()) <= 1
