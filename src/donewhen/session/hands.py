"""What a session gives to an engine that has others work: each a tree, a notebook, a share of the budget.

The gate and the union of their work are judged by this session's contract beside its base, or beside what was reached
in between. Who is let to work, and how often, is not decided here.
"""

import contextlib
import hashlib
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Protocol

import anyio

from donewhen.engines.base import Asker, Meter, Note, Notebook, Time
from donewhen.events import Event
from donewhen.judge.contract import Contract
from donewhen.session.beside import Beside, beside
from donewhen.session.makers import maker_tree, pin
from donewhen.session.meter import Budget, Share
from donewhen.session.opened import Opened
from donewhen.session.recorder import Recorder, RungNotebook
from donewhen.session.workplace import Workplace
from donewhen.union.asking import Reader
from donewhen.union.gate import Gate
from donewhen.union.integrate import Integration
from donewhen.union.known import Members
from donewhen.union.patch import Patch
from donewhen.union.uniting import Uniting
from donewhen.workspace import leftovers
from donewhen.workspace.maker import Maker
from donewhen.workspace.objects import Entry, raw
from donewhen.workspace.store import Store
from donewhen.workspace.store.bare import LARGEST_SHOWN


class PartNotebook(RungNotebook):
    """Notes of one part. What is told through it is told of its subtask."""

    def __init__(self, recorder: Recorder, rung: str, subtask: str) -> None:
        super().__init__(recorder, rung)
        self._subtask = subtask

    def write(self, note: Note | None, *events: Event) -> None:
        told = [event.of_subtask(self._subtask) for event in events] if self._subtask else events
        super().write(note, *told)


@dataclass(slots=True)
class PartAsker:
    """One person for several who may ask: one question after the other, with the name of who asks."""

    asker: Asker
    subtask: str
    turn: anyio.Lock

    async def ask(self, id: str, prompt: str) -> str:
        # A worker that begins anew may give its questions the ids of before: the words belong to an answer as well.
        digest = hashlib.sha256(prompt.encode("utf-8", "replace")).hexdigest()[:12]
        async with self.turn:
            return await self.asker.ask(f"{self.subtask}-{id}-{digest}", f"[{self.subtask}] {prompt}")


class Bench(Protocol):
    """What every round of the session is worked with."""

    @property
    def place(self) -> Workplace: ...
    @property
    def opened(self) -> Opened: ...
    @property
    def recorder(self) -> Recorder: ...
    @property
    def budget(self) -> Budget: ...
    @property
    def asker(self) -> Asker | None: ...


@dataclass(slots=True)
class SessionHands:
    bench: Bench
    rung: str
    """Under whose name the notes are kept."""
    _turn: anyio.Lock = field(default_factory=anyio.Lock)
    _judges: anyio.Lock = field(default_factory=anyio.Lock)
    """What things are compared with is found out once."""
    _beside: dict[str, Beside] = field(default_factory=dict[str, Beside])
    """By the tree that things are compared with."""

    @property
    def store(self) -> Store:
        return self.bench.place.store

    @property
    def reader(self) -> Reader:
        return Reader(self.bench.place.launcher, self.bench.place.probe)

    @property
    def held_out(self) -> frozenset[str]:
        return frozenset(check.name for check in self.bench.opened.contract.checks if check.held_out)

    async def base(self) -> str:
        return await self.bench.place.store.tree_of(self.bench.opened.base)

    def notebook(self, part: str, subtask: str = "") -> Notebook:
        return PartNotebook(self.bench.recorder, f"{self.rung}/{part.replace('.', '~')}", subtask)

    def asker(self, subtask: str) -> Asker | None:
        return PartAsker(self.bench.asker, subtask, self._turn) if self.bench.asker is not None else None

    def share(self, parts: int) -> Meter:
        return Share(self.bench.budget, parts)

    def time(self) -> Time:
        silence = self.bench.opened.settings.number("limits", "silence_secs")
        return Time(left_secs=self.bench.budget.seconds_left(), silence_secs=silence)

    @contextlib.asynccontextmanager
    async def maker(self, part: str, ground: str) -> AsyncGenerator[Maker]:
        tree = await maker_tree(self.bench.place, self.bench.opened, self.bench.recorder, part, ground)
        is_over = False
        try:
            yield Maker(self.bench.place.trees, tree, self.bench.place.room(tree))
            is_over = True
        finally:
            if not is_over:
                leftovers.let_go(tree)
        await self.bench.place.trees.remove(tree, discard=True)
        await self.bench.place.store.release(f"trees/{tree.facts.name}")

    async def made(self, part: str, maker: Maker) -> str:
        made = await self.bench.place.candidate_of(await maker.snapshot(), self.bench.opened.base)
        tree = await _without_leavings(self.bench, made)
        await self.bench.place.store.keep(pin(self.bench.opened.session, part), tree)
        return tree

    async def patch(self, ground: str, tree: str) -> str:
        store, place = self.store, self.bench.place
        diff = await store.patch(await place.as_shown(ground), await place.as_shown(tree), LARGEST_SHOWN)
        return diff.decode("utf-8", "replace")

    async def show(self, maker: Maker, ground: str) -> None:
        await maker.restore(await self.bench.place.as_shown(ground))

    async def uniting(
        self, ground: str, patches: Mapping[str, Patch] = MappingProxyType({}), before: Members = (), subtask: str = ""
    ) -> Uniting:
        async with self._judges:
            judging = await self._judging(ground)
        if subtask:
            judging = replace(judging, emit=partial(_tell_of, self.bench.recorder, subtask))
        store, reader, base = self.store, self.reader, await self.base()
        gate = Gate(
            store=store, base=base, reader=reader, judging=judging, allowed=editable(self.bench.opened.contract)
        )
        integration = Integration(store, ground, reader, patches)
        return Uniting(gate, integration, judging, self.bench.recorder.emit, before=before, keeps_gains=True)

    async def _judging(self, ground: str) -> Beside:
        """What was reached with the ground must stay, just as what was green on the base."""
        if not self._beside:
            base, emit = self.bench.opened.base, self.bench.recorder.emit
            first = await beside(self.bench.place, self.bench.opened.contract, base, emit, tell=False)
            self._beside[await self.base()] = first
        if ground not in self._beside:
            self._beside[ground] = await next(iter(self._beside.values())).on(ground)
        return self._beside[ground]


def _tell_of(recorder: Recorder, subtask: str, event: Event) -> None:
    recorder.emit(event.of_subtask(subtask))


async def _without_leavings(bench: Bench, tree: str) -> str:
    """A tree without what tools leave behind while they are used, where that was not there before."""
    from donewhen.judge.protect import Guard
    from donewhen.workspace.store import edit

    place, base = bench.place, bench.opened.base
    files = await place.trees.layers.root_of(base)
    names = Guard(bench.opened.contract, files).names
    changes = await place.store.diff(await place.store.tree_of(base), tree)
    left: dict[bytes, Entry | None] = {
        raw(change.path): None for change in changes if change.old is None and names.installed(change.path)
    }
    return await edit.with_changes(place.store.bare, tree, left) if left else tree


def editable(contract: Contract) -> Callable[[str], bool]:
    """Whether the contract declares a path editable that is protected otherwise."""
    from donewhen.judge.protect import globs

    return lambda path: bool(globs.first_match(contract.editable, path))
