"""Where sessions are kept, found by the settings of wherever a verb is called; light, for verbs that only look."""

import contextlib
import os
from collections.abc import Callable, Generator
from pathlib import Path

from donewhen.session import settings as settings_module
from donewhen.session.settings import Settings
from donewhen.session.trust import TrustBook
from donewhen.storage.archive import Archive
from donewhen.workspace.state import state_root

Say = Callable[[str], None]
"""Takes one line for a person."""


def silent(line: str) -> None:
    del line


def archive_of(settings: Settings, say: Say = silent) -> Archive:
    """Where sessions are kept; what was found damaged there is said."""
    archive = Archive.open(state_root(os.environ), settings.text("storage", "url"))
    for line in archive.warnings:
        say(f"note: {line}")
    return archive


def near() -> Settings:
    return settings_module.near(Path.cwd(), os.environ, TrustBook(state_root(os.environ)))


@contextlib.contextmanager
def any_archive(say: Say = silent) -> Generator[Archive]:
    """The archive for verbs that need no repository: the settings of wherever they are called."""
    archive = archive_of(near(), say)
    try:
        yield archive
    finally:
        archive.close()
