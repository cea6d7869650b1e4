"""Creates a new repository with one commit, for demonstrations. It never touches the user's repositories."""

import datetime
from collections.abc import Mapping
from pathlib import Path

from donewhen.workspace.git.run_git import GitLocation, git
from donewhen.workspace.process.launch import Launcher


async def make_repository(root: Path, files: Mapping[str, str]) -> None:
    root.mkdir(parents=True)
    for name, content in files.items():
        (root / name).write_text(content)
    location = GitLocation(git_dir=root / ".git", work_tree=root, index=root / ".git" / "index")
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    async with Launcher.open() as launcher:
        await git(launcher, location, "init", "--quiet", "--template=", "--initial-branch=main")
        await git(launcher, location, "add", "--all")
        await git(launcher, location, "commit", "--quiet", "-m", "As it was before", date=now)
