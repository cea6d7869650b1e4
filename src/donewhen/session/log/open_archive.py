"""Opens the session archive by the settings of the current directory. Light, for verbs that only read."""

import contextlib
import os
from collections.abc import Callable, Generator
from pathlib import Path

from donewhen.session.settings import settings as settings_module
from donewhen.session.settings.settings import Settings
from donewhen.session.settings.trust import TrustBook
from donewhen.storage.archive import Archive
from donewhen.workspace.state_dir import state_root

Say = Callable[[str], None]
"""Receives one line for a person."""


def silent(line: str) -> None:
    del line


def archive_of(settings: Settings, say: Say = silent) -> Archive:
    """Open the archive that the settings name. Report what is damaged there."""
    archive = Archive.open(state_root(os.environ), settings.text("storage", "url"))
    for line in archive.warnings:
        say(f"note: {line}")
    return archive


def local_settings(*tables: str, start: Path | None = None) -> Settings:
    """Return the settings of a directory, or of the current one: where sessions are kept, and these tables."""
    return settings_module.load_some(
        start or Path.cwd(), os.environ, TrustBook(state_root(os.environ)), ("storage", *tables)
    )


@contextlib.contextmanager
def any_archive(say: Say = silent) -> Generator[Archive]:
    """Provide the archive for verbs that need no repository, by the settings of the current directory."""
    archive = archive_of(local_settings(), say)
    try:
        yield archive
    finally:
        archive.close()
