"""The conversations of editors with donewhen: which sessions belong to which conversation, one small file each.

A conversation is what ACP calls a session. Its file has what the person said, and from which number on the events of
which session followed it. Everything else is read from the logs of the sessions.
"""

import contextlib
import datetime
import json
import os
import re
import secrets
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from donewhen.errors import BadInput, MachineryBroke
from donewhen.records import Stored, WrongShape
from donewhen.workspace.files import write_atomically
from donewhen.workspace.state_dir import private_directory

ID = re.compile(r"dw-[0-9a-f]{24}")
LARGEST = 64 * 1024 * 1024
"""Bytes of a file that is read."""


class EditorTurn(Stored):
    """One prompt, and what followed it."""

    prompt: str
    session: str = ""
    """The session whose events followed; empty if there are none."""
    from_seq: int = 1
    """The number of the first of them."""
    to_seq: int = 0
    """The number of the first event that followed later; 0: all belong to this turn."""
    head: str = ""
    """The commit at HEAD when the session began."""
    before: tuple[str, ...] = ()
    """What was said before the events."""
    after: tuple[str, ...] = ()
    """What was said after the events. Nothing, if the turn was not seen to its end."""


class EditorConversation(Stored):
    id: str
    directory: str
    """Where the editor works: an absolute path."""
    updated_at: str
    title: str = ""
    options: Mapping[str, str] = {}
    """What the person chose in the editor, by the id of the option."""
    turns: tuple[EditorTurn, ...] = ()


class Conversations:
    def __init__(self, state: Path) -> None:
        self._place = private_directory(state / "acp")

    def new(self, directory: str) -> EditorConversation:
        """Return a conversation that is not stored yet."""
        return EditorConversation(id=f"dw-{secrets.token_hex(12)}", directory=directory, updated_at=_now())

    def store(self, conversation: EditorConversation) -> EditorConversation:
        """Store it, and return it as it is stored."""
        stored = conversation.changed(updated_at=_now())
        try:
            write_atomically(self._path(stored.id), json.dumps(stored.plain()))
        except OSError as error:
            raise MachineryBroke(f"the conversation cannot be stored: {error.strerror}") from error
        return stored

    def load(self, id: str) -> EditorConversation:
        """Return a stored conversation. Raise BadInput if there is none, or it cannot be read."""
        if not ID.fullmatch(id):
            raise BadInput("there is no such conversation")
        try:
            return self._read(self._path(id))
        except FileNotFoundError:
            raise BadInput(f"there is no conversation {id}") from None
        except (OSError, ValueError) as error:
            raise BadInput(f"the conversation {id} cannot be read: {error}") from error

    def all(self) -> Iterator[EditorConversation]:
        """Yield the stored conversations, the latest first. Files that cannot be read are left out."""
        files = [(entry.stat().st_mtime_ns, entry.name) for entry in os.scandir(self._place)]
        for _, name in sorted(files, reverse=True):
            if name.endswith(".json") and ID.fullmatch(name.removesuffix(".json")):
                with contextlib.suppress(OSError, ValueError):
                    yield self._read(self._place / name)

    def _path(self, id: str) -> Path:
        return self._place / f"{id}.json"

    def _read(self, path: Path) -> EditorConversation:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST:
                raise ValueError("it is not a file of a conversation")
            found = EditorConversation.load(json.loads(file.read()))
        if found.id != path.stem or not os.path.isabs(found.directory):
            raise WrongShape("its content does not fit its name")
        return found


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
