"""What a guest program in the sandbox of a tree gets: its own files, variables and inner ports."""

import os
import socket
from collections.abc import AsyncGenerator
from pathlib import Path

import anyio
import pytest
from sandbox_scenes import SandboxScene, output, run, sandbox_scene, write

from donewhen.errors import MachineryBroke
from donewhen.workspace.sandbox.guest import Guest, InnerPort
from donewhen.workspace.sandbox.level import Level
from donewhen.workspace.sandbox.sandbox import SandboxConfig
from donewhen.workspace.sandbox.view import Bind

pytestmark = pytest.mark.anyio
ASK = (
    "/usr/bin/python3 -c 'import socket, sys; s = socket.create_connection((sys.argv[1], int(sys.argv[2])), 5); "
    "print(s.recv(99).decode())' 127.0.0.1 {port}"
)


@pytest.fixture
async def place(tmp_path: Path) -> AsyncGenerator[SandboxScene]:
    async with sandbox_scene(tmp_path) as found:
        yield found


def own(place: SandboxScene) -> Path:
    directory = place.state / "own"
    directory.mkdir()
    return directory


async def greet(listener: socket.socket) -> None:
    with listener:
        while True:
            await anyio.wait_readable(listener)
            inside, _ = listener.accept()
            with inside:
                inside.send(b"good day")


async def test_a_guest_has_its_own_writable_directory(place: SandboxScene) -> None:
    directory = own(place)
    write(directory, {"settings": "mine"})
    at = os.path.expanduser("~/.guest")
    room = place.room().with_guest(Guest(binds=(Bind(str(directory), at, writable=True),)))
    assert await output(room, f"cat {at}/settings; echo more > {at}/kept; echo work > file") == "mine"
    assert (directory / "kept").read_text() == "more\n"
    assert (place.upper / "file").read_text() == "work\n"
    assert not os.path.exists(at)


async def test_one_file_of_the_host_can_be_bound_writable_but_not_replaced(place: SandboxScene) -> None:
    credentials = own(place) / "token"
    credentials.write_text("old")
    at = os.path.expanduser("~/.tool/token")
    room = place.room().with_guest(Guest(binds=(Bind(str(credentials), at, writable=True),)))
    assert await output(room, f"ls ~/.tool; printf new > {at}; rm {at} 2>/dev/null || echo stays") == "token\nstays"
    assert credentials.read_text() == "new"


async def test_a_file_of_the_tree_can_be_covered_without_being_changed(place: SandboxScene) -> None:
    write(place.checkout, {".tool/hooks.json": "run me", "kept": "yes"})
    nothing = own(place)
    room = place.room()
    covered = room.with_guest(Guest(binds=(Bind(str(nothing), str(place.checkout / ".tool")),)))
    assert await output(covered, "ls -A .tool; cat kept; touch .tool/x 2>/dev/null || echo closed") == "yesclosed"
    assert await output(room, "cat .tool/hooks.json") == "run me"
    assert list(place.upper.iterdir()) == []


async def test_variables_of_a_guest_are_not_seen_by_other_commands(place: SandboxScene) -> None:
    room = place.room()
    assert await output(room.with_guest(Guest(env={"MINE": "a b"})), 'echo "$MINE"') == "a b"
    assert await output(room, 'echo "[$MINE]"') == "[]"


async def test_an_inner_port_is_served_from_outside_and_is_the_only_connection(place: SandboxScene) -> None:
    with socket.create_server(("127.0.0.1", 0)) as host:
        room = place.room(SandboxConfig(network=True)).with_guest(Guest(inner_ports=(InnerPort(4711, greet),)))
        assert await output(room, ASK.format(port=4711)) == "good day"
        assert await output(room, ASK.format(port=4711)) == "good day"
        assert not (await run(room, ASK.format(port=host.getsockname()[1]))).ok
        host.setblocking(False)
        with pytest.raises(BlockingIOError):
            host.accept()


async def test_two_inner_ports_are_not_mixed_up(place: SandboxScene) -> None:
    async def say_no(listener: socket.socket) -> None:
        with listener:
            await anyio.wait_readable(listener)
            inside, _ = listener.accept()
            with inside:
                inside.send(b"no")

    room = place.room().with_guest(Guest(inner_ports=(InnerPort(4711, greet), InnerPort(4712, say_no))))
    text = f"{ASK.format(port=4712)}; {ASK.format(port=4711)}"
    assert await output(room, text) == "no\ngood day"


async def test_a_weaker_isolation_level_refuses_a_guest(place: SandboxScene) -> None:
    with pytest.raises(MachineryBroke, match="bubblewrap"):
        place.plain_room(Level.LANDLOCK).with_guest(Guest())
