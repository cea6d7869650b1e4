"""Foreign texts: the stored form of any text has nothing hidden, holds no secret, and is bounded."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.memory.sanitise import HIDDEN, hide_secrets, sanitise, sanitise_line, visible, without_secrets

ODD = "\x1b[31m\x9b2J\x00\x07\x7f\u202e\u2066\u200b\ufeff\U000e0041\ud800\ue000\u2028\x85\x0c\r\n\t"
TEXTS = st.text(st.one_of(st.sampled_from(ODD), st.characters()), max_size=80)
PARTS = st.lists(
    st.one_of(
        TEXTS, st.sampled_from(["token=", "Bearer ", "sk-", "://a:", "@", "A1b2C3d4E5f6G7h8I9j0K1", "'", HIDDEN])
    ),
    max_size=12,
).map("".join)


@given(PARTS, st.integers(min_value=3, max_value=120))
def test_stored_text_is_visible_bounded_and_stable_under_cleaning(text: str, most: int) -> None:
    kept = sanitise(text, most)
    assert len(kept.encode()) <= most
    assert all(c in "\n\t" or unicodedata.category(c)[0] != "C" for c in kept)
    assert visible(kept) == kept
    line = sanitise_line(text, 10_000)
    assert sanitise_line(line, 10_000) == line
    assert "\n" not in line and "\t" not in line


@given(st.text(st.characters(categories=("L", "N", "P", "Zs")), max_size=200))
def test_visible_text_is_not_changed(text: str) -> None:
    plain = "".join(c for c in text if visible(c) == c)
    assert visible(plain) == plain


@pytest.mark.parametrize(
    "secret",
    [
        "AKIAIOSFODNN7EXAMPLE",
        "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
        "github_pat_11ABCDEFG0abcdefghijkl_0123456789",
        "xoxb-123456789012-abcdefghijkl",
        "sk-ant-api03-abcdefghijklmnopqrstuvwx",
        "sk_live_4eC39HqLyjWDarjtT1zdp7dc",
        "AIzaSyA1234567890abcdefghijklmnopqrstuv",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc_def-123",
        "-----BEGIN RSA PRIVATE KEY-----\n+MIIEowIBAAKCAQEA\n+-----END RSA PRIVATE KEY-----",
    ],
)
def test_text_that_looks_like_a_key_or_token_is_removed(secret: str) -> None:
    kept = without_secrets(f"+before {secret} after")
    assert kept == f"+before {HIDDEN} after"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ('PASSWORD = "hunter2hunter2"', f'PASSWORD = "{HIDDEN}"'),
        ("api_key: 9f8e7d6c5b4a", f"api_key: {HIDDEN}"),
        ('{"token": "abc123def456"}', f'{{"token": "{HIDDEN}"}}'),
        ("Authorization: Bearer abc.def-ghi_jkl123", f"Authorization: Bearer {HIDDEN}"),
        ("postgresql://me:pa55w0rd@host/db", f"postgresql://me:{HIDDEN}@host/db"),
        ("token = read_token(path)", "token = read_token(path)"),
        ("self.secret = settings.secret", "self.secret = settings.secret"),
        ("the password is wrong", "the password is wrong"),
    ],
)
def test_values_named_as_secret_are_removed_and_code_that_names_them_stays(text: str, kept: str) -> None:
    assert without_secrets(text) == kept


def test_secret_values_of_a_session_are_removed_even_with_invisible_characters_inside() -> None:
    kept = sanitise("it is pass\u200bport-7", 100, lambda text: text.replace("passport-7", "[PIN]"))
    assert kept == "it is [PIN]"


def test_an_overlong_text_is_cut_at_a_character_with_a_mark() -> None:
    assert sanitise("ä" * 10_000_000, 8) == "ää…"


KEY = 'begin "quoted"\nfirst-line-of-it\nab\nsecond-line-of-it\n'


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (f"<{KEY}>", "<[KEY]>"),
        ("+first-line-of-it\n+ab\n+second-line-of-it", "+[KEY]\n+ab\n+[KEY]"),
        (r'key = "begin \"quoted\"\nfirst-line-of-it\nab\nsecond-line-of-it\n"', 'key = "[KEY]"'),
        ("pin 4711-4711, 4711", "pin [PIN], 4711"),
        ("abc", "abc"),
    ],
)
def test_a_secret_value_is_removed_in_escaped_form_and_line_by_line(text: str, kept: str) -> None:
    assert hide_secrets(text, {"KEY": KEY, "PIN": "4711-4711", "SHORT": "abc", "EMPTY": ""}) == kept


def test_a_secret_at_the_cut_of_an_overlong_text_is_removed_completely() -> None:
    text = "\u200b" * (100 * 8 - 4) + "passport-7"
    assert sanitise(text, 100, lambda text: text.replace("passport-7", "[PIN]")) == "[PIN"
