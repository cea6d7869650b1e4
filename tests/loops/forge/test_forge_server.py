"""The test forge itself: it notices every request and answer that GitHub's description does not allow."""

import contextlib
import dataclasses
import gzip
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import httpx2
import pytest

from forge_server import Answers, Drops, Fault, ForgeServer, description, running_forge
from forge_server.make_description import DATA, LICENCE, OPERATIONS, PACKAGE
from forge_server.operations import OPERATIONS as SERVED

PULL = {"title": "t", "head": "work", "base": "main"}


def ask(
    server: ForgeServer, method: str, path: str, body: Any = None, query: Any = None, **changed: str
) -> httpx2.Response:
    """Send a request that is right but for the given parts. A name in `changed` is a field, with `_` for `-`."""
    fields = {
        "authorization": f"token {server.token}",
        "accept": "application/vnd.github.v3+json",
        "x-github-api-version": "2022-11-28",
        "content-type": "application/json",
    } | {name.replace("_", "-"): text for name, text in changed.items()}
    content = body if isinstance(body, bytes | None) else json.dumps(body).encode()
    return httpx2.request(method, server.url + path, headers=fields, content=content, params=query or {})


BODIES: list[tuple[Any, str]] = [
    ({"title": "t", "base": "main"}, '"head" is a required property'),
    ({**PULL, "draft": "yes"}, "draft: "),
    ({**PULL, "labels": []}, "unknown key labels"),
    ([], "is not of type"),
    (b"{", "a body that is no JSON"),
    (None, "null is not of type"),
]
ARMED: list[Fault | None] = [None, Answers(422), Drops(), Drops(after_effect=True)]


@pytest.mark.parametrize(("body", "problem"), BODIES)
@pytest.mark.parametrize("fault", ARMED, ids=["served", "refused", "dropped", "dropped after"])
def test_a_body_that_the_description_does_not_allow_is_noticed(
    tmp_path: Path, body: Any, problem: str, fault: Fault | None
) -> None:
    with pytest.raises(AssertionError, match=problem), running_forge(tmp_path) as server:
        server.fail("pulls/create", *([fault] if fault else []))
        with contextlib.suppress(httpx2.HTTPError):
            assert ask(server, "POST", "/repos/octo/widgets/pulls", body).status_code == 422


@pytest.mark.parametrize(
    ("path", "query", "problem"),
    [
        ("/repos/octo/widgets/pulls", {"state": "opened"}, "parameter state"),
        ("/repos/octo/widgets/pulls", {"per_page": "many"}, "parameter per_page"),
        ("/repos/octo/widgets/pulls", {"author": "me"}, "unknown parameter author"),
        ("/repos/octo/widgets/pulls", [("state", "opened"), ("state", "open")], "repeated parameter state"),
        ("/repos/octo/widgets/wishes", {}, "no such operation"),
    ],
)
def test_a_question_that_the_description_does_not_allow_is_noticed(
    tmp_path: Path, path: str, query: Any, problem: str
) -> None:
    with pytest.raises(AssertionError, match=problem), running_forge(tmp_path) as server:
        assert ask(server, "GET", path, query=query).status_code in (404, 422)


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"x_github_api_version": "rubbish"}, 422),
        ({"accept": "text/html"}, 422),
        ({"content_type": "text/plain"}, 422),
    ],
)
def test_a_field_that_is_not_as_it_must_be_is_noticed(tmp_path: Path, changed: dict[str, str], status: int) -> None:
    (name,) = changed
    with pytest.raises(AssertionError, match=f"field {name.replace('_', '-')}"), running_forge(tmp_path) as server:
        assert ask(server, "POST", "/repos/octo/widgets/pulls", PULL, **changed).status_code == status


@pytest.mark.parametrize(
    ("path", "changed", "status"),
    [("octo/widgets", {"authorization": "token wrong"}, 401), ("octo/other", {}, 404)],
)
def test_a_wrong_request_is_noticed_although_it_is_refused_for_another_reason(
    tmp_path: Path, path: str, changed: dict[str, str], status: int
) -> None:
    with pytest.raises(AssertionError, match="unknown key labels"), running_forge(tmp_path) as server:
        answer = ask(server, "POST", f"/repos/{path}/pulls", {**PULL, "labels": []}, **changed)
        assert answer.status_code == status


ANSWERED = [
    (Answers(200, value=[{"number": "seven"}]), "answer 200: 0/number"),
    (Answers(200, value=b'[{"number": "seven"}]'), "answer 200: 0/number"),
    (Answers(200, value=b"[{}]"), '"number" is a required property'),
    (Answers(200, value=b"<html>"), "answer 200: no JSON"),
    (Answers(201, value=[]), "answer 201"),
    (Answers(403, value={"message": 5}), "answer 403: message"),
    (Answers(422, value={"message": "no", "errors": "many"}), "answer 422: errors"),
]


@pytest.mark.parametrize(("answer", "problem"), ANSWERED)
def test_a_wrong_answer_is_noticed(tmp_path: Path, answer: Answers, problem: str) -> None:
    with pytest.raises(AssertionError, match=problem), running_forge(tmp_path / "noticed") as server:
        server.fail("pulls/list", answer)
        ask(server, "GET", "/repos/octo/widgets/pulls")
    with running_forge(tmp_path / "on purpose") as server:  # the control: nothing else is noticed
        server.fail("pulls/list", dataclasses.replace(answer, is_wrong=True))
        ask(server, "GET", "/repos/octo/widgets/pulls")


@pytest.mark.parametrize(
    ("repository", "changed", "status"),
    [("octo/widgets", {"authorization": "token wrong"}, 401), ("octo/other", {}, 404)],
)
def test_the_refusals_of_the_server_itself_are_validated(
    tmp_path: Path, repository: str, changed: dict[str, str], status: int
) -> None:
    path = f"/repos/{repository}/pulls"
    with running_forge(tmp_path / "right") as server:
        assert ask(server, "GET", path, **changed).status_code == status
    with pytest.raises(AssertionError, match="message: 5 is not of type"), running_forge(tmp_path / "wrong") as server:
        server.wrong_token = server.not_found = 5
        ask(server, "GET", path, **changed)


@pytest.mark.parametrize(
    ("method", "path", "body", "query", "problem"),
    [
        ("POST", "pulls", {**PULL, "draft": True}, {}, "unknown key draft"),
        ("POST", "pulls", {"title": "t", "base": "main"}, {}, '"head" is a required property'),
        ("POST", "issues/1/comments", {"body": 5}, {}, "body: 5 is not of type"),
        ("POST", "issues/1/labels", {"labels": "bug"}, {}, "labels: "),
        ("GET", "pulls", None, {"per_page": "5"}, "unknown parameter per_page"),
        ("GET", "pulls", None, {"limit": "many"}, "parameter limit"),
        ("GET", "pulls", None, {"sort": "created"}, "parameter sort"),
        ("GET", "commits/main/check-runs", None, {}, "no operation of Forgejo"),
    ],
)
def test_a_request_that_forgejo_does_not_know_is_noticed(
    tmp_path: Path, method: str, path: str, body: Any, query: dict[str, str], problem: str
) -> None:
    with pytest.raises(AssertionError, match=problem), running_forge(tmp_path, is_forgejo=True) as server:
        server.issue("an issue")
        assert ask(server, method, f"/repos/octo/widgets/{path}", body, query).status_code == 422


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
    statuses = [ask(server, method, f"/repos/octo/widgets/{path}", body).status_code for method, path, body in requests]
    statuses += [
        ask(server, "GET", path).status_code for path in (*(f"/repos/octo/widgets{one}" for one in reads), "/user")
    ]
    assert statuses == [201, 200, 201, 200, 201, 200, 201, *[200] * (len(reads) + 1)]
    assert {one.operation for one in server.received} == set(SERVED)


def test_the_description_has_exactly_the_operations_that_are_served() -> None:
    assert {operation.id for operation in description.operations()} == set(OPERATIONS) == set(SERVED)
    content = json.loads(gzip.decompress(DATA.read_bytes()))
    assert content["source"] == PACKAGE
    assert "MIT License" in LICENCE.read_text()


def test_a_refusal_has_the_words_of_github(server: ForgeServer) -> None:
    server.push("work", {"a": "a"})
    server.pull("work")
    answer = ask(server, "POST", "/repos/octo/widgets/pulls", PULL)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["message"] == "A pull request already exists for octo:work."
    wrong = ask(server, "GET", "/user", authorization="token wrong")
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
