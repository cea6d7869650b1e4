"""Which user a TCP connection of this machine belongs to, as the kernel knows it (netlink, `sock_diag`).

A cookie belongs to a host and not to a port: a browser shows it to every server on 127.0.0.1, also to one of another
user. So the daemon looks at who connects, as it does on the unix socket.
"""

import contextlib
import errno
import os
import socket
import struct

_NETLINK_SOCK_DIAG, _SOCK_DIAG_BY_FAMILY, _NLM_F_REQUEST, _NLMSG_ERROR = 4, 20, 1, 2
_HEADER = struct.Struct("=IHHII")
_REQUEST = struct.Struct("=BBBBI")
"""Family, protocol, extensions, padding, states."""
_FACTS = struct.Struct("=BBBB48xIIIII")
"""Family, state, timer, retransmits; the addresses; expires, read queue, write queue, user, inode."""
_ANY_COOKIE = b"\xff" * 8
_SECS = 1.0
ROOT = 0

Address = tuple[str, int]


class UserCheck:
    """Says whether a connection is of this user or of root."""

    def __init__(self) -> None:
        self._user = os.geteuid()
        self.works = False
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", 0)) as server:
            with socket.create_connection(server.getsockname()) as client:
                accepted, _ = server.accept()
                with accepted:
                    self.works = owner_of(client.getsockname(), client.getpeername()) == self._user

    def is_foreign(self, peer: Address, own: Address) -> bool:
        """Return True for a connection of another user, and for one that no process holds any more.

        A machine that does not say it (`works`) has no foreign connections.
        """
        return self.works and owner_of(peer, own) not in (self._user, ROOT)


def owner_of(local: Address, remote: Address) -> int | None:
    """Return the user of the socket with these two addresses; None if no process holds it. Raise OSError if unknown."""
    family = socket.AF_INET6 if ":" in local[0] else socket.AF_INET
    addresses = b"".join(socket.inet_pton(family, one[0]).ljust(16, b"\0") for one in (local, remote))
    identity = struct.pack("!HH", local[1], remote[1]) + addresses + bytes(4) + _ANY_COOKIE
    request = _REQUEST.pack(family, socket.IPPROTO_TCP, 0, 0, 0xFFFFFFFF) + identity
    header = _HEADER.pack(_HEADER.size + len(request), _SOCK_DIAG_BY_FAMILY, _NLM_F_REQUEST, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _NETLINK_SOCK_DIAG) as netlink:
        netlink.settimeout(_SECS)
        netlink.sendto(header + request, (0, 0))
        answer = netlink.recv(8192)
    kind = _HEADER.unpack_from(answer)[1]
    if kind == _NLMSG_ERROR:
        (code,) = struct.unpack_from("=i", answer, _HEADER.size)
        if code == -errno.ENOENT:
            return None
        raise OSError(-code, os.strerror(-code))
    *_, user, inode = _FACTS.unpack_from(answer, _HEADER.size)
    return int(user) if inode else None
