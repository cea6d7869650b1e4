"""The test forge itself: it notices every request and answer that GitHub's description does not allow."""

import gzip
import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx2
import pytest

from forge_server import Answers, ForgeServer, description, running_forge
from forge_server.make_description import DATA, LICENCE, OPERATIONS, PACKAGE
from forge_server.operations import OPERATIONS as SERVED

PULL = {"title": "t", "head": "work", "base": "main"}


def ask(server: ForgeServer, method: str, path: str, body: Any = None, query: Mapping[str, str] | None = None) -> int:
    fields = {"authorization": f"token {server.token}", "x-github-api-version": "2022-11-28"}
    return httpx2.request(method, server.url + path, headers=fields, json=body, params=query or {}).status_code


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({"title": "t", "base": "main"}, '"head" is a required property'),
        ({**PULL, "draft": "yes"}, "draft: "),
        ({**PULL, "labels": []}, "unknown key labels"),
        ([], "is not of type"),
    ],
)
def test_a_body_that_the_description_does_not_allow_is_noticed(tmp_path: Path, body: Any, problem: str) -> None:
    with pytest.raises(AssertionError, match=problem), running_forge(tmp_path) as server:
        assert ask(server, "POST", "/repos/octo/widgets/pulls", body) == 422


@pytest.mark.parametrize(
    ("path", "query", "problem"),
    [
        ("/repos/octo/widgets/pulls", {"state": "opened"}, "parameter state"),
        ("/repos/octo/widgets/pulls", {"per_page": "many"}, "parameter per_page"),
        ("/repos/octo/widgets/pulls", {"author": "me"}, "unknown parameter author"),
        ("/repos/octo/widgets/wishes", {}, "no such operation"),
    ],
)
def test_a_question_that_the_description_does_not_allow_is_noticed(
    tmp_path: Path, path: str, query: dict[str, str], problem: str
) -> None:
    with pytest.raises(AssertionError, match=problem), running_forge(tmp_path) as server:
        assert ask(server, "GET", path, query=query) in (404, 422)


def test_a_wrong_answer_is_noticed(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="answer 200: 0/number"), running_forge(tmp_path) as server:
        server.fail("pulls/list", Answers(200, value=[{"number": "seven"}]))
        ask(server, "GET", "/repos/octo/widgets/pulls")


def test_every_operation_gives_a_valid_answer(server: ForgeServer) -> None:
    made = server.push("work", {"a": "a"})
    server.issue("an issue", labels=("bug",))
    server.comment(1, "a comment")
    server.run("tests", "failure", "work")
    server.status("coverage", "failure", "work")
    requests: list[tuple[str, str, Any]] = [
        ("POST", "pulls", {**PULL, "body": "b", "draft": True}),
        ("PATCH", "pulls/2", {"body": "new"}),
        ("POST", "issues", {"title": "another"}),
        ("PATCH", "issues/3", {"state": "closed", "state_reason": "completed"}),
        ("POST", "issues/2/comments", {"body": "c"}),
        ("POST", "issues/2/labels", {"labels": ["bug"]}),
        ("POST", "labels", {"name": "loop"}),
    ]
    reads = [
        "", "/branches/work", f"/commits/{made}/pulls", "/pulls", "/pulls/2", "/issues?state=all", "/issues/2",
        "/issues/1/comments", "/labels", "/issues/2/labels", "/git/ref/heads/work", "/git/matching-refs/heads/work",
        "/actions/runs?status=failure", "/commits/work/check-runs",
        "/commits/work/status",
    ]  # fmt: skip
    statuses = [ask(server, method, f"/repos/octo/widgets/{path}", body) for method, path, body in requests]
    statuses += [ask(server, "GET", f"/repos/octo/widgets{path}") for path in reads]
    assert [*statuses, ask(server, "GET", "/user")] == [201, 200, 201, 200, 201, 200, 201, *[200] * (len(reads) + 1)]
    assert {one.operation for one in server.received} == set(SERVED)


def test_the_description_has_exactly_the_operations_that_are_served() -> None:
    assert {operation.id for operation in description.operations()} == set(OPERATIONS) == set(SERVED)
    content = json.loads(gzip.decompress(DATA.read_bytes()))
    assert content["source"] == PACKAGE
    assert "MIT License" in LICENCE.read_text()


def test_a_refusal_has_the_words_of_github(server: ForgeServer) -> None:
    server.push("work", {"a": "a"})
    server.pull("work")
    fields = {"authorization": f"token {server.token}", "x-github-api-version": "2022-11-28"}
    answer = httpx2.post(f"{server.url}/repos/octo/widgets/pulls", headers=fields, json=PULL)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["message"] == "A pull request already exists for octo:work."
    wrong = httpx2.get(f"{server.url}/user", headers={**fields, "authorization": "token wrong"})
    assert (wrong.status_code, wrong.json()["message"]) == (401, "Bad credentials")


def test_git_needs_the_token(server: ForgeServer, tmp_path: Path) -> None:
    git = shutil.which("git") or ""
    env = {"PATH": "/usr/bin:/bin", "GIT_TERMINAL_PROMPT": "0", "HOME": str(tmp_path)}
    for address, is_allowed in (
        (server.git_url, False),
        (server.git_url.replace("://", "://x:wrong@"), False),
        (server.git_url.replace("://", f"://x:{server.token}@"), True),
    ):
        ran = subprocess.run([git, "ls-remote", address], env=env, capture_output=True, check=False)
        assert (ran.returncode == 0) is is_allowed
