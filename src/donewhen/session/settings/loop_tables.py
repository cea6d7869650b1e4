"""Finds the tables of loops in a repository: `[[loop]]` in donewhen.toml, and one file per loop in `.donewhen/loops`.

The tables fit the schema. What they mean is read by `loops.spec`. Reading needs no trust.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from donewhen.errors import BadInput
from donewhen.records import frozen
from donewhen.session.settings import settings
from donewhen.session.settings.settings import Table, Widening
from donewhen.workspace.beneath import Root

DIRECTORY = ".donewhen/loops"
ENDING = ".toml"
MOST_FILES = 200


@frozen(kw_only=True)
class LoopTable:
    file: Path
    real: Path
    written: bytes
    """The bytes that were read, for the record of trust."""
    entry: Table
    above: str
    """What is in front of a key in messages: `loop[0].`, or nothing in a file of its own."""
    widening: tuple[Widening, ...]
    """Keys that reach or spend more than the defaults."""


def own_files(top: Path) -> Iterator[LoopTable]:
    """Yield the loops that have a file of their own. Without a name in it, the name of the file is the name.

    Raise BadInput for a file that cannot be used.
    """
    for one in _own_files(top):
        if isinstance(one, BadInput):
            raise one
        yield one


def tables_or_errors(top: Path) -> Iterator[LoopTable | BadInput]:
    """Yield the loops of the repository at `top`, and an error in place of each file that cannot be used."""
    file = top / settings.FILE_NAME
    try:
        if os.path.lexists(file):
            real, written, content = settings.read_inside(file, top)
            for number, entry in enumerate(cast("list[Table]", content.get("loop", []))):
                yield _table(file, real, written, entry, f"loop[{number}].")
    except BadInput as error:
        yield error
    yield from _own_files(top)


def _own_files(top: Path) -> Iterator[LoopTable | BadInput]:
    try:
        names = [name for name in Root(top).names(DIRECTORY) if name.endswith(ENDING)]
    except OSError as error:
        yield BadInput(f"{top / DIRECTORY} cannot be read: {error.strerror}")
        return
    if len(names) > MOST_FILES:
        yield BadInput(f"{top / DIRECTORY} has {len(names)} files; at most {MOST_FILES} are read")
        return
    for name in names:
        file = top / DIRECTORY / name
        try:
            real, written, content = settings.read_inside(file, top, is_loop=True)
            yield _table(file, real, written, {"name": name.removesuffix(ENDING), **content}, "")
        except BadInput as error:
            yield error


def _table(file: Path, real: Path, written: bytes, entry: Table, above: str) -> LoopTable:
    widening = tuple(settings.widening_keys_of_loop(entry, above))
    return LoopTable(file=file, real=real, written=written, entry=entry, above=above, widening=widening)
