"""The forge of a repository, and the token for it. The client is imported when it is used."""

import contextlib
from collections.abc import AsyncGenerator, Mapping
from typing import TYPE_CHECKING

from donewhen.errors import BadInput
from donewhen.loops.forge.access import NORMAL, Patience, Token
from donewhen.loops.forge.forge import Forge
from donewhen.loops.forge.remote import ForgePlace, find_remote, forge_place
from donewhen.session.settings.settings import Settings
from donewhen.workspace.git.repo import Repo

if TYPE_CHECKING:
    from donewhen.loops.forge.reader import ForgeReader


def place_of(repo: Repo, settings: Settings) -> ForgePlace:
    """Return the forge that the remote of a repository and `[forge]` name. Raise BadInput if there is none."""
    values = (settings.text("forge", key) for key in ("url", "token_env", "api"))
    return forge_place(find_remote(repo.settings), *values)


def token_for(place: ForgePlace, environment: Mapping[str, str]) -> Token:
    """Return the token for a forge. Raise BadInput if its variable is not set or is no token."""
    secret = environment.get(place.token_env, "").strip()
    if not secret:
        raise BadInput(f"the variable {place.token_env} is not set: it must contain a token for {place.repository}")
    if not (secret.isascii() and secret.isprintable()) or " " in secret:
        raise BadInput(f"the variable {place.token_env} does not contain a token: it has spaces or unusual characters")
    return Token(place.token_env, secret)


@contextlib.asynccontextmanager
async def open_forge(place: ForgePlace, token: Token, patience: Patience = NORMAL) -> AsyncGenerator[Forge]:
    # Most commands of this program need no forge.
    from donewhen.loops.forge.github import GitHubForge, connected

    async with connected(place, token, patience, GitHubForge) as forge:
        if place.is_forgejo:
            await forge.me()  # a token may be without the scope for it: that is said before anything is done
        yield forge


@contextlib.asynccontextmanager
async def open_reader(place: ForgePlace, token: Token, patience: Patience = NORMAL) -> AsyncGenerator["ForgeReader"]:
    from donewhen.loops.forge.github import connected
    from donewhen.loops.forge.reader import ForgeReader

    async with connected(place, token, patience, ForgeReader) as reader:
        yield reader
