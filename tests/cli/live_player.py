"""A program that shows a live view of whatever it is told through a pipe, for tests that hold the terminal.

live_player.py PIPE        one JSON object in a line of the pipe, the last one {"end": true}
"""

import contextlib
import fcntl
import functools
import json
import queue
import signal
import sys
import termios
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio

from donewhen.cli.views.session_audience import session_watcher
from donewhen.session.person.gates import GateKind, Person
from donewhen.session.person.watch import SessionWatcher
from donewhen.storage.record import Record

LOOK_SECS = 0.05


def play(pipe: Path) -> None:
    with session_watcher(as_json=False) as watch:
        for number, order in enumerate(orders(pipe), 1):
            act(order, number, watch)


def orders(pipe: Path) -> Iterator[dict[str, Any]]:
    """Read in another thread and wait in short steps: a signal that comes just before a read waits for its end."""
    lines: queue.Queue[str] = queue.Queue(maxsize=1)

    def read() -> None:
        with pipe.open() as opened:
            for line in opened:
                lines.put(line)

    threading.Thread(target=read, daemon=True).start()
    while True:
        try:
            order = json.loads(lines.get(timeout=LOOK_SECS))
        except queue.Empty:
            continue
        if "end" in order:
            return
        yield order


def act(order: dict[str, Any], number: int, watch: SessionWatcher) -> None:
    match order:
        case {"kind": kind, "body": body}:
            watch.on_record(told(kind, number, **body))
        case {"say": text}:
            watch.say(text)
        case {"crash": why}:
            raise RuntimeError(why)
        case {"ask": prompt} if watch.person:
            watch.say(f"typed: {anyio.run(watch.person.answer, prompt)!r}")
        case {"decide": detail} if watch.person:
            watch.say(f"decided: {anyio.run(functools.partial(decide, watch, watch.person, detail))}")
        case _:
            raise ValueError(order)


def told(kind: str, number: int, **body: Any) -> Record:
    return Record("5e551011", number, "2026-01-02T03:04:05.000Z", kind, body, number)


async def decide(watch: SessionWatcher, person: Person, detail: str) -> bool | str | None:
    """Ask. A signal stands for a decision made elsewhere in the meantime."""
    decided: list[bool | str | None] = []
    with anyio.open_signal_receiver(signal.SIGUSR1) as signals:
        async with anyio.create_task_group() as tasks:

            async def decide_elsewhere() -> None:
                async for _ in signals:
                    watch.on_record(told("gate_decided", 0, gate="amendment", id="amendment", decision="approved"))

            tasks.start_soon(decide_elsewhere)
            decided.append(await person.decide(GateKind.AMENDMENT, detail))
            tasks.cancel_scope.cancel()
    return decided[0]


if __name__ == "__main__":
    with contextlib.suppress(OSError):  # it is already one of a session
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    play(Path(sys.argv[1]))
    sys.stdout.write("the end\n")
