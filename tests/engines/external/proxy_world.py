"""A small internet for tests of gateway and proxy: names with addresses, hosts behind them, and a proxy without checks.

The real code examines and dials addresses. Only the target of a dialled address is decided here, a server on the
loopback, because tests have no public hosts.
"""

import contextlib
import random
import socket
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field

import anyio
import anyio.abc
from anyio.streams.tls import TLSStream

from donewhen.engines.external.network import dial as outside
from donewhen.engines.external.network.dial import Dialer
from donewhen.engines.external.network.hosts import Rules
from donewhen.engines.external.network.listener import LIMITS, ConnectionLimits
from donewhen.engines.external.network.proxy import ConnectionLog, serve_proxy

PATIENCE_SECS = 60.0
PUBLIC, PUBLIC_TOO, PUBLIC_V6 = "93.184.215.14", "1.1.1.1", "2606:4700:4700::1111"
Handle = Callable[[anyio.abc.ByteStream], Awaitable[None]]


@dataclass
class World:
    """Looked-up names, dialled addresses, and what arrived there."""

    names: Mapping[str, list[str]] = field(default_factory=dict[str, list[str]])
    leads_to: Mapping[str, int] = field(default_factory=dict[str, int])
    """Address to loopback port; a missing address is dialled unchanged."""
    asked: list[str] = field(default_factory=list[str])
    dialled: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])

    async def resolve(self, host: str, port: int) -> list[str]:
        self.asked.append(host)
        if host not in self.names:
            raise OSError(f"no such name as {host}:{port}")
        return self.names[host]

    async def dial(self, address: str, port: int) -> socket.socket:
        self.dialled.append((address, port))
        if address in self.leads_to:
            return await outside.dial("127.0.0.1", self.leads_to[address])
        return await outside.dial(address, port)

    @property
    def outside(self) -> Dialer:
        return Dialer(self.resolve, self.dial)


@dataclass
class Door:
    """A running proxy, as the agent reaches it."""

    port: int
    log: list[ConnectionLog]
    world: World
    logged: anyio.Event = field(default_factory=anyio.Event)

    async def connect(self) -> anyio.abc.SocketStream:
        return await anyio.connect_tcp("127.0.0.1", self.port)

    async def ask(self, request: bytes) -> bytes:
        """Return everything until the connection ends."""
        async with await self.connect() as stream:
            await stream.send(request)
            return await everything(stream)

    @contextlib.asynccontextmanager
    async def tunnel(self, target: str) -> AsyncGenerator[tuple[anyio.abc.SocketStream, bytes]]:
        """A connection after CONNECT, and the head of its response."""
        async with await self.connect() as stream:
            await stream.send(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode("latin-1"))
            yield stream, await head_of(stream)

    async def entry(self) -> ConnectionLog:
        """Return the first entry of the log as soon as it is there."""
        with anyio.fail_after(PATIENCE_SECS):
            await self.logged.wait()
        return self.log[0]

    def note(self, connection: ConnectionLog) -> None:
        self.log.append(connection)
        self.logged.set()


@contextlib.asynccontextmanager
async def proxying(
    rules: Rules, world: World | None = None, limits: ConnectionLimits = LIMITS, real: Dialer | None = None
) -> AsyncGenerator[Door]:
    """The proxy in a test world, or in the real one."""
    listener = socket.create_server(("127.0.0.1", 0))
    door = Door(listener.getsockname()[1], [], world or World())
    async with anyio.create_task_group() as tasks:

        async def serve() -> None:
            await serve_proxy(listener, rules, door.note, dialer=real or door.world.outside, limits=limits)

        tasks.start_soon(serve)
        with anyio.fail_after(PATIENCE_SECS):
            yield door
        tasks.cancel_scope.cancel()


@contextlib.asynccontextmanager
async def careless_proxy(world: World) -> AsyncGenerator[Door]:
    """The control: a relay without any checks."""

    async def serve(inside: anyio.abc.ByteStream) -> None:
        first, rest = await head_of(inside), b""
        words = first.split(b" ")
        target = words[1].decode("latin-1")
        if words[0] != b"CONNECT":
            target, rest = f"{target.removeprefix('http://').partition('/')[0]}:80", first
        host, _, port = target.rpartition(":")
        host = host.split("\0")[0].strip("[]")
        addresses = await world.resolve(host, 0) if host in world.names else [socket.inet_ntoa(socket.inet_aton(host))]
        beyond = await world.dial(addresses[0], int(port))
        async with await anyio.abc.SocketStream.from_socket(beyond) as stream:
            if rest:
                await stream.send(rest)
            else:
                await inside.send(b"HTTP/1.1 200 OK\r\n\r\n")
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(carry, inside, stream)
                await carry(stream, inside)
                tasks.cancel_scope.cancel()

    async with serving_tcp(serve) as port:
        yield Door(port, [], world)


async def carry(source: anyio.abc.ByteStream, sink: anyio.abc.ByteStream) -> None:
    with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        async for data in source:
            await sink.send(data)
        await sink.send_eof()


@dataclass
class Host:
    """A server: what arrived, and what it answers."""

    answer: bytes = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"
    port: int = 0
    heard: bytes = b""

    async def handle(self, stream: anyio.abc.ByteStream) -> None:
        with contextlib.suppress(anyio.EndOfStream, anyio.BrokenResourceError):
            self.heard += await stream.receive()
            await stream.send(self.answer)


@contextlib.asynccontextmanager
async def a_host(host: Host | None = None) -> AsyncGenerator[Host]:
    host = host or Host()
    async with serving_tcp(host.handle) as port:
        host.port = port
        yield host


@contextlib.asynccontextmanager
async def serving_tcp(
    handle: Handle, tls: ssl.SSLContext | None = None, address: str = "127.0.0.1"
) -> AsyncGenerator[int]:
    """A server for the duration of the block; gives its port."""
    listener = await anyio.create_tcp_listener(local_host=address)

    async def attended(stream: anyio.abc.ByteStream) -> None:
        async with stream:
            await handle(stream)

    async def secured(stream: anyio.abc.ByteStream) -> None:
        with contextlib.suppress(ssl.SSLError, anyio.BrokenResourceError, anyio.EndOfStream):
            async with stream:
                await attended(
                    await TLSStream.wrap(stream, server_side=True, ssl_context=tls, standard_compatible=False)
                )

    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, secured if tls else attended)
        yield listener.extra(anyio.abc.SocketAttribute.local_port)
        tasks.cancel_scope.cancel()


async def head_of(stream: anyio.abc.ByteReceiveStream) -> bytes:
    """Byte by byte, so that nothing after the head is lost."""
    head = b""
    with contextlib.suppress(anyio.EndOfStream):
        while not head.endswith(b"\r\n\r\n"):
            head += await stream.receive(1)
    return head


async def everything(stream: anyio.abc.ByteReceiveStream) -> bytes:
    data = b""
    with contextlib.suppress(anyio.BrokenResourceError):
        async for piece in stream:
            data += piece
    return data


def own_address() -> str:
    """Return an address of this machine that is not on the loopback, if there is one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((PUBLIC, 9))
        except OSError:
            return "127.0.0.1"
        return str(probe.getsockname()[0])


def spoiled(data: bytes, chance: random.Random) -> bytes:
    """A request with characters replaced, removed or doubled."""
    for _ in range(chance.randint(1, 4)):
        at, end = sorted((chance.randrange(len(data) + 1), chance.randrange(len(data) + 1)))
        data = chance.choice(
            [
                data[:at] + chance.randbytes(1) + data[at + 1 :],
                data[:at] + data[end:],
                data[:end] + data[at:],
                data[:end],
            ]
        )
    return data


def client_hello(name: str | None) -> bytes:
    """The first bytes of a real TLS client for `name`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    talking = context.wrap_bio(incoming, outgoing, server_hostname=name)
    with contextlib.suppress(ssl.SSLWantReadError):
        talking.do_handshake()
    return outgoing.read()
