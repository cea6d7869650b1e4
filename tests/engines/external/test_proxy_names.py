"""One spelling for a host however it was written, and what the rules say about it. Nothing is resolved here."""

import socket
from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.engines.external.network.hosts import NoHost, Rules, canonical, is_address, split_port
from donewhen.errors import BadInput

SPELLINGS = {
    "api.example.com": ["API.Example.COM", "api.example.com.", "Api.example.com."],
    "xn--bcher-kva.example": ["bücher.example", "BÜCHER.example", "XN--BCHER-KVA.example", "bücher。example"],
    "127.0.0.1": [
        *("127.1", "127.0.1", "2130706433", "0x7f000001", "0x7F.1", "0177.0.0.1", "0177.0.0.01", "127.0.0.1."),
        *("[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:FFFF:7F00:0001]", "１２７.0.0.1"),
    ],
    "0.0.0.0": ["0", "0x0", "0.0", "0x"],
    "::1": ["[::1]", "[0:0:0:0:0:0:0:1]", "[0000::0001]"],
    "2001:db8::a": ["[2001:DB8::A]", "[2001:db8:0:0::a]"],
}
NO_HOSTS = (
    *("", ".", "a..b", "a.b..", ".a", "-a.example", "a-.example", "a b.example", "a\tb", "a\0.example.com", "a\r\nb"),
    *(
        "user@example.com",
        "a\\b",
        "a%00b",
        "a/b",
        "a?b",
        "a#b",
        "a:b",
        "[::1",
        "::1]",
        "::1",
        "[fe80::1%eth0]",
        "[::g]",
    ),
    *("1.2.3.4.5", "256.1.1.1", "1.1.1.256", "4294967296", "0x100000000", "08.1.1.1", "a.1", "[1.2.3.4]"),
    *("a" * 64 + ".example", ".".join(["a" * 60] * 5), "ex\u00admple\u0000", "a,b", "*.example.com", "a;b"),
)

names = st.from_regex(r"([A-Za-z][A-Za-z0-9-]{0,10}[A-Za-z]\.){0,3}[A-Za-z]{1,9}", fullmatch=True)


@pytest.mark.parametrize(("spelling", "host"), [(one, host) for host, many in SPELLINGS.items() for one in many])
def test_every_spelling_of_a_host_is_read_as_the_same_host(spelling: str, host: str) -> None:
    assert canonical(spelling) == host


@pytest.mark.parametrize("text", NO_HOSTS)
def test_text_that_names_no_host_is_refused(text: str) -> None:
    with pytest.raises(NoHost):
        canonical(text)


@given(names)
def test_case_and_a_trailing_dot_do_not_change_a_host(name: str) -> None:
    assert canonical(name) == canonical(f"{name}.") == name.lower()


@given(st.integers(0, 2**32 - 1), st.data())
def test_an_ipv4_address_in_any_form_is_the_one_a_resolver_would_dial(value: int, data: st.DataObject) -> None:
    parts = data.draw(st.integers(1, 4))
    numbers = [value >> (24 - 8 * place) & 255 for place in range(parts - 1)]
    numbers.append(value & (256 ** (5 - parts) - 1))
    forms = [data.draw(st.sampled_from([str, hex, lambda n: f"0{n:o}", lambda n: f"0X{n:X}"])) for _ in numbers]
    text = ".".join(form(number) for form, number in zip(forms, numbers, strict=True))
    assert canonical(text) == str(IPv4Address(value)) == socket.inet_ntoa(socket.inet_aton(text))
    assert canonical(f"[::ffff:{IPv4Address(value)}]") == str(IPv4Address(value))


@given(st.integers(0, 2**128 - 1))
def test_an_ipv6_address_long_or_short_is_the_same_host(value: int) -> None:
    address = IPv6Address(value)
    assert canonical(f"[{address.exploded.upper()}]") == canonical(f"[{address}]")
    assert is_address(canonical(f"[{address}]"))


@given(st.text(max_size=30) | st.text("ab.0x:[]1%@-_ ", max_size=20))
def test_any_text_gives_a_valid_host_or_none(text: str) -> None:
    try:
        host = canonical(text)
    except NoHost:
        return
    assert host == host.lower() and host.isascii()
    assert not set(host) & set("\0\r\n \t@\\%/?#[]*")
    assert canonical(f"[{host}]" if ":" in host else host) == host


@given(st.text(max_size=30))
def test_any_text_gives_a_host_with_a_port_or_none(text: str) -> None:
    try:
        host, port = split_port(text)
    except NoHost:
        return
    assert 0 < port < 65536
    assert split_port(f"[{host}]:{port}" if ":" in host else f"{host}:{port}") == (host, port)


@pytest.mark.parametrize("text", ["a", "a:", "a:0", "a:65536", "a:+1", "a: 1", "a:1:2", "::1:443", "[::1]443", "a:４"])
def test_a_port_is_required_and_must_be_valid(text: str) -> None:
    with pytest.raises(NoHost):
        split_port(text)


# -- rules --


@pytest.mark.parametrize("rules", [Rules(), Rules(hosts=()), Rules(ports=(443,))])
def test_empty_rules_allow_nothing(rules: Rules) -> None:
    for host in ("example.com", "127.0.0.1", "localhost", "1.1.1.1", "::1"):
        assert not rules.decide(host, 443).allowed
    assert Rules(hosts=("example.com",)).decide("example.com", 443).allowed


def test_a_name_allows_itself_and_a_star_only_its_subdomains() -> None:
    rules = Rules(hosts=("Exact.Example.", "*.below.example"))
    allowed = {"exact.example", "a.below.example", "a.b.below.example"}
    others = {"a.exact.example", "below.example", "evilbelow.example", "below.example.evil", "example"}
    assert {host for host in allowed | others if rules.decide(host, 443).allowed} == allowed


def test_the_reason_of_a_refusal_names_the_host() -> None:
    assert Rules().decide("evil.example", 443).reason == "evil.example is not a host that this agent may reach"


def test_only_the_allowed_ports_of_a_host_are_reachable() -> None:
    rules = Rules(hosts=("a.example",), ports=(443,))
    assert rules.decide("a.example", 443).allowed
    assert "port 80" in rules.decide("a.example", 80).reason
    assert not Rules(anything_public=True).decide("a.example", 22).allowed


def test_an_endpoint_is_allowed_with_its_port_alone_and_may_be_private() -> None:
    rules = Rules(targets=frozenset({("LocalHost", 8080), ("::1", 9)}))
    found = rules.decide("localhost", 8080)
    assert found.allowed and found.private and found.writes
    assert rules.decide("::1", 9).allowed
    assert not rules.decide("localhost", 8081).allowed
    assert not rules.decide("127.0.0.1", 8080).allowed


def test_an_allowed_host_may_not_be_private_or_receive_unencrypted_writes() -> None:
    found = Rules(hosts=("a.example",)).decide("a.example", 80)
    assert found.allowed and not found.private and not found.writes
    found = Rules(anything_public=True).decide("b.example", 80)
    assert found.allowed and not found.private and found.writes


@pytest.mark.parametrize("host", ["*", "*.", "", "a b", "http://a", "a:443", "*.127.0.0.1", "a.*.b", "user@a"])
def test_a_rule_that_names_no_host_is_refused_in_one_line(host: str) -> None:
    with pytest.raises(BadInput, match="is not a host"):
        Rules(hosts=(host,))


def test_a_rule_in_letters_of_another_alphabet_means_its_punycode() -> None:
    assert Rules(hosts=("*.bücher.example",)).decide("www.xn--bcher-kva.example", 443).allowed
