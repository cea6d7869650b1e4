"""All branches of the repository, compared with the commit that is checked out. Git runs in our store.

Branches of donewhen are left out: `donewhen inbox` has them.
"""

from donewhen.loops.readings.listing import listing
from donewhen.printable import one_line
from donewhen.records import frozen
from donewhen.session.workplace import Workplace
from donewhen.workspace.git.store import object_mirror

OURS = ("refs/heads/donewhen/", "refs/remotes/origin/donewhen/")
MOST_BRANCHES = 60
"""Each costs a run of git. The oldest are left out."""
FORMAT = "%(refname)%09%(objectname)%09%(committerdate:short)%09%(authorname)%09%(contents:subject)"


@frozen
class BranchFacts:
    name: str
    commit: str
    facts: str


async def read_branches(workplace: Workplace) -> str:
    repo, bare = workplace.repo, workplace.store.bare
    await object_mirror.refresh(bare, repo)
    printed = await bare.run(
        "for-each-ref", "--sort=-committerdate", f"--format={FORMAT}", "refs/heads", "refs/remotes"
    )
    found = [_branch(line) for line in printed.decode("utf-8", "replace").splitlines()]
    here = f"refs/heads/{repo.branch}"
    others = [
        one
        for one in found
        if one.name != here and not one.name.startswith(OURS) and not one.name.endswith("/HEAD") and one.commit
    ]
    entries = [await _compared(workplace, one) for one in others[:MOST_BRANCHES]]
    left = f" ({len(others) - MOST_BRANCHES} older ones are not shown)" if len(others) > MOST_BRANCHES else ""
    return listing(f"Commits of branches, compared with {one_line(repo.branch) or repo.head[:12]}{left}:", entries)


def _branch(line: str) -> BranchFacts:
    name, commit, date, author, subject = (line.split("\t", 4) + [""] * 4)[:5]
    return BranchFacts(name, commit, one_line(f"last commit {commit[:12]}, {date}, {author}: {subject}"))


async def _compared(workplace: Workplace, branch: BranchFacts) -> str:
    """Return a branch as text. A commit whose change is here under another id counts as merged."""
    head = workplace.repo.head
    arguments = ("rev-list", "--left-right", "--cherry-mark", "--count", f"{head}...{branch.commit}")
    behind, ahead, _ = (int(word) for word in (await workplace.store.bare.run(*arguments)).split())
    state = f"{ahead} of its own" if ahead else "merged"
    shown = branch.name.removeprefix("refs/heads/").removeprefix("refs/remotes/")
    return f"{one_line(shown)}: {state}, {behind} behind\n  {branch.facts}"
