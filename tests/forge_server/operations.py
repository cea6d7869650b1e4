"""What each operation of the API does to the world of the test forge, as GitHub documents it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from .world import Item, Json, World

INVALID = "Validation Failed"


@dataclass(frozen=True)
class Call:
    """A request that fits the description."""

    world: World
    path: Mapping[str, str]
    query: Mapping[str, str]
    body: Any

    def item(self) -> Item:
        number = int(self.path.get("pull_number") or self.path["issue_number"])
        item = self.world.items.get(number)
        if item is None or ("pull_number" in self.path and not item.branch):
            raise Refused(404, "Not Found")
        return item


class Refused(Exception):
    def __init__(self, status: int, message: str, errors: list[Json] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.body: Json = {"message": message, "documentation_url": "https://example.invalid/rest"}
        if errors is not None:
            self.body["errors"] = errors


def _invalid(field: str) -> Refused:
    return Refused(422, INVALID, [{"resource": "PullRequest", "field": field, "code": "invalid"}])


def _custom(message: str) -> Refused:
    return Refused(422, INVALID, [{"resource": "PullRequest", "code": "custom", "message": message}])


def _pulls(call: Call) -> list[Item]:
    """The pull requests of a list, in its order."""
    state, head = call.query.get("state", "open"), call.query.get("head", "")
    found = [item for item in call.world.items.values() if item.branch and _has_state(item, state)]
    if ":" in head:  # GitHub ignores a filter without the owner
        found = [one for one in found if f"{one.fork_owner or call.world.owner}:{one.branch}" == head]
    if poster := call.query.get("poster"):  # a parameter of Forgejo
        found = [one for one in found if one.author.login == poster]
    if base := call.query.get("base"):
        found = [one for one in found if one.base == base]
    newest_first = call.query.get("direction", "desc" if call.query.get("sort", "created") == "created" else "asc")
    return sorted(found, key=lambda one: one.number, reverse=newest_first == "desc")


def _has_state(item: Item, state: str) -> bool:
    return state == "all" or item.is_open == (state == "open")


def _create_pull(call: Call) -> Json:
    world, body = call.world, call.body
    branch = body["head"].removeprefix(f"{world.owner}:")
    if not world.commit_of(branch):
        raise _invalid("head")
    if not world.commit_of(body["base"]):
        raise _invalid("base")
    own = [item for item in world.items.values() if item.branch == branch and not item.fork_owner]
    if any(item.is_open and item.base == body["base"] for item in own):
        raise _custom(f"A pull request already exists for {world.owner}:{branch}.")
    if not world.has_commits(body["base"], branch):
        raise _custom(f"No commits between {body['base']} and {branch}")
    item = world.add(
        body["title"],
        body.get("body", ""),
        world.me,
        branch=branch,
        base=body["base"],
    )
    item.draft = body.get("draft", False)
    return world.pull(item)


def _update(call: Call) -> Item:
    item = call.item()
    item.title = call.body.get("title", item.title)
    item.body = call.body.get("body", item.body)
    if "state" in call.body:
        item.is_open = call.body["state"] == "open"
        item.closed_by = None if item.is_open else call.world.me
        item.reason = call.body.get("state_reason", item.reason)
    return item


def _add_labels(call: Call) -> list[Json]:
    item = call.item()
    body: Any = call.body
    given = cast("list[Any]", body if isinstance(body, list) else body["labels"])
    names: list[str] = [one if isinstance(one, str) else one["name"] for one in given]
    item.labels += [name for name in dict.fromkeys(names) if name not in item.labels]
    return _labels(item.labels)


def _labels(names: list[str]) -> list[Json]:
    return [{"name": name, "color": "ededed"} for name in names]


def _create_label(call: Call) -> Json:
    call.world.labels.append(call.body["name"])
    return _labels([call.body["name"]])[0]


def _issues(call: Call) -> list[Json]:
    """The issues of a list; pull requests are issues."""
    found = [one for one in call.world.items.values() if _has_state(one, call.query.get("state", "open"))]
    if creator := call.query.get("creator"):
        found = [one for one in found if one.author.login == creator]
    for label in filter(None, call.query.get("labels", "").split(",")):
        found = [one for one in found if label in one.labels]
    return [call.world.issue(one) for one in sorted(found, key=lambda one: -one.number)]


def _create_issue(call: Call) -> Json:
    labels = [str(one) for one in call.body.get("labels", [])]
    return call.world.issue(call.world.add(call.body["title"], call.body.get("body", ""), call.world.me, labels=labels))


def _get_ref(call: Call) -> Json:
    name = call.path["ref"].removeprefix("heads/")
    commit = call.world.commit_of(name)
    if not commit:
        raise Refused(404, "Not Found")
    return {"ref": f"refs/heads/{name}", "object": {"sha": commit, "type": "commit"}}


def _branch(call: Call) -> Json:
    commit = call.world.commit_of(call.path["branch"])
    if not commit:
        raise Refused(404, "Branch not found")
    return {"name": call.path["branch"], "commit": {"sha": commit}}


def _runs(call: Call) -> Json:
    query = call.query
    found = [run for run in call.world.runs if query.get("status", "") in ("", run["conclusion"], run["status"])]
    found = [run for run in found if query.get("branch", "") in ("", run["head_branch"])]
    return {"total_count": len(found), "workflow_runs": found}


def _check_runs(call: Call) -> Json:
    commit = call.world.commit_of(call.path["ref"]) or call.path["ref"]
    found = [run for run in call.world.check_runs if run["head_sha"] == commit]
    return {"total_count": len(found), "check_runs": _paged(call, found)}


def _paged(call: Call, items: list[Json]) -> list[Json]:
    """One page of a list that is inside an object: such an answer has no `Link` field."""
    size, page = int(call.query.get("per_page", call.query.get("limit", 30))), int(call.query.get("page", 1))
    return items[size * (page - 1) : size * page]


def _combined_status(call: Call) -> Json:
    commit = call.world.commit_of(call.path["ref"]) or call.path["ref"]
    found = [status for status in call.world.statuses if status["sha"] == commit]
    shown = [{key: value for key, value in status.items() if key != "sha"} for status in found]
    states = {status["state"] for status in found}
    state = (
        "failure" if states & {"failure", "error"} else "pending" if states - {"success"} or not states else "success"
    )
    return {"state": state, "sha": commit, "total_count": len(shown), "statuses": _paged(call, shown)}


def _pulls_of_commit(call: Call) -> list[Json]:
    pulls = [call.world.pull(item) for item in call.world.items.values() if item.branch]
    return [pull for pull in pulls if pull["head"]["sha"] == call.path["commit_sha"]]


def _comment(call: Call) -> Json:
    return call.world.add_comment(call.item(), call.body["body"], call.world.me)


OPERATIONS: Mapping[str, Callable[[Call], Any]] = {
    "users/get-authenticated": lambda call: call.world.me.facts,
    "repos/get": lambda call: call.world.repository(),
    "repos/get-branch": _branch,
    "repos/list-pull-requests-associated-with-commit": _pulls_of_commit,
    "pulls/list": lambda call: [call.world.pull(item) for item in _pulls(call)],
    "pulls/get": lambda call: call.world.pull(call.item()),
    "pulls/create": _create_pull,
    "pulls/update": lambda call: call.world.pull(_update(call)),
    "issues/list-for-repo": _issues,
    "issues/get": lambda call: call.world.issue(call.item()),
    "issues/create": _create_issue,
    "issues/update": lambda call: call.world.issue(_update(call)),
    "issues/list-comments": lambda call: list(call.item().comments),
    "issues/create-comment": _comment,
    "issues/list-labels-for-repo": lambda call: _labels(call.world.labels),
    "issues/create-label": _create_label,
    "issues/list-labels-on-issue": lambda call: _labels(call.item().labels),
    "issues/add-labels": _add_labels,
    "git/get-ref": _get_ref,
    "git/list-matching-refs": lambda call: [_get_ref(call)] if call.world.commit_of(call.path["ref"][6:]) else [],
    "actions/list-workflow-runs-for-repo": _runs,
    "checks/list-for-ref": _check_runs,
    "repos/get-combined-status-for-ref": _combined_status,
}
"""By the id of the operation in the description."""
