"""What the proxy asks of this machine's network: the addresses of a name, and a connection to one of them.

A name is resolved once. What is dialled is an address that was looked at, never the name again.
"""

import errno
import os
import socket
from collections.abc import Awaitable, Callable
from contextlib import ExitStack

import anyio

from donewhen.engines.external.network.addresses import refusal
from donewhen.records import frozen

Resolve = Callable[[str, int], Awaitable[list[str]]]
Dial = Callable[[str, int], Awaitable[socket.socket]]


async def resolve(host: str, port: int) -> list[str]:
    """By the resolver of this machine; raises `OSError` when there is no such name."""
    found = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


async def dial(address: str, port: int) -> socket.socket:
    """A connected socket. `address` must be one: nothing is looked up."""
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
class Outside:
    resolve: Resolve = resolve
    dial: Dial = dial
    refusal: Callable[[str], str] = refusal
    """Why an address must not be dialled; empty when it may be."""


OUTSIDE = Outside()
