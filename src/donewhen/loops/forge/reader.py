"""What is open and what failed on a forge: issues, pull requests and checks of a commit. For inputs of loops.

It only reads. Lists of issues and pull requests begin with the newest change and are not read to their end.
"""

from urllib.parse import quote, urlencode

from donewhen.loops.forge.answer_values import (
    Json,
    account_in,
    labels_in,
    list_of,
    number_in,
    object_of,
    optional_object_in,
    optional_text_in,
    required_text_in,
    text_in,
    unexpected_shape,
)
from donewhen.loops.forge.forge import Account, ForgeFailed, PullRequest
from donewhen.loops.forge.github import MOST_PAGES, PAGE, GitHubForge
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
        listed = await self._list("issues", query, pages=1)
        return [_issue(one) for one in listed if optional_object_in(one, "pull_request") is None]

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
        return required_text_in(object_of(found.get("commit")), "id" if self._place.is_forgejo else "sha")

    async def failed_checks(self, commit: str) -> list[FailedCheck]:
        """Return what failed at a commit: checks of GitHub, and commit statuses, which every forge has."""
        checks = [] if self._place.is_forgejo else await self._entries(commit, "check-runs", "check_runs")
        found = [_check(one) for one in checks if text_in(one, "conclusion") not in ("", *GREEN)]
        statuses = await self._entries(commit, "status", "statuses")
        return found + [_status(one) for one in statuses if _state(one) in RED]

    async def _entries(self, commit: str, kind: str, key: str) -> list[Json]:
        """Return all entries of a list that is inside an object."""
        found: list[Json] = []
        size = "limit" if self._place.is_forgejo else "per_page"
        for page in range(1, MOST_PAGES + 1):
            query = urlencode({size: PAGE, "page": page})
            answer = await self._read(f"{self._path('commits', commit, kind)}?{query}")
            total = number_in(answer, "total_count")
            # Forgejo counts the page only, and has null for an empty list.
            is_end = self._place.is_forgejo and total == 0
            listed = [] if is_end else [object_of(one) for one in list_of(answer.get(key))]
            found += listed
            if is_end or (not self._place.is_forgejo and len(found) >= total):
                return found
            if not listed:
                raise unexpected_shape()
        raise self._too_long(key)


def _issue(value: Json) -> OpenIssue:
    return OpenIssue(
        number=number_in(value, "number"),
        title=text_in(value, "title"),
        body=text_in(value, "body"),
        author=account_in(value, "user"),
        labels=labels_in(value),
        comments=number_in(value, "comments"),
    )


def _check(value: Json) -> FailedCheck:
    output = optional_object_in(value, "output") or {}
    details = [optional_text_in(output, key) for key in ("title", "summary")]
    return FailedCheck(
        name=text_in(value, "name"),
        conclusion=text_in(value, "conclusion"),
        details="\n".join(one for one in details if one),
        url=optional_text_in(value, "html_url") or optional_text_in(value, "details_url"),
    )


def _status(value: Json) -> FailedCheck:
    return FailedCheck(
        name=text_in(value, "context"),
        conclusion=_state(value),
        details=optional_text_in(value, "description"),
        url=optional_text_in(value, "target_url"),
    )


def _state(status: Json) -> str:
    """Return the state of a commit status. Forgejo names it `status`."""
    return optional_text_in(status, "state") or required_text_in(status, "status")
