"""The verb `trust`: accept the settings of a repository's donewhen.toml that go beyond the defaults."""

import os
from pathlib import Path

from donewhen.errors import BadInput
from donewhen.records import frozen
from donewhen.session.settings import settings
from donewhen.session.settings.settings import Widening
from donewhen.session.settings.trust import TrustBook
from donewhen.workspace.state_dir import state_root


@frozen
class Trusted:
    file: Path
    widened: tuple[Widening, ...]
    """The keys that need trust."""


def accept(start: Path) -> Trusted:
    """Accept the nearest file from the directory `start` upward, with its current content."""
    here = Path(os.path.realpath(start))
    top = settings.repository_above(here) or Path("/")
    file = settings.find(here, top)
    if file is None:
        raise BadInput(f"there is no {settings.FILE_NAME} here or above, so there is nothing to trust")
    real, written, content = settings.read_inside(file, top)
    widened = settings.widening_keys(content, settings.without_repository(os.environ))
    TrustBook(state_root(os.environ)).accept(real, written)
    return Trusted(file, tuple(widened))
