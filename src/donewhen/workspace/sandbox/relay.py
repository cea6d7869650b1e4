"""Relay from a private network to single host services: `reach` in `[workspace]`.

The launcher creates the listening sockets inside the command's own network and hands them out. This side accepts
connections there and connects on the host. Nothing else passes: no route, no packet, no other port.
"""

import ipaddress
import socket

import anyio
import anyio.abc

from donewhen.errors import BadInput
from donewhen.records import frozen

PUMP_BYTES = 1 << 16
CONNECT_SECS = 10.0
FIRST_STAND_IN = int(ipaddress.IPv4Address("127.77.0.1"))
"""Named hosts get loopback addresses from here on, through /etc/hosts."""
MOST_CONNECTIONS = 128
"""Concurrent connections of one command: they must not use up this process's descriptors."""
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")


@frozen
class RelayService:
    """One host service: its address on the host, and where the command finds it."""

    host: str
    port: int
    inside: tuple[str, ...]
    """Addresses to listen on inside the private network."""
    name: str = ""
    """A name for /etc/hosts that resolves to the first of them."""

    @property
    def addresses(self) -> tuple[str, ...]:
        """Addresses that must be added to the private loopback first."""
        return tuple(a for a in self.inside if ":" not in a and not a.startswith("127."))


def parse(entries: tuple[str, ...]) -> tuple[RelayService, ...]:
    """Parse `workspace.reach`. An invalid entry raises `BadInput` with a line that names it."""
    services: list[RelayService] = []
    for number, entry in enumerate(entries):
        host, colon, port = entry.rpartition(":")
        host = host.strip("[]")
        if not colon or not host or not port.isdecimal() or not 0 < int(port) < 65536:
            raise BadInput(f"workspace.reach: '{entry}' is not HOST:PORT")
        services.append(_service(host, int(port), number))
    return tuple(services)


def _service(host: str, port: int, number: int) -> RelayService:
    if host in LOOPBACK_NAMES:
        return RelayService(host, port, ("127.0.0.1", "::1"))
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return RelayService(host, port, (str(ipaddress.IPv4Address(FIRST_STAND_IN + number)),), name=host)
    if address.version == 6:
        raise BadInput(f"workspace.reach: '{host}' is an IPv6 address beyond loopback; give its name or IPv4 address")
    return RelayService(host, port, (host,))


def listeners(services: tuple[RelayService, ...]) -> tuple[tuple[str, int], ...]:
    return tuple((address, service.port) for service in services for address in service.inside)


def hosts_lines(services: tuple[RelayService, ...]) -> str:
    return "".join(f"{service.inside[0]} {service.name}\n" for service in services if service.name)


async def serve(services: tuple[RelayService, ...], listening: list[socket.socket]) -> None:
    """Relay until cancelled. `listening` has the order of `listeners`."""
    targets = [(service.host, service.port) for service in services for _ in service.inside]
    places = anyio.Semaphore(MOST_CONNECTIONS)
    async with anyio.create_task_group() as tasks:
        for listener, target in zip(listening, targets, strict=True):
            listener.setblocking(False)
            tasks.start_soon(_accept, tasks, listener, target, places)


async def _accept(
    tasks: anyio.abc.TaskGroup, listener: socket.socket, target: tuple[str, int], places: anyio.Semaphore
) -> None:
    with listener:
        while True:
            await anyio.wait_readable(listener)
            await places.acquire()
            try:
                inside, _ = listener.accept()
            except OSError:
                places.release()
                continue
            inside.setblocking(False)
            tasks.start_soon(_join, inside, target, places)


async def _join(inside: socket.socket, target: tuple[str, int], places: anyio.Semaphore) -> None:
    try:
        with inside:
            await _connect_and_pump(inside, *target)
    finally:
        places.release()


async def _connect_and_pump(inside: socket.socket, host: str, port: int) -> None:
    try:
        with anyio.fail_after(CONNECT_SECS):
            outside = await anyio.connect_tcp(host, port)
    except (OSError, TimeoutError):
        return  # the command sees its connection close, as with a service that is down
    async with outside, anyio.create_task_group() as tasks:
        tasks.start_soon(_outward, inside, outside, tasks.cancel_scope)
        await _inward(outside, inside)
        tasks.cancel_scope.cancel()


async def _outward(inside: socket.socket, outside: anyio.abc.SocketStream, both: anyio.CancelScope) -> None:
    try:
        while True:
            await anyio.wait_readable(inside)
            chunk = inside.recv(PUMP_BYTES)
            if not chunk:
                await outside.send_eof()
                return
            await outside.send(chunk)
    except (OSError, anyio.BrokenResourceError):
        both.cancel()  # a client that disconnected abruptly does not wait for an answer


async def _inward(outside: anyio.abc.SocketStream, inside: socket.socket) -> None:
    try:
        async for chunk in outside:
            view = memoryview(chunk)
            while view:
                await anyio.wait_writable(inside)
                view = view[inside.send(view) :]
        inside.shutdown(socket.SHUT_WR)
    except (OSError, anyio.BrokenResourceError):
        return
