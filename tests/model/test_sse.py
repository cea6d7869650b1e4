"""Server-sent events: the same events for any chunking, and a clear error for invalid ones."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.model.sse import BrokenStream, Events, ServerEvent

LINES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n\ufeff"), max_size=12)


def events_of(*chunks: bytes) -> list[ServerEvent]:
    events = Events()
    return [event for chunk in chunks for event in events.feed(chunk)]


@st.composite
def streams(draw: st.DrawFn) -> tuple[bytes, list[ServerEvent]]:
    """Bytes of a stream and its events, with comments, other fields and all three line endings."""
    newline = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    text, events = "", list[ServerEvent]()
    for _ in range(draw(st.integers(0, 4))):
        name, data = draw(LINES), draw(st.lists(LINES, min_size=1, max_size=3))
        noise = draw(st.sampled_from([[], [": ping"], ["id: 7"], ["retry: 5", ":"]]))
        lines = [*noise, f"event: {name}", *(f"data: {line}" for line in data), ""]
        text += "".join(line + newline for line in lines)
        events.append(ServerEvent(name, "\n".join(data)))
    return text.encode(), events


@given(streams(), st.data())
def test_any_chunking_gives_the_same_events(stream: tuple[bytes, list[ServerEvent]], data: st.DataObject) -> None:
    content, events = stream
    # A last `\\r` may be half of a line ending, so only one more byte shows that it was not.
    content += b":"
    cuts = sorted(data.draw(st.lists(st.integers(0, len(content)), max_size=6)))
    edges = [0, *cuts, len(content)]
    chunks = [content[start:end] for start, end in pairwise(edges)]
    assert events_of(*chunks) == events
    assert events_of(*(bytes([byte]) for byte in content)) == events


@given(st.lists(st.binary(max_size=30), max_size=6))
def test_any_bytes_are_events_or_a_broken_stream(chunks: list[bytes]) -> None:
    try:
        found = events_of(*chunks)
    except BrokenStream:
        return
    assert all(event.data.encode() for event in found if event.data)


def test_comments_are_not_events() -> None:
    assert events_of(b": one\n\n:two\n\n", b"data: x\n\n") == [ServerEvent("", "x")]


def test_an_unterminated_event_is_never_returned() -> None:
    assert events_of(b"data: x\n\ndata: y\n") == [ServerEvent("", "x")]


def test_a_space_after_the_colon_and_a_byte_order_mark_are_not_data() -> None:
    assert events_of(b"\xef\xbb\xbfdata:x\n\ndata:  y\n\n") == [ServerEvent("", "x"), ServerEvent("", " y")]


def test_invalid_bytes_break_the_stream() -> None:
    with pytest.raises(BrokenStream, match="UTF-8"):
        events_of(b"data: \xff\xfe\n\n")


def test_a_character_split_over_two_chunks_is_assembled() -> None:
    assert events_of(b"data: \xf0\x9f", b"\x98\x80\n\n") == [ServerEvent("", "😀")]


@pytest.mark.parametrize("line_end", [b"", b"\n"], ids=["one endless line", "endless lines"])
def test_an_endless_event_breaks_the_stream_with_bounded_memory(line_end: bytes) -> None:
    events = Events(largest=10_000)
    with pytest.raises(BrokenStream, match="more than 10000 bytes"):
        for _ in range(1_000):
            list(events.feed(b"data: " + b"x" * 100 + line_end))
