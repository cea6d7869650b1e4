"""Text for a model: bounded, complete characters, head and tail, a correct count of what is missing."""

import re

from hypothesis import given
from hypothesis import strategies as st

from donewhen.engines.native.tools.clip import clean, clipped, printed

ANY = st.text(st.characters(codec=None, exclude_categories=()), max_size=600)
MOST = 300


@given(ANY)
def test_a_clipped_text_fits_and_keeps_both_ends(text: str) -> None:
    shown = clipped(text, MOST)
    data = text.encode("utf-8", "replace")
    assert len(shown.encode()) <= MOST
    if len(data) <= MOST:
        assert shown == data.decode()
    else:
        head, notice, tail = re.split(r"\n\[… (\d+) bytes left out here …\]\n", shown)
        assert data.startswith(head.encode())
        assert data.endswith(tail.encode())
        missing = len(data) - len(head.encode()) - len(tail.encode())
        assert 0 <= missing - int(notice) < 8  # partial characters at the edges


@given(st.text("aä\n", max_size=400), st.text("bö\n", max_size=400), st.integers(1, 1000))
def test_output_lost_before_clipping_is_counted_at_its_position(head: str, tail: str, lost: int) -> None:
    shown = clipped(head + tail, MOST, lost=lost, lost_at=len(head))
    assert len(shown.encode()) <= MOST
    before, notice, after = re.split(r"\n\[… (\d+) bytes left out here …\]\n", shown, maxsplit=1)
    assert head.startswith(before)
    assert tail.endswith(after)
    assert int(notice) >= lost


@given(ANY)
def test_cleaned_text_can_be_encoded_and_has_no_terminal_codes(text: str) -> None:
    assert "\x1b" not in clean(text)
    clean(text).encode()


@given(st.binary(max_size=300))
def test_any_output_of_a_command_becomes_plain_text(data: bytes) -> None:
    text = printed(data)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", text)


def test_colours_titles_and_progress_bars_are_removed() -> None:
    assert printed(b"\x1b[1;31mred\x1b[0m \x1b]0;title\x07x\x1b(By\n") == "red xy\n"
    assert printed(b" 10%\r 50%\r100%\r\nnext\r\n") == "100%\nnext\n"
    assert printed(b"working\r") == "working"


def test_a_very_long_line_is_cleaned_quickly() -> None:
    assert len(printed(b"x" * 1_000_000)) == 1_000_000
    assert printed(b"\x1b]" * 100_000) == ""
