"""All listeners outside the sandbox: on the loopback, on unix sockets of every kind and path, on an abstract name.

No listener answers. The test looks up connections afterwards: a connection exists as soon as the kernel made it.
"""

import contextlib
import os
import socket
from pathlib import Path

INTERNET = (
    ("TCP4", socket.AF_INET, socket.SOCK_STREAM, "127.0.0.1"),
    ("TCP6", socket.AF_INET6, socket.SOCK_STREAM, "::1"),
    ("UDP4", socket.AF_INET, socket.SOCK_DGRAM, "127.0.0.1"),
    ("UDP6", socket.AF_INET6, socket.SOCK_DGRAM, "::1"),
    ("TCPANY", socket.AF_INET, socket.SOCK_STREAM, "0.0.0.0"),
)


class Listeners:
    """The listeners of one attack, by the name of the variable with their port or path."""

    def __init__(self, home: Path, world: Path, mark: str) -> None:
        run = Path("/run") if os.access("/run", os.W_OK) else Path("/tmp")
        self.files = {
            "SOCK_RUN": run / f"{mark}.sock",
            "SOCK_TMP": Path("/tmp") / f".{mark}-X0",
            "SOCK_HOME": home / ".gnupg" / "S.gpg-agent",
            "SOCK_TOOLCHAIN": home / ".cargo" / "server.sock",
            "SOCK_WORLD": world / "docker.sock",
            "SOCK_RELATIVE": world / "relative.sock",
            "SOCK_RENAMED": world / "renamed.sock",
            "SOCK_LATE": world / "late.sock",
            "SOCK_DATAGRAM": world / "datagram.sock",
        }
        self._sockets: dict[str, socket.socket] = {}
        for name, family, kind, address in INTERNET:
            with contextlib.suppress(OSError):  # not every machine has IPv6; attacks that need it do not run there
                self._bind(name, socket.socket(family, kind), (address, 0))
        self._bind("ABSTRACT", socket.socket(socket.AF_UNIX), f"\0{mark}")
        self._bind("ABSTRACT_DATAGRAM", socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM), f"\0{mark}-d")
        self._listen_on_files()

    def _listen_on_files(self) -> None:
        for path in self.files.values():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True)
        for name in ("SOCK_RUN", "SOCK_TMP", "SOCK_HOME", "SOCK_TOOLCHAIN", "SOCK_WORLD"):
            self._bind(name, socket.socket(socket.AF_UNIX), str(self.files[name]))
        with contextlib.chdir(self.files["SOCK_RELATIVE"].parent):
            self._bind("SOCK_RELATIVE", socket.socket(socket.AF_UNIX), self.files["SOCK_RELATIVE"].name)
        datagrams = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._bind("SOCK_DATAGRAM", datagrams, str(self.files["SOCK_DATAGRAM"]))
        renamed = self.files["SOCK_RENAMED"]
        self._bind("SOCK_RENAMED", socket.socket(socket.AF_UNIX), f"{renamed}.new")
        os.rename(f"{renamed}.new", renamed)

    def listen_late(self) -> None:
        """A listener that was made after the sandbox."""
        self._bind("SOCK_LATE", socket.socket(socket.AF_UNIX), str(self.files["SOCK_LATE"]))

    def _bind(self, name: str, listener: socket.socket, address: tuple[str, int] | str) -> None:
        self._sockets[name] = listener
        listener.bind(address)
        listener.setblocking(False)
        if listener.type == socket.SOCK_STREAM:
            listener.listen()

    def variables(self) -> dict[str, str]:
        ports = {name: str(s.getsockname()[1]) for name, s in self._sockets.items() if name.startswith(("TCP", "UDP"))}
        return {**ports, **{name: str(path) for name, path in self.files.items()}}

    def heard(self) -> bool:
        return any(map(heard, self._sockets.values()))

    def close(self) -> None:
        for listener in self._sockets.values():
            listener.close()
        for path in self.files.values():
            path.unlink(missing_ok=True)


def heard(listener: socket.socket) -> bool:
    try:
        if listener.type == socket.SOCK_DGRAM:
            listener.recv(1)
        else:
            listener.accept()[0].close()
    except OSError:
        return False
    return True
