"""Creates a small `.git` for a maker tree. The engine may damage it: we never read it again.

It has the base's history, or one commit instead, and nothing else of the user's repository: no other branch, no
remote, no hook, no setting, no stash, no reflog. Its packs are copies that share no file with the store or the
repository, so a process that can write to the tree cannot change those through it.
"""

import shutil
from pathlib import Path
from typing import Literal

from donewhen.workspace.git.objects import date_in, raw, text
from donewhen.workspace.git.repo import Repo
from donewhen.workspace.git.store import object_mirror
from donewhen.workspace.git.store.bare import Bare
from donewhen.workspace.git.store.checkout import index_of

History = Literal["base", "none"]
CONFIG = """\
[core]
\trepositoryformatversion = {version}
\tbare = false
\tfileMode = true
\tlogAllRefUpdates = true
\tcheckStat = minimal
\ttrustctime = false
[user]
\tname = donewhen
\temail = donewhen@localhost
[gc]
\tauto = 0
{extensions}"""
"""`checkStat`: inside a sandbox, owners and inodes differ from those at the time the index was written."""
MOST_STEPS = 1000
"""How many first parents are searched for an existing pack of older history."""
MOST_PACKS = 8


async def seed_git_dir(bare: Bare, repo: Repo, commit: str, history: History, into: Path) -> None:
    """Create the git directory. `into` must not exist. A partial clone always gives one commit instead of history."""
    for part in ("objects/pack", "objects/info", "refs/heads", "refs/tags", "info"):
        (into / part).mkdir(parents=True)
    extensions = "" if bare.object_format == "sha1" else f"[extensions]\n\tobjectFormat = {bare.object_format}\n"
    (into / "config").write_text(CONFIG.format(version=1 if extensions else 0, extensions=extensions))
    packs = into / "objects" / "pack"
    if history == "base" and not repo.partial:
        tip, tags = commit, await _tags(bare, commit)
        _copy_packs(await _packs(bare, commit), bare.directory / "history", packs)
        await _pack_apart(bare, [*tags.values(), f"^{commit}"], packs)
        if repo.shallow:
            object_mirror.copy_or_remove(repo.common, "shallow", into / "shallow")
    else:
        tip, tags = await _single_commit(bare, commit)
        await _pack_apart(bare, [tip], packs)
    _write_refs(repo, commit, tip, tags, into)
    await _copy_index(bare, commit, into)


def _write_refs(repo: Repo, commit: str, tip: str, tags: dict[str, str], into: Path) -> None:
    lines = [f"{id} {name}\n" for name, id in sorted(tags.items())]
    if commit == repo.head and repo.branch:
        lines.insert(0, f"{tip} refs/heads/{repo.branch}\n")
        head = f"ref: refs/heads/{repo.branch}\n"
    else:
        head = f"{tip}\n"
    (into / "packed-refs").write_bytes(raw("".join(lines)))
    (into / "HEAD").write_bytes(raw(head))
    object_mirror.copy_or_remove(repo.common, "info/exclude", into / "info" / "exclude")


async def _copy_index(bare: Bare, commit: str, into: Path) -> None:
    """Copy the index of the base's checkout: its stat data of the files makes the first `git status` fast."""
    tree = (await bare.run("rev-parse", "--verify", f"{commit}^{{tree}}")).decode().strip()
    if index_of(bare, tree).is_file():
        shutil.copyfile(index_of(bare, tree), into / "index")
        return
    with bare.scratch() as location:
        await bare.run("read-tree", tree, at=location)
        shutil.copyfile(location.index, into / "index")


# -- history --


async def _tags(bare: Bare, commit: str) -> dict[str, str]:
    """Return the tags of commits that are reachable from the base."""
    answer = await bare.run("for-each-ref", f"--merged={commit}", "--format=%(objectname) %(refname)", "refs/tags")
    lines = text(answer).splitlines()
    return {name: id for id, _, name in (line.partition(" ") for line in lines)}


async def _packs(bare: Bare, commit: str) -> list[str]:
    """Return names of packs in `history/` with exactly what the commit reaches. Their number grows with the history."""
    directory = bare.directory / "history"
    line = (await bare.run("rev-list", "--first-parent", f"--max-count={MOST_STEPS}", commit)).decode().split()
    known = next((older for older in line if (directory / older).is_file()), None)
    packs = (directory / known).read_text().split() if known else []
    if known == commit:
        (directory / commit).touch()
        return packs
    if len(packs) >= MOST_PACKS:
        known, packs = None, []
    wanted = [commit, *([f"^{known}"] if known else [])]
    packs += await _pack(bare, wanted, directory)
    (directory / commit).write_text("\n".join(packs))
    return packs


async def _pack(bare: Bare, revisions: list[str], directory: Path) -> list[str]:
    """Pack what these revisions reach into a directory of the store. Return the names of the new packs."""
    stdin = "".join(f"{revision}\n" for revision in revisions).encode()
    options = ("--revs", "--delta-base-offset", "--window=0", "-q")
    answer = await bare.run("pack-objects", *options, str(directory / "pack"), stdin=stdin)
    names = [f"pack-{name}" for name in answer.decode().split()]
    return [name for name in names if (directory / f"{name}.pack").is_file()]


async def _pack_apart(bare: Bare, revisions: list[str], into: Path) -> None:
    with bare.scratch() as location:
        _copy_packs(await _pack(bare, revisions, location.git_dir), location.git_dir, into)


def _copy_packs(names: list[str], directory: Path, into: Path) -> None:
    for name in names:
        for part in (".pack", ".idx"):
            shutil.copyfile(directory / f"{name}{part}", into / f"{name}{part}")


async def _single_commit(bare: Bare, commit: str) -> tuple[str, dict[str, str]]:
    """Create one commit with the base's files and date. Return it with the nearest tag of the base."""
    (content,) = await bare.contents([commit])
    tree = content.split(b"\n", 1)[0].split(b" ")[1].decode()
    tip = (await bare.run("commit-tree", tree, stdin=b"base\n", date=date_in(content))).decode().strip()
    if not await _tags(bare, commit):
        return tip, {}
    nearest = text(await bare.run("describe", "--tags", "--abbrev=0", commit)).strip()
    return tip, {f"refs/tags/{nearest}": tip}
