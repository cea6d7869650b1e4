"""Which commit the user means, in the user's own words: anything that the user's git would understand.

Branches and tags are in the store already; what belongs to one working tree (its HEAD, the history of its references,
what it follows) is laid out in a scratch git dir for the one question.
"""

import re

from donewhen.errors import BadInput
from donewhen.workspace.git import GitFailed, Settings
from donewhen.workspace.objects import raw, shown
from donewhen.workspace.repo import Repo
from donewhen.workspace.store import mirror
from donewhen.workspace.store.bare import Bare

PSEUDO_REFS = ("ORIG_HEAD", "FETCH_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD")
UPSTREAM = r"branch\..*\.(?:remote|merge|pushremote)|remote\..*\.fetch|push\.default|remote\.pushdefault"
"""The settings that say what `@{upstream}` and `@{push}` mean."""


async def resolve(bare: Bare, repo: Repo, ref: str) -> str:
    try:
        if not ref or "\0" in ref:
            raise GitFailed("rev-parse", "no revision")
        return await _ask_git(bare, repo, ref)
    except GitFailed as error:
        raise BadInput(f"{shown(ref) or 'an empty name'} is not a commit of {shown(str(repo.root))}") from error


async def _ask_git(bare: Bare, repo: Repo, ref: str) -> str:
    head = f"ref: refs/heads/{repo.branch}\n" if repo.branch else f"{repo.head}\n"
    # A search of messages takes everything behind it for its text, and finds nothing but commits anyway.
    expression = ref if ref.startswith(":/") else f"{ref}^{{commit}}"
    with bare.scratch(head=raw(head)) as place:
        for name in PSEUDO_REFS:
            mirror.copy(repo.git, name, place.git_dir / name)
        if "@{" in ref:
            mirror.copy_logs(bare, repo, place.git_dir)
        options = ("rev-parse", "--verify", "--quiet", "--end-of-options")
        return (await bare.run(*options, expression, at=place, settings=_upstream(repo))).decode().strip()


def _upstream(repo: Repo) -> Settings:
    return [(key, value) for key, values in repo.settings.items() if re.fullmatch(UPSTREAM, key) for value in values]


async def parted(bare: Bare, one: str, other: str) -> str:
    """The commit at which two histories parted; empty when they have nothing in common."""
    try:
        return (await bare.run("merge-base", one, other)).decode().strip()
    except GitFailed:
        return ""


async def refuse_missing(bare: Bare, repo: Repo, commit: str) -> None:
    """A partial clone may lack files of a commit, and we never fetch."""
    listing = await bare.run("rev-list", "--objects", "--no-walk", "--missing=print", commit)
    if any(line.startswith(b"?") for line in listing.split(b"\n")):
        where = shown(str(repo.root))
        raise BadInput(f"{where} is a partial clone that lacks files of {commit[:12]}: git fetch --refetch")
