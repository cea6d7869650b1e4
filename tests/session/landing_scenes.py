"""Verified work that waits for its landing, in a real repository and workplace, for tests of landing."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from donewhen.judge.verdict import CheckStatus, Edit, Result, Verdict
from donewhen.session.conclude.land import LandingPlan
from donewhen.session.workplace import Workplace, open_workplace
from donewhen.workspace.git.objects import FILE, TreeEntry
from donewhen.workspace.git.store.edit_tree import with_changes
from repositories import git, try_git

DIGEST, SECOND_DIGEST = "sha256:" + "ab" * 32, "sha256:" + "cd" * 32
WORK = {b"a.txt": b"changed\n", b"new/x": b"x\n", b"gone": None}
BASE = {"a.txt": "a\n", "b.txt": "b\n", "gone": "g\n"}


async def tree_with(place: Workplace, files: Mapping[bytes, bytes | None], commit: str = "") -> str:
    bare = place.store.bare
    entries = {path: TreeEntry(FILE, bare.write("blob", content)) if content is not None else None
               for path, content in files.items()}  # fmt: skip
    return await with_changes(bare, await place.store.tree_of(commit or place.repo.head), entries)


async def plan_for(place: Workplace, files: Mapping[bytes, bytes | None] = WORK, session: str = "s1") -> LandingPlan:
    """The plan of a session that started at HEAD and changed these files."""
    head = place.repo.head
    return LandingPlan(
        session=session,
        intent="Change the files",
        base=head,
        tree=await tree_with(place, files),
        parent=head,
        receipt_digest=DIGEST,
        at="2025-06-07T08:09:10+00:00",
    )


@asynccontextmanager
async def workplace(root: Path) -> AsyncGenerator[Workplace]:
    async with open_workplace(root) as place:
        yield place


@dataclass
class Rejudging:
    """A judge that gives the results of a scene and records its requests."""

    status: CheckStatus = CheckStatus.PASS
    taken_back: Edit | None = None
    tree: str = ""
    asked: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    receipts: int = 0

    async def judge(self, base: str, tree: str) -> Verdict:
        self.asked.append((base, tree))
        edits = (self.taken_back,) if self.taken_back else ()
        results = (Result(name="tests", status=self.status),)
        return Verdict(base=base, candidate=tree, tree=self.tree or tree, results=results, edits=edits)

    async def write_receipt(self, verdict: Verdict) -> str:
        self.receipts += 1
        assert verdict.green
        return SECOND_DIGEST


def trailers(root: Path, commit: str) -> str:
    return git(root, "log", "-1", "--format=%(trailers:unfold)", commit)


def is_sound(root: Path) -> None:
    """The user's git finds no errors, and no lock or scratch file of ours is left."""
    ran = try_git(root, "fsck", "--strict", "--full", "--no-dangling")
    assert (ran.returncode, ran.stderr) == (0, b""), ran.stderr.decode()
    left = [path for path in (root / ".git").rglob("*") if path.suffix == ".lock" or "donewhen-" in path.name]
    assert left == []
