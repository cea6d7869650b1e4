"""The asynchronous client at a real unix socket with real connections of the daemon, and a service that answers."""

import contextlib
import os
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import SocketAttribute, SocketStream

from donewhen.errors import BadInput
from donewhen.server.async_client import RemoteService, daemon_service
from donewhen.server.call_errors import CallFailed, CallRefused
from donewhen.server.client import socket_path
from donewhen.server.methods.method import Right
from donewhen.server.rpc.connection import RpcClientConnection
from donewhen.server.rpc.unix_socket import lines, listening
from donewhen.server.service import Caller, Notification, OneByOne, Subscription, Surroundings
from server.in_a_loop import in_a_loop

ALL = frozenset(Right)
ME = Caller(name="me", rights=ALL)
METHODS: Mapping[str, Any] = dict.fromkeys(("session.get", "session.diff", "session.cancel", "session.approve"))
EVENTS = 3000


class Answering:
    """A service whose results say what it was asked."""

    def __init__(self) -> None:
        self.waiting = anyio.Event()
        self.left = anyio.Event()

    async def call(self, caller: Caller, method: str, params: Mapping[str, Any]) -> Any:
        match method:
            case "session.get":
                where = caller.surroundings
                if caller.hear is not None:
                    caller.hear("a note for a person")
                return {**params, "directory": where.directory if where else "", "caller": caller.name}
            case "session.diff":
                if caller.hear is not None:
                    caller.hear("a long diff")
                    await anyio.wait_all_tasks_blocked()  # the line is sent before the result
                return {"patch": "é" * int(params["count"])}
            case "session.cancel":
                raise BadInput(f"no session {params['id']}")
            case _:
                self.waiting.set()
                try:
                    await anyio.sleep_forever()
                finally:
                    self.left.set()

    @contextlib.asynccontextmanager
    async def subscribe(self, caller: Caller, method: str, params: Mapping[str, Any]) -> AsyncGenerator[Subscription]:
        del caller, method
        yield Counting(int(params.get("from_seq", 1)))


class Counting(OneByOne):
    def __init__(self, first: int) -> None:
        self._first = first

    @property
    def start(self) -> Mapping[str, Any]:
        return {"next_seq": self._first}

    async def __aiter__(self) -> AsyncIterator[Notification]:
        for seq in range(self._first, EVENTS + 1):
            yield Notification("event", f'{{"seq":{seq},"text":"\\u2028{{}}"}}')
        yield Notification("status", '{"id":"one","live":false}')
        await anyio.sleep_forever()


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@contextlib.asynccontextmanager
async def daemon(state: Path, service: Answering) -> AsyncGenerator[Callable[[], None]]:
    """Serve as the daemon does. Yield what closes all connections at once."""
    connections: list[socket.socket] = []
    ended = anyio.Semaphore(0)

    async def serve(stream: SocketStream) -> None:
        connections.append(stream.extra(SocketAttribute.raw_socket))

        async def send(messages: Sequence[str]) -> None:
            await stream.send("\n".join((*messages, "")).encode())

        try:
            async with anyio.create_task_group() as tasks:
                caller = Caller(name="socket", rights=ALL)
                connection = RpcClientConnection(service, caller, METHODS, send, tasks, may_enter=True)
                async for line in lines(stream):
                    await connection.receive(line)
                tasks.cancel_scope.cancel()
        finally:
            ended.release()

    def close_all() -> None:
        for one in connections:
            with contextlib.suppress(OSError):  # it has ended already
                one.shutdown(socket.SHUT_RDWR)

    async with listening(socket_path(state), serve, os.geteuid()):
        yield close_all
        for _ in connections:
            await ended.acquire()


async def remote(state: Path) -> RemoteService:
    service = await daemon_service(state)
    assert service is not None
    return service


@in_a_loop
async def test_without_a_daemon_there_is_no_service(state: Path) -> None:
    assert await daemon_service(state) is None
    socket_path(state).write_text("left behind")
    assert await daemon_service(state) is None


@in_a_loop
async def test_a_call_works_in_the_directory_of_its_caller(state: Path) -> None:
    here = Caller(name="me", rights=ALL, surroundings=Surroundings("/some/where", {"KEY": "värde"}))
    async with daemon(state, Answering()):
        service = await remote(state)
        assert await service.call(ME, "session.get", {"id": "a"}) == {"id": "a", "directory": "", "caller": "socket"}
        assert (await service.call(here, "session.get", {"id": "a"}))["directory"] == "/some/where"


@in_a_loop
async def test_lines_for_a_person_reach_who_makes_the_call(state: Path) -> None:
    heard: list[str] = []
    async with daemon(state, Answering()):
        service = await remote(state)
        await service.call(ME, "session.get", {"id": "a"})
        assert heard == []
        here = Caller(name="me", rights=ALL, surroundings=Surroundings("/", {}), hear=heard.append)
        await service.call(here, "session.get", {"id": "a"})
    assert heard == ["a note for a person"]


@in_a_loop
async def test_a_result_may_be_much_longer_than_a_message_to_the_daemon(state: Path) -> None:
    async with daemon(state, Answering()):
        found = await (await remote(state)).call(ME, "session.diff", {"id": "a", "count": 1_500_000})
    assert len(found["patch"]) == 1_500_000


@in_a_loop
async def test_a_line_for_a_person_that_comes_before_the_result_is_heard(state: Path) -> None:
    heard: list[str] = []
    here = Caller(name="me", rights=ALL, surroundings=Surroundings("/", {}), hear=heard.append)
    async with daemon(state, Answering()):
        found = await (await remote(state)).call(here, "session.diff", {"id": "a", "count": 3})
    assert (len(found["patch"]), heard) == (3, ["a long diff"])


@in_a_loop
async def test_calls_of_one_client_do_not_wait_for_each_other(state: Path) -> None:
    answering = Answering()
    async with daemon(state, answering), anyio.create_task_group() as tasks:
        service = await remote(state)
        tasks.start_soon(service.call, ME, "session.approve", {"id": "a"})
        await answering.waiting.wait()
        assert (await service.call(ME, "session.get", {"id": "b"}))["id"] == "b"
        tasks.cancel_scope.cancel()


@in_a_loop
async def test_a_call_that_is_cancelled_here_ends_in_the_daemon(state: Path) -> None:
    answering = Answering()
    async with daemon(state, answering):
        service = await remote(state)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(service.call, ME, "session.approve", {"id": "a"})
            await answering.waiting.wait()
            tasks.cancel_scope.cancel()
        await answering.left.wait()


@in_a_loop
async def test_an_error_keeps_its_kind_and_exit_code(state: Path) -> None:
    async with daemon(state, Answering()):
        service = await remote(state)
        with pytest.raises(CallFailed, match="no session a") as refused:
            await service.call(ME, "session.cancel", {"id": "a"})
        assert (refused.value.kind, refused.value.exit_code) == ("bad_input", 2)
        with pytest.raises(CallFailed) as unknown:
            await service.call(ME, "no.such", {})
        assert unknown.value.kind == "method_not_found"


@in_a_loop
async def test_a_subscription_begins_where_it_is_asked_to_and_keeps_the_order(state: Path) -> None:
    found: list[Notification] = []
    async with daemon(state, Answering()):
        service = await remote(state)
        async with service.subscribe(ME, "session.subscribe", {"id": "one", "from_seq": 7}) as subscription:
            assert subscription.start == {"next_seq": 7}
            async for one in subscription:
                found.append(one)
                if one.kind == "status":
                    break
    assert [one.text for one in found[:2]] == ['{"seq": 7, "text": "\\u2028{}"}', '{"seq": 8, "text": "\\u2028{}"}']
    assert len(found) == EVENTS - 6 + 1
    assert found[-1] == Notification("status", '{"id": "one", "live": false}')


@in_a_loop
async def test_a_reader_that_does_not_read_holds_up_no_call(state: Path) -> None:
    async with daemon(state, Answering()):
        service = await remote(state)
        async with service.subscribe(ME, "session.subscribe", {"id": "one"}):
            for n in range(20):
                assert (await service.call(ME, "session.get", {"id": str(n)}))["id"] == str(n)


@in_a_loop
async def test_a_daemon_that_ends_is_an_error_and_the_next_one_is_used(state: Path) -> None:
    async with daemon(state, Answering()) as end:
        service = await remote(state)
        async with service.subscribe(ME, "session.subscribe", {"id": "one", "from_seq": EVENTS}) as subscription:
            read = aiter(subscription)
            await anext(read)
            await anext(read)
            end()
            with pytest.raises(CallFailed, match="closed the connection"):
                await anext(read)
    with pytest.raises(CallFailed, match="no daemon is running"):
        await service.call(ME, "session.get", {"id": "a"})
    async with daemon(state, Answering()):
        assert (await service.call(ME, "session.get", {"id": "a"}))["id"] == "a"


@in_a_loop
async def test_a_limited_caller_stays_limited_although_the_socket_is_the_users(state: Path) -> None:
    reader = Caller(name="an agent", rights=frozenset((Right.OBSERVE,)), session="mine")
    async with daemon(state, Answering()):
        service = await remote(state)
        assert (await service.call(reader, "session.get", {"id": "mine"}))["id"] == "mine"
        for method, params in (
            ("session.get", {"id": "other"}),
            ("session.get", {}),
            ("session.approve", {"id": "mine"}),
        ):
            with pytest.raises(CallRefused) as refused:
                await service.call(reader, method, params)
            assert refused.value.kind == "not_allowed"
        with pytest.raises(CallRefused):
            async with service.subscribe(reader, "board.subscribe", {}):
                pass
