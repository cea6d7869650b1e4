"""Whoever builds what was planned: another engine, told of the plan, with a tracker that it may update.

Our own engine updates the tracker with a tool. An agent of others edits a file in its tree, which is put there for the
attempt, read back as data and taken away again: it is never a part of what was made. Neither the plan nor the verdict
is made here.
"""

import contextlib
import shlex
from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import Literal

import anyio

from donewhen.engines.base import Attempt, Engine, Job, Planned
from donewhen.engines.planned import words
from donewhen.events import Emit
from donewhen.records import frozen
from donewhen.workspace.maker import Maker
from donewhen.workspace.merged import FileProblem
from donewhen.workspace.sandbox.room import ShellCommand
from donewhen.workspace.store import edit

FILES = (".donewhen/tracker.md", ".donewhen/tracker-of-this-session.md")
"""The second where the repository has the first."""
LONGEST_FILE = 1024 * 1024
REMOVAL_SECS = 30
How = Literal["tool", "file", "words"]
"""In which way a builder says how far the items are."""


@frozen
class PlannedEngine:
    builder: Engine
    how: How

    @property
    def name(self) -> str:
        return self.builder.name

    async def attempt(self, job: Job, emit: Emit) -> Attempt:
        plan = job.planned
        assert plan is not None  # whoever has something built by a plan gives it to the job
        if self.how == "tool":
            return await self.builder.attempt(_told(job, plan, words.BY_TOOL), emit)
        if self.how == "words":
            return await self.builder.attempt(replace(_told(job, plan, words.BY_WORDS), planned=None), emit)
        async with _as_file(job.maker, plan) as path:
            told = replace(_told(job, plan, words.BY_FILE.format(file=path)), planned=None)
            return await self.builder.attempt(told, emit)


def _told(job: Job, plan: Planned, how: str) -> Job:
    return replace(job, intent=words.building(job.intent, plan.spec, plan.tracker(), how))


@contextlib.asynccontextmanager
async def _as_file(maker: Maker, plan: Planned) -> AsyncGenerator[str]:
    """The tracker as a file of the tree, for as long as the block runs."""
    path = await _free_name(maker)
    # What one whose process died has written there is not read: its work is undone, and so is what it said of it.
    maker.files.write(path, plan.tracker().encode())
    try:
        yield path
    finally:
        with anyio.CancelScope(shield=True):
            _read_back(maker, plan, path)
            removal = f"rm -rf -- {shlex.quote(path)}; rmdir -- .donewhen 2>/dev/null; true"
            await maker.room.run(ShellCommand(text=removal, timeout_secs=REMOVAL_SECS))


async def _free_name(maker: Maker) -> str:
    store = maker.trees.store
    base = await store.tree_of(maker.tree.facts.base)
    return FILES[0] if await edit.file_in(store.bare, base, FILES[0]) is None else FILES[1]


def _read_back(maker: Maker, plan: Planned, path: str) -> None:
    with contextlib.suppress(FileProblem):  # it was removed, or is no text any more: then it says nothing
        plan.read_back(maker.files.read_text(path, LONGEST_FILE))
