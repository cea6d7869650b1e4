"""Frees disk space: packs that the user's repository no longer has, and objects and histories that are not needed.

What a reference of the user or a pin of ours (`refs/donewhen/`) reaches stays. Recent loose objects stay too, because
running work may need them. Nothing of the user is changed. A pack that the user still has costs no space here.
"""

import time
from pathlib import Path

from donewhen.workspace.files import locked
from donewhen.workspace.git.repo import Repo
from donewhen.workspace.git.store import object_mirror
from donewhen.workspace.git.store.bare import Bare

OLD_DAYS = 14


async def tidy(bare: Bare, repo: Repo) -> None:
    """Tidy the store under a lock. Other processes may use the store meanwhile."""
    async with locked(bare.directory / "tidy.lock"):
        if not repo.partial:  # with missing objects, git cannot decide what is reachable
            await _drop_unreachable(bare, repo)
        _remove_old(bare.directory / "history")


async def _drop_unreachable(bare: Bare, repo: Repo) -> None:
    await object_mirror.refresh(bare, repo)
    packs = bare.git_dir / "objects" / "pack"
    theirs = object_mirror.pack_names(repo)
    marks = [packs / f"{name}.keep" for name in theirs if (packs / f"{name}.pack").exists()]
    stale = [path for path in packs.glob("*.pack") if path.stem not in theirs]
    if stale:
        for mark in marks:
            mark.touch()
        try:
            # Reachable objects of the other packs move into one new pack; objects in marked packs stay where they are.
            await bare.run("repack", "-a", "-d", "-q", "--no-write-bitmap-index")
        finally:
            for mark in marks:
                mark.unlink(missing_ok=True)
    await bare.run("prune", f"--expire={OLD_DAYS}.days.ago")
    await object_mirror.refresh(bare, repo, everything=True)


def _remove_old(directory: Path) -> None:
    """Remove histories that no seed has used for a long time. They are created again when needed."""
    limit = time.time() - OLD_DAYS * 86400
    lists = [path for path in directory.glob("*") if not path.suffix]
    for path in lists:
        if path.stat().st_mtime < limit:
            path.unlink()
    used = {name for path in lists if path.exists() for name in path.read_text().split()}
    for path in directory.glob("pack-*"):
        if path.stem not in used and path.stat().st_mtime < limit:
            path.unlink()
