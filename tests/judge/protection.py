"""A base, contracts and candidates for tests of protection, with real stores."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from donewhen.judge.contract import Check, Contract
from donewhen.judge.protect import GradedTree, Guard, grade_candidate
from donewhen.judge.verdict import Edit
from donewhen.workspace.beneath import Root
from donewhen.workspace.git.objects import FILE, LINK, PROGRAM, TreeEntry, parse_ls_tree, raw, text
from donewhen.workspace.git.store import Store, edit_tree
from repositories import Files, opened, repository


@dataclass(frozen=True, slots=True)
class Program:
    """An executable file."""

    content: str


@dataclass(frozen=True, slots=True)
class Link:
    to: str


Made = str | bytes | Program | Link | None
"""The content of a candidate at a path; None if it has nothing there."""


@dataclass(frozen=True, slots=True)
class Outcome:
    judged: GradedTree
    files: dict[str, str]
    """The judged tree, path → content."""
    control: dict[str, str]

    @property
    def edits(self) -> dict[str, Edit]:
        return {edit.path: edit for edit in self.judged.edits}


@dataclass(frozen=True, slots=True)
class Scene:
    store: Store
    base_files: Path
    sites: Sequence[Path]
    contract: Contract

    async def judge(self, made: Mapping[str, Made], contract: Contract | None = None) -> Outcome:
        base = self.store.repo.head
        tree = await self.candidate(made)
        found = await grade_candidate(self.store, base, tree, self.guard(contract), self.sites)
        return Outcome(found, await self.content(found.tree), await self.content(found.control))

    async def candidate(self, made: Mapping[str, Made]) -> str:
        tree = await self.store.tree_of(self.store.repo.head)
        gone = [path for path in await self.content(tree) if _stands_in_the_way(path, made)]
        entries = {raw(path): self._entry(what) for path, what in made.items()}
        return await edit_tree.with_changes(self.store.bare, tree, {raw(path): None for path in gone} | entries)

    def _entry(self, what: Made) -> TreeEntry | None:
        match what:
            case None:
                return None
            case Program(content):
                return TreeEntry(PROGRAM, self.store.bare.write("blob", content.encode()))
            case Link(to):
                return TreeEntry(LINK, self.store.bare.write("blob", to.encode()))
            case _:
                return TreeEntry(FILE, self.store.bare.write("blob", what.encode() if isinstance(what, str) else what))

    async def content(self, tree: str) -> dict[str, str]:
        found = list(parse_ls_tree(await self.store.bare.run("ls-tree", "-r", "-z", tree)))
        contents = await self.store.bare.contents([entry.id for _, entry in found])
        return {
            text(path): content.decode("utf-8", "surrogateescape")
            for (path, _), content in zip(found, contents, strict=True)
        }

    def guard(self, contract: Contract | None = None) -> Guard:
        return Guard(contract or self.contract, Root(self.base_files))


def _stands_in_the_way(path: str, made: Mapping[str, Made]) -> bool:
    """A path of a candidate replaces a file above it and a directory of that name."""
    return any(
        what is not None and path not in made and (path.startswith(f"{other}/") or other.startswith(f"{path}/"))
        for other, what in made.items()
    )


def contract(*commands: str, protect: Sequence[str] = (), editable: Sequence[str] = (), where: str = ".") -> Contract:
    checks = tuple(Check(name=f"check{number}", command=command, dir=where) for number, command in enumerate(commands))
    return Contract(checks=checks, protect=tuple(protect), editable=tuple(editable))


@asynccontextmanager
async def scene(
    directory: Path, files: Files, of: Contract | str = "pytest -q", sites: Sequence[Path] = ()
) -> AsyncGenerator[Scene]:
    root = repository(directory / "r", files)
    async with opened(root, directory / "state") as store:
        base_files = directory / "base"
        await store.check_out(store.repo.head, base_files)
        yield Scene(store, base_files, sites, of if isinstance(of, Contract) else contract(of))
