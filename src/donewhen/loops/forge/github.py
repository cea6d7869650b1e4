"""The client of GitHub's API, and of Forgejo's and Gitea's, which follows it with a few differences.

Lists are read to their end or refused: a list that was read in part would look like "there is none".
"""

import contextlib
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

import anyio
import httpx2
from gidgethub import HTTPException

from donewhen.loops.forge.access import Patience, Token
from donewhen.loops.forge.answer_values import (
    Json,
    account_in,
    account_of,
    is_open_in,
    labels_in,
    list_of,
    number_in,
    object_in,
    object_of,
    optional_flag_in,
    optional_object_in,
    optional_text_in,
    required_text_in,
    text_in,
)
from donewhen.loops.forge.api import ForgeApi, Unknown
from donewhen.loops.forge.forge import (
    Account,
    Comment,
    ForgeFailed,
    IssueState,
    Later,
    NewPullRequest,
    PullRequest,
)
from donewhen.loops.forge.marker import Marker, marker_in
from donewhen.loops.forge.remote import ForgePlace
from donewhen.printable import one_line, shortened

PAGE = 100
MOST_PAGES = 20
LONGEST_TITLE = 250
"""Characters. GitHub accepts 256."""
WORK_IN_PROGRESS = "WIP: "
"""Forgejo takes a title that starts so for a draft; its API has no field for that."""
DUPLICATE = (409, 422)

APP = Account("", is_bot=True)
"""The owner of an app's token, such as that of GitHub Actions: it may not ask who it is."""
APP_REFUSAL = "Resource not accessible by integration"
"""What GitHub says to it."""
APP_LOGIN_END = "[bot]"

Made = TypeVar("Made")
Client = TypeVar("Client", bound="GitHubForge")


@contextlib.asynccontextmanager
async def connected(
    place: ForgePlace, token: Token, patience: Patience, client_class: type["Client"]
) -> AsyncGenerator["Client"]:
    # Plain http is for this machine: it needs no certificates, whose loading takes long, and no proxy.
    is_https = place.api_url.startswith("https:")
    verify = True if is_https else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    timeout = httpx2.Timeout(patience.timeout_secs)
    async with httpx2.AsyncClient(timeout=timeout, verify=verify, follow_redirects=False, trust_env=is_https) as client:
        yield client_class(ForgeApi(client, place, token, patience))


class GitHubForge:
    """See `Forge`."""

    def __init__(self, api: ForgeApi) -> None:
        self._api = api
        self._place = api.place
        self._me: Account | None = None

    async def me(self) -> Account:
        if self._me is None:
            try:
                self._me = account_of(await self._read("/user"))
            except Later:
                raise
            except ForgeFailed as error:
                if error.status == 403 and self._place.is_forgejo:
                    line = (
                        f"the token in {self._place.token_env} needs the scope read:user, to tell our work from others'"
                    )
                    raise ForgeFailed(line, error.status) from error
                if error.status != 403 or APP_REFUSAL not in str(error):
                    raise
                self._me = APP
        return self._me

    async def is_me(self, account: Account) -> bool:
        me = await self.me()
        return account.login == me.login if me.login else account.is_bot and account.login.endswith(APP_LOGIN_END)

    async def is_ours(self, made: PullRequest | Comment) -> bool:
        """Return True for what we made: it has a marker and is by the owner of the token.

        Of an app that is not told its name, every app may be the author. Then the marker of a pull request must name
        its branch, too: a bot that copies our text into a request of another branch is not us.
        """
        if made.marker is None or not await self.is_me(made.author):
            return False
        if (await self.me()).login or isinstance(made, Comment):
            return True
        return made.branch.endswith(f"/{made.marker.session}")

    async def newest_pull(self, branch: str) -> PullRequest | None:
        if not self._place.is_forgejo:
            head = f"{self._place.owner}:{branch}"
            return await self._newest(branch, {"head": head, "sort": "created", "direction": "desc"})
        # It cannot filter by branch, and begins with the newest. Of other people's requests one page must be enough.
        ours = await self._newest(branch, {"poster": (await self.me()).login})
        return ours or await self._newest(branch, {}, pages=1)

    async def _newest(self, branch: str, query: Mapping[str, str], pages: int = MOST_PAGES) -> PullRequest | None:
        """Return the first pull request of a branch in a list, which is read no further than to it."""
        for page in range(1, pages + 1):
            listed = await self._list("pulls", {"state": "all", **query, "page": str(page)}, pages=1)
            for pull in map(self._pull, listed):
                if pull.branch == branch and pull.is_own_repository:
                    return pull
            if not listed:
                return None
        if pages > 1:
            raise self._too_long("pulls")
        return None

    async def marked_pulls(self, loop: str = "", is_open: bool = True) -> tuple[PullRequest, ...]:
        # GitHub filters only issues by their author, and they may be switched off or hidden from a token.
        own = {"poster": (await self.me()).login} if self._place.is_forgejo else {}
        order = {"sort": "recentupdate"} if self._place.is_forgejo else {"sort": "updated", "direction": "desc"}
        query = {"state": "open"} if is_open else {"state": "closed", **order}
        listed = await self._list("pulls", {**query, **own}, pages=MOST_PAGES if is_open else 1)
        found = [self._pull(one) for one in listed]
        ours = [pull for pull in found if pull.is_own_repository and await self.is_ours(pull)]
        return tuple(pull for pull in ours if pull.marker and loop in ("", pull.marker.loop))

    async def open_pull(self, new: NewPullRequest) -> PullRequest:
        title = shortened(one_line(new.title), LONGEST_TITLE)
        body: dict[str, Any] = {"title": title, "body": new.body, "head": new.branch, "base": new.base}
        if not self._place.is_forgejo:
            body["draft"] = new.draft
        elif new.draft:
            body["title"] = WORK_IN_PROGRESS + title

        async def made() -> PullRequest | None:
            newest = await self.newest_pull(new.branch)
            if newest is None or newest.marker != marker_in(new.body) or not await self.is_ours(newest):
                return None
            return newest

        async def make() -> PullRequest:
            try:
                return self._pull(await self._write("POST", self._path("pulls"), body))
            except ForgeFailed as error:
                newest = await self.newest_pull(new.branch) if error.status in DUPLICATE else None
                if newest is None or not newest.is_open:
                    raise
                is_by_hand = newest.author.login == (await self.me()).login != ""
                if not is_by_hand and not await self.is_ours(newest):
                    who = shortened(one_line(newest.author.login))
                    line = f"{who} has opened pull request {newest.number} of the branch {new.branch}"
                    raise ForgeFailed(line, error.status) from error
                return newest

        return await self._once(made, make)

    async def update_body(self, number: int, body: str) -> PullRequest:
        path = self._path("pulls", number)

        async def made() -> PullRequest | None:
            found = self._pull(await self._read(path))
            return found if found.body == body else None

        async def make() -> PullRequest:
            return self._pull(await self._write("PATCH", path, {"body": body}))

        return await self._once(made, make)

    async def comments(self, number: int) -> tuple[Comment, ...]:
        return tuple(_comment(one) for one in await self._list(f"issues/{number:d}/comments", {}))

    async def comment(self, number: int, body: str) -> Comment:
        marker = marker_in(body)

        async def made() -> Comment | None:
            same = [one for one in await self.comments(number) if _is_same(one, marker, body)]
            ours = [one for one in same if await self.is_me(one.author)]
            return ours[0] if ours else None

        async def make() -> Comment:
            return _comment(await self._write("POST", self._path("issues", number, "comments"), {"body": body}))

        return await self._once(made, make)

    async def state(self, number: int) -> IssueState:
        issue = await self._read(self._path("issues", number))
        pull, closed_by = optional_object_in(issue, "pull_request"), optional_object_in(issue, "closed_by")
        return IssueState(
            number=number,
            is_pull=pull is not None,
            is_open=is_open_in(issue),
            is_merged=pull is not None and _is_merged(pull),
            closed_by=account_of(closed_by) if closed_by is not None and not is_open_in(issue) else None,
            reason=optional_text_in(issue, "state_reason"),
            labels=labels_in(issue),
            author=account_in(issue, "user"),
            body=text_in(issue, "body"),
        )

    async def add_labels(self, number: int, labels: Sequence[str]) -> tuple[str, ...]:
        async def made() -> tuple[str, ...] | None:
            found = (await self.state(number)).labels
            return found if set(labels) <= set(found) else None

        async def make() -> tuple[str, ...]:
            path = self._path("issues", number, "labels")
            return labels_in({"labels": list_of(await self._write("POST", path, {"labels": list(labels)}))})

        return await self._once(made, make)

    async def _once(self, made: Callable[[], Awaitable[Made | None]], make: Callable[[], Awaitable[Made]]) -> Made:
        """Return what is there already, or make it. After a request without an answer, look before it is repeated."""
        patience = self._api.patience
        wait = patience.first_wait_secs
        for attempt in range(1, patience.tries + 1):
            if (found := await made()) is not None:
                return found
            try:
                return await make()
            except Unknown as error:
                if attempt == patience.tries:
                    if (found := await made()) is not None:
                        return found
                    raise Later(str(error), wait, error.status) from error
            await anyio.sleep(wait)
            wait *= 2
        raise AssertionError("the last attempt returns or raises")

    # -- requests --

    def _path(self, *parts: str | int) -> str:
        place = self._place
        return "/".join(["/repos", quote(place.owner, safe=""), quote(place.name, safe=""), *map(str, parts)])

    async def _read(self, path: str) -> Json:
        return object_of(await _checked(self._api.getitem(path, None)))

    async def _write(self, method: str, path: str, body: Json) -> Any:
        send = self._api.post if method == "POST" else self._api.patch
        return await _checked(send(path, None, data=dict(body)))

    async def _list(self, path: str, query: Mapping[str, str], pages: int = MOST_PAGES) -> list[Json]:
        """Return a list. Of a single page the first items are enough; a longer list is complete."""
        size = {"limit" if self._place.is_forgejo else "per_page": str(PAGE)}
        address = f"{self._path(path)}?{urlencode({**query, **size})}"
        found, is_all = await _checked(self._api.pages(address, pages))
        if not is_all and pages > 1:
            raise self._too_long(path)
        return [object_of(one) for one in found]

    def _too_long(self, what: str) -> ForgeFailed:
        return ForgeFailed(f"{self._place.repository} has more {what} than can be read")

    def _pull(self, value: Any) -> PullRequest:
        pull = object_of(value)
        head, base = object_of(pull.get("head")), object_of(pull.get("base"))
        # The repository of the branch is missing if it was deleted; ours is there.
        of_head = object_in(head, "repo")
        is_own = of_head is not None and number_in(of_head, "id") == number_in(object_of(base.get("repo")), "id")
        return PullRequest(
            number=number_in(pull, "number"),
            url=optional_text_in(pull, "html_url"),
            title=text_in(pull, "title"),
            body=text_in(pull, "body"),
            # After its branch is deleted, `ref` is another reference at Forgejo; `label` keeps the name.
            branch=required_text_in(head, "label" if self._place.is_forgejo else "ref"),
            head=text_in(head, "sha"),
            base=text_in(base, "ref"),
            author=account_in(pull, "user"),
            is_own_repository=is_own,
            is_draft=optional_flag_in(pull, "draft"),
            is_open=is_open_in(pull),
            is_merged=_is_merged(pull),
            labels=labels_in(pull),
        )


async def _checked(request: Awaitable[Made]) -> Made:
    """Await a request. Raise ForgeFailed for an answer that gidgethub cannot read."""
    try:
        return await request
    except (HTTPException, httpx2.InvalidURL, ValueError, LookupError, OverflowError, RecursionError) as error:
        raise ForgeFailed(f"the answer of the forge cannot be read: {type(error).__name__}") from error


def _is_merged(pull: Json) -> bool:
    return optional_flag_in(pull, "merged") or bool(optional_text_in(pull, "merged_at"))


def _is_same(comment: Comment, marker: Marker | None, body: str) -> bool:
    return comment.marker == marker if marker else comment.body == body


def _comment(value: Any) -> Comment:
    comment = object_of(value)
    return Comment(
        id=number_in(comment, "id"),
        url=optional_text_in(comment, "html_url"),
        author=account_in(comment, "user"),
        body=text_in(comment, "body"),
    )
