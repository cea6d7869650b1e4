"""Canonical host names, and the rules which hosts an agent may reach. Pure: nothing is resolved here.

Another spelling of the same host gets the same decision: case, a last dot, punycode, IPv4 in any form that a resolver
would accept, IPv6 that only wraps IPv4. A text that cannot be a host raises `NoHost`.
"""

import re
from ipaddress import IPv4Address, IPv6Address

from donewhen.errors import BadInput
from donewhen.records import frozen

LONGEST_NAME = 253
WEB_PORTS = (443, 80)
LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
NUMBER = re.compile(r"0x[0-9a-f]*|[0-9]+")
"""A part of an IPv4 address as resolvers read it: hexadecimal, octal after a zero, or decimal."""
FORBIDDEN = re.compile(r"[\x00-\x20\x7f@\\%/?#]")


class NoHost(ValueError):
    """A text that cannot name a host; the message states why."""


@frozen
class HostDecision:
    allowed: bool
    reason: str
    """The rule that allows it, or why none does."""
    private: bool = False
    """True if its addresses may be private: the rules name exactly this endpoint."""
    writes: bool = False
    """True if unencrypted requests may change something there; encrypted ones cannot be distinguished."""


@frozen(kw_only=True)
class Rules:
    """Which hosts may be reached. Empty rules allow nothing."""

    hosts: tuple[str, ...] = ()
    """Names, or `*.NAME` for everything below one; only on `ports`, and only at public addresses."""
    ports: tuple[int, ...] = WEB_PORTS
    anything_public: bool = False
    targets: frozenset[tuple[str, int]] = frozenset()
    """Endpoints that are named exactly, wherever they are: a model's server, a service of the workspace."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "hosts", tuple(_canonical_pattern(host) for host in self.hosts))
        object.__setattr__(self, "targets", frozenset((_canonical_host(host), port) for host, port in self.targets))

    def decide(self, host: str, port: int) -> HostDecision:
        """Return the decision about a canonical host (`canonical`)."""
        if (host, port) in self.targets:
            return HostDecision(True, f"the endpoint {host}:{port} is allowed", private=True, writes=True)
        named = next((one for one in self.hosts if _matches(one, host)), None)
        if named is None and not self.anything_public:
            return HostDecision(False, f"{host} is not a host that this agent may reach")
        if port not in self.ports:
            return HostDecision(False, f"port {port} of {host} is not a port that this agent may reach")
        if self.anything_public:
            return HostDecision(True, "every public host is allowed", writes=True)
        return HostDecision(True, f"{named} is allowed")


def canonical(text: str) -> str:
    """Return the canonical host: a lower-case name, an IPv4 address, or an IPv6 address without brackets."""
    if FORBIDDEN.search(text):
        raise NoHost("invalid character in a host name")
    if text.startswith("[") or text.endswith("]"):
        return _ipv6(text)
    name = (text if text.isascii() else _ascii(text)).lower().removesuffix(".")
    if not name or len(name) > LONGEST_NAME:
        raise NoHost("empty host name" if not name else "host name too long")
    labels = name.split(".")
    if NUMBER.fullmatch(labels[-1]):
        return _ipv4(labels)
    if not all(LABEL.fullmatch(label) for label in labels):
        raise NoHost("invalid host name")
    return name


def split_port(authority: str, default: int | None = None) -> tuple[str, int]:
    """Split HOST:PORT into the canonical host and the port. The port is required unless there is a default."""
    found = re.fullmatch(r"(\[[^\[\]]*\]|[^:\[\]]*)(?::([0-9]{1,5}))?", authority, re.ASCII)
    if found is None or (found[2] is None and default is None):
        raise NoHost("not HOST:PORT")
    port = int(found[2]) if found[2] is not None else default
    if port is None or not 0 < port < 65536:
        raise NoHost("invalid port")
    return canonical(found[1]), port


def is_address(host: str) -> bool:
    """Return True if a canonical host is an address, not a name."""
    return ":" in host or bool(NUMBER.fullmatch(host.rpartition(".")[2]))


def _ipv4(parts: list[str]) -> str:
    """Read an address as `inet_aton` does: up to four numbers, of which the last fills the remaining bytes."""
    if len(parts) > 4 or not all(NUMBER.fullmatch(part) for part in parts):
        raise NoHost("invalid IPv4 address")
    *bytes_before, rest = [_number(part) for part in parts]
    if any(byte > 255 for byte in bytes_before) or rest >= 256 ** (4 - len(bytes_before)):
        raise NoHost("invalid IPv4 address")
    value = rest
    for place, byte in enumerate(bytes_before):
        value += byte << (24 - 8 * place)
    return str(IPv4Address(value))


def _number(part: str) -> int:
    try:
        if part.startswith("0x"):
            return int(part[2:] or "0", 16)
        return int(part, 8 if part.startswith("0") else 10)
    except ValueError:
        raise NoHost("invalid IPv4 address") from None


def _ipv6(text: str) -> str:
    try:
        address = IPv6Address(text.removeprefix("[").removesuffix("]"))
    except ValueError:
        raise NoHost("invalid IPv6 address") from None
    if not (text.startswith("[") and text.endswith("]")):
        raise NoHost("invalid IPv6 address")
    return str(address.ipv4_mapped or address)


def _ascii(text: str) -> str:
    import idna

    try:
        return idna.encode(text, uts46=True).decode("ascii")
    except idna.IDNAError:
        raise NoHost("invalid international host name") from None


def _canonical_pattern(host: str) -> str:
    star, name_below = ("*.", host[2:]) if host.startswith("*.") else ("", host)
    name = _canonical_host(name_below)
    if star and is_address(name):
        raise BadInput(f"'{host}' is not a host: an address has no subdomains")
    return star + name


def _canonical_host(host: str) -> str:
    """Return the canonical host of a rule, where an IPv6 address may be written without brackets."""
    try:
        return canonical(f"[{host}]" if ":" in host and not host.startswith("[") else host)
    except NoHost as error:
        raise BadInput(f"{host!r} is not a host: {error}") from None


def _matches(pattern: str, host: str) -> bool:
    if pattern.startswith("*."):
        return host.endswith(pattern[1:]) and not is_address(host)
    return host == pattern
