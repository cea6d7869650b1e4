"""Notes of agents in the memory: short texts with their author, which a person can list and forget by their tag.

A note is shown as a quotation and never acts. Nothing that donewhen does depends on one.
"""

import datetime
import hashlib
import os
from pathlib import Path
from typing import TypedDict

from donewhen.errors import BadInput
from donewhen.memory.repair import place_name
from donewhen.memory.sanitise import sanitise_line
from donewhen.memory.tagged_texts import MOST_BYTES, TaggedText
from donewhen.session.log.open_archive import Say, local_settings
from donewhen.session.verbs.memory import opened_store
from donewhen.workspace.git.repo import common_dir_of

TAG = "note"
MOST_SHOWN = 20


class NoteEntry(TypedDict):
    id: str
    text: str
    by: str
    at: str


def record_note(text: str, by: str, place: Path, say: Say) -> NoteEntry:
    """Store a note about the repository that contains `place`. The same note of the same author is stored once."""
    if not local_settings("memory").flag("memory", "enabled"):
        raise BadInput("memory.enabled is false: nothing is remembered here")
    clean = sanitise_line(text, MOST_BYTES)
    if not clean:
        raise BadInput("the note has no visible text")
    author = sanitise_line(by, 100)
    id = f"{TAG}-{hashlib.sha256(f'{author} {clean}'.encode()).hexdigest()[:12]}"
    at = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    note = TaggedText(repo=_repository(place), source=author, session=id, tags=(TAG, id), text=clean, at=at)

    with opened_store(say) as memory:
        memory.write(lambda store: store.texts.put(note))
    return {"id": id, "text": clean, "by": author, "at": at}


def find_notes(words: str, place: Path, say: Say) -> list[NoteEntry]:
    """Return the newest notes about a repository that contain all of the words."""
    wanted, repo = words.lower().split(), _repository(place)
    with opened_store(say) as memory:
        texts = memory.read(lambda store: store.texts.tagged(TAG), [])
    found = [one for one in texts if one.repo == repo and all(word in one.text.lower() for word in wanted)]
    return [{"id": one.session, "text": one.text, "by": one.source, "at": one.at} for one in found[:MOST_SHOWN]]


def _repository(place: Path) -> str:
    """Return the path of the repository, the same for all of its worktrees."""
    common = Path(os.path.realpath(common_dir_of(place)))
    return place_name(str(common.parent if common.name == ".git" else common))
