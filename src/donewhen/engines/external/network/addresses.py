"""Which addresses a name may turn out to mean: public ones that are not this machine. No name is looked up here.

An address that carries another one inside (NAT64, 6to4, Teredo, ISATAP) is as good as the one inside: it is where the
packets would end. What only a router knows, such as a public address that it sends back into the local network, is
not seen.
"""

import socket
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

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
"""Private, local, shared, reserved, for documentation, multicast. Written out: libraries change their minds."""
GLOBAL_UNICAST = ip_network("2000::/3")
NAT64 = ip_network("64:ff9b::/96")
ISATAP = (0x0000_5EFE, 0x0200_5EFE)


def refusal(text: str) -> str:
    """Why an address must not be dialled, in a few words; empty when it may be."""
    try:
        address = ip_address(text)
    except ValueError:
        return "not an address"
    if any(not _is_public(one) for one in carried(address)):
        return "not a public address"
    if any(is_own(one) for one in carried(address)):
        return "an address of this machine"
    return ""


def carried(address: Address) -> tuple[Address, ...]:
    """The addresses that must be looked at in place of this one: itself, or those that it carries."""
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
    """Whether it belongs to this machine: such an address is its own source. Nothing is sent."""
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
