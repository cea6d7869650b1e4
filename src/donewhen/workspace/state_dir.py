"""The state directories of donewhen: one private directory per user, and below it one per repository.

Only the owner can read them, and they are hidden from every sandbox. Their content belongs to the modules that write
it. This module only finds, creates and protects the directories.
"""

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from donewhen.errors import BadInput


def state_root(environment: Mapping[str, str]) -> Path:
    """Return $XDG_STATE_HOME/donewhen; create it if needed."""
    base = environment.get("XDG_STATE_HOME", "")
    home = environment.get("HOME", "")
    if not os.path.isabs(base):
        if not os.path.isabs(home):
            raise BadInput(
                "neither HOME nor XDG_STATE_HOME is set to a directory; donewhen has no directory for its state"
            )
        base = os.path.join(home, ".local", "state")
    return private_directory(Path(base) / "donewhen")


def repository_directory(root: Path, common_dir: Path) -> Path:
    """Return the state directory of one repository, the same for all of its worktrees."""
    return private_directory(root / "repos" / repository_key(common_dir))


def repository_key(common_dir: Path) -> str:
    """Return the key of a repository: a hash of its path on disk, so that its content cannot claim another key."""
    import hashlib  # loaded on use: a client of the daemon needs no key

    return hashlib.sha256(os.fsencode(common_dir)).hexdigest()[:16]


def private_directory(place: Path) -> Path:
    """Create a directory that only its owner can enter. Refuse one that belongs to another user."""
    try:
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        status = place.lstat()
    except OSError as error:
        raise BadInput(f"cannot create the state directory {place}: {error.strerror}") from error
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
        raise BadInput(f"{place} is not a directory of this user; donewhen keeps nothing there")
    if stat.S_IMODE(status.st_mode) & 0o077:
        place.chmod(0o700)
    return place
