"""What is on the test forge: issues, pull requests, comments, labels and workflow runs. Branches are git's own."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from repositories import git, try_git

Json = dict[str, Any]
MOMENT = "2026-11-01T10:00:00Z"


@dataclass(frozen=True)
class User:
    login: str
    type: str = "User"

    @property
    def facts(self) -> Json:
        return {"login": self.login, "id": sum(self.login.encode()), "type": self.type}


ME = User("donewhen-app[bot]", "Bot")
PERSON = User("ada")
BOT = User("stale[bot]", "Bot")


@dataclass
class Item:
    """An issue or a pull request: they share their numbers."""

    number: int
    title: str
    body: str
    author: User
    labels: list[str] = field(default_factory=list[str])
    branch: str = ""
    """Of a pull request."""
    base: str = ""
    comments: list[Json] = field(default_factory=list[Json], init=False)
    is_open: bool = field(default=True, init=False)
    closed_by: User | None = field(default=None, init=False)
    reason: str | None = field(default=None, init=False)
    merged_at: str | None = field(default=None, init=False)
    head: str = field(default="", init=False)
    """The last known commit of the branch."""
    draft: bool = field(default=False, init=False)
    fork_owner: str = field(default="", init=False)
    """The owner of the fork with the branch."""


@dataclass
class World:
    owner: str
    name: str
    bare: Path
    me: User = ME
    url: str = ""
    items: dict[int, Item] = field(default_factory=dict[int, Item], init=False)
    runs: list[Json] = field(default_factory=list[Json], init=False)
    check_runs: list[Json] = field(default_factory=list[Json], init=False)
    statuses: list[Json] = field(default_factory=list[Json], init=False)
    """Commit statuses, each with its commit as `sha`."""
    labels: list[str] = field(default_factory=lambda: ["bug"], init=False)
    comment_ids: int = field(default=0, init=False)

    def commit_of(self, branch: str) -> str:
        """Return the commit of a branch in the bare repository; empty if there is none."""
        ran = try_git(self.bare, "rev-parse", "--verify", "--quiet", f"refs/heads/{branch}^{{commit}}")
        return ran.stdout.decode().strip()

    def has_commits(self, base: str, head: str) -> bool:
        return git(self.bare, "rev-list", "--count", f"{base}..{head}") != "0"

    def add(self, title: str, body: str, author: User, **given: Any) -> Item:
        number = len(self.items) + 1
        self.items[number] = Item(number, title, body, author, **given)
        return self.items[number]

    def add_comment(self, item: Item, body: str, author: User) -> Json:
        self.comment_ids += 1
        address = f"https://example.invalid/{self.owner}/{self.name}/issues/{item.number}"
        comment = {
            "id": self.comment_ids,
            "body": body,
            "user": author.facts,
            "html_url": f"{address}#{self.comment_ids}",
        }
        item.comments.append(comment)
        return comment

    # -- as the API shows it --

    def repository(self, owner: str = "") -> Json:
        owner = owner or self.owner
        id = 1 if owner == self.owner else 2
        return {
            "id": id,
            "name": self.name,
            "full_name": f"{owner}/{self.name}",
            "owner": {"login": owner, "type": "User"},
            "default_branch": "main",
        }

    def pull(self, item: Item) -> Json:
        item.head = self.commit_of(item.branch) if item.is_open and not item.fork_owner else item.head
        owner = item.fork_owner or self.owner
        return {
            **self._shared(item),
            "draft": item.draft,
            "merged_at": item.merged_at,
            "html_url": f"https://example.invalid/{self.owner}/{self.name}/pull/{item.number}",
            "labels": [{"name": name} for name in item.labels],
            "head": {
                "label": f"{owner}:{item.branch}",
                "ref": item.branch,
                "sha": item.head,
                "repo": self.repository(owner),
            },
            "base": {"ref": item.base, "label": f"{self.owner}:{item.base}", "repo": self.repository()},
        }

    def issue(self, item: Item) -> Json:
        facts: Json = {
            **self._shared(item),
            "state_reason": item.reason,
            "closed_by": item.closed_by.facts if item.closed_by else None,
            "comments": len(item.comments),
            "labels": [{"name": name, "color": "ededed"} for name in item.labels],
        }
        if item.branch:
            facts["pull_request"] = {"merged_at": item.merged_at}
        return facts

    def _shared(self, item: Item) -> Json:
        return {
            "id": 1000 + item.number,
            "number": item.number,
            "title": item.title,
            "body": item.body,
            "state": "open" if item.is_open else "closed",
            "locked": False,
            "closed_at": None if item.is_open else MOMENT,
            "user": item.author.facts,
        }
