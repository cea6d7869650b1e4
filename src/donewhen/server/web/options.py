"""Where the daemon listens for browsers and programs. Beyond this machine it listens with TLS only."""

import errno
import ipaddress
import socket
import ssl
from pathlib import Path

from donewhen.errors import BadInput
from donewhen.records import frozen
from donewhen.server.web.defences import ALL, WebDefences

DEFAULT_PORT = 7730
DEFAULT_HOST = "127.0.0.1"
BACKLOG = 64
"""Connections that are accepted in one go. A small number keeps a flood of them from using up all file descriptors."""


@frozen(kw_only=True)
class WebLimits:
    """What a client may take, with or without a token."""

    head_bytes: int = 16 * 1024
    head_secs: float = 10.0
    """From the connection, or the first byte of a further request, to the end of the head."""
    body_secs: float = 30.0
    idle_secs: float = 5.0
    """Between two requests on one connection."""
    unread_secs: float = 60.0
    """A client that leaves the rest of a response unread for so long is cut off."""
    connections: int = 512
    waiting: int = 256
    """Connections whose first head has not arrived. The oldest one makes room for a new one."""
    websockets: int = 256
    ping_secs: float = 20.0
    """A WebSocket is asked so often whether it is there."""
    pong_secs: float = 60.0
    """It must answer in this time, which also ends a message that stops in the middle."""


@frozen(kw_only=True)
class WebOptions:
    port: int = DEFAULT_PORT
    """0: a free one."""
    host: str = DEFAULT_HOST
    """A name or an address. One that other machines can reach needs the certificate and the key."""
    tls_certificate: Path | None = None
    tls_key: Path | None = None
    limits: WebLimits = WebLimits()
    defences: WebDefences = ALL


@frozen(kw_only=True)
class WebListener:
    """A socket that listens, and the names under which it may be asked."""

    socket: socket.socket
    options: WebOptions
    scheme: str
    port: int
    hosts: frozenset[str]
    """The accepted values of the header `Host`."""
    address: str
    """For a person: `http://127.0.0.1:7730`."""


def listen(options: WebOptions) -> WebListener:
    """Open the socket. Raise BadInput, in one line, if that is not possible or not allowed."""
    family, address = _resolve(options.host)
    has_tls = _has_tls(options)
    if address.is_unspecified:
        raise BadInput(f"cannot serve on {options.host}: name the one address or host name that clients use")
    if not address.is_loopback and not has_tls:
        raise BadInput(f"{options.host} can be reached from other machines: this needs a TLS certificate and its key")
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((str(address), options.port))
        listener.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        listener.close()
        raise BadInput(_why_not(options, error)) from error
    port = int(listener.getsockname()[1])
    scheme = "https" if has_tls else "http"
    names = {_bracketed(options.host), _bracketed(str(address))}
    if address.is_loopback:
        names |= {"127.0.0.1", "localhost", "[::1]"}
    hosts = {f"{name.lower()}:{port}" for name in names}
    if port == (443 if has_tls else 80):
        hosts |= {name.lower() for name in names}
    return WebListener(
        socket=listener,
        options=options,
        scheme=scheme,
        port=port,
        hosts=frozenset(hosts),
        address=f"{scheme}://{_bracketed(options.host)}:{port}",
    )


def _resolve(host: str) -> tuple[int, ipaddress.IPv4Address | ipaddress.IPv6Address]:
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise BadInput(f"cannot serve on {host!r}: there is no such host") from error
    family, _, _, _, address = found[0]
    return int(family), ipaddress.ip_address(str(address[0]).partition("%")[0])


def _has_tls(options: WebOptions) -> bool:
    certificate, key = options.tls_certificate, options.tls_key
    if certificate is None and key is None:
        return False
    if certificate is None or key is None:
        raise BadInput("TLS needs both a certificate and its key")
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(certificate, key, password=_no_password)
    except (OSError, ValueError) as error:
        raise BadInput(f"cannot use the TLS certificate {certificate} with the key {key}: {error}") from error
    return True


def _no_password() -> str:
    """Take the place of a question at the terminal."""
    raise ValueError("the key needs a password")


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _why_not(options: WebOptions, error: Exception) -> str:
    place = f"{_bracketed(options.host)}:{options.port}"
    if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
        return f"another program listens on {place}; choose another port with --port, or a free one with --port 0"
    return f"cannot listen on {place}: {getattr(error, 'strerror', None) or error}"
