"""Answers of another shape: every operation gives a value or fails in one line, and never takes them for "nothing"."""

import json
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast

import pytest

from donewhen.loops.forge.access import Patience, Token
from donewhen.loops.forge.connect import open_reader
from donewhen.loops.forge.forge import ForgeFailed, NewPullRequest
from donewhen.loops.forge.reader import ForgeReader
from donewhen.loops.forge.remote import ForgePlace
from forge_server import ME, Answers, ForgeServer

pytestmark = pytest.mark.anyio
ONCE = Patience(tries=1, first_wait_secs=0.01)
JSON = {"Content-Type": "application/json"}
WRONG: list[Any] = [None, 5, -1, 1.5, "other", True, [], {}, [1], [None], {"a": 1}, [["x"]]]
SHA = "a" * 40
USER: dict[str, Any] = {"login": ME.login, "type": "Bot"}
PULL: dict[str, Any] = {
    "number": 1,
    "html_url": "u",
    "title": "t",
    "body": "<!-- donewhen loop=l session=s finding=f -->",
    "state": "open",
    "draft": False,
    "merged_at": None,
    "user": USER,
    "labels": [{"name": "bug"}],
    "head": {"ref": "work", "sha": SHA, "repo": {"id": 1}},
    "base": {"ref": "main", "repo": {"id": 1}},
}
ISSUE = {key: PULL[key] for key in ("number", "title", "body", "state", "user", "labels")} | {"comments": 0}
CLOSED = {**ISSUE, "state": "closed", "state_reason": None, "closed_by": USER, "pull_request": {"merged_at": None}}
COMMENT = {"id": 1, "html_url": "u", "user": USER, "body": "b"}
RED_CHECK = {"name": "tests", "conclusion": "failure", "output": {"title": "t", "summary": "s"}, "html_url": "u"}
RED_STATUS = {"context": "tests", "state": "failure", "description": "d", "target_url": "u"}


@dataclass(frozen=True)
class Asked:
    """One operation of the client, and an honest answer to one of its requests."""

    operation: str
    answer: Any
    ask: Callable[[ForgeReader], Awaitable[Any]]
    honest: tuple[tuple[str, Any], ...] = ()
    """Changes of a key after which "nothing" is right."""


OPENED = NewPullRequest(title="t", body="b", branch="work", base="main")
ASKED = {
    "me": Asked("users/get-authenticated", USER, lambda forge: forge.me()),
    "marked pulls": Asked(
        "pulls/list",
        [PULL],
        lambda forge: forge.marked_pulls(),
        (("body", None), ("body", "other"), ("login", "other"), ("user", None), ("id", 5), ("repo", None)),
    ),
    "newest pull": Asked(
        "pulls/list", [PULL], lambda forge: forge.newest_pull("work"), (("ref", "other"), ("id", 5), ("repo", None))
    ),
    "open a pull": Asked("pulls/create", PULL, lambda forge: forge.open_pull(OPENED)),
    "update a body": Asked("pulls/get", PULL, lambda forge: forge.update_body(1, str(PULL["body"]))),
    "state": Asked("issues/get", CLOSED, lambda forge: forge.state(1)),
    "comments": Asked("issues/list-comments", [COMMENT], lambda forge: forge.comments(1)),
    "comment": Asked("issues/create-comment", COMMENT, lambda forge: forge.comment(1, "x")),
    "labels": Asked("issues/add-labels", [{"name": "bug"}], lambda forge: forge.add_labels(1, ["bug"])),
    "open issues": Asked("issues/list-for-repo", [ISSUE], lambda forge: forge.open_issues()),
    "open pulls": Asked("pulls/list", [PULL], lambda forge: forge.open_pulls()),
    "head": Asked("repos/get-branch", {"commit": {"sha": SHA}}, lambda forge: forge.head_of("main")),
    "checks": Asked(
        "checks/list-for-ref",
        {"total_count": 1, "check_runs": [RED_CHECK]},
        lambda forge: forge.failed_checks(SHA),
        (("conclusion", None),),
    ),
    "statuses": Asked(
        "repos/get-combined-status-for-ref",
        {"total_count": 1, "statuses": [RED_STATUS]},
        lambda forge: forge.failed_checks(SHA),
        (("state", "other"),),
    ),
}


def changed(value: Any, key: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Return a value with each part of it in turn replaced or left out: the key, what is there now, and the whole."""
    for wrong in WRONG:
        yield key, wrong, wrong
    if isinstance(value, list):
        for within, wrong, one in changed(cast("list[Any]", value)[0], key):
            yield within, wrong, [one]
    elif isinstance(value, dict):
        answer = cast("dict[str, Any]", value)
        for name in answer:
            yield name, "left out", {other: one for other, one in answer.items() if other != name}
            for within, wrong, one in changed(answer[name], name):
                yield within, wrong, {**answer, name: one}


@pytest.mark.parametrize("name", ASKED)
async def test_an_answer_of_another_shape_is_a_value_or_one_line_and_never_nothing(
    server: ForgeServer, place: ForgePlace, token: Token, name: str
) -> None:
    asked = ASKED[name]
    failed = 0
    server.push("work", {"a": "a"})
    server.pull("other", author=ME)
    async with open_reader(place, token, ONCE) as reader:
        for key, wrong, answer in changed(asked.answer):
            body = json.dumps(answer).encode()
            server.fail(asked.operation, Answers(200, headers=JSON, value=body, is_wrong=True))
            try:
                found = await asked.ask(reader)
            except ForgeFailed as error:
                assert "\n" not in str(error)
                failed += 1
                continue
            is_honest = answer == [] or (key, wrong) in asked.honest or key in ("pull_request", "merged_at")
            assert found or is_honest, f"{key} as {wrong!r} in {answer!r} was taken for nothing"
    assert failed > len(WRONG), "the control: most of these are refused"


@pytest.mark.parametrize(
    "fields",
    [
        {"X-RateLimit-Limit": "1", "X-RateLimit-Remaining": "1", "X-RateLimit-Reset": "9" * 30},
        {"X-RateLimit-Limit": "1", "X-RateLimit-Remaining": "many", "X-RateLimit-Reset": "1"},
        {"Link": '<{url}/repos/octo/widgets/pulls?page=2\x7f>; rel="next"'},
        {"Link": '<http://[>; rel="next"'},
        {"Content-Type": "application/json; charset=none"},
    ],
)
async def test_fields_of_another_shape_are_one_line(
    server: ForgeServer, place: ForgePlace, token: Token, fields: dict[str, str]
) -> None:
    given = {name: text.replace("{url}", server.url) for name, text in fields.items()}
    server.fail("pulls/list", Answers(200, headers={**JSON, **given}, value=b"[]"))
    async with open_reader(place, token, ONCE) as reader:
        with pytest.raises(ForgeFailed, match="cannot be read"):
            await reader.marked_pulls()
