"""`donewhen memory`: what failures and repairs are known by. Reads; what is remembered is written by the runtime."""

import json
import sys
from pathlib import Path
from typing import BinaryIO

import click

from donewhen.errors import BadInput

MOST_BYTES = 256 * 1024 * 1024


@click.group("memory", no_args_is_help=False)
def command() -> None:
    """Failures, as they are recognised again."""


@command.command("signature")
@click.argument("file", required=False, metavar="[FILE]")
@click.option("--check", default="", metavar="NAME", help="The check that printed the log; a part of the first key.")
def signature(file: str | None, check: str) -> int:
    """Both keys of the failure in FILE, the log of a check or of a whole CI run; without FILE, of what is piped in.

    One JSON object: `where` and `what` with a key each, what failed, the phase, the reader that understood the log, and
    whether a repair may be recalled for it. Nothing is run and nothing is kept.
    """
    from donewhen.memory.signature import signature_of

    found = signature_of(_read(file), check)
    click.echo(json.dumps(found.as_json(), indent=2))
    return 0


def _read(file: str | None) -> bytes:
    if file is None or file == "-":
        return _bounded("stdin", sys.stdin.buffer)
    try:
        with Path(file).open("rb") as log:
            return _bounded(file, log)
    except (OSError, ValueError) as why:
        raise BadInput(f"{file}: {getattr(why, 'strerror', None) or why}") from why


def _bounded(name: str, log: BinaryIO) -> bytes:
    content = log.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise BadInput(f"{name}: longer than {MOST_BYTES // 1024**2} MB; give the part with the failure")
    return content
