"""Dialer: the addresses of a name, which of them may be dialled, and a connection to one of them.

A name is resolved once. Only an address that was checked is dialled, never the name again.

Allowed are public addresses that are not this machine. An address that carries another one inside (NAT64, 6to4, Teredo,
ISATAP) is judged by the one inside: that is where the packets would end. What only a router knows, such as a public
address that it sends back into the local network, is not visible here.
"""

import errno
import os
import socket
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import anyio

from donewhen.records import frozen

Address = IPv4Address | IPv6Address

UNUSABLE = tuple(
    ip_network(network)
    for network in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
        *("192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24"),
        *("203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
        *("2001::/23", "2001:db8::/32", "3fff::/20"),
    )
)
"""Private, local, shared, reserved, for documentation, multicast. Written out, because libraries change their
definitions."""
GLOBAL_UNICAST = ip_network("2000::/3")
NAT64 = ip_network("64:ff9b::/96")
ISATAP = (0x0000_5EFE, 0x0200_5EFE)


def refusal(text: str) -> str:
    """Return why an address must not be dialled, in a few words; empty if it may be."""
    try:
        address = ip_address(text)
    except ValueError:
        return "not an IP address"
    if any(not _is_public(one) for one in carried(address)):
        return "not a public address"
    if any(is_own(one) for one in carried(address)):
        return "an address of this machine"
    return ""


def carried(address: Address) -> tuple[Address, ...]:
    """Return the addresses to check in place of this one: itself, or those that it carries."""
    if isinstance(address, IPv4Address):
        return (address,)
    if address.ipv4_mapped is not None:
        return (address.ipv4_mapped,)
    if address in NAT64:
        return (IPv4Address(int(address) & 0xFFFF_FFFF),)
    if address.sixtofour is not None:
        return (address.sixtofour,)
    if address.teredo is not None:
        return address.teredo
    if (int(address) >> 32) & 0xFFFF_FFFF in ISATAP:
        return (address, IPv4Address(int(address) & 0xFFFF_FFFF))
    return (address,)


def is_own(address: Address) -> bool:
    """Return True if it belongs to this machine: such an address is its own source. Nothing is sent."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((str(address), 9))
            source = str(probe.getsockname()[0])
    except OSError:
        return False  # no route to it at all
    return ip_address(source) == address


def _is_public(address: Address) -> bool:
    if address.version == 6 and address not in GLOBAL_UNICAST:
        return False
    return not any(address in network for network in UNUSABLE if network.version == address.version)


Resolve = Callable[[str, int], Awaitable[list[str]]]
Dial = Callable[[str, int], Awaitable[socket.socket]]


async def resolve(host: str, port: int) -> list[str]:
    """Resolve a name with this machine's resolver. Raise `OSError` if the name does not exist."""
    found = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


async def dial(address: str, port: int) -> socket.socket:
    """Return a connected socket. `address` must be an IP address: nothing is looked up."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    with ExitStack() as undone:
        undone.callback(made.close)
        made.setblocking(False)
        code = made.connect_ex((address, port))
        if code in (errno.EINPROGRESS, errno.EAGAIN):
            await anyio.wait_writable(made)
            code = made.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            raise OSError(code, os.strerror(code))
        undone.pop_all()
    return made


@frozen
class Dialer:
    resolve: Resolve = resolve
    dial: Dial = dial
    refusal: Callable[[str], str] = refusal
    """Returns why an address must not be dialled; empty if it may be."""


DIALER = Dialer()
