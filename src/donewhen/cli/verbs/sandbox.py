"""The verb `donewhen sandbox -- COMMAND`: run one command in a throw-away tree and the sandbox of an engine."""

import math
import os
import shlex
import signal
from collections.abc import Callable
from pathlib import Path

import anyio
import click

from donewhen.cli.group import say
from donewhen.errors import BadInput, MachineryBroke
from donewhen.session.workplace import Workplace, open_workplace
from donewhen.workspace.process.command import End, Finished
from donewhen.workspace.sandbox.level import Level
from donewhen.workspace.sandbox.sandbox import ShellCommand

TIMED_OUT = 124
"""The exit code that timeout(1) uses."""


@click.command("sandbox", context_settings={"allow_interspersed_args": False})
@click.option("--repo", "start", type=click.Path(path_type=Path), default=None, help="Repository, instead of this one.")
@click.option("--base", default="", help="Commit the tree starts from; HEAD unless given.")
@click.option("--dirty", is_flag=True, help="Start from a snapshot of the uncommitted changes as well.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), default=None, help="Seconds; exit 124 then.")
@click.argument("words", nargs=-1, required=True, metavar="-- COMMAND...")
def command(start: Path | None, base: str, dirty: bool, timeout: float | None, words: tuple[str, ...]) -> int:
    """Run one command exactly as an engine's command would run; its exit code.

    The command runs at the root of a throw-away tree of HEAD that appears at the repository's own path, without
    input and without a terminal. One word is a line for /bin/sh; several words are a command and its arguments.
    """
    if base and dirty:
        raise BadInput("--base and --dirty exclude each other: a snapshot stands on HEAD")
    if timeout is not None and not math.isfinite(timeout):
        raise BadInput(f"--timeout must be a finite number above 0, not {timeout:g}")
    text = words[0] if len(words) == 1 else shlex.join(words)
    if not text.strip():
        raise BadInput("sandbox: the command is empty")
    if "\0" in text:
        raise BadInput("sandbox: the command holds a NUL byte")
    line = ShellCommand(text=text, timeout_secs=timeout, merge_stderr=False)
    return anyio.run(_run, (start or Path.cwd()).absolute(), base, dirty, line)


async def _run(start: Path, base: str, dirty: bool, line: ShellCommand) -> int:
    async with open_workplace(start) as place:
        for note in place.repo.notes:
            say(f"note: {note}")
        if place.probe.level is not Level.BUBBLEWRAP:
            name = place.probe.level.value
            say(f"note: the isolation of this run is '{name}'; `donewhen doctor` says what that costs")
        commit = await place.maker_base(await _base(place, base, dirty))
        async with place.tree("throwaway", commit) as tree:
            finished = await place.room(tree).run(line, stdout=_to(1), stderr=_to(2))
        return _exit_code(finished)


async def _base(place: Workplace, base: str, dirty: bool) -> str:
    if dirty:
        return await place.store.snapshot()
    commit = await place.store.resolve(base or "HEAD")
    left_out = await place.store.uncommitted()
    if left_out:
        first = left_out[0].path
        more = f" and {len(left_out) - 1} more" if len(left_out) > 1 else ""
        say(f"note: uncommitted changes are left out ({first}{more}); --dirty includes them")
    return commit


def _to(descriptor: int) -> Callable[[bytes], None]:
    def write(chunk: bytes) -> None:
        view = memoryview(chunk)
        while view:
            view = view[os.write(descriptor, view) :]

    return write


def _exit_code(finished: Finished) -> int:
    if finished.end is End.TIMED_OUT:
        say("donewhen: the command was stopped: its time was up")
        return TIMED_OUT
    if finished.end is End.LIMIT:
        say(f"donewhen: the command was stopped: {finished.reason}")
        return 128 + signal.SIGKILL
    if finished.end is End.COULD_NOT_START or finished.exit_code is None:
        raise MachineryBroke(f"the sandbox could not start the command: {finished.reason}")
    return finished.exit_code
