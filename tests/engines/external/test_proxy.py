"""The proxy: traffic of an allowed host, the log, and its limits."""

import random
from pathlib import Path

import anyio
import anyio.abc
import pytest
from anyio.streams.tls import TLSStream
from proxy_certificates import certificate
from proxy_world import (
    PUBLIC,
    PUBLIC_TOO,
    PUBLIC_V6,
    Host,
    World,
    a_host,
    client_hello,
    everything,
    head_of,
    proxying,
    serving_tcp,
    spoiled,
)

from donewhen.engines.external.network.dial import DIALER, Dialer
from donewhen.engines.external.network.hosts import Rules
from donewhen.engines.external.network.listener import ConnectionLimits

pytestmark = pytest.mark.anyio
RULES = Rules(hosts=("api.example",))
NAMES = {"api.example": [PUBLIC]}
MIB = 1 << 20


def service(port: int) -> tuple[Rules, World]:
    """Rules that name one private endpoint, and a world that has it."""
    return Rules(targets=frozenset({("service.example", port)})), World({"service.example": ["127.0.0.1"]})


async def echo(stream: anyio.abc.ByteStream) -> None:
    async for data in stream:
        await stream.send(data)
    await stream.send_eof()


# -- tunnels --


async def test_a_tunnel_carries_tls_to_its_host(tmp_path: Path) -> None:
    made = certificate(tmp_path, "api.example")
    async with serving_tcp(Host(answer=b"secret word").handle, made.server()) as port:
        async with proxying(RULES, World(NAMES, {PUBLIC: port})) as door:
            async with door.tunnel("api.example:443") as (stream, head):
                assert head.startswith(b"HTTP/1.1 200 ")
                secured = await TLSStream.wrap(
                    stream, hostname="api.example", ssl_context=made.client(), standard_compatible=False
                )
                await secured.send(b"hello")
                assert await everything(secured) == b"secret word"
            entry = await door.entry()
    assert (entry.request, entry.host, entry.port, entry.address) == ("CONNECT", "api.example", 443, PUBLIC)
    assert (entry.verdict, entry.reason) == ("allowed", "api.example is allowed")
    assert entry.bytes_up > 200 and entry.bytes_down > 200
    assert door.log == [entry]


async def test_a_client_hello_may_follow_connect_at_once_and_arrive_in_chunks() -> None:
    hello = client_hello("api.example")
    async with a_host() as host, proxying(RULES, World(NAMES, {PUBLIC: host.port})) as door:
        async with await door.connect() as stream:
            await stream.send(b"CONNECT api.example:443 HTTP/1.1\r\nHost: x\r\n\r\n" + hello[:9])
            await head_of(stream)
            await stream.send(hello[9:])
            assert await everything(stream) == host.answer
    assert host.heard == hello


async def test_closing_one_direction_leaves_the_other_open() -> None:
    async def count(stream: anyio.abc.ByteStream) -> None:
        heard = await everything(stream)
        await stream.send(str(len(heard)).encode())

    async with serving_tcp(count) as port:
        rules, world = service(port)
        async with proxying(rules, world) as door:
            async with door.tunnel(f"service.example:{port}") as (stream, _):
                await stream.send(b"x" * 1000)
                await stream.send_eof()
                assert await everything(stream) == b"1000"


async def test_large_transfers_run_in_both_directions_and_are_counted() -> None:
    async with serving_tcp(echo) as port:
        rules, world = service(port)
        async with proxying(rules, world) as door:
            heard = 0
            async with door.tunnel(f"service.example:{port}") as (stream, _), anyio.create_task_group() as tasks:

                async def send() -> None:
                    for _ in range(8):
                        await stream.send(b"x" * MIB)
                    await stream.send_eof()

                tasks.start_soon(send)
                async for data in stream:
                    heard += len(data)
            entry = await door.entry()
    assert heard == 8 * MIB == entry.bytes_up == entry.bytes_down


async def test_a_peer_that_does_not_read_fills_kernel_buffers_and_not_ours() -> None:
    sent, stuck = [0], anyio.Event()

    async def flood(stream: anyio.abc.ByteStream) -> None:
        while True:
            with anyio.move_on_after(1) as waiting:
                await stream.send(b"x" * MIB)
            if waiting.cancelled_caught:
                stuck.set()
                return
            sent[0] += MIB

    async with serving_tcp(flood) as port:
        rules, world = service(port)
        async with proxying(rules, world) as door:
            async with door.tunnel(f"service.example:{port}"):
                await stuck.wait()
    assert sent[0] < 64 * MIB


async def test_a_disconnected_client_ends_the_connection_to_the_host() -> None:
    is_over = anyio.Event()

    async def hear_out(stream: anyio.abc.ByteStream) -> None:
        await everything(stream)
        is_over.set()

    async with serving_tcp(hear_out) as port:
        rules, world = service(port)
        async with proxying(rules, world) as door:
            async with door.tunnel(f"service.example:{port}"):
                pass
            await is_over.wait()
            assert (await door.entry()).verdict == "allowed"


async def test_the_next_address_is_tried_when_one_does_not_answer() -> None:
    names = {"api.example": [PUBLIC_TOO, PUBLIC]}
    async with a_host() as gone:
        pass
    async with a_host() as host:
        world = World(names, {PUBLIC: host.port, PUBLIC_TOO: gone.port})
        async with proxying(RULES, world) as door:
            answer = await door.ask(b"GET http://api.example/ HTTP/1.1\r\nHost: api.example\r\n\r\n")
    assert answer.endswith(b"hello")
    assert world.dialled == [(PUBLIC_TOO, 80), (PUBLIC, 80)]
    assert door.log[0].address == PUBLIC


async def test_an_unreachable_host_is_reported() -> None:
    async with a_host() as gone:
        pass
    async with proxying(RULES, World(NAMES, {PUBLIC: gone.port})) as door:
        async with door.tunnel("api.example:443") as (_, head):
            assert head.startswith(b"HTTP/1.1 502 ")
        entry = await door.entry()
    assert entry.verdict == "failed" and "cannot be reached" in entry.reason


async def test_a_name_without_an_address_is_reported() -> None:
    async with proxying(RULES, World()) as door:
        answer = await door.ask(b"CONNECT api.example:443 HTTP/1.1\r\nHost: a\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 502 ") and answer.endswith(b"donewhen: api.example has no address\n")


async def test_a_named_service_of_this_machine_is_reached_by_the_real_resolver() -> None:
    async with a_host() as host:
        rules = Rules(targets=frozenset({("localhost", host.port)}))
        async with proxying(rules, real=DIALER) as door:
            head = b"GET http://localhost:%d/x?y HTTP/1.1\r\nHost: localhost:%d\r\n\r\n" % (host.port, host.port)
            assert (await door.ask(head)).endswith(b"hello")
    assert host.heard.startswith(b"GET /x?y HTTP/1.1\r\nhost: localhost:")


# -- unencrypted requests --


async def test_an_unencrypted_request_is_forwarded_and_answered_once() -> None:
    async with a_host() as host, proxying(RULES, World(NAMES, {PUBLIC: host.port})) as door:
        answer = await door.ask(
            b"GET http://API.example./a/b?c=d HTTP/1.1\r\nHost: api.example\r\nProxy-Authorization: x\r\nX-Kept: y\r\n"
            b"Connection: keep-alive, X-Hop\r\nX-Hop: z\r\n\r\nGET http://api.example/second HTTP/1.1\r\n\r\n"
        )
    assert host.heard == b"GET /a/b?c=d HTTP/1.1\r\nhost: API.example.\r\nx-kept: y\r\nconnection: close\r\n\r\n"
    assert answer == b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhello"
    assert [one.request for one in door.log] == ["GET http://API.example./a/b"]
    assert door.log[0].bytes_down == len(host.answer)


async def test_a_body_reaches_a_named_endpoint_by_length_and_in_chunks() -> None:
    async def serve(stream: anyio.abc.ByteStream) -> None:
        heard.append(await head_of(stream))
        size = 3 if b"content-length: 3" in heard[-1] else len(b"3\r\nabc\r\n0\r\n\r\n")
        body = b""
        while len(body) < size:
            body += await stream.receive()
        heard.append(body)
        await stream.send(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\n\r\n")

    heard: list[bytes] = []
    async with serving_tcp(serve) as port:
        rules, world = service(port)
        async with proxying(rules, world) as door:
            start = b"POST http://service.example:%d/ HTTP/1.1\r\nHost: service.example:%d\r\n" % (port, port)
            plain = await door.ask(start + b"Content-Length: 3\r\n\r\nabc")
            chunked = await door.ask(
                start + b"Transfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nTrailer: z\r\n\r\n"
            )
    assert plain == chunked == b"HTTP/1.1 201 Created\r\nconnection: close\r\n\r\n"
    assert (heard[1], heard[3]) == (b"abc", b"3\r\nabc\r\n0\r\n\r\n")


@pytest.mark.parametrize("answer", [b"", b"SSH-2.0-x\r\n\r\n", b"HTTP/1.1 200 OK\r\nx : y\r\n\r\n", b"x" * 70_000])
async def test_an_invalid_response_is_not_passed_on(answer: bytes) -> None:
    async with a_host(Host(answer)) as host, proxying(RULES, World(NAMES, {PUBLIC: host.port})) as door:
        said = await door.ask(b"GET http://api.example/ HTTP/1.1\r\nHost: api.example\r\n\r\n")
    assert said.startswith(b"HTTP/1.1 502 ")
    assert door.log[0].verdict == "failed"


@pytest.mark.parametrize(
    ("request_line", "status"),
    [
        (b"GET / HTTP/1.1", 400),
        (b"GET https://api.example/ HTTP/1.1", 400),
        (b"GET ftp://api.example/ HTTP/1.1", 400),
        (b"GET http:///path HTTP/1.1", 400),
        (b"GET http://user:pass@api.example/ HTTP/1.1", 400),
        (b"GET http://api.example/#x HTTP/1.1", 400),
        (b"CONNECT api.example HTTP/1.1", 400),
        (b"CONNECT http://api.example:443 HTTP/1.1", 400),
        (b"GET http://api.example/ HTTP/3", 400),
    ],
)
async def test_a_request_that_is_not_for_a_proxy_is_refused_with_a_reason(request_line: bytes, status: int) -> None:
    async with proxying(RULES) as door:
        answer = await door.ask(request_line + b"\r\nHost: api.example\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 %d " % status)
    assert door.log[0].verdict == "refused" and not door.world.asked


# -- limits --


async def test_an_overlong_head_is_refused() -> None:
    async with proxying(RULES) as door:
        answer = await door.ask(b"GET http://api.example/ HTTP/1.1\r\nX: " + b"x" * 70_000)
    assert answer.startswith(b"HTTP/1.1 431 ")


async def test_a_missing_head_times_out() -> None:
    async with proxying(RULES, limits=ConnectionLimits(head_secs=0.2)) as door:
        assert (await door.ask(b"GET http://api.ex")).startswith(b"HTTP/1.1 408 ")


async def test_an_idle_tunnel_is_closed() -> None:
    async with a_host() as host:
        world = World(NAMES, {PUBLIC: host.port})
        async with proxying(RULES, world, ConnectionLimits(head_secs=0.2)) as door:
            async with door.tunnel("api.example:443") as (stream, _):
                assert b" 403 " in await everything(stream)
    assert host.heard == b""


async def test_a_host_that_does_not_answer_times_out() -> None:
    async def resolve_for_ever(host: str, port: int) -> list[str]:
        await anyio.sleep_forever()
        return [host, str(port)]

    async with proxying(
        RULES, limits=ConnectionLimits(connect_secs=0.2), real=Dialer(resolve=resolve_for_ever)
    ) as door:
        answer = await door.ask(b"CONNECT api.example:443 HTTP/1.1\r\nHost: a\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 504 ")


async def test_connections_above_the_limit_wait_until_one_has_ended() -> None:
    async with proxying(RULES, limits=ConnectionLimits(connections=1)) as door:
        async with await door.connect() as first:
            async with await door.connect() as second:
                await second.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
                with anyio.move_on_after(0.3) as waiting:
                    await second.receive()
                assert waiting.cancelled_caught, "the only place is taken by one that says nothing"
                await first.aclose()
                assert (await everything(second)).startswith(b"HTTP/1.1 400 ")


async def test_a_silent_connection_is_logged_too() -> None:
    async with proxying(RULES) as door:
        await (await door.connect()).aclose()
        entry = await door.entry()
    assert (entry.verdict, entry.reason, entry.host) == ("failed", "no request", "")


async def test_a_connection_that_is_open_when_the_proxy_ends_is_logged() -> None:
    async with serving_tcp(echo) as port:
        rules, world = service(port)
        async with proxying(rules, world) as door:
            stream = await door.connect()
            await stream.send(f"CONNECT service.example:{port} HTTP/1.0\r\n\r\nx".encode())
            await head_of(stream)
            await stream.receive()
        await stream.aclose()
    assert [(one.verdict, one.bytes_up) for one in door.log] == [("allowed", 1)]


async def test_no_bytes_break_the_proxy() -> None:
    """Requests with characters replaced, removed and doubled; it still serves after all of them."""
    chance = random.Random(7)
    good = b"GET http://api.example/x HTTP/1.1\r\nHost: api.example\r\nContent-Length: 0\r\n\r\n"
    tunnel = b"CONNECT api.example:443 HTTP/1.1\r\nHost: api.example:443\r\n\r\n" + client_hello("api.example")
    async with a_host() as host:
        async with proxying(RULES, World(NAMES, {PUBLIC: host.port}), ConnectionLimits(head_secs=0.5)) as door:
            async with anyio.create_task_group() as tasks:
                for _ in range(150):
                    tasks.start_soon(door.ask, spoiled(chance.choice([good, tunnel]), chance))
            assert (await door.ask(good)).endswith(b"hello")
    assert len(door.log) == 151


async def test_ipv6_hosts_are_dialled_by_the_checked_address() -> None:
    async with a_host() as host:
        world = World({"api.example": [PUBLIC_V6]}, {PUBLIC_V6: host.port})
        async with proxying(RULES, world) as door:
            assert (await door.ask(b"GET http://api.example HTTP/1.0\r\n\r\n")).endswith(b"hello")
    assert world.dialled == [(PUBLIC_V6, 80)]
    assert host.heard.startswith(b"GET / HTTP/1.1\r\nhost: api.example\r\n")
