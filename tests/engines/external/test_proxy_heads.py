"""Request heads and TLS client hellos: what the strict grammars accept and refuse.

The properties compare with second versions of the grammars here, so that an error in one of them shows.
"""

import re
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from proxy_world import client_hello

from donewhen.engines.external.network import http1
from donewhen.engines.external.network.client_hello import NotTls, server_name
from donewhen.engines.external.network.http1 import BadHead, RequestHead

FINE = b"GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n"
REFUSED = {
    "a bare line feed": b"GET / HTTP/1.1\nHost: a\n\n",
    "a line feed inside": b"GET / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n",
    "a carriage return inside": b"GET / HTTP/1.1\r\nHost: a\rb\r\n\r\n",
    "a NUL": b"GET / HTTP/1.1\r\nHost: a\0b\r\n\r\n",
    "a NUL in the target": b"CONNECT a\0.example:443 HTTP/1.1\r\nHost: a\r\n\r\n",
    "two spaces": b"GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
    "a tab for a space": b"GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n",
    "a target in UTF-8": "GET http://bücher/ HTTP/1.1\r\nHost: a\r\n\r\n".encode(),
    "another protocol": b"GET / HTTP/2.0\r\nHost: a\r\n\r\n",
    "no protocol": b"GET /\r\nHost: a\r\n\r\n",
    "a folded line": b"GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n",
    "a space before a colon": b"GET / HTTP/1.1\r\nHost : a\r\n\r\n",
    "a field without a colon": b"GET / HTTP/1.1\r\nHost: a\r\nnothing\r\n\r\n",
    "a field without a name": b"GET / HTTP/1.1\r\nHost: a\r\n: x\r\n\r\n",
    "no host": b"GET / HTTP/1.1\r\nX: a\r\n\r\n",
    "two hosts": b"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
    "two lengths": b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
    "two lengths in one": b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\n",
    "a length and chunks": b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
    "chunks twice": b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
    "another coding": b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
    "a masked coding": b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n",
    "chunks in an old request": b"POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
    "a length with a sign": b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\n",
    "a length below nothing": b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
    "a length in hexadecimal": b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x1\r\n\r\n",
    "an endless length": b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: " + b"9" * 40 + b"\r\n\r\n",
    "no end": b"GET / HTTP/1.1\r\nHost: a\r\n",
    "nothing": b"",
    "an empty line": b"\r\n\r\n",
    "too much": b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"x" * http1.LARGEST + b"\r\n\r\n",
    "too many fields": b"GET / HTTP/1.1\r\nHost: a\r\n" + b"X: y\r\n" * 300 + b"\r\n",
}
SECOND_GRAMMAR = re.compile(
    rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+ [!-~]+ HTTP/1\.[01]\r\n(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t -~\x80-\xff]*\r\n)*\r\n"
)
PIECES = (
    *(b"GET", b" ", b"/", b"HTTP/1.1", b"\r\n", b"\n", b"\r", b"Host: a", b"Content-Length: 3", b"\t", b":", b"\0"),
    *(b"Transfer-Encoding: chunked", b"content-length:3", b"POST / HTTP/1.1\r\nHost: a\r\n", b"\r\n\r\n", b"\xff"),
)
almost_heads = st.lists(st.sampled_from(PIECES), max_size=14).map(b"".join)


def test_a_head_is_read_with_its_fields_in_order_and_in_lower_case() -> None:
    head = http1.request(b"POST /x?y HTTP/1.1\r\nHost: a\r\nX-One:  1 \r\nx-one:2\r\nContent-Length: 12\r\n\r\n")
    assert (head.method, head.target, head.minor, head.length) == ("POST", "/x?y", 1, 12)
    assert head.values("x-one") == ["1", "2"]
    assert http1.request(b"GET / HTTP/1.0\r\n\r\n").fields == ()


@pytest.mark.parametrize("name", REFUSED)
def test_an_ambiguous_head_is_refused(name: str) -> None:
    with pytest.raises(BadHead):
        http1.request(REFUSED[name])


def test_an_oversized_head_is_answered_with_its_own_status() -> None:
    for name in ("too much", "too many fields"):
        with pytest.raises(BadHead) as refused:
            http1.request(REFUSED[name])
        assert refused.value.status == 431


@given(st.binary(max_size=200) | almost_heads)
def test_any_bytes_are_a_head_of_the_grammar_or_refused(data: bytes) -> None:
    try:
        head = http1.request(data)
    except BadHead:
        return
    assert SECOND_GRAMMAR.fullmatch(data)
    assert len(head.values("content-length")) + len(head.values("transfer-encoding")) <= 1
    assert len(head.values("host")) == 1 or (head.minor == 0 and not head.values("host"))
    assert http1.request(again(head)) == head


def again(head: RequestHead) -> bytes:
    return http1.head_bytes(f"{head.method} {head.target} HTTP/1.{head.minor}", head.fields)


@given(st.binary(max_size=100) | almost_heads.map(lambda data: b"HTTP/1.1 200 OK\r\n" + data))
def test_any_bytes_are_the_head_of_an_answer_or_refused(data: bytes) -> None:
    try:
        status, fields = http1.status(data)
    except BadHead:
        return
    assert 100 <= status < 600
    assert all("\r" not in text and "\n" not in text for field in fields for text in field)


def test_hop_by_hop_fields_and_those_named_by_connection_are_not_passed_on() -> None:
    head = http1.request(
        b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close, X-Hop\r\nX-Hop: 1\r\nProxy-Authorization: x\r\n"
        b"TE: trailers\r\nProxy-Connection: y\r\nUpgrade: h2c\r\nKeep-Alive: 5\r\nX-End: 2\r\n\r\n"
    )
    assert list(http1.end_to_end(head.fields)) == [("host", "a"), ("x-end", "2")]


@pytest.mark.parametrize(
    ("text", "stays"),
    [
        (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", True),
        (b"GET / HTTP/1.1\r\nHost: a\r\nConnection: Close\r\n\r\n", False),
        (b"GET / HTTP/1.0\r\nHost: a\r\n\r\n", False),
        (b"GET / HTTP/1.0\r\nHost: a\r\nConnection: Keep-Alive\r\n\r\n", True),
    ],
)
def test_a_connection_stays_open_as_the_request_says(text: bytes, stays: bool) -> None:
    assert http1.request(text).stays_open is stays


# -- TLS client hellos --

HELLO = client_hello("Api.Example.com")


def in_records(message: bytes, size: int) -> bytes:
    parts = [message[at : at + size] for at in range(0, len(message), size)]
    return b"".join(b"\x16\x03\x01" + struct.pack(">H", len(part)) + part for part in parts)


def hello_with(extensions: bytes) -> bytes:
    body = (
        b"\x03\x03"
        + b"r" * 32
        + b"\0"
        + b"\0\x02\x13\x01"
        + b"\x01\0"
        + struct.pack(">H", len(extensions))
        + extensions
    )
    return in_records(b"\x01" + len(body).to_bytes(3) + body, 16000)


def names(*hosts: bytes, kind: int = 0) -> bytes:
    listed = b"".join(bytes([kind]) + struct.pack(">H", len(host)) + host for host in hosts)
    return struct.pack(">HHH", 0, len(listed) + 2, len(listed)) + listed


def test_a_real_client_hello_names_its_server() -> None:
    assert server_name(HELLO) == "Api.Example.com"
    assert server_name(client_hello(None)) == ""
    assert server_name(HELLO + b"more") == "Api.Example.com"


def test_a_hello_may_come_in_any_pieces_and_in_many_records() -> None:
    assert {server_name(HELLO[:size]) for size in range(len(HELLO))} == {None}
    assert server_name(in_records(HELLO[5:], 30)) == "Api.Example.com"


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n",
        b"SSH-2.0-x",
        b"\x16\x02",
        b"\x17\x03\x03\x00\x01x",
        b"\x16\x03\x01\x00\x00",
        b"\x16\x03\x01\xff\xff",
        b"\x16\x03\x01\x00\x04\x02\x00\x00\x00",
        b"\x16\x03\x01\x00\x04\x01\xff\xff\xff",
        b"\x16\x03\x01\x00\x05\x01\x00\x00\x01x",
        b"\x80\x2e\x01\x00\x02",
        in_records(HELLO[5:], 1),
        hello_with(names(b"a.example") + names(b"b.example")),
        hello_with(names(b"a.example", b"b.example")),
        hello_with(names(b"")),
        hello_with(names(b"a.example", kind=1)),
        hello_with(names(b"a.example")[:-1]),
    ],
)
def test_an_invalid_client_hello_is_refused(data: bytes) -> None:
    with pytest.raises(NotTls):
        server_name(data)


def test_a_client_hello_without_extensions_names_no_server() -> None:
    assert server_name(hello_with(b"")) == ""
    body = b"\x03\x03" + b"r" * 32 + b"\0" + b"\0\x02\x13\x01" + b"\x01\0"
    assert server_name(in_records(b"\x01" + len(body).to_bytes(3) + body, 16000)) == ""


@given(st.binary(max_size=120) | st.tuples(st.integers(0, len(HELLO) - 1), st.integers(0, 255)))
def test_any_bytes_are_a_client_hello_a_prefix_of_one_or_refused(data: bytes | tuple[int, int]) -> None:
    if isinstance(data, tuple):
        at, byte = data
        data = HELLO[:at] + bytes([byte]) + HELLO[at + 1 :]
    try:
        found = server_name(data)
    except NotTls:
        return
    assert found is None or len(found) < len(data)
