"""The control socket of a running session: no message disturbs the session."""

import json
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from donewhen.errors import MachineryBroke
from donewhen.session.person import control_socket

pytestmark = pytest.mark.anyio


def handle(request: Mapping[str, Any]) -> Mapping[str, Any]:
    if request.get("do") == "break":
        raise MachineryBroke("no room is left on the disk")
    return {"ok": request.get("do") == "cancel"}


def said(door: Path, line: bytes) -> object:
    """Return the answer; empty if the socket was closed."""
    with socket.socket(socket.AF_UNIX) as knocking:
        knocking.settimeout(30)
        knocking.connect(str(door))
        knocking.sendall(line)
        knocking.shutdown(socket.SHUT_WR)
        answer = knocking.makefile("rb").readline()
    return json.loads(answer) if answer else ""


async def test_any_message_leaves_the_control_socket_open(tmp_path: Path) -> None:
    door = tmp_path / "s.sock"
    async with control_socket.serve(door, handle):
        for line, answer in {
            b"garbage\n": {"ok": False},
            b"[1, 2]\n": {"ok": False},
            b"\xff\xfe\n": {"ok": False},
            b"[" * 100_000 + b"\n": {"ok": False},
            b'"' + b"x" * (control_socket.LONGEST + 10) + b'"\n': {"ok": False},
            b'{"do": "cancel"': "",
            b'{"do": "break"}\n': {"ok": False, "problem": "no room is left on the disk"},
            b'{"do": "cancel"}\n': {"ok": True},
        }.items():
            with anyio.fail_after(30):
                assert await anyio.to_thread.run_sync(said, door, line) == answer, line[:40]
    assert not door.exists()
