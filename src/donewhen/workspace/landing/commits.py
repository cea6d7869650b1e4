"""A commit in our store, with the user's own name on it. The same inputs give the same commit, however often.

Who the user is follows git's order: variables, `author.*` and `committer.*`, `user.*`. A name that only the repository
says counts if it is a plain one: it may come from somebody else, and a shell could read it one day. The time is given
and never taken from a clock or a variable, so that a landing that is repeated after a crash makes nothing new.
"""

import datetime
import os
import re
import unicodedata
from collections.abc import Mapping
from typing import Literal

from donewhen.workspace.landing.included import Configuration
from donewhen.workspace.repo import Repo
from donewhen.workspace.store import Store

Role = Literal["author", "committer"]
CRUD = " .,:;<>\"\\'" + "".join(map(chr, range(32)))
"""What git takes off both ends of a name."""
BYTES = frozenset(map(chr, range(0xDC80, 0xDD00)))
"""Bytes that are no UTF-8: names in an older encoding have them."""
PLAIN = frozenset(" -_.,'@+()/") | BYTES
NOBODY = {"name": "donewhen", "email": "donewhen@localhost"}


def commit_for(store: Store, repo: Repo, *, tree: str, parent: str, message: str, at: datetime.datetime) -> str:
    """Write a commit object to the store; its id."""
    lines = [
        f"tree {tree}",
        f"parent {parent}",
        f"author {who(repo, 'author')} {stamp(at)}",
        f"committer {who(repo, 'committer')} {stamp(at)}",
    ]
    text = "\n".join(lines) + "\n\n" + message.replace("\0", "").rstrip("\n") + "\n"
    return store.bare.write("commit", text.encode("utf-8", "replace"))


def who(repo: Repo, role: Role, environment: Mapping[str, str] = os.environ) -> str:
    """A person as a commit or a reflog names one. Half a person is none."""
    found = Configuration.of(repo)
    own = {key: value for key, value in found.values.items() if _is_plain(_without_crud(value))}
    told = {part: _told({**found.users, **own}, role, part, environment) for part in NOBODY}
    person = told if all(told.values()) else NOBODY
    return f"{person['name']} <{person['email']}>"


def _told(settings: Mapping[str, str], role: Role, part: str, environment: Mapping[str, str]) -> str:
    said = [environment.get(f"GIT_{role.upper()}_{part.upper()}", "")]
    said += [settings.get(f"{section}.{part}", "") for section in (role, "user")]
    said += [environment.get("EMAIL", "")] if part == "email" else []
    return next((name for name in map(_without_crud, said) if name), "")


def _without_crud(name: str) -> str:
    """Without what git takes off, and without what a terminal could obey."""
    kept = (" " if char.isspace() else char for char in name if char.isprintable() or char.isspace() or char in BYTES)
    return re.sub(r"[<>]", "", "".join(kept).strip(CRUD))


def _is_plain(name: str) -> bool:
    return all(char.isalnum() or char in PLAIN or unicodedata.combining(char) for char in name)


def stamp(at: datetime.datetime) -> str:
    """A time as git writes it: seconds and the zone."""
    if at.utcoffset() is None:
        raise ValueError("a time without a zone says nothing")
    zone = at.strftime("%z")[:5]
    return f"{int(at.timestamp())} {zone}"
