"""Endpoints that are stopped, slow, partial or wrong, and agents that disconnect: one clear end each, and nothing
left open."""

import socket
from pathlib import Path

import anyio
import anyio.abc
import pytest
from gateway_world import ANYTHING, KEY, OK, Endpoint, Gate, gateway_to, message
from proxy_certificates import certificate
from proxy_world import everything, head_of, serving_tcp

from donewhen.engines.external.network.gateway import RequestLog, serve_gateway
from donewhen.engines.external.network.listener import ConnectionLimits
from donewhen.engines.external.network.upstream import Upstream
from wire_server import Answer, Cuts, Says, Stalls, serving

pytestmark = pytest.mark.anyio
ASK = b'POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 16\r\n\r\n{"stream": true}'
MIB = 1 << 20


async def raw(answer: bytes, stays: bool = False) -> bytes:
    """What the agent gets from an endpoint that sends exactly this, and disconnects or stays silent."""

    async def tell(stream: anyio.abc.ByteStream) -> None:
        await head_of(stream)
        await stream.send(answer)
        if stays:
            await anyio.sleep_forever()

    async with serving_tcp(tell) as port, gateway_to(f"http://127.0.0.1:{port}") as gate:
        return await gate.get("/")


# -- endpoints --


async def test_a_stopped_endpoint_is_a_bad_gateway_with_a_reason() -> None:
    async with gateway_to(f"http://127.0.0.1:{free_port()}") as gate:
        answer = await gate.get("/v1/models")
    assert answer.startswith(b"HTTP/1.1 502 ")
    assert message(answer).startswith("donewhen: the model's endpoint cannot be reached: ")
    assert (gate.log[0].status, gate.log[0].path) == (502, "/v1/models") and gate.log[0].detail


@pytest.mark.parametrize(
    "answer",
    [b"", b"SSH-2.0-x\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", b"HTTP/1.1 2", b"HTTP/1.1 101 X\r\n\r\n"],
)
async def test_an_invalid_response_is_a_bad_gateway(answer: bytes) -> None:
    assert (await raw(answer)).startswith(b"HTTP/1.1 502 ")


@pytest.mark.parametrize(
    ("answer", "rest"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", b"half"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n", b"4\r\nhalf\r\n"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\nzz\r\n", b"4\r\nhalf\r\n"),
    ],
)
async def test_a_partial_response_is_not_passed_on_as_complete(answer: bytes, rest: bytes) -> None:
    heard = await raw(answer)
    assert heard.startswith(b"HTTP/1.1 200 ") and heard.endswith(rest)
    assert b"0\r\n\r\n" not in heard.partition(b"\r\n\r\n")[2]


async def test_a_cut_stream_is_logged_with_the_received_bytes() -> None:
    with serving(Cuts(Answer(text="a long answer"), 2)) as server:
        async with gateway_to(server.url) as gate:
            heard = await gate.ask(ASK)
    assert heard.startswith(b"HTTP/1.1 200 ") and not heard.endswith(b"0\r\n\r\n")
    assert gate.log[0].status == 200 and gate.log[0].bytes_down > 0
    assert gate.log[0].detail.startswith("the response broke off")


async def test_the_next_request_works_after_a_broken_response() -> None:
    with serving(Cuts(Answer(text="one"), 1), Says(Answer(text="two"))) as server:
        async with gateway_to(server.url) as gate:
            await gate.ask(ASK)
            answer = await gate.ask(ASK.replace(b"Host: x", b"Host: x\r\nConnection: close"))
    assert answer.endswith(b"0\r\n\r\n") and gate.log[1].detail == ""


async def test_an_early_response_of_the_endpoint_is_passed_on() -> None:
    """As with a refused key: such a server reads the rest after it has refused."""

    async def refuse(stream: anyio.abc.ByteStream) -> None:
        await head_of(stream)
        await stream.send(b"HTTP/1.1 401 X\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno")
        heard = 0
        while heard < 4 * MIB:
            heard += len(await stream.receive())

    async with serving_tcp(refuse) as port, gateway_to(f"http://127.0.0.1:{port}") as gate:
        async with await gate.connect() as stream:
            await stream.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (4 * MIB))
            await stream.send(b"x" * (4 * MIB))
            assert (await head_of(stream)).startswith(b"HTTP/1.1 401 ")
            assert await stream.receive() == b"no"


# -- disconnecting agents --


async def test_a_disconnected_agent_ends_its_request() -> None:
    gone = anyio.Event()

    async def think(stream: anyio.abc.ByteStream) -> None:
        await head_of(stream)
        asked.set()
        assert await everything(stream) == b""
        gone.set()

    asked = anyio.Event()
    async with serving_tcp(think) as port, gateway_to(f"http://127.0.0.1:{port}") as gate:
        async with await gate.connect() as stream:
            await stream.send(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
            await asked.wait()
        await gone.wait()
        entry = await gate.entry()
    assert (entry.path, entry.status, entry.detail) == ("/slow", 0, "the agent closed the connection")


async def test_a_disconnected_agent_ends_its_stream() -> None:
    with serving(Stalls(Answer(text="never whole"), 2)) as server:
        async with gateway_to(server.url) as gate:
            async with await gate.connect() as stream:
                await stream.send(ASK)
                await head_of(stream)
                await stream.receive()
            entry = await gate.entry()
    assert (entry.status, entry.detail) == (200, "the agent closed the connection")


async def test_an_agent_that_disconnects_during_its_request_gets_no_response() -> None:
    heard = anyio.Event()

    async def hear(stream: anyio.abc.ByteStream) -> None:
        await head_of(stream)
        await everything(stream)
        heard.set()

    async with serving_tcp(hear) as port, gateway_to(f"http://127.0.0.1:{port}") as gate:
        async with await gate.connect() as stream:
            await stream.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc")
        await heard.wait()
        entry = await gate.entry()
    assert (entry.status, entry.detail) == (0, "the agent closed the connection")


async def test_an_agent_that_does_not_read_slows_the_endpoint_down() -> None:
    sent, stuck = [0], anyio.Event()

    async def flood(stream: anyio.abc.ByteStream) -> None:
        await head_of(stream)
        await stream.send(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            with anyio.move_on_after(1) as waiting:
                await stream.send(b"x" * MIB)
            if waiting.cancelled_caught:
                stuck.set()
                return
            sent[0] += MIB

    async with serving_tcp(flood) as port, gateway_to(f"http://127.0.0.1:{port}") as gate:
        async with await gate.connect() as stream:
            await stream.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            await stuck.wait()
    assert sent[0] < 64 * MIB


# -- certificates --


async def over_tls(directory: Path, *names: str) -> tuple[bytes, Gate]:
    endpoint, made = Endpoint(), certificate(directory, *names)
    async with serving_tcp(endpoint.handle, made.server()) as port:
        async with gateway_to(f"https://localhost:{port}") as gate:
            answer = await gate.get("/")
    assert (b"authorization" in b"".join(endpoint.heads).lower()) is answer.startswith(b"HTTP/1.1 200 ")
    return answer, gate


async def test_an_endpoint_with_a_trusted_certificate_is_reached_over_tls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "server.pem"))
    answer, _ = await over_tls(tmp_path, "localhost")
    assert answer.endswith(b"hello")


async def test_a_key_is_not_sent_to_an_endpoint_with_an_untrusted_certificate(tmp_path: Path) -> None:
    answer, gate = await over_tls(tmp_path, "localhost")
    assert answer.startswith(b"HTTP/1.1 502 ") and "certificate" in gate.log[0].detail


async def test_a_key_is_not_sent_to_an_endpoint_with_another_host_s_certificate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "server.pem"))
    answer, gate = await over_tls(tmp_path, "another.example")
    assert answer.startswith(b"HTTP/1.1 502 ") and "certificate" in gate.log[0].detail


async def test_a_missing_certificate_file_is_a_bad_gateway(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "missing"))
    async with gateway_to("https://localhost:9") as gate:
        assert (await gate.get("/")).startswith(b"HTTP/1.1 502 ")


# -- the end --


async def test_an_ended_gateway_refuses_connections() -> None:
    log: list[RequestLog] = []
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    asked = anyio.Event()

    async def think(stream: anyio.abc.ByteStream) -> None:
        await head_of(stream)
        asked.set()
        await anyio.sleep_forever()

    async with serving_tcp(think) as beyond:
        upstream = Upstream(f"http://127.0.0.1:{beyond}", "authorization", KEY, ANYTHING)
        async with await anyio.connect_tcp("127.0.0.1", port) as stream:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(serve_gateway, listener, upstream, log.append)
                await stream.send(b"GET /x HTTP/1.1\r\nHost: x\r\n\r\n")
                await asked.wait()
                tasks.cancel_scope.cancel()
            assert await everything(stream) == b""
    assert [(one.path, one.status) for one in log] == [("/x", 0)]
    with pytest.raises(OSError):
        await anyio.connect_tcp("127.0.0.1", port)


async def test_connections_above_the_limit_wait() -> None:
    endpoint = Endpoint(OK)
    async with serving_tcp(endpoint.handle) as port:
        async with gateway_to(f"http://127.0.0.1:{port}", limits=ConnectionLimits(connections=1)) as gate:
            async with await gate.connect() as first:
                async with await gate.connect() as second:
                    await second.send(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                    with anyio.move_on_after(0.3) as waiting:
                        await second.receive()
                    assert waiting.cancelled_caught
                    await first.aclose()
                    assert (await everything(second)).endswith(b"hello")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]
