"""What is removed from a message, and what must stay in it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from donewhen.memory.masking import LONGEST_MASKED, mask
from donewhen.memory.template import MOST_LINES, templates
from tiers import examples


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("assert 12 == 15", "assert 481 == 1434"),
        ("expected -1.5e3 to equal 7", "expected 2 to equal -7.25"),
        ("no file /tmp/pytest-of-ada/pytest-3/a0/x.txt", "no file /var/tmp/zz/y.txt"),
        ("cannot open C:\\Users\\ada\\x.log", "cannot open D:\\b\\y.log"),
        ("object at 0x7f1959950550 is gone", "object at 0xc0000ce060 is gone"),
        ("commit 59807616e1fa2540 is not here", "commit 0a1b2c3d4e5f is not here"),
        ("since 2026-01-02T03:04:05.678Z", "since 2025-12-31 23:59:59"),
        ("at 10:11:12 it stopped", "at 23:00:59.123 it stopped"),
        ("id 123e4567-e89b-12d3-a456-426614174000", "id 00000000-0000-4000-8000-00000000abcd"),
        ("no answer from 127.0.0.1:5432", "no answer from 10.0.0.7:80"),
        ("GET https://a.example/x?y=1 failed", "GET http://b.example/z failed"),
        ("made tmpab12_x9 and left", "made tmp0zz8qqk and left"),
        ("[1, 2, 3] != [1, 2]", "[4, 5] != [6]"),
    ],
)
def test_parts_that_differ_between_runs_are_masked(one: str, other: str) -> None:
    assert mask(one) == mask(other)


@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        ("ModuleNotFoundError", "No module named 'v2api'", "No module named 'v3api'"),
        ("AttributeError", "'str' object has no attribute 'md5'", "'str' object has no attribute 'sha1'"),
        ("NameError", "name 'x1' is not defined", "name 'x2' is not defined"),
        ("TypeError", "this.a.b2 is not a function", "this.a.b3 is not a function"),
        ("TypeError", "f() got an unexpected keyword argument 'k1'", "f() got an unexpected keyword argument 'k2'"),
        ("Error", "Cannot find module './money1'", "Cannot find module './money2'"),
        ("LoadError", "cannot load such file -- json5", "cannot load such file -- json6"),
        ("NoMethodError", "undefined method `to_s1' for nil", "undefined method `to_s2' for nil"),
        ("TS2339", "Property 'a1' does not exist on type 'B'.", "Property 'a2' does not exist on type 'B'."),
        ("", "Call to undefined function str1_upper()", "Call to undefined function str2_upper()"),
    ],
)
def test_a_missing_name_is_not_masked(kind: str, one: str, other: str) -> None:
    assert mask(one, kind) != mask(other, kind)
    assert mask(one, kind) == mask(one, kind)


def test_a_missing_absolute_path_keeps_its_last_part() -> None:
    one = mask("Cannot find module '/home/ada/shop/src/money2.js'", "Error")
    assert one == mask("Cannot find module '/builds/17/src/money2.js'", "Error")
    assert "money2.js" in one
    assert "ada" not in one


def test_words_that_distinguish_two_messages_are_kept() -> None:
    assert mask("expected TooMuch but nothing was raised") == "expected TooMuch but nothing was raised"


def test_a_template_holds_the_last_error_lines_without_varying_parts() -> None:
    log = ["Error: early", *["fine"] * 50, "step 17 failed after 3s in /tmp/a1", "0 errors", "done"]
    assert templates(log) == ("step <*> failed after <*> in <*>", "Error: early")
    assert templates(["a", "b 7"]) == ("b <*>", "a")
    assert len(templates([f"error {'x' * n}" for n in range(100)])) == MOST_LINES


@settings(max_examples=examples(100))
@given(st.text(max_size=2_000), st.sampled_from(["", "TypeError", "ModuleNotFoundError"]))
def test_any_text_is_masked_to_one_bounded_line(text: str, kind: str) -> None:
    found = mask(text, kind)
    assert len(found) <= LONGEST_MASKED
    assert "\n" not in found


@pytest.mark.parametrize("text", ["a/" * 500_000, "0" * 1_000_000, "'" * 1_000_000, "a.b@" * 250_000, "-" * 1_000_000])
def test_a_megabyte_is_masked_like_its_beginning(text: str) -> None:
    assert mask(text) == mask(text[:10_000])
