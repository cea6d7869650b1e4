"""The verb `donewhen sandbox -- COMMAND`: run one command in a throw-away tree and the sandbox of an engine."""

import os
import shlex
from collections.abc import Callable
from pathlib import Path

import anyio
import click

from donewhen.cli.group import say


@click.command("sandbox", context_settings={"allow_interspersed_args": False})
@click.option("--repo", type=click.Path(path_type=Path), default=None, help="The repository; default: here.")
@click.option("--base", default="", help="The commit to start from; default: HEAD.")
@click.option("--dirty", is_flag=True, help="Start from HEAD with your uncommitted changes.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=None,
    help="Time limit in seconds; exit 124 when it is reached.",
)
@click.argument("words", nargs=-1, required=True, metavar="-- COMMAND...")
def command(repo: Path | None, base: str, dirty: bool, timeout: float | None, words: tuple[str, ...]) -> int:
    """Run one command exactly as an engine's command would run; its exit code.

    The command runs at the root of a throw-away tree of HEAD that appears at the repository's own path, without
    input and without a terminal. One word is a line for /bin/sh; several words are a command and its arguments.
    """
    from donewhen.session.verbs import sandbox  # loaded on use: help does not need it

    options = sandbox.SandboxOptions(
        command=words[0] if len(words) == 1 else shlex.join(words),
        repo=repo or Path.cwd(),
        base=base,
        dirty=dirty,
        timeout_secs=timeout,
    )
    return anyio.run(sandbox.run, options, say, _to(1), _to(2))


def _to(descriptor: int) -> Callable[[bytes], None]:
    def write(chunk: bytes) -> None:
        view = memoryview(chunk)
        while view:
            view = view[os.write(descriptor, view) :]

    return write
