"""The gateway: requests and responses pass unchanged and at once, and the log records their results."""

import random

import anyio
import anyio.abc
import httpx2
import pytest
from gateway_world import ANYTHING, KEY, OK, Endpoint, answer_body, gateway_to, message
from proxy_world import everything, head_of, serving_tcp, spoiled

from donewhen.engines.external.network.http1 import BadHead
from donewhen.engines.external.network.listener import ConnectionLimits
from donewhen.engines.external.network.upstream import Upstream
from wire_server import Answer, Refuses, SaidCall, Says, Wire, frames, serving

pytestmark = pytest.mark.anyio
WIRE_PATHS: dict[Wire, str] = {
    "anthropic": "/v1/messages",
    "openai-chat": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
    "google": "/v1beta/models/gemini-x:streamGenerateContent?alt=sse",
}
ANSWER = Answer(text="I look: ünïcode.", calls=(SaidCall("c1", "shell", '{"command": "ls"}'),))
MIB = 1 << 20


# -- streams --


@pytest.mark.parametrize("wire", WIRE_PATHS)
async def test_the_stream_of_a_model_arrives_as_it_was_sent(wire: Wire) -> None:
    with serving(Says(ANSWER)) as server:
        async with gateway_to(server.url) as gate, httpx2.AsyncClient(trust_env=False) as client:
            url = f"http://127.0.0.1:{gate.port}{WIRE_PATHS[wire]}"
            answer = await client.post(url, content=b'{"stream": true}', headers={"x-own": "kept"})
            entry = await gate.entry()
    assert answer.content == b"".join(frames(wire, ANSWER))
    assert answer.headers["content-type"] == "text/event-stream"
    received = server.received[0]
    assert (received.path, received.body, received.headers["x-own"]) == (WIRE_PATHS[wire], b'{"stream": true}', "kept")
    assert received.headers["host"] == f"127.0.0.1:{server.port}"
    assert (entry.method, entry.path, entry.status) == ("POST", WIRE_PATHS[wire].partition("?")[0], 200)
    assert (entry.bytes_up, entry.bytes_down, entry.detail) == (16, len(answer.content), "")


async def test_every_event_is_passed_on_before_the_next_one_is_there() -> None:
    """The endpoint sends the next event only after the agent has received the previous one."""
    heard = anyio.Semaphore(0)

    async def tell(stream: anyio.abc.ByteStream) -> None:
        await head_of(stream)
        await stream.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
        for number in range(5):
            await heard.acquire()
            await stream.send(b"data: %d\n\n" % number)
        await heard.acquire()

    async with serving_tcp(tell) as port, gateway_to(f"http://127.0.0.1:{port}") as gate:
        async with await gate.connect() as stream:
            await stream.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert b"text/event-stream" in await head_of(stream)
            for number in range(5):
                heard.release()
                assert await stream.receive() == b"9\r\ndata: %d\n\n\r\n" % number
            heard.release()
            assert await stream.receive() == b"0\r\n\r\n"


@pytest.mark.parametrize("framing", ["length", "chunks"])
async def test_a_body_is_passed_on_while_it_is_still_being_sent(framing: str) -> None:
    came = anyio.Event()

    async def hear(stream: anyio.abc.ByteStream) -> None:
        await head_of(stream)
        await stream.receive()
        came.set()
        await stream.receive()
        await stream.send(OK)

    async with serving_tcp(hear) as port, gateway_to(f"http://127.0.0.1:{port}") as gate:
        async with await gate.connect() as stream:
            said = b"Content-Length: 6" if framing == "length" else b"Transfer-Encoding: chunked"
            await stream.send(b"POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + said + b"\r\n\r\n")
            await stream.send(b"abc" if framing == "length" else b"3\r\nabc\r\n")
            await came.wait()
            await stream.send(b"def" if framing == "length" else b"3\r\ndef\r\n0\r\n\r\n")
            assert (await everything(stream)).endswith(b"hello")
        assert (await gate.entry()).bytes_up == 6


async def test_large_transfers_in_both_directions_are_not_held_in_memory() -> None:
    async def double(stream: anyio.abc.ByteStream) -> None:
        await head_of(stream)
        heard = 0
        while heard < 16 * MIB:
            heard += len(await stream.receive())
        await stream.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (32 * MIB))
        for _ in range(32):
            await stream.send(b"x" * MIB)

    async with serving_tcp(double) as port, gateway_to(f"http://127.0.0.1:{port}") as gate:
        async with await gate.connect() as stream:
            await stream.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (16 * MIB))
            for _ in range(16):
                await stream.send(b"y" * MIB)
            await head_of(stream)
            heard = 0
            while heard < 32 * MIB:
                heard += len(await stream.receive())
        entry = await gate.entry()
    assert (entry.bytes_up, entry.bytes_down) == (16 * MIB, 32 * MIB)


# -- connections --


async def test_one_connection_serves_many_requests_and_so_does_the_one_to_the_endpoint() -> None:
    endpoint = Endpoint()
    async with serving_tcp(endpoint.handle) as port, gateway_to(f"http://127.0.0.1:{port}") as gate:
        async with await gate.connect() as stream:
            for number in range(4):
                body = b"x" * number
                await stream.send(
                    b"POST /%d HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%b" % (number, number, body)
                )
                assert b"connection: keep-alive\r\n" in await head_of(stream)
                assert await stream.receive() == b"hello"
    assert endpoint.connections == 1
    assert endpoint.bodies == [b"", b"x", b"xx", b"xxx"]
    assert [one.path for one in gate.log] == ["/0", "/1", "/2", "/3"]


async def test_requests_sent_ahead_are_answered_in_order() -> None:
    endpoint = Endpoint()
    async with serving_tcp(endpoint.handle) as port, gateway_to(f"http://127.0.0.1:{port}") as gate:
        answer = await gate.ask(
            b"GET /a HTTP/1.1\r\nHost: x\r\n\r\nPOST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nz"
            b"GET /c HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        )
    assert answer.count(b"hello") == 3
    assert [head.split()[1] for head in endpoint.heads] == [b"/a", b"/b", b"/c"]


async def test_an_old_client_gets_an_answer_that_ends_with_its_connection() -> None:
    async def tell(stream: anyio.abc.ByteStream) -> None:
        await head_of(stream)
        await stream.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")

    async with serving_tcp(tell) as port, gateway_to(f"http://127.0.0.1:{port}") as gate:
        answer = await gate.ask(b"GET / HTTP/1.0\r\n\r\n")
    assert answer.endswith(b"connection: close\r\n\r\nabc") and b"chunked" not in answer


@pytest.mark.parametrize(
    ("request_line", "status", "length"),
    [(b"HEAD / HTTP/1.1", 200, b"12"), (b"GET / HTTP/1.1", 204, None), (b"GET / HTTP/1.1", 304, None)],
)
async def test_an_answer_without_a_body_does_not_wait_for_one(
    request_line: bytes, status: int, length: bytes | None
) -> None:
    said = b"Content-Length: 12\r\n" if length else b""
    endpoint = Endpoint(b"HTTP/1.1 %d X\r\nX-Own: y\r\n%b\r\n" % (status, said))
    async with serving_tcp(endpoint.handle) as port, gateway_to(f"http://127.0.0.1:{port}") as gate:
        async with await gate.connect() as stream:
            for _ in range(2):
                await stream.send(request_line + b"\r\nHost: x\r\n\r\n")
                head = await head_of(stream)
                assert head.startswith(b"HTTP/1.1 %d " % status) and b"x-own: y\r\n" in head
                assert (b"content-length: 12\r\n" in head) is (length is not None)
                assert b"chunked" not in head


async def test_a_client_that_expects_100_continue_gets_it() -> None:
    endpoint = Endpoint()
    async with serving_tcp(endpoint.handle) as port, gateway_to(f"http://127.0.0.1:{port}") as gate:
        async with await gate.connect() as stream:
            await stream.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
            assert await head_of(stream) == b"HTTP/1.1 100 Continue\r\n\r\n"
            await stream.send(b"abc")
            assert (await head_of(stream)).startswith(b"HTTP/1.1 200 ")
    assert endpoint.bodies == [b"abc"] and endpoint.field("expect") == []


async def test_an_idle_connection_is_closed_after_its_time() -> None:
    async with gateway_to("http://127.0.0.1:9", limits=ConnectionLimits(idle_secs=0.2)) as gate:
        async with await gate.connect() as stream:
            assert await everything(stream) == b""
    assert gate.log == []


# -- targets of requests --


@pytest.mark.parametrize(
    ("base", "target", "url"),
    [
        ("https://a.example", "/v1/messages", "https://a.example/v1/messages"),
        ("https://a.example/", "/v1/x?beta=true", "https://a.example/v1/x?beta=true"),
        ("https://a.example/api/v1/", "/", "https://a.example/api/v1/"),
        ("http://a.example:8080/v1", "//evil.example/x", "http://a.example:8080/v1//evil.example/x"),
        ("http://a.example", "/m:x?alt=sse&key=mine&b=%20", "http://a.example/m:x?alt=sse&b=%20"),
        ("http://a.example", "/m?key=mine", "http://a.example/m"),
        ("http://a.example", "/m?%6bey=mine&API_KEY=x&access_token=y&keys=z", "http://a.example/m?keys=z"),
        ("http://a.example", "/a%2Fb/@x", "http://a.example/a%2Fb/@x"),
    ],
)
def test_a_request_goes_below_the_base_without_keys_in_its_query(base: str, target: str, url: str) -> None:
    assert Upstream(base, "authorization", KEY, ANYTHING).url("GET", target) == url


@pytest.mark.parametrize(
    "target",
    (
        *("*", "a.example:443", "http://evil.example/", "/../x", "/a/../../x", "/%2e%2e/x", "/%252e%252e/x"),
        *("/a/..%2fx", "/..\\x", "/.", "/a#b", "@evil.example/"),
    ),
)
async def test_a_request_that_would_leave_the_base_is_refused(target: str) -> None:
    with pytest.raises(BadHead):
        Upstream("http://a.example/v1", "authorization", KEY, ANYTHING).url("GET", target)
    endpoint = Endpoint()
    async with serving_tcp(endpoint.handle) as port, gateway_to(f"http://127.0.0.1:{port}/v1") as gate:
        assert (await gate.get(target)).startswith(b"HTTP/1.1 400 ")
    assert endpoint.heads == []


async def test_paths_and_queries_arrive_unchanged() -> None:
    target = "/v1/a%2Fb/c%20d:e;f=g,h(i)/~j?k=%C3%BC&l=m+n&o=[p]&q"
    endpoint = Endpoint()
    async with serving_tcp(endpoint.handle) as port, gateway_to(f"http://127.0.0.1:{port}") as gate:
        assert answer_body(await gate.get(target)) == b"hello"
    assert endpoint.heads[0].split()[1].decode() == target


async def test_a_redirect_is_passed_on_and_not_followed() -> None:
    elsewhere = Endpoint()
    async with serving_tcp(elsewhere.handle) as other:
        there = f"http://127.0.0.1:{other}/x?y"
        moved = Endpoint(f"HTTP/1.1 307 X\r\nLocation: {there}\r\nContent-Length: 0\r\n\r\n".encode())
        async with serving_tcp(moved.handle) as port, gateway_to(f"http://127.0.0.1:{port}") as gate:
            answer = await gate.get("/")
    assert answer.startswith(b"HTTP/1.1 307 ") and f"location: {there}\r\n".encode() in answer
    assert elsewhere.heads == []


async def test_hop_by_hop_fields_are_not_passed_on() -> None:
    endpoint = Endpoint(
        b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: X-Hop\r\nX-Hop: 1\r\nKeep-Alive: 5\r\nX-End: 2\r\n"
        b'Alt-Svc: h3=":443"\r\nRetry-After: 7\r\n\r\n'
    )
    async with serving_tcp(endpoint.handle) as port, gateway_to(f"http://127.0.0.1:{port}") as gate:
        answer = await gate.get("/", "Connection: X-Mine", "X-Mine: 1", "TE: trailers", "X-Kept: 2", "User-Agent: me")
    head = answer.partition(b"\r\n\r\n")[0].lower()
    assert b"x-end: 2" in head and b"retry-after: 7" in head
    assert not any(name in head for name in (b"x-hop", b"keep-alive:", b"alt-svc"))
    assert endpoint.field("x-mine") == endpoint.field("te") == []
    assert (endpoint.field("x-kept"), endpoint.field("user-agent")) == (["2"], ["me"])
    assert endpoint.field("accept-encoding") == ["identity"]


# -- refusals and the log --


@pytest.mark.parametrize("status", [400, 401, 403, 429, 500, 529])
async def test_a_refusal_by_the_endpoint_is_passed_on_and_logged_with_its_status(status: int) -> None:
    refused = Refuses(status, b'{"error": {"message": "no"}}', {"x-reason": "key"})
    with serving(refused) as server:
        async with gateway_to(server.url) as gate:
            answer = await gate.ask(
                b"POST /v1/messages?beta=true HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}"
            )
    assert answer.startswith(b"HTTP/1.1 %d " % status) and answer.endswith(refused.body)
    assert b"x-reason: key\r\n" in answer
    entry = gate.log[0]
    assert (entry.method, entry.path, entry.status, entry.detail) == ("POST", "/v1/messages", status, "")
    assert (entry.bytes_up, entry.bytes_down) == (2, len(refused.body))


async def test_a_websocket_is_refused_so_that_plain_requests_are_made() -> None:
    endpoint = Endpoint()
    async with serving_tcp(endpoint.handle) as port, gateway_to(f"http://127.0.0.1:{port}") as gate:
        answer = await gate.get(
            "/v1/responses",
            "Connection: Upgrade",
            "Upgrade: websocket",
            "Sec-WebSocket-Key: eA==",
            "Sec-WebSocket-Version: 13",
        )
    assert answer.startswith(b"HTTP/1.1 426 Upgrade Required\r\n")
    assert message(answer) == "donewhen: websockets are not forwarded; use plain requests"
    assert endpoint.heads == [] and gate.log[0].status == 426 and gate.log[0].detail


async def test_a_trace_request_is_refused() -> None:
    async with gateway_to("http://127.0.0.1:9") as gate:
        assert (await gate.ask(b"TRACE / HTTP/1.1\r\nHost: x\r\n\r\n")).startswith(b"HTTP/1.1 405 ")


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"GET /\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: x\nX: y\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n", 400),
        (b"CONNECT evil.example:443 HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        (b"\x16\x03\x01\x00\x05hello\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nX: " + b"x" * 70_000, 431),
    ],
)
async def test_an_invalid_request_is_refused_with_a_reason(request_bytes: bytes, status: int) -> None:
    endpoint = Endpoint()
    async with serving_tcp(endpoint.handle) as port, gateway_to(f"http://127.0.0.1:{port}") as gate:
        answer = await gate.ask(request_bytes)
        entry = await gate.entry()
    assert answer.startswith(b"HTTP/1.1 %d " % status)
    assert message(answer).startswith("donewhen: ")
    assert entry.status == status and entry.detail


async def test_no_bytes_break_the_gateway() -> None:
    """Requests with characters replaced, removed and doubled; it still serves after all of them."""
    chance, endpoint = random.Random(7), Endpoint()
    good = b"POST /v1/x?y=z HTTP/1.1\r\nHost: x\r\nX: y\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"

    async def ask(data: bytes) -> None:
        async with await gate.connect() as stream:
            await stream.send(data)
            await stream.send_eof()
            await everything(stream)

    async with serving_tcp(endpoint.handle) as port, gateway_to(f"http://127.0.0.1:{port}") as gate:
        async with anyio.create_task_group() as tasks:
            for _ in range(150):
                tasks.start_soon(ask, spoiled(good, chance))
        assert answer_body(await gate.get("/last")) == b"hello"


@pytest.mark.parametrize("letter", ["\xfc", "\xff", "\t"])
async def test_latin1_characters_in_a_field_are_passed_on(letter: str) -> None:
    endpoint = Endpoint(f"HTTP/1.1 200 OK\r\nX-Own: a{letter}b\r\nContent-Length: 0\r\n\r\n".encode("latin-1"))
    async with serving_tcp(endpoint.handle) as port, gateway_to(f"http://127.0.0.1:{port}") as gate:
        answer = await gate.get("/", f"X-Own: a{letter}b")
    assert endpoint.field("x-own") == [f"a{letter}b"]
    assert f"x-own: a{letter}b\r\n".encode("latin-1") in answer


async def test_an_incomplete_head_times_out() -> None:
    async with gateway_to("http://127.0.0.1:9", limits=ConnectionLimits(head_secs=0.2)) as gate:
        assert (await gate.ask(b"GET / HT")).startswith(b"HTTP/1.1 408 ")
