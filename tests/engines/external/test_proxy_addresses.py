"""Which addresses a name may have: public ones that are not this machine, in any embedded form."""

import socket
from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.engines.external.network.dial import carried, is_own, refusal

PRIVATE_V4 = (
    *("0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.127.255.254", "127.0.0.1", "127.255.255.254"),
    *("169.254.1.1", "169.254.169.254", "172.16.0.1", "172.31.255.254", "192.0.0.8", "192.0.2.1", "192.88.99.1"),
    *("192.168.1.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.1.1.1", "240.0.0.1"),
    "255.255.255.255",
)
PRIVATE_V6 = (
    *("::", "::1", "::7f00:1", "fe80::1", "fec0::1", "fc00::1", "fd00::1", "fd00:ec2::254", "ff02::1", "100::1"),
    *("64:ff9b:1::1", "2001::1", "2001:2::1", "2001:10::1", "2001:db8::1", "3fff::1", "5f00::1", "4000::1"),
)
PUBLIC = ("1.1.1.1", "8.8.8.8", "93.184.215.14", "100.63.255.255", "172.32.0.1", "2606:4700:4700::1111", "2a00:1450::1")


def wrapped(inner: IPv4Address) -> list[str]:
    """An IPv4 address inside IPv6: mapped, NAT64, 6to4, Teredo as server and as client, ISATAP."""
    value, public = int(inner), int(IPv4Address("1.1.1.1"))
    return [
        str(IPv6Address(0xFFFF << 32 | value)),
        str(IPv6Address(0x0064_FF9B << 96 | value)),
        str(IPv6Address(0x2002 << 112 | value << 80)),
        str(IPv6Address(0x2001_0000 << 96 | value << 64 | (public ^ 0xFFFF_FFFF))),
        str(IPv6Address(0x2001_0000 << 96 | public << 64 | (value ^ 0xFFFF_FFFF))),
        str(IPv6Address(0x2A00_1450 << 96 | 0x5EFE << 32 | value)),
        str(IPv6Address(0x2A00_1450 << 96 | 0x0200_5EFE << 32 | value)),
    ]


@pytest.mark.parametrize("address", [*PRIVATE_V4, *PRIVATE_V6])
def test_an_address_that_is_not_public_is_refused(address: str) -> None:
    assert refusal(address) == "not a public address"


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_is_fine(address: str) -> None:
    assert refusal(address) == ""


@pytest.mark.parametrize("inner", PRIVATE_V4)
def test_a_private_address_is_refused_in_every_embedded_form(inner: str) -> None:
    assert [refusal(one) for one in wrapped(IPv4Address(inner))] == ["not a public address"] * 7


@given(st.integers(0, 2**32 - 1))
def test_an_embedded_address_is_decided_like_the_inner_one(value: int) -> None:
    inner = IPv4Address(value)
    assert {refusal(one) for one in wrapped(inner)} == {refusal(str(inner))}


@given(st.integers(0, 2**128 - 1))
def test_every_ipv6_address_gets_an_answer_and_only_global_ones_pass(value: int) -> None:
    address = IPv6Address(value)
    if not refusal(str(address)):
        assert carried(address) != (address,) or str(address)[0] in "23"


@pytest.mark.parametrize("text", ["", "localhost", "1.2.3", "fe80::1%eth0%x", "1.2.3.4:5"])
def test_text_that_is_not_an_address_is_refused(text: str) -> None:
    assert refusal(text) == "not an IP address"


def test_the_addresses_of_this_machine_are_recognised() -> None:
    assert is_own(ip_address("127.0.0.1"))
    assert not is_own(ip_address("1.1.1.1"))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("1.1.1.1", 9))
        except OSError:
            return  # a machine without a network has no other address
        assert is_own(ip_address(probe.getsockname()[0]))
