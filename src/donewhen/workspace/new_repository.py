"""A repository made from nothing, with one commit: for demonstrations. The user's own are never touched here."""

import datetime
from collections.abc import Mapping
from pathlib import Path

from donewhen.workspace.git import Place, git
from donewhen.workspace.process import Launcher


async def make_repository(root: Path, files: Mapping[str, str]) -> None:
    root.mkdir(parents=True)
    for name, content in files.items():
        (root / name).write_text(content)
    place = Place(git_dir=root / ".git", work_tree=root, index=root / ".git" / "index")
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    async with Launcher.open() as launcher:
        await git(launcher, place, "init", "--quiet", "--template=", "--initial-branch=main")
        await git(launcher, place, "add", "--all")
        await git(launcher, place, "commit", "--quiet", "-m", "As it was before", date=now)
