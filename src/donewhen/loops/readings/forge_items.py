"""Open issues, open pull requests and failed CI as text. The token stays in this process.

A loop that comments does not see what it must not answer (`comments.why_not_to_comment`), nor a pull request of a loop.
A marker that others wrote is plain text.
"""

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from donewhen.judge.output_tail import redacted
from donewhen.loops.comments import why_not_to_comment
from donewhen.loops.forge.connect import open_reader, place_of, token_for
from donewhen.loops.forge.forge import Comment, PullRequest
from donewhen.loops.forge.reader import FailedCheck, ForgeReader, OpenIssue
from donewhen.loops.readings.listing import indented, listing
from donewhen.loops.spec import ActionKind, LoopSpec, Reading
from donewhen.printable import one_line
from donewhen.session.workplace import Workplace

MOST_ISSUES = 20
MOST_PULLS = 10
"""Each costs up to three requests."""
MOST_CHECKS = 20
SHOWN_COMMENTS = 2
MARKER_START = "<!-- donewhen "
Written = TypeVar("Written", Comment, PullRequest)
LONGEST_BODY, LONGEST_COMMENT, LONGEST_DETAILS = 600, 300, 800


async def read_from_forge(reading: Reading, workplace: Workplace, spec: LoopSpec) -> str:
    place = place_of(workplace.repo, workplace.settings)
    token = token_for(place, os.environ)
    for_comments = spec.action.kind is ActionKind.COMMENT
    async with open_reader(place, token) as reader:
        match reading:
            case Reading.OPEN_ISSUES:
                text = await _issues(reader, place.repository, for_comments)
            case Reading.OPEN_PULLS:
                text = await _pulls(reader, place.repository, for_comments)
            case _:
                text = await _failed_ci(reader, place.repository, workplace)
    return redacted(text, {token.variable: token.secret})


async def _issues(reader: ForgeReader, repository: str, for_comments: bool) -> str:
    entries: list[str] = []
    for issue in (await reader.open_issues())[:MOST_ISSUES]:
        comments = await _comments(reader, issue.number) if issue.comments else []
        if not for_comments or await _may_answer(reader, comments, issue.author.login, is_pull=False):
            entries.append(_issue_text(issue, comments))
    return listing(f"Open issues of {repository}:", entries)


async def _comments(reader: ForgeReader, number: int) -> list[Comment]:
    return [await _without_foreign_marker(reader, one) for one in await reader.comments(number)]


async def _without_foreign_marker(reader: ForgeReader, written: Written) -> Written:
    """Return a comment or a request. Anyone may write a marker: that of others is made visible, and does not count."""
    if written.marker is None or await reader.is_ours(written):
        return written
    return replace(written, body=written.body.replace(MARKER_START, f"&lt;{MARKER_START[1:]}"))


async def _may_answer(reader: ForgeReader, comments: Sequence[Comment], author: str, is_pull: bool) -> bool:
    ours = {one.id for one in comments if one.marker is not None}
    return not why_not_to_comment(comments, ours, author, (await reader.me()).login, is_pull)


def _issue_text(issue: OpenIssue, comments: Sequence[Comment]) -> str:
    facts = [f"by {issue.author.login}", *([f"labels: {', '.join(issue.labels)}"] if issue.labels else [])]
    return _lines(f"#{issue.number} {one_line(issue.title)} ({one_line('; '.join(facts))})", issue.body, comments)


async def _pulls(reader: ForgeReader, repository: str, for_comments: bool) -> str:
    entries: list[str] = []
    for listed in (await reader.open_pulls())[:MOST_PULLS]:
        pull = await _without_foreign_marker(reader, listed)
        comments = await _comments(reader, pull.number)
        is_ours = pull.marker is not None
        if not for_comments or (not is_ours and await _may_answer(reader, comments, pull.author.login, is_pull=True)):
            entries.append(_pull_text(pull, comments, await reader.failed_checks(pull.head) if pull.head else []))
    return listing(f"Open pull requests of {repository}:", entries)


def _pull_text(pull: PullRequest, comments: Sequence[Comment], failed: Sequence[FailedCheck]) -> str:
    facts = [f"by {pull.author.login}", f"{pull.branch} into {pull.base}, at {pull.head[:12]}"]
    facts += ["draft"] if pull.is_draft else []
    facts += [f"opened by the loop {pull.marker.loop}"] if pull.marker is not None else []
    facts += [f"labels: {', '.join(pull.labels)}"] if pull.labels else []
    heading = f"#{pull.number} {one_line(pull.title)} ({one_line('; '.join(facts))})"
    checks = [f"  failed: {one_line(one.name)} ({one_line(one.conclusion)})" for one in failed[:MOST_CHECKS]]
    return "\n".join([_lines(heading, pull.body, comments), *checks])


def _lines(heading: str, body: str, comments: Sequence[Comment]) -> str:
    lines = [heading, indented(body, LONGEST_BODY)]
    by_people_and_us = [one for one in comments if one.marker is not None or not one.author.is_bot]
    for comment in by_people_and_us[-SHOWN_COMMENTS:]:
        lines.append(f"  comment by {one_line(comment.author.login)}:")
        lines.append(indented(comment.body, LONGEST_COMMENT))
    return "\n".join(line for line in lines if line)


async def _failed_ci(reader: ForgeReader, repository: str, workplace: Workplace) -> str:
    """Return what failed at the newest commit of the branch that is checked out here."""
    repo = workplace.repo
    commit = await reader.head_of(repo.branch) if repo.branch else repo.head
    failed = await reader.failed_checks(commit)
    where = f"{repo.branch or 'the commit'} of {repository}, at {commit[:12]}"
    heading = f"Failed checks on {one_line(where)}:"
    if commit != repo.head:
        heading += f"\nThe files here are those of {repo.head[:12]}, another commit."
    return listing(heading, [_check_text(one) for one in failed[:MOST_CHECKS]])


def _check_text(check: FailedCheck) -> str:
    lines = [
        f"{one_line(check.name)} ({one_line(check.conclusion)})",
        indented(check.details, LONGEST_DETAILS),
        f"  {one_line(check.url)}" if check.url else "",
    ]
    return "\n".join(line for line in lines if line)
