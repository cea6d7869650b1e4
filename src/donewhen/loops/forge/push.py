"""Pushes the commit of an action to its branch on the forge. A branch that holds anything else is never changed.

no such branch         it is created
at our commit already  nothing is done: an earlier push got through
anything else          refused: somebody else pushed to it, or the name is taken
"""

import base64
from enum import StrEnum

import anyio

from donewhen.loops.forge.access import NORMAL, Patience, Token
from donewhen.loops.forge.forge import ForgeFailed, Later
from donewhen.loops.forge.remote import ForgePlace
from donewhen.printable import one_line, shortened
from donewhen.workspace.git.push import (
    GitFailed,
    PushTarget,
    commits_not_on_server,
    push_new_branch,
    remote_commit,
    remove_pushed_branch,
)
from donewhen.workspace.git.store import Store

USER = "x-access-token"
"""GitHub's name for the owner of any token; Forgejo ignores the name."""
NO_TOKEN = ("authentication failed", "could not read username", "error: 401")
NO_RIGHT = ("error: 403",)
NO_REPOSITORY = ("' not found", "repository not found", "error: 404")
REJECTED = "[remote rejected]"
LONGEST_MESSAGE = 200


class Pushed(StrEnum):
    CREATED = "created"
    ALREADY_THERE = "already there"


class BranchTaken(ForgeFailed):
    """The branch holds another commit than ours."""


async def push_branch(
    store: Store, place: ForgePlace, token: Token, commit: str, branch: str, patience: Patience = NORMAL
) -> Pushed:
    """Bring a commit of the store to a branch of the forge. A repeated call has one effect."""
    target = _target(place, token)
    wait = patience.first_wait_secs
    for attempt in range(1, patience.tries + 1):
        try:
            held = await remote_commit(store, target, branch)
            if held == commit:
                return Pushed.ALREADY_THERE if attempt == 1 else Pushed.CREATED
            if held:
                raise BranchTaken(f"the branch {branch} of {place.repository} is at {held[:12]}, which is not ours")
            await push_new_branch(store, target, commit, branch)
            return Pushed.CREATED
        except GitFailed as error:
            said = _said(error, token)
            _raise_refusal(said, place)
            if REJECTED in said and attempt > 1:  # after the first time the branch is read again: it may be taken now
                raise ForgeFailed(f"{place.repository} does not accept the branch {branch}: {_line(said)}") from error
            if attempt == patience.tries:
                raise Later(f"{place.repository} cannot be pushed to: {_line(said)}", wait) from error
        await anyio.sleep(wait)
        wait *= 2
    raise AssertionError("the last attempt returns or raises")


async def remove_branch(store: Store, place: ForgePlace, token: Token, commit: str, branch: str) -> None:
    """Remove a branch that we created. One that is not at our commit any more stays: raise ForgeFailed."""
    try:
        await remove_pushed_branch(store, _target(place, token), commit, branch)
    except GitFailed as error:
        raise ForgeFailed(_line(_said(error, token))) from error


async def unpushed_commits(store: Store, place: ForgePlace, token: Token, commit: str, branch: str) -> int | None:
    """Return how many commits of a history a branch of the forge does not have; None if there is no such branch."""
    try:
        return await commits_not_on_server(store, _target(place, token), commit, branch)
    except GitFailed as error:
        raise ForgeFailed(_line(_said(error, token))) from error


def _target(place: ForgePlace, token: Token) -> PushTarget:
    return PushTarget(place.git_url, f"Authorization: Basic {_basic(token)}")


def _basic(token: Token) -> str:
    return base64.b64encode(f"{USER}:{token.secret}".encode()).decode()


def _said(error: GitFailed, token: Token) -> str:
    return token.hide(error.stderr.replace(_basic(token), "[token]"))


def _raise_refusal(said: str, place: ForgePlace) -> None:
    """Raise what the text of git says about a failure that a repetition does not change."""
    lower = said.lower()
    if any(words in lower for words in NO_TOKEN):
        raise ForgeFailed(f"{place.repository} cannot be pushed to with the token in {place.token_env}", 401)
    if any(words in lower for words in NO_RIGHT):
        raise ForgeFailed(f"the token in {place.token_env} has no right to push to {place.repository}", 403)
    if any(words in lower for words in NO_REPOSITORY):
        raise ForgeFailed(
            f"there is no {place.repository} to push to, or the token in {place.token_env} may not see it", 404
        )


def _line(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    grave = [line for line in lines if "rejected]" in line or line.startswith(("fatal:", "error:"))]
    return shortened(one_line([*grave, *lines, "no reason given"][0]), LONGEST_MESSAGE)
