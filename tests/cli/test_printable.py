"""Foreign text made safe to show: no control or invisible characters are left, and ordinary text is not changed."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.cli.views.json_lines import json_text
from donewhen.judge.contract import Check, Contract
from donewhen.printable import one_line, visible
from donewhen.session.log.plan_files import editable_text
from donewhen.toml import parse_toml
from donewhen.workspace.git.objects import shown
from terminal import obeyed

EVERY_CHARACTER = st.text(st.characters(exclude_categories=()), max_size=40)


@pytest.mark.parametrize(
    "honest",
    [
        *(
            "plain",
            "naïve café",
            "日本語テキスト",
            "한국어",
            "שלום עולם",
            "مرحبا",
            "नमस्ते",
            "« à la »",
            "e\u0301",
            "e\u0301" * 50,
            "Z" + "\u0301" * 8,
            "ཧཱུྃ",
            "⠓⠑⠇⠇⠕",
            "─" * 40,
            "→ ✓ ∅",
        ),
        *("👩‍💻 👨‍👩‍👧‍👦 🏳️‍🌈 ❤️ 1️⃣ ☎︎ 👍🏽 🇩🇪", "C:\\x1b"),
    ],
)
def test_ordinary_text_is_not_changed(honest: str) -> None:
    assert one_line(honest) == visible(honest) == honest


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("\x1b[2J", r"\x1b[2J"),
        ("\x9b31m", r"\x9b31m"),
        ("a\u202eb\u2066c", r"a\u202eb\u2066c"),
        ("a\u200bb\u200dc\ufeff\u061c\u200e", r"a\u200bb\u200dc\ufeff\u061c\u200e"),
        ("a\u2028b\u2029c\x85", r"a\u2028b\u2029c\x85"),
        ("👩\u200d", "👩\\u200d"),
        ("x\ufe0f\u3164\U000e0101\U000e0041", "x\\ufe0f\\u3164\\U000e0101\\U000e0041"),
        ("\udcff\ud800", r"\xff\ud800"),
        ("\r\x08\x7f", r"\r\x08\x7f"),
        ("a\u00a0b\u202fc\u3000d", "a b c d"),
        ("a\u2800\u2800b", r"a\u2800\u2800b"),
        ("a" + "\u0301" * 10 + "b", "a" + "\u0301" * 8 + r"\u0301\u0301b"),
        ("a" + "\u0301\u20dd" * 6, "a" + "\u0301\u20dd" * 4 + r"\u0301\u20dd\u0301\u20dd"),
    ],
)
def test_control_and_invisible_characters_are_escaped(text: str, safe: str) -> None:
    assert one_line(text) == visible(text) == safe


def test_newlines_and_tabs_are_kept_in_a_text_but_not_in_a_line() -> None:
    assert visible("a\n\tb\r\n") == "a\n\tb\\r\n"
    assert one_line("a\n\tb") == "a\\n\\tb"


@given(EVERY_CHARACTER)
def test_no_text_keeps_a_control_character(text: str) -> None:
    joined = "\u200d"  # allowed within an emoji
    assert obeyed(visible(text)) <= {joined}
    assert obeyed(one_line(text)) <= {joined} and len(one_line(text).splitlines()) <= 1
    assert obeyed(shown(text)) <= {joined}
    assert one_line(one_line(text)) == one_line(text)


@given(st.text(max_size=40))
def test_a_json_line_keeps_its_meaning_and_has_no_control_characters(text: str) -> None:
    line = json_text({"text": text})
    assert json.loads(line) == {"text": text}
    assert obeyed(line) <= {"\u200d"}


@given(st.text(st.characters(exclude_categories=("Cs",)), min_size=1).filter(lambda text: bool(text.strip())))
def test_a_contract_written_for_editing_reads_back_unchanged_and_hides_nothing(command: str) -> None:
    text = editable_text(Contract(checks=(Check(name="a", command=command),)))
    assert parse_toml(text)["check"][0]["command"] == command
    assert obeyed(text) <= {"\u200d"}
    assert all(unicodedata.category(char) != "Cf" or char == "\u200d" for char in text)
