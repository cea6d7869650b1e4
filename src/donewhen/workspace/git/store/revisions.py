"""Resolves revision expressions to commits: every expression that the user's git would understand.

The store already has branches and tags. The data of one working tree (its HEAD, its reflogs, its upstream settings) is
put into a scratch git directory for each request.
"""

import re

from donewhen.errors import BadInput
from donewhen.workspace.git import refs
from donewhen.workspace.git.objects import raw, shown, text
from donewhen.workspace.git.repo import Repo
from donewhen.workspace.git.run_git import GitFailed
from donewhen.workspace.git.store import object_mirror
from donewhen.workspace.git.store.bare import Bare

PSEUDO_REFS = ("ORIG_HEAD", "FETCH_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD")
UPSTREAM = r"branch\..*\.(?:remote|merge|pushremote)|remote\..*\.fetch|push\.default|remote\.pushdefault"
"""The settings that define `@{upstream}` and `@{push}`."""


async def resolve(bare: Bare, repo: Repo, ref: str) -> str:
    try:
        if not ref or "\0" in ref:
            raise GitFailed("rev-parse", "no revision")
        return await _ask_git(bare, repo, ref)
    except GitFailed as error:
        raise BadInput(f"{shown(ref) or 'an empty name'} is not a commit of {shown(str(repo.root))}") from error


async def _ask_git(bare: Bare, repo: Repo, ref: str) -> str:
    head = f"ref: refs/heads/{repo.branch}\n" if repo.branch else f"{repo.head}\n"
    # After `:/`, all text is the search text, so no suffix is possible. Such a search only finds commits.
    expression = ref if ref.startswith(":/") else f"{ref}^{{commit}}"
    with bare.scratch(head=raw(head)) as location:
        for name in PSEUDO_REFS:
            object_mirror.copy_or_remove(repo.git, name, location.git_dir / name)
        for name in refs.table_refs(repo.git).keys() & set(map(raw, PSEUDO_REFS)):
            (location.git_dir / text(name)).write_bytes(refs.read(repo.git, name) + b"\n")
        if "@{" in ref:
            object_mirror.copy_logs(bare, repo, location.git_dir)
        options = ("rev-parse", "--verify", "--quiet", "--end-of-options")
        upstream = {key: values for key, values in repo.settings.items() if re.fullmatch(UPSTREAM, key)}
        settings = [(key, value) for key, values in upstream.items() for value in values]
        return (await bare.run(*options, expression, at=location, settings=settings)).decode().strip()


async def merge_base(bare: Bare, one: str, other: str) -> str:
    """Return the merge base of two commits; empty if they have no common history."""
    try:
        return (await bare.run("merge-base", one, other)).decode().strip()
    except GitFailed:
        return ""


async def refuse_missing(bare: Bare, repo: Repo, commit: str) -> None:
    """Raise BadInput if a partial clone lacks files of a commit: we never fetch."""
    listing = await bare.run("rev-list", "--objects", "--no-walk", "--missing=print", commit)
    if any(line.startswith(b"?") for line in listing.split(b"\n")):
        where = shown(str(repo.root))
        raise BadInput(f"{where} is a partial clone that lacks files of {commit[:12]}: git fetch --refetch")
