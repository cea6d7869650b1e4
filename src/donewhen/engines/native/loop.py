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
from donewhen.engines.native.reply import with_ids, within_limits
from donewhen.engines.native.tools import ERROR, ToolContext, ToolOutput, effect_of, offered_tools, run_call
from donewhen.engines.native.tools.clip import MOST_BYTES, clipped
from donewhen.events import Emit, Error, Event, ModelFallback, ModelTurn, PlanText, ToolCall, ToolResult, preview
from donewhen.model.interface import Call, Model, ModelFailed, ModelWaits, Reply, Turn
from donewhen.records import frozen
from donewhen.workspace.policy import Policy
from donewhen.workspace.trees.capture.refusals import CandidateRefused

FAILURES_IN_A_ROW = 3
SAME_FAILURE_WARNS, SAME_FAILURE_ENDS = 3, 6
FULLEST_TO_CARRY, FULLEST_TO_CONTINUE = 0.7, 0.9
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
        tools = ToolContext(job.maker, self.config.policy, job.asker, self.config.reads_only, job.plan, job.run_on_copy)
        conversation = Conversation.of(job.notebook.notes())
        return await NativeRound(self.model, self.config, job, tools, conversation).run_to_end()


@dataclass(slots=True)
class NativeRound:
    model: Model
    config: NativeConfig
    job: Job
    tool_context: ToolContext
    conversation: Conversation

    async def run_to_end(self) -> Attempt:
        """Run the round from the state of the notes to its end."""
        await self._begin()
        while True:
            await self._answer_calls()
            attempt = self._end_of_round()
            if attempt is not None:
                return attempt
            turn = self._next_turn()
            try:
                async with self.job.budget.lease(turn.most_usage):
                    self._record_reply(await self.model.reply(turn, self.job.on_text))
            except OutOfBudget:
                return Attempt(stop="budget")
            except ModelWaits as waits:
                if waits.bill.usage.total:
                    self.job.notebook.write(None, self.job.budget.count_usage(waits.bill.usage, waits.bill.usd))
                raise
            except ModelFailed as failure:
                bill = failure.bill
                spent = [self.job.budget.count_usage(bill.usage, bill.usd)] if bill.usage.total else []
                failed = TurnFailedNote.of(self.job.role, self.job.iteration, failure)
                self._write(failed, Error(kind="model", message=str(failure)), *spent)
                if failure.final or self.conversation.turns.failures >= FAILURES_IN_A_ROW:
                    return Attempt(stop="model_failed", problem=str(failure))

    async def _begin(self) -> None:
        if self.job.contract.strip() not in self.conversation.system or not self.conversation.system:
            text = await anyio.to_thread.run_sync(prompt.system_text, self.job, self.job.maker.files)
            self._write(SystemNote(text))
        if self.conversation.iteration != self.job.iteration:
            fresh = self._starts_new_conversation()
            text = prompt.first_message(self.job) if fresh else prompt.next_message(self.job)
            self._write(RoundNote(self.job.iteration, fresh, text))

    def _starts_new_conversation(self) -> bool:
        filled = self.conversation.turns.filled / self.config.window_tokens
        if not self.conversation.messages or self.config.context == "fresh" or filled > FULLEST_TO_CONTINUE:
            return True
        return self.config.context == "auto" and (self.job.red_rounds >= 2 or filled > FULLEST_TO_CARRY)

    def _end_of_round(self) -> Attempt | None:
        claim, turns, last = self.conversation.claim, self.conversation.turns, self.conversation.last_reply
        if claim is not None:
            return Attempt(stop="claim", last_text=claim.summary, claim=claim)
        if self.conversation.final_text is not None:
            return Attempt(stop="done", last_text=self.conversation.final_text)
        is_full = turns.replies > 0 and turns.filled > FULLEST_TO_CONTINUE * self.config.window_tokens
        repeats = self.conversation.repeated.times >= SAME_FAILURE_ENDS
        if is_full or repeats or turns.in_round >= self.job.max_turns:
            return Attempt(stop="turns", last_text=last.text if last else "")
        return None

    # -- model --

    def _next_turn(self) -> Turn:
        return Turn(
            role=self.job.role,
            number=self.job.notebook.turns(self.job.role),
            system=self.conversation.system,
            tools=tuple(tool.spec() for tool in offered_tools(self.tool_context).values()),
            messages=tuple(self.conversation.messages),
            max_tokens=self.config.max_tokens_per_turn,
            temperature=self.config.temperature,
        )

    def _record_reply(self, reply: Reply) -> None:
        turn = self.conversation.turns.in_round
        # The ids of concurrent workers must differ.
        prefix = "" if self.job.role == "maker" else f"{self.job.role.removeprefix('worker:')}-"
        reply = with_ids(within_limits(reply), self.conversation.ids, f"{prefix}{self.job.iteration}-{turn}")
        spent = self.job.budget.count_usage(reply.usage, reply.cost_usd)
        events = _events_of(self.job.role, reply, spent, self.conversation.model)
        if self.config.reads_only and not reply.calls:
            events = (event for event in events if not isinstance(event, PlanText))
        self._write(TurnNote(self.job.role, self.job.iteration, turn, reply), *events)

    # -- tools --

    async def _answer_calls(self) -> None:
        for calls in _concurrent_groups(self.conversation.unanswered, self.tool_context):
            outputs = [_not_run(call) for call in calls] if self.conversation.claim else await self._run(calls)
            for call, output in zip(calls, outputs, strict=True):
                warning = self._repeat_warning(call, output)
                text = clipped(self.job.redact(output.text), MOST_BYTES - len(warning)) + warning
                result = CallResultNote(call.id, text, output.ok, output.failed, output.claim)
                event = ToolResult(id=call.id, tool=call.name, ok=output.ok, preview=preview(text))
                self._write(result, *output.events, event)

    async def _run(self, calls: Sequence[Call]) -> Sequence[ToolOutput]:
        """Run one call, or several read-only calls concurrently."""
        if effect_of(calls[0], self.tool_context) == "changes":
            await self._save_or_undo(calls[0])
        if len(calls) == 1:
            return [await run_call(calls[0], self.tool_context)]
        outputs: dict[str, ToolOutput] = {}

        async def run(call: Call) -> None:
            outputs[call.id] = await run_call(call, self.tool_context)

        try:
            async with anyio.create_task_group() as tasks:
                for call in calls:
                    tasks.start_soon(run, call)
        except ExceptionGroup as group:
            raise group.exceptions[0] from group
        return [outputs[call.id] for call in calls]

    async def _save_or_undo(self, call: Call) -> None:
        """Before a change: save the tree. If it was saved before and the change has no result: restore that state."""
        if call.id in self.conversation.snapshots:
            await self.job.maker.restore(self.conversation.snapshots[call.id])
            return
        try:
            begun = CallBegunNote(call.id, await self.job.maker.checkpoint())
        except CandidateRefused as refused:
            begun = CallBegunNote(call.id, self.conversation.last_snapshot or await self._base_tree(), str(refused))
        self._write(begun)

    async def _base_tree(self) -> str:
        maker = self.job.maker
        return await maker.trees.store.tree_of(maker.tree.facts.base)

    def _repeat_warning(self, call: Call, output: ToolOutput) -> str:
        times = self.conversation.repeated.times_with(call) if output.failed else 0
        if times < SAME_FAILURE_WARNS:
            return ""
        return f"\n[the same call has now failed {times} times in a row; try something else]"

    def _write(self, record: EngineNote, *events: Event) -> None:
        note = record.as_note()
        self.job.notebook.write(note, *events)
        self.conversation.apply(note)


def _events_of(role: str, reply: Reply, spent: Event, before: str) -> Iterator[Event]:
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
        shown = call.problem or json.dumps(dict(call.input), ensure_ascii=False, default=str)
        yield ToolCall(id=call.id, tool=call.name, params_preview=preview(shown))


def _concurrent_groups(calls: Sequence[Call], context: ToolContext) -> Iterator[list[Call]]:
    """Group calls that may run together, in order: consecutive read-only calls form a group; any other call is
    alone."""
    for reads, group in groupby(calls, key=lambda call: effect_of(call, context) == "reads"):
        if reads:
            yield list(group)
        else:
            yield from ([call] for call in group)


def _not_run(call: Call) -> ToolOutput:
    return ToolOutput(f"{ERROR}{call.name[:80]} was not carried out: the work has ended", ok=False)
