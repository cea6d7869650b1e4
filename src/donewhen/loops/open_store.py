"""Opens the store of all loops, without loading what runs a round."""

import contextlib
import os
from collections.abc import Generator

from donewhen.loops.loop_store import LoopStore
from donewhen.session.log.open_archive import Say
from donewhen.session.settings.settings import Settings
from donewhen.workspace.state_dir import state_root


@contextlib.contextmanager
def open_store(settings: Settings, say: Say) -> Generator[LoopStore]:
    """Provide the store of all loops. What was damaged in it is said at the end."""
    with contextlib.closing(LoopStore(state_root(os.environ), settings.text("storage", "url"))) as store:
        yield store
        for line in store.warnings:
            say(f"note: {line}")
