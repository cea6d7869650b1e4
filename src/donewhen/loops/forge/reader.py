"""What is open and what failed on a forge: issues, pull requests and checks of a commit. For inputs of loops.

It only reads. Lists of issues and pull requests begin with the newest change and are not read to their end.
"""

from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import quote, urlencode

from donewhen.loops.forge.forge import Account, ForgeFailed, PullRequest
from donewhen.loops.forge.github import BOT, MOST_PAGES, PAGE, GitHubForge
from donewhen.records import frozen

GREEN = ("success", "neutral", "skipped")
"""Conclusions of a check that did not fail. What has none yet is still running."""
RED = ("failure", "error")
"""States of a commit status that failed."""


@frozen(kw_only=True)
class OpenIssue:
    number: int
    title: str
    body: str
    author: Account
    labels: tuple[str, ...]
    comments: int


@frozen(kw_only=True)
class FailedCheck:
    name: str
    conclusion: str
    details: str
    """What the check says about itself."""
    url: str


class ForgeReader(GitHubForge):
    async def open_issues(self) -> list[OpenIssue]:
        """Return the open issues, those of the newest change first: one page of them."""
        query = {"state": "open"}
        query |= {"type": "issues"} if self._place.is_forgejo else {"sort": "updated", "direction": "desc"}
        return [_issue(one) for one in await self._list("issues", query, pages=1) if not one.get("pull_request")]

    async def open_pulls(self) -> list[PullRequest]:
        """Return the open pull requests, those of the newest change first: one page of them."""
        order = {"sort": "recentupdate"} if self._place.is_forgejo else {"sort": "updated", "direction": "desc"}
        return [self._pull(one) for one in await self._list("pulls", {"state": "open", **order}, pages=1)]

    async def head_of(self, branch: str) -> str:
        """Return the newest commit of a branch."""
        try:
            found = await self._read(self._path("branches", quote(branch, safe="")))
        except ForgeFailed as error:
            if error.status == 404:
                raise ForgeFailed(f"{self._place.repository} has no branch {branch}", error.status) from error
            raise
        commit = cast("Mapping[str, Any]", found.get("commit") or {})
        return str(commit.get("id" if self._place.is_forgejo else "sha") or "")

    async def failed_checks(self, commit: str) -> list[FailedCheck]:
        """Return what failed at a commit: checks of GitHub, and commit statuses, which every forge has."""
        checks = [] if self._place.is_forgejo else await self._entries(commit, "check-runs", "check_runs")
        found = [_check(one) for one in checks if one.get("conclusion") and one["conclusion"] not in GREEN]
        statuses = await self._entries(commit, "status", "statuses")
        return found + [_status(one) for one in statuses if _state(one) in RED]

    async def _entries(self, commit: str, kind: str, key: str) -> list[Mapping[str, Any]]:
        """Return all entries of a list that is inside an object."""
        found: list[Mapping[str, Any]] = []
        size = "limit" if self._place.is_forgejo else "per_page"
        for page in range(1, MOST_PAGES + 1):
            query = urlencode({size: PAGE, "page": page})
            answer = await self._read(f"{self._path('commits', commit, kind)}?{query}")
            entries: Any = answer.get(key) or []
            if not isinstance(entries, list):
                raise ForgeFailed("the answer of the forge has an unexpected shape")
            listed = cast("list[Any]", entries)
            found += [cast("Mapping[str, Any]", one) for one in listed if isinstance(one, Mapping)]
            if not listed or len(found) >= int(answer.get("total_count") or 0):
                return found
        raise ForgeFailed(f"{self._place.repository} has more {key} than can be read: {len(found)} and more")


def _issue(value: Mapping[str, Any]) -> OpenIssue:
    user = cast("Mapping[str, Any]", value.get("user") or {})
    labels = cast("list[Any]", value.get("labels") or [])
    return OpenIssue(
        number=int(value.get("number") or 0),
        title=str(value.get("title") or ""),
        body=str(value.get("body") or ""),
        author=Account(str(user.get("login") or ""), user.get("type") == BOT),
        labels=tuple(str(one.get("name") if isinstance(one, Mapping) else one) for one in labels),  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType] - any JSON
        comments=int(value.get("comments") or 0),
    )


def _check(value: Mapping[str, Any]) -> FailedCheck:
    output = cast("Mapping[str, Any]", value.get("output") or {})
    details = "\n".join(str(output[key]) for key in ("title", "summary") if output.get(key))
    url = str(value.get("html_url") or value.get("details_url") or "")
    return FailedCheck(name=str(value.get("name") or ""), conclusion=str(value["conclusion"]), details=details, url=url)


def _status(value: Mapping[str, Any]) -> FailedCheck:
    return FailedCheck(
        name=str(value.get("context") or ""),
        conclusion=_state(value),
        details=str(value.get("description") or ""),
        url=str(value.get("target_url") or ""),
    )


def _state(status: Mapping[str, Any]) -> str:
    """Return the state of a commit status. Forgejo names it `status`."""
    return str(status.get("state") or status.get("status") or "")
