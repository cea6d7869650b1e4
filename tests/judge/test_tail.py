"""The end of an output for display."""

from hypothesis import given
from hypothesis import strategies as st

from donewhen.judge.output_tail import BYTES, LINES, plain, redacted, tail_of
from donewhen.workspace.process.output import Output


def shown(text: bytes, **secrets: str) -> str:
    return tail_of(Output(head=text, total=len(text)), secrets)


def test_only_the_last_lines_are_shown_and_none_is_cut() -> None:
    lines = [f"line {n}" for n in range(1000)]
    assert shown("\n".join(lines).encode()) == "\n".join(lines[-LINES:])


def test_a_single_endless_line_is_cut_at_its_beginning() -> None:
    tail = shown(b"x" * 100_000 + b"END")
    assert tail.startswith("…x")
    assert tail.endswith("xEND")
    assert len(tail.encode()) <= BYTES


def test_invalid_bytes_and_partial_characters_are_replaced() -> None:
    assert shown(b"caf\xc3\xa9 \xff \xe2\x82") == "café \ufffd \ufffd"


def test_colours_are_kept_and_other_terminal_codes_are_removed() -> None:
    text = b"\x1b[31mred\x1b[0m \x1b]52;c;c2VjcmV0\x07clip \x1b]0;title\x1b\\t \x1b[2Jcleared \x07bell \x1b[1Aup"
    assert shown(text) == "\x1b[31mred\x1b[0m clip t cleared bell up"
    assert plain(shown(text)) == "red clip t cleared bell up"


def test_values_of_secrets_are_replaced_by_their_names_longest_first() -> None:
    assert shown(b"key=abcdef and abcdefgh", KEY="abcdef", LONG="abcdefgh") == "key=[KEY] and [LONG]"


def test_a_value_too_short_to_be_a_secret_is_not_replaced() -> None:
    assert shown(b"1 of 1", DEBUG="1") == "1 of 1"


@given(st.binary(max_size=3000), st.text(min_size=4, max_size=12).filter(lambda s: not set(s) & set("[]\r\n\x1b")))
def test_any_bytes_give_an_output_tail_without_secrets(text: bytes, secret: str) -> None:
    tail = shown(text + secret.encode("utf-8", "replace"), NAME=secret)
    assert "\x1b]" not in tail
    assert len(tail.encode()) <= BYTES + 3
    assert secret not in redacted(f"a{secret}b{secret}", {"N": secret}).replace("[N]", "")
