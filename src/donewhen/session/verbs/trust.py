"""The verb `trust`: accept the settings of a repository's donewhen.toml and loops that go beyond the defaults."""

import os
from pathlib import Path

from donewhen.errors import BadInput
from donewhen.records import frozen
from donewhen.session.settings import settings
from donewhen.session.settings.loop_tables import own_files
from donewhen.session.settings.settings import Widening
from donewhen.session.settings.trust import TrustBook
from donewhen.workspace.state_dir import state_root


@frozen
class Trusted:
    file: Path
    widened: tuple[Widening, ...]
    """The keys that need trust."""


def accept(start: Path) -> tuple[Trusted, ...]:
    """Accept the nearest file from the directory `start` upward, and the repository's loops, as they are now."""
    here = Path(os.path.realpath(start))
    above = settings.repository_above(here)
    top = above or Path("/")
    file = settings.find(here, top)
    loops = list(own_files(above)) if above is not None else []
    if file is None and not loops:
        raise BadInput(f"there is no {settings.FILE_NAME} here or above, so there is nothing to trust")
    book, trusted = TrustBook(state_root(os.environ)), list[Trusted]()
    if file is not None:
        real, written, content = settings.read_inside(file, top)
        book.accept(real, written)
        widened = settings.widening_keys(content, settings.without_repository(os.environ))
        trusted.append(Trusted(file, tuple(widened)))
    for loop in loops:
        book.accept(loop.real, loop.written)
        trusted.append(Trusted(loop.file, loop.widening))
    return tuple(trusted)
