"""Creates a commit in our store with the user's name on it. The same inputs always give the same commit.

The identity follows git's order: variables, `author.*` and `committer.*`, `user.*`. A name that only the repository's
configuration gives counts only if it has plain characters: it may come from another person, and a shell could read it
later. The caller gives the time, never a clock or a variable, so a landing repeated after a crash creates the same
commit.
"""

import datetime
import os
import re
import unicodedata
from collections.abc import Mapping
from typing import Literal

from donewhen.workspace.git.landing.git_config import Configuration
from donewhen.workspace.git.repo import Repo
from donewhen.workspace.git.store import Store

Role = Literal["author", "committer"]
CRUD = " .,:;<>\"\\'" + "".join(map(chr, range(32)))
"""Characters that git strips from both ends of a name."""
BYTES = frozenset(map(chr, range(0xDC80, 0xDD00)))
"""Surrogate escapes of bytes that are not valid UTF-8: names in an older encoding have them."""
PLAIN = frozenset(" -_.,'@+()/") | BYTES
DEFAULT_IDENTITY = {"name": "donewhen", "email": "donewhen@localhost"}


def commit_for(store: Store, repo: Repo, *, tree: str, parent: str, message: str, at: datetime.datetime) -> str:
    """Write a commit object to the store and return its id."""
    lines = [
        f"tree {tree}",
        f"parent {parent}",
        f"author {identity(repo, 'author')} {stamp(at)}",
        f"committer {identity(repo, 'committer')} {stamp(at)}",
    ]
    text = "\n".join(lines) + "\n\n" + message.replace("\0", "").rstrip("\n") + "\n"
    return store.bare.write("commit", text.encode("utf-8", "replace"))


def identity(repo: Repo, role: Role, environment: Mapping[str, str] = os.environ) -> str:
    """Return the identity for a commit or a reflog. If name or email is missing, use `DEFAULT_IDENTITY`."""
    found = Configuration.of(repo)
    own = {key: value for key, value in found.values.items() if _is_plain(_without_crud(value))}
    parts = {part: _identity_part({**found.users, **own}, role, part, environment) for part in DEFAULT_IDENTITY}
    person = parts if all(parts.values()) else DEFAULT_IDENTITY
    return f"{person['name']} <{person['email']}>"


def _identity_part(settings: Mapping[str, str], role: Role, part: str, environment: Mapping[str, str]) -> str:
    values = [environment.get(f"GIT_{role.upper()}_{part.upper()}", "")]
    values += [settings.get(f"{section}.{part}", "") for section in (role, "user")]
    values += [environment.get("EMAIL", "")] if part == "email" else []
    return next((name for name in map(_without_crud, values) if name), "")


def _without_crud(name: str) -> str:
    """Remove what git strips, and characters that a terminal could interpret."""
    kept = (" " if char.isspace() else char for char in name if char.isprintable() or char.isspace() or char in BYTES)
    return re.sub(r"[<>]", "", "".join(kept).strip(CRUD))


def _is_plain(name: str) -> bool:
    return all(char.isalnum() or char in PLAIN or unicodedata.combining(char) for char in name)


def stamp(at: datetime.datetime) -> str:
    """Return a time in git's format: seconds and time zone."""
    if at.utcoffset() is None:
        raise ValueError("the time has no time zone")
    zone = at.strftime("%z")[:5]
    return f"{int(at.timestamp())} {zone}"
