"""The differences of Forgejo's and Gitea's API, for the operations that the program uses. No description validates it.

From Gitea's source: a list is not filtered by branch; the branch is in `label`, and `ref` is another one after the
branch was deleted; a duplicate is 409; there is no `draft` and no `closed_by`; an account has no type; the commit of a
branch has an `id`, and a commit status has a `status`; the number of statuses is that of the page, and an empty list of
them is null.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from .operations import OPERATIONS, Call, Refused
from .world import Json

API = "/api/v1"
MOST = 50
"""Items on a page, whatever a request says."""
PARAMETERS = {
    "pulls/list": {"state", "sort", "milestone", "labels", "poster", "base_branch", "page", "limit"},
    "issues/list-comments": {"since", "before", "page", "limit"},
    "issues/list-for-repo": {
        "state",
        "labels",
        "q",
        "type",
        "milestones",
        "since",
        "before",
        "created_by",
        "assigned_by",
        "mentioned_by",
        "page",
        "limit",
    },
    "repos/get-combined-status-for-ref": {"page", "limit"},
}
KEYS = {
    "pulls/create": {"assignee", "assignees", "base", "body", "due_date", "head", "labels", "milestone", "title"},
    "pulls/update": {"title", "body", "base", "state", "labels"},
    "issues/create-comment": {"body"},
    "issues/add-labels": {"labels"},
}


def problems(operation: str, call: Call) -> list[str]:
    wrong = [f"unknown parameter {name}" for name in call.query if name not in PARAMETERS.get(operation, ())]
    return wrong + [f"unknown key {name}" for name in call.body or () if name not in KEYS.get(operation, ())]


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
    items = [_changed(call, one) for one in cast("list[Json]", value)]
    if operation != "pulls/list" or len(items) <= size * page:
        return status, items[size * (page - 1) :] if operation == "pulls/list" else items, {}
    query = "&".join(f"{name}={text}" for name, text in {**call.query, "page": str(page + 1)}.items())
    link = f'<{call.world.url}{API}/repos/{call.world.owner}/{call.world.name}/pulls?{query}>; rel="next"'
    return status, items[size * (page - 1) : size * page], {"Link": link}


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
