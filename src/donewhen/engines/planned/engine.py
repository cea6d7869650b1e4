"""The builder of a plan: another engine that gets the plan and a tracker that it may update.

The native engine updates the tracker with a tool. An agent edits a file in its tree: the file is written for the
attempt, read back as data and removed again. It is never part of the candidate. This module makes neither the plan nor
the verdict.
"""

import contextlib
import shlex
from collections.abc import AsyncGenerator
from dataclasses import replace

import anyio

from donewhen.engines.interface import Attempt, Engine, Job, PlanTracker
from donewhen.engines.planned import prompts
from donewhen.engines.spec import TrackerMode
from donewhen.events import Emit
from donewhen.records import frozen
from donewhen.workspace.git.store import edit_tree
from donewhen.workspace.sandbox.sandbox import ShellCommand
from donewhen.workspace.trees.maker import Maker
from donewhen.workspace.trees.overlay import FileProblem

FILES = (".donewhen/tracker.md", ".donewhen/tracker-of-this-session.md")
"""The second name is used if the repository already has the first one."""
LONGEST_FILE = 1024 * 1024
REMOVAL_SECS = 30


@frozen
class PlannedEngine:
    builder: Engine
    tracker_mode: TrackerMode

    @property
    def name(self) -> str:
        return self.builder.name

    async def attempt(self, job: Job, emit: Emit) -> Attempt:
        plan = job.plan
        assert plan is not None  # the caller always sets the plan of the job
        if self.tracker_mode == "tool":
            return await self.builder.attempt(_builder_job(job, plan, prompts.BY_TOOL), emit)
        job = replace(job, plan=None)
        if self.tracker_mode == "words":
            return await self.builder.attempt(_builder_job(job, plan, prompts.BY_LAST_TEXT), emit)
        async with _tracker_file(job.maker, plan) as path:
            return await self.builder.attempt(_builder_job(job, plan, prompts.BY_FILE.format(file=path)), emit)


def _builder_job(job: Job, plan: PlanTracker, how: str) -> Job:
    return replace(job, intent=prompts.builder_task(job.intent, plan.spec, plan.tracker(), how))


@contextlib.asynccontextmanager
async def _tracker_file(maker: Maker, plan: PlanTracker) -> AsyncGenerator[str]:
    """Write the tracker as a file of the tree while the block runs."""
    store = maker.trees.store
    base = await store.tree_of(maker.tree.facts.base)
    path = FILES[0] if await edit_tree.file_in(store.bare, base, FILES[0]) is None else FILES[1]
    # A file left by a process that died is not read: its work is undone, so its item states are dropped too.
    maker.files.write(path, plan.tracker().encode())
    try:
        yield path
    finally:
        with anyio.CancelScope(shield=True):
            _read_back(maker, plan, path)
            removal = f"rm -rf -- {shlex.quote(path)}; rmdir -- .donewhen 2>/dev/null; true"
            await maker.sandbox.run(ShellCommand(text=removal, timeout_secs=REMOVAL_SECS))


def _read_back(maker: Maker, plan: PlanTracker, path: str) -> None:
    with contextlib.suppress(FileProblem):  # it was removed, or is not text any more: nothing to read
        plan.read_back(maker.files.read_text(path, LONGEST_FILE))
