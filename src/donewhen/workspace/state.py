"""Where donewhen keeps its own things: one private directory per user, one below it per repository.

Everything here is readable by its owner alone and is hidden from every sandbox. What is in it belongs to the modules
that write it; this one only finds, makes and guards the directories.
"""

import hashlib
import os
import stat
from collections.abc import Mapping
from pathlib import Path

from donewhen.errors import BadInput


def state_root(environment: Mapping[str, str]) -> Path:
    """$XDG_STATE_HOME/donewhen, made if need be."""
    base = environment.get("XDG_STATE_HOME", "")
    home = environment.get("HOME", "")
    if not os.path.isabs(base):
        if not os.path.isabs(home):
            raise BadInput("neither HOME nor XDG_STATE_HOME is set to a directory; donewhen has no place for its state")
        base = os.path.join(home, ".local", "state")
    return private_directory(Path(base) / "donewhen")


def repository_directory(root: Path, common_dir: Path) -> Path:
    """The part of the state that belongs to one repository, whichever of its worktrees is asked for."""
    return private_directory(root / "repos" / repository_key(common_dir))


def repository_key(common_dir: Path) -> str:
    """What names a repository in the state: its place on the disk, so nothing in it can claim to be another one."""
    return hashlib.sha256(os.fsencode(common_dir)).hexdigest()[:16]


def private_directory(place: Path) -> Path:
    """Make a directory that only its owner can enter; refuse one that somebody else prepared."""
    try:
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        status = place.lstat()
    except OSError as error:
        raise BadInput(f"cannot make the state directory {place}: {error.strerror}") from error
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
        raise BadInput(f"{place} is not a directory of this user; donewhen keeps nothing there")
    if stat.S_IMODE(status.st_mode) & 0o077:
        place.chmod(0o700)
    return place
