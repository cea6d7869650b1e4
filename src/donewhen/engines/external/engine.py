"""External engine: one round runs another vendor's agent in our sandbox; then the tree is judged.

A checkpoint of the tree is noted before each invocation. If this process dies during an invocation, the resumed session
restores that tree and repeats the invocation. What an agent reports about its own success is emitted as an event but
not trusted. If the agent cannot start, crashes, hangs or reaches a limit, only the invocation ends.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import anyio

from donewhen.engines.external.agent import Agent, AgentReport, AgentTask, InvocationEnd, PermissionRequest, Permit
from donewhen.engines.external.agent_events import AgentProblem
from donewhen.engines.external.network.endpoints import FORBIDDEN
from donewhen.engines.external.network.gateway import RequestLog
from donewhen.engines.external.network.question_server import Ask
from donewhen.engines.external.run.agent_environment import (
    AgentCallbacks,
    AgentLaunchSpec,
    PreparedAgent,
    prepare_agent,
)
from donewhen.engines.external.run.ledger import NOTHING, Ledger, StopReason
from donewhen.engines.external.run.task import first_prompt, follow_up_prompt
from donewhen.engines.interface import AnswerTimeout, Attempt, EngineNote, Job
from donewhen.engines.permission import refusal
from donewhen.errors import NeedsPerson
from donewhen.events import Emit, Error
from donewhen.model.interface import Usage
from donewhen.records import frozen
from donewhen.workspace.policy import Policy
from donewhen.workspace.sandbox.sandbox import Sandbox

RETRIES = 2
"""Retries after an agent died. They do not count as rounds."""
BACK_OFF_SECS = 0.5
REFUSED_STATUSES = (401, 403)
MOST_REFUSED = 2
"""After this many refused requests at the gateway, the key counts as invalid."""


class InvocationBegun(EngineNote):
    """An agent is about to be started."""

    KIND = "invoked"
    iteration: int
    agent: str
    tree: str
    """Checkpoint of the tree before the invocation."""


class InvocationEnded(EngineNote):
    """How an invocation ended, and what its ledger counted."""

    KIND = "returned"
    KEYS = MappingProxyType({"last_text": "said", "usage": "used", "failure": "broke", "stopped_for": "ending"})
    iteration: int
    resumed: str
    """The conversation that was resumed; empty for a new one."""
    problem: str
    """What the agent reported, if only a person or time helps."""
    reset_at: str
    last_text: str
    turns: int
    calls: int
    conversation: str
    exit_code: int | None
    failure: str
    """What went wrong with the invocation itself, for people."""
    stopped_for: StopReason = ""
    """Why we ended the agent; empty if we did not."""
    end: InvocationEnd = "exited"
    usage: Usage = NOTHING
    """Usage of the conversation, earlier invocations included."""

    @property
    def has_lost_conversation(self) -> bool:
        """True if the agent did not know the conversation that it should resume."""
        is_silent = not (self.turns or self.calls or self.stopped_for)
        return bool(is_silent and self.resumed and self.end == "exited" and self.exit_code != 0)


@frozen(kw_only=True)
class ExternalConfig:
    policy: Policy
    timeout_secs: float = 1800
    back_off_secs: float = BACK_OFF_SECS


@frozen
class ExternalEngine:
    spec: AgentLaunchSpec
    config: ExternalConfig

    @property
    def name(self) -> str:
        return "external"

    async def attempt(self, job: Job, emit: Emit) -> Attempt:
        del emit  # events are written through the notebook
        return await _Round(self.spec, self.config, job).run()


@dataclass(slots=True)
class _Round:
    spec: AgentLaunchSpec
    config: ExternalConfig
    job: Job

    async def run(self) -> Attempt:
        """Continue from the notes. Do not repeat an invocation that returned; undo one that was cut short first."""
        while True:
            ended = InvocationEnded.all_in(self.job.notebook.notes())
            in_round = [one for one in ended if one.iteration == self.job.iteration]
            if in_round and not _must_repeat(in_round):
                return self._attempt(in_round[-1])
            if in_round:
                await anyio.sleep(self.config.back_off_secs * 2 ** (len(in_round) - 1))
            await self._undo_unfinished()
            if ended and not (in_round and in_round[-1].has_lost_conversation):
                await self._invoke(ended[-1].conversation, ended[-1].usage)
            else:
                await self._invoke("", NOTHING)

    async def _undo_unfinished(self) -> None:
        """Restore the tree from before an invocation that has no recorded end."""
        kinds = (InvocationBegun.KIND, InvocationEnded.KIND)
        last = [note for note in self.job.notebook.notes() if note.kind in kinds][-1:]
        for begun in InvocationBegun.all_in(last):
            if begun.iteration == self.job.iteration:
                await self.job.maker.restore(begun.tree)

    async def _invoke(self, conversation: str, earlier: Usage) -> None:
        job, spec = self.job, self.spec
        can_resume = bool(conversation and spec.interface.may_resume and (spec.kind == "acp" or spec.interface.resume))
        resumed, earlier = (conversation, earlier) if can_resume else ("", NOTHING)
        tree = await job.maker.checkpoint()
        job.notebook.write(InvocationBegun(job.iteration, spec.profile.name, tree).as_note())
        scope, report = anyio.CancelScope(), AgentReport(end="stopped")
        ledger = Ledger(job, spec.profile.name, spec.provider, scope.cancel, earlier)
        task = AgentTask(
            text=follow_up_prompt(job) if resumed and job.feedback else first_prompt(job),
            conversation=resumed,
            model=spec.model,
            max_turns=job.max_turns,
            permit=self._permit(),
        )
        with scope:
            prepared = prepare_agent(spec, job, task, self._callbacks(ledger))
            sandbox = job.maker.sandbox.with_guest(prepared.guest)
            agent = _make_agent(spec, prepared, sandbox, job.maker.root, self.config.timeout_secs)
            report = await agent.work(task, ledger.add)
        ledger.close()
        if ledger.error is not None:
            raise ledger.error
        failure = _failure(report, self.config.timeout_secs)
        ended = InvocationEnded(
            iteration=job.iteration,
            resumed=resumed,
            problem=ledger.problem,
            reset_at=ledger.reset_at,
            last_text=ledger.last_text,
            turns=ledger.turns,
            calls=ledger.calls,
            usage=ledger.usage,
            conversation=ledger.conversation or resumed,
            exit_code=report.exit_code,
            failure=failure,
            stopped_for=ledger.stop_reason,
            end=report.end,
        )
        events = [Error(kind="agent", message=f"{spec.profile.name} {failure}")] if failure else []
        job.notebook.write(ended.as_note(), *events)

    def _attempt(self, ended: InvocationEnded) -> Attempt:
        name, text, stopped_for = self.spec.profile.name, ended.last_text, ended.stopped_for
        if stopped_for in ("sign_in", "quota"):
            problem = f"{name}: {ended.problem}"
            return Attempt(
                stop="waits", last_text=text, problem=problem, waits_for=stopped_for, reset_at=ended.reset_at
            )
        if stopped_for:
            return Attempt(stop=stopped_for, last_text=text)
        if ended.end in ("died", "not_started"):
            return Attempt(stop="model_failed", last_text=text, problem=f"{name} {ended.failure}")
        return Attempt(stop="turns" if ended.end == "timed_out" else "done", last_text=text)

    # -- permissions and callbacks --

    def _permit(self) -> Permit:
        job, launcher, ids = self.job, self.job.maker.trees.store.bare.launcher, self._question_ids()

        async def permit(request: PermissionRequest) -> bool:
            if request.kind != "execute" or not request.command:
                return True  # the sandbox decides where it may write and what it may reach
            refused = await refusal(launcher, self.config.policy, request.command, job.asker, ids(request.command))
            if refused is None:
                return True
            job.notebook.write(None, refused.event)
            return False

        return permit

    def _callbacks(self, ledger: Ledger) -> AgentCallbacks:
        refused = 0

        def show_denial(request: RequestLog) -> None:
            if request.status == FORBIDDEN and request.detail:
                what = f"{request.method} {request.path}"
                ledger.denials.add(what, what, "gateway", request.detail)

        def on_request(request: RequestLog) -> None:
            nonlocal refused
            refused += request.status in REFUSED_STATUSES and not request.detail
            show_denial(request)
            if request.method == "POST" and request.status == 200:
                ledger.count_request()
            if refused >= MOST_REFUSED:
                ledger.add(AgentProblem("sign_in", f"the model's endpoint rejects the key ({request.status})"))

        return AgentCallbacks(on_request, show_denial, ledger.add_connection, self._ask(ledger))

    def _ask(self, ledger: Ledger) -> Ask | None:
        """Return the function behind the question tool that any agent can be given; None without an asker. If a person
        must decide later, the agent is ended, too."""
        asker, ids = self.job.asker, self._question_ids()
        if asker is None:
            return None

        async def ask(prompt: str) -> str:
            try:
                return await asker.ask(ids(prompt), prompt)
            except AnswerTimeout as error:
                return str(error)
            except NeedsPerson as error:
                ledger.abort(error)
                return "the question waits for an answer"

        return ask

    def _question_ids(self) -> Callable[[str], str]:
        """Return a function that makes question ids for one invocation. An id is derived from the question's text: a
        repeated invocation gets the answers it was given before, and never the answer to another question."""
        asked: Counter[str] = Counter()

        def id_of(text: str) -> str:
            digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
            asked[digest] += 1
            return f"{self.spec.profile.name}-{self.job.iteration}-{digest}-{asked[digest]}"

        return id_of


def _make_agent(
    spec: AgentLaunchSpec, prepared: PreparedAgent, sandbox: Sandbox, root: str, timeout_secs: float
) -> Agent:
    if spec.kind == "cli":
        from donewhen.engines.external.run.cli_agent import CliAgent

        return CliAgent(sandbox, prepared.argv, spec.interface.stream, timeout_secs)
    from donewhen.engines.external.acp.client import AcpOptions
    from donewhen.engines.external.acp.in_sandbox import AcpInSandbox

    options = AcpOptions(cwd=root, mode=spec.interface.mode, mcp_url=prepared.mcp_url)
    return AcpInSandbox(sandbox, prepared, options, timeout_secs)


def _must_repeat(ended: Sequence[InvocationEnded]) -> bool:
    """Return True if the last invocation must be repeated: it died, or it no longer knew the conversation."""
    last = ended[-1]
    if last.end == "died" and not last.stopped_for:
        return sum(one.end == "died" for one in ended) <= RETRIES
    return last.has_lost_conversation


def _failure(report: AgentReport, timeout_secs: float) -> str:
    """Return what went wrong with the invocation itself, for people; empty if it just ended."""
    detail = f": {report.detail}" if report.detail else ""
    match report.end:
        case "not_started":
            return f"could not start{detail}"
        case "died":
            return f"died{detail}"
        case "timed_out":
            return f"was stopped after {timeout_secs:g} s (external.timeout_secs){detail}"
        case "exited" if report.exit_code:
            return f"exited with {report.exit_code}{detail}"
        case _:
            return ""
