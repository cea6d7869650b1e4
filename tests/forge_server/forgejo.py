"""The differences of Forgejo's and Gitea's API, for the operations that the program uses. No description validates it.

From Gitea's source: a list is not filtered by branch; the branch is in `label`, and `ref` is another one after the
branch was deleted; a duplicate is 409; there is no `draft` and no `closed_by`; an account has no type; the commit of a
branch has an `id`, and a commit status has a `status`; the number of statuses is that of the page, and an empty list of
them is null.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from .description import Operation
from .operations import OPERATIONS, Call, Refused
from .world import Json

API = "/api/v1"
MOST = 50
"""Items on a page, whatever a request says."""
TEXT: Json = {"type": "string"}
NUMBER: Json = {"type": "integer", "minimum": 1}
NUMBERS: Json = {"type": "array", "items": NUMBER}
STATE: Json = {"enum": ["open", "closed", "all"]}
MOMENT: Json = {"type": "string", "format": "date-time"}
PAGE: Json = {"page": NUMBER, "limit": NUMBER}
ORDER: Json = {
    "enum": ["oldest", "recentupdate", "recentclose", "leastupdate", "mostcomment", "leastcomment", "priority"]
}


def _request(id: str, query: Json | None = None, needed: Json | None = None, more: Json | None = None) -> Operation:
    """Return an operation with its parameters, and the required and other keys of its body."""
    body = {"type": "object", "required": [*(needed or {})], "properties": {**(needed or {}), **(more or {})}}
    return Operation(id, "", "", query or {}, None if needed is more is None else body, {})


REQUESTS = {
    one.id: one
    for one in (
        _request("users/get-authenticated"),
        _request("repos/get-branch"),
        _request("repos/get-combined-status-for-ref", PAGE),
        _request(
            "pulls/list",
            {"state": STATE, "sort": ORDER, "milestone": NUMBER, "labels": TEXT, "poster": TEXT, **PAGE},
        ),
        _request("pulls/get"),
        _request(
            "pulls/create",
            needed={"title": TEXT, "head": TEXT, "base": TEXT},
            more={"body": TEXT, "assignee": TEXT, "due_date": MOMENT, "labels": NUMBERS, "milestone": NUMBER},
        ),
        _request("pulls/update", more={"title": TEXT, "body": TEXT, "base": TEXT, "state": STATE, "labels": NUMBERS}),
        _request(
            "issues/list-for-repo",
            {"state": STATE, "labels": TEXT, "q": TEXT, "type": {"enum": ["issues", "pulls"]}, "created_by": TEXT}
            | {"milestones": TEXT, "since": MOMENT, "before": MOMENT, "assigned_by": TEXT, "mentioned_by": TEXT}
            | PAGE,
        ),
        _request("issues/get"),
        _request("issues/list-comments", {"since": MOMENT, "before": MOMENT, **PAGE}),
        _request("issues/create-comment", needed={"body": TEXT}, more={"updated_at": MOMENT}),
        _request("issues/add-labels", needed={"labels": {"type": "array", "items": {"type": ["string", "integer"]}}}),
    )
}
"""What the operations that the program uses accept."""


def answer(operation: str, call: Call) -> tuple[int, Any, Mapping[str, str]]:
    size, page = min(int(call.query.get("limit", 30)), MOST), int(call.query.get("page", 1))
    call = replace(call, query={**call.query, "limit": str(size)})
    try:
        value = OPERATIONS[operation](call)
    except Refused as refused:
        is_duplicate = "already exists" in str(refused.body.get("errors", ""))
        message = "pull request already exists for these targets [id: 1]" if is_duplicate else str(refused)
        return (409 if is_duplicate else refused.status), {"message": message}, {}
    status = 201 if operation in ("pulls/create", "issues/create-comment", "pulls/update") else 200
    if not isinstance(value, list):
        return status, _changed(call, cast("Json", value)), {}
    items = cast("list[Json]", value)
    if operation != "pulls/list":
        return status, [_changed(call, one) for one in items], {}
    shown = [_changed(call, one) for one in items[size * (page - 1) : size * page]]
    if len(items) <= size * page:
        return status, shown, {}
    query = "&".join(f"{name}={text}" for name, text in {**call.query, "page": str(page + 1)}.items())
    link = f'<{call.world.url}{API}/repos/{call.world.owner}/{call.world.name}/pulls?{query}>; rel="next"'
    return status, shown, {"Link": link}


def _changed(call: Call, value: Json) -> Json:
    """Return an answer of GitHub as Forgejo gives it."""
    kept = {key: one for key, one in value.items() if key not in ("closed_by", "draft", "state_reason", "type")}
    if "user" in kept:
        kept["user"] = {"login": kept["user"]["login"]}
    if "head" in kept:
        branch = kept["head"]["ref"]
        is_there = bool(call.world.commit_of(branch))
        ref = branch if is_there else f"refs/pull/{kept['number']}/head"
        kept["head"] = {**kept["head"], "label": branch, "ref": ref}
    if "pull_request" in kept:
        kept["pull_request"] = {**kept["pull_request"], "merged": kept["pull_request"]["merged_at"] is not None}
    if "commit" in kept:  # of a branch
        kept["commit"] = {"id": kept["commit"]["sha"]}
    if "statuses" in kept:
        statuses = [{**one, "status": one["state"], "state": None} for one in kept["statuses"]]
        kept |= {"statuses": statuses or None, "total_count": len(statuses)}
    return kept
