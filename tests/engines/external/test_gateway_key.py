"""The key: added by the gateway, never visible inside, for any request of the agent and any response of the
endpoint."""

import gzip
import zlib

import pytest
from gateway_world import ANYTHING, KEY, Echo, Endpoint, answer_body, gateway_to
from hypothesis import given
from hypothesis import strategies as st
from proxy_world import serving_tcp

from donewhen.engines.external.network.redaction import Redactor
from donewhen.engines.external.network.upstream import Upstream
from donewhen.errors import BadInput

pytestmark = pytest.mark.anyio
STAND_IN = "stand-in-for-the-key"
CARRIERS = (
    "Authorization: Bearer",
    "X-Api-Key:",
    "X-Goog-Api-Key:",
    "api-key:",
    "Cookie: k=",
    "Proxy-Authorization: Basic",
)


@pytest.mark.parametrize(
    ("header", "value"),
    [("authorization", f"Bearer {KEY}"), ("x-api-key", KEY), ("x-goog-api-key", KEY), ("x-own", KEY)],
)
async def test_the_real_key_replaces_all_credentials_of_the_agent(header: str, value: str) -> None:
    endpoint = Endpoint()
    async with serving_tcp(endpoint.handle) as port, gateway_to(f"http://127.0.0.1:{port}", header) as gate:
        held = [f"{carrier} {STAND_IN}" for carrier in CARRIERS]
        answer = await gate.get(f"/v1/x?key={STAND_IN}&alt=sse", *held, f"{header.title()}: {STAND_IN}")
    assert answer_body(answer) == b"hello"
    assert endpoint.field(header) == [value]
    assert endpoint.heads[0].count(KEY.encode()) == 1
    assert STAND_IN.encode() not in endpoint.heads[0]
    assert endpoint.heads[0].startswith(b"GET /v1/x?alt=sse HTTP/1.1\r\n")


async def test_without_a_key_no_key_is_sent_and_the_placeholder_is_removed() -> None:
    endpoint = Endpoint()
    async with serving_tcp(endpoint.handle) as port, gateway_to(f"http://127.0.0.1:{port}", key="") as gate:
        await gate.get("/", f"Authorization: Bearer {STAND_IN}", f"X-Api-Key: {STAND_IN}")
    assert endpoint.field("authorization") == endpoint.field("x-api-key") == []


async def test_the_agent_cannot_remove_the_key_through_a_connection_field() -> None:
    endpoint = Endpoint()
    async with serving_tcp(endpoint.handle) as port, gateway_to(f"http://127.0.0.1:{port}") as gate:
        await gate.get("/", "Connection: authorization, host, accept-encoding")
    assert endpoint.field("authorization") == [f"Bearer {KEY}"]
    assert endpoint.field("host") == [f"127.0.0.1:{port}"]


async def test_cookies_of_the_endpoint_reach_neither_the_agent_nor_the_next_request() -> None:
    endpoint = Endpoint(b"HTTP/1.1 200 OK\r\nSet-Cookie: session=secret\r\nContent-Length: 0\r\n\r\n")
    async with serving_tcp(endpoint.handle) as port, gateway_to(f"http://127.0.0.1:{port}") as gate:
        answers = [await gate.get("/"), await gate.get("/")]
    assert not any(b"secret" in answer for answer in answers)
    assert endpoint.field("cookie") == []


# -- endpoints that repeat what they received --


async def test_a_key_repeated_by_the_endpoint_is_hidden_from_the_agent() -> None:
    echo = Echo()
    async with serving_tcp(echo.handle) as port, gateway_to(f"http://127.0.0.1:{port}") as gate:
        answer = await gate.get("/", "X-Other: kept")
    assert KEY.encode() not in answer
    assert answer.count(b"Bearer " + b"*" * len(KEY)) == 2, "in the field and in the body"
    assert answer.count(b"kept") == 2
    assert KEY.encode() in echo.said(echo.heads[0]), "what came from the endpoint had it"


@pytest.mark.parametrize("size", [1, 2, 7, len(KEY) - 1, len(KEY), len(KEY) + 1, 1000])
async def test_the_key_is_found_in_any_chunks_of_the_response(size: int) -> None:
    text = f"a{KEY}b{KEY}{KEY[:9]}{KEY}{KEY[:-1]}".encode()
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)
    endpoint = Endpoint(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n")
    async with serving_tcp(endpoint.handle) as port, gateway_to(f"http://127.0.0.1:{port}") as gate:
        answer = await gate.get("/")
    assert answer_body(answer) == text.replace(KEY.encode(), b"*" * len(KEY))


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
async def test_an_unrequested_compressed_response_is_decompressed_and_searched(coding: str) -> None:
    text = f"it is {KEY}, of course".encode()
    packed = gzip.compress(text) if coding == "gzip" else zlib.compress(text)
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\nContent-Length: {len(packed)}\r\n\r\n".encode()
    endpoint = Endpoint(head + packed)
    async with serving_tcp(endpoint.handle) as port, gateway_to(f"http://127.0.0.1:{port}") as gate:
        answer = await gate.get("/", f"Accept-Encoding: {coding}")
    assert answer_body(answer) == text.replace(KEY.encode(), b"*" * len(KEY))
    assert b"content-encoding" not in answer
    assert endpoint.field("accept-encoding") == ["identity"]


async def test_a_response_in_an_unreadable_coding_is_not_passed_on() -> None:
    endpoint = Endpoint(b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 3\r\n\r\nabc")
    async with serving_tcp(endpoint.handle) as port, gateway_to(f"http://127.0.0.1:{port}") as gate:
        answer = await gate.get("/")
    assert answer.startswith(b"HTTP/1.1 502 ") and b"abc" not in answer


async def test_range_requests_cannot_reveal_the_key_in_parts() -> None:
    endpoint = Endpoint()
    async with serving_tcp(endpoint.handle) as port, gateway_to(f"http://127.0.0.1:{port}") as gate:
        await gate.get("/", "Range: bytes=0-5", "If-Range: x")
    assert endpoint.field("range") == endpoint.field("if-range") == []


async def test_a_redirect_does_not_show_the_key() -> None:
    endpoint = Endpoint(f"HTTP/1.1 302 X\r\nLocation: http://b.example/?k={KEY}\r\nContent-Length: 0\r\n\r\n".encode())
    async with serving_tcp(endpoint.handle) as port, gateway_to(f"http://127.0.0.1:{port}") as gate:
        answer = await gate.get("/")
    assert b"location: http://b.example/?k=***" in answer and KEY.encode() not in answer


@given(st.lists(st.text("abk-", max_size=6), max_size=12), st.sampled_from(["abababak", "kkkkkkkk", "abcabcabd-abca"]))
def test_any_chunking_of_a_text_gives_the_same_text_without_the_secret(pieces: list[str], secret: str) -> None:
    pieces = [piece.replace("k", secret) for piece in pieces]
    redactor = Redactor(secret)
    given_out = [redactor.feed(piece.encode()) for piece in pieces]
    out = b"".join([*given_out, redactor.end()])
    text = "".join(pieces).encode()
    assert secret.encode() not in out
    assert len(out) == len(text)
    assert out == text or secret.encode() in text


@given(st.binary(max_size=40))
def test_a_chunk_is_passed_on_at_once_except_a_possible_start_of_the_secret(piece: bytes) -> None:
    held = len(piece) - len(Redactor(KEY).feed(piece))
    assert held == 0 or (piece.endswith(KEY[:held].encode()) and held < len(KEY))


def test_a_placeholder_that_is_not_secret_is_not_removed() -> None:
    assert Redactor("ollama").feed(b"say ollama") == b"say ollama"


# -- configured endpoints --


@pytest.mark.parametrize(
    "base",
    [
        "",
        "a.example",
        "ftp://a.example",
        "https://",
        "https://user:pw@a.example",
        "https://a.example/?x=y",
        "http://a/#b",
    ],
)
def test_an_invalid_base_url_is_refused_in_one_line(base: str) -> None:
    with pytest.raises(BadInput, match="the model's endpoint must be"):
        Upstream(base, "authorization", KEY, ANYTHING)


@pytest.mark.parametrize("key", ["a b", "a\nb", "a\r\nX: y", "clé", "\0"])
def test_a_key_that_cannot_be_sent_is_refused_without_being_shown(key: str) -> None:
    with pytest.raises(BadInput) as refused:
        Upstream("https://a.example", "authorization", key, ANYTHING)
    assert key not in str(refused.value)


def test_the_repr_of_an_endpoint_does_not_show_its_key() -> None:
    assert KEY not in repr(Upstream("https://a.example", "authorization", KEY, ANYTHING))


@pytest.mark.parametrize("header", ["", "X-Api-Key", "a b", "x:y"])
def test_the_header_field_for_the_key_must_be_valid(header: str) -> None:
    with pytest.raises(BadInput, match="is not a header field"):
        Upstream("https://a.example", header, KEY, ANYTHING)
