"""Giving disk space back: packs that the user's repository no longer has, objects and histories that nobody needs.

Whatever a reference of the user's or a pin of ours (`refs/donewhen/`) reaches stays, and so does everything young, for
the sake of work under way. Nothing of the user's is touched: a pack that is still theirs costs no space here.
"""

import time
from pathlib import Path

from donewhen.workspace.files import locked
from donewhen.workspace.repo import Repo
from donewhen.workspace.store import mirror
from donewhen.workspace.store.bare import Bare

OLD_DAYS = 14


async def tidy(bare: Bare, repo: Repo) -> None:
    """One at a time; others may work in the store meanwhile."""
    async with locked(bare.directory / "tidy.lock"):
        if not repo.partial:  # where objects are missing, git cannot tell what is reachable
            await _drop_unreachable(bare, repo)
        _remove_old(bare.directory / "history")


async def _drop_unreachable(bare: Bare, repo: Repo) -> None:
    await mirror.refresh(bare, repo)
    packs = bare.git_dir / "objects" / "pack"
    theirs = mirror.pack_names(repo)
    marks = [packs / f"{name}.keep" for name in theirs if (packs / f"{name}.pack").exists()]
    stale = [path for path in packs.glob("*.pack") if path.stem not in theirs]
    if stale:
        for mark in marks:
            mark.touch()
        try:
            # Reachable objects of the others move into one new pack; those in marked packs stay where they are.
            await bare.run("repack", "-a", "-d", "-q", "--no-write-bitmap-index")
        finally:
            for mark in marks:
                mark.unlink(missing_ok=True)
    await bare.run("prune", f"--expire={OLD_DAYS}.days.ago")
    await mirror.refresh(bare, repo, everything=True)


def _remove_old(directory: Path) -> None:
    """Histories that no seed has asked for in a long time; they are made again when one does."""
    limit = time.time() - OLD_DAYS * 86400
    lists = [path for path in directory.glob("*") if not path.suffix]
    for path in lists:
        if path.stat().st_mtime < limit:
            path.unlink()
    used = {name for path in lists if path.exists() for name in path.read_text().split()}
    for path in directory.glob("pack-*"):
        if path.stem not in used and path.stat().st_mtime < limit:
            path.unlink()
