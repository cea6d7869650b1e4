"""The native engine: call the model, run its tool calls, return the results, until the model calls no more tools.

Every step is written as a note before any code relies on it. A round always continues from its notes, whether this
process wrote them or one that died. Recorded replies are not requested again, and finished calls are not run again. A
change that has begun and has no result is undone and made again. This module does not judge the work.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

import anyio
import anyio.to_thread

from donewhen.engines.interface import Attempt, EngineNote, Job, OutOfBudget
from donewhen.engines.native import prompt
from donewhen.engines.native.conversation import Conversation
from donewhen.engines.native.notes import (
    CallBegunNote,
    CallResultNote,
    RoundNote,
    SystemNote,
    TurnFailedNote,
    TurnNote,
)
from donewhen.engines.native.reply import bounded, with_ids
from donewhen.engines.native.tools import ERROR, ToolContext, ToolOutput, carry_out, effect_of, offered
from donewhen.engines.native.tools.clip import MOST_BYTES, clipped
from donewhen.events import Emit, Error, Event, ModelFallback, ModelTurn, PlanText, ToolCall, ToolResult, preview
from donewhen.model.interface import Call, Model, ModelFailed, ModelWaits, Reply, Turn
from donewhen.records import frozen
from donewhen.workspace.policy import Policy
from donewhen.workspace.trees.capture.refusals import CandidateRefused

FAILURES_IN_A_ROW = 3
SAME_FAILURE_TOLD, SAME_FAILURE_ENDS = 3, 6
SHARE_TO_CARRY, SHARE_TO_GO_ON = 0.7, 0.9
"""Fractions of the context window. Above the first one the next round starts a new conversation (context `auto`); above
the second one this round ends."""

Context = Literal["auto", "fresh", "carry"]


@frozen(kw_only=True)
class NativeConfig:
    policy: Policy
    context: Context = "auto"
    max_tokens_per_turn: int = 4096
    window_tokens: int = 120_000
    reads_only: bool = False
    """For a role that only reads the tree and answers: the last text is the answer."""
    temperature: float = 0


@frozen
class NativeEngine:
    model: Model
    config: NativeConfig

    @property
    def name(self) -> str:
        return "native"

    async def attempt(self, job: Job, emit: Emit) -> Attempt:
        del emit  # every event here belongs to a note and is written with it
        bench = ToolContext(job.maker, self.config.policy, job.asker, self.config.reads_only, job.planned, job.probe)
        return await NativeRound(self.model, self.config, job, bench, Conversation.of(job.notebook.notes())).go_on()


@dataclass(slots=True)
class NativeRound:
    model: Model
    config: NativeConfig
    job: Job
    bench: ToolContext
    talk: Conversation

    async def go_on(self) -> Attempt:
        """Run the round from the state of the notes to its end."""
        await self._open()
        while True:
            await self._answer_calls()
            ended = self._ended()
            if ended is not None:
                return ended
            try:
                self.job.meter.require()
            except OutOfBudget:
                return Attempt(stop="budget")
            try:
                self._take(await self.model.reply(self._turn(), self.job.on_text))
            except ModelWaits as waits:
                if waits.bill.usage.total:
                    self.job.notebook.write(None, self.job.meter.spent(waits.bill.usage, waits.bill.usd))
                raise
            except ModelFailed as failure:
                bill = failure.bill
                spent = [self.job.meter.spent(bill.usage, bill.usd)] if bill.usage.total else []
                failed = TurnFailedNote.of(self.job.role, self.job.iteration, failure)
                self._write(failed, Error(kind="model", message=str(failure)), *spent)
                if failure.final or self.talk.turns.failures >= FAILURES_IN_A_ROW:
                    return Attempt(stop="model_failed", problem=str(failure))

    async def _open(self) -> None:
        if self.job.contract.strip() not in self.talk.system or not self.talk.system:
            text = await anyio.to_thread.run_sync(prompt.system_text, self.job, self.job.maker.files)
            self._write(SystemNote(text))
        if self.talk.iteration != self.job.iteration:
            fresh = self._starts_afresh()
            text = prompt.opening(self.job) if fresh else prompt.follow_up(self.job)
            self._write(RoundNote(self.job.iteration, fresh, text))

    def _starts_afresh(self) -> bool:
        filled = self.talk.turns.filled / self.config.window_tokens
        if not self.talk.messages or self.config.context == "fresh" or filled > SHARE_TO_GO_ON:
            return True
        return self.config.context == "auto" and (self.job.reds >= 2 or filled > SHARE_TO_CARRY)

    def _ended(self) -> Attempt | None:
        talk = self.talk
        if talk.claim is not None:
            return Attempt(stop="claim", said=talk.claim.summary, claim=talk.claim)
        if talk.closing_words is not None:
            return Attempt(stop="done", said=talk.closing_words)
        full = talk.turns.replies > 0 and talk.turns.filled > SHARE_TO_GO_ON * self.config.window_tokens
        if full or talk.turns.here >= self.job.max_turns or talk.repeated.times >= SAME_FAILURE_ENDS:
            return Attempt(stop="turns", said=talk.last.text if talk.last else "")
        return None

    # -- model --

    def _turn(self) -> Turn:
        return Turn(
            role=self.job.role,
            number=self.job.notebook.turns(self.job.role),
            system=self.talk.system,
            tools=tuple(tool.spec() for tool in offered(self.bench).values()),
            messages=tuple(self.talk.messages),
            max_tokens=self.config.max_tokens_per_turn,
            temperature=self.config.temperature,
        )

    def _take(self, reply: Reply) -> None:
        turn = self.talk.turns.here
        # The ids of concurrent workers must differ.
        prefix = "" if self.job.role == "maker" else f"{self.job.role.removeprefix('worker:')}-"
        reply = with_ids(bounded(reply), self.talk.ids, f"{prefix}{self.job.iteration}-{turn}")
        spent = self.job.meter.spent(reply.usage, reply.cost_usd)
        told = _told(self.job.role, reply, spent, self.talk.model)
        if self.config.reads_only and not reply.calls:
            told = (event for event in told if not isinstance(event, PlanText))
        self._write(TurnNote(self.job.role, self.job.iteration, turn, reply), *told)

    # -- tools --

    async def _answer_calls(self) -> None:
        for calls in _groups(self.talk.unanswered, self.bench):
            outcomes = [_not_now(call) for call in calls] if self.talk.claim else await self._run(calls)
            for call, outcome in zip(calls, outcomes, strict=True):
                self._take_outcome(call, outcome)

    async def _run(self, calls: Sequence[Call]) -> Sequence[ToolOutput]:
        """Run one call, or several read-only calls concurrently."""
        if effect_of(calls[0], self.bench) == "changes":
            await self._save_or_undo(calls[0])
        if len(calls) == 1:
            return [await carry_out(calls[0], self.bench)]
        outcomes: dict[str, ToolOutput] = {}

        async def run(call: Call) -> None:
            outcomes[call.id] = await carry_out(call, self.bench)

        try:
            async with anyio.create_task_group() as tasks:
                for call in calls:
                    tasks.start_soon(run, call)
        except ExceptionGroup as group:
            raise group.exceptions[0] from group
        return [outcomes[call.id] for call in calls]

    async def _save_or_undo(self, call: Call) -> None:
        """Before a change: save the tree. If it was saved before and the change has no result: restore that state."""
        if call.id in self.talk.snapshots:
            await self.job.maker.restore(self.talk.snapshots[call.id])
            return
        try:
            begun = CallBegunNote(call.id, await self.job.maker.checkpoint())
        except CandidateRefused as refused:
            begun = CallBegunNote(call.id, self.talk.saved or await self._base(), str(refused))
        self._write(begun)

    async def _base(self) -> str:
        maker = self.job.maker
        return await maker.trees.store.tree_of(maker.tree.facts.base)

    def _take_outcome(self, call: Call, outcome: ToolOutput) -> None:
        reproach = self._reproach(call, outcome)
        text = clipped(self.job.redact(outcome.text), MOST_BYTES - len(reproach)) + reproach
        result = CallResultNote(call.id, text, outcome.ok, outcome.failed, outcome.claim)
        told = ToolResult(id=call.id, tool=call.name, ok=outcome.ok, preview=preview(text))
        self._write(result, *outcome.events, told)

    def _reproach(self, call: Call, outcome: ToolOutput) -> str:
        times = self.talk.repeated.times_with(call) if outcome.failed else 0
        if times < SAME_FAILURE_TOLD:
            return ""
        return f"\n[the same call has now failed {times} times in a row; try something else]"

    def _write(self, record: EngineNote, *events: Event) -> None:
        note = record.as_note()
        self.job.notebook.write(note, *events)
        self.talk.take(note)


def _told(role: str, reply: Reply, spent: Event, before: str) -> Iterator[Event]:
    """Return the events for one reply."""
    yield ModelTurn(
        role=role,
        usage=reply.usage.plain(),
        cost_usd=reply.cost_usd,
        duration_ms=reply.duration_ms,
        model=reply.model,
    )
    yield spent
    if reply.fallback and reply.model != before:
        yield ModelFallback(model=reply.model, reason=reply.fallback)
    if reply.text.strip():
        yield PlanText(text=reply.text)
    for call in reply.calls:
        given = json.dumps(dict(call.input), ensure_ascii=False, default=str) if not call.problem else call.problem
        yield ToolCall(id=call.id, tool=call.name, params_preview=preview(given))


def _groups(calls: Sequence[Call], bench: ToolContext) -> Iterator[list[Call]]:
    """Group calls that may run together, in order: consecutive read-only calls form a group; any other call is
    alone."""
    for reads, group in groupby(calls, key=lambda call: effect_of(call, bench) == "reads"):
        if reads:
            yield list(group)
        else:
            yield from ([call] for call in group)


def _not_now(call: Call) -> ToolOutput:
    return ToolOutput(f"{ERROR}{call.name[:80]} was not carried out: the work has ended", ok=False)
