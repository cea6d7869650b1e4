"""External engine: one round runs another vendor's agent in our sandbox; then the tree is judged.

A checkpoint of the tree is noted before each invocation. If this process dies during an invocation, the resumed session
restores that tree and repeats the invocation. What an agent reports about its own success is emitted as an event but
not trusted. If the agent cannot start, crashes, hangs or reaches a limit, only the invocation ends.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import anyio

from donewhen.engines.external.agent import Agent, AgentReport, AgentTask, PermissionRequest, Permit
from donewhen.engines.external.agent_events import AgentProblem
from donewhen.engines.external.network.endpoints import FORBIDDEN
from donewhen.engines.external.network.gateway import RequestLog
from donewhen.engines.external.network.question_server import Ask
from donewhen.engines.external.run import task as words
from donewhen.engines.external.run.agent_environment import AgentCallbacks, AgentLaunchSpec, PreparedAgent, furnish
from donewhen.engines.external.run.ledger import NOTHING, Ledger
from donewhen.engines.interface import Attempt, Job, NobodyAnswered, Note
from donewhen.engines.permission import refusal
from donewhen.errors import NeedsPerson
from donewhen.events import Emit, Error
from donewhen.model.interface import Usage
from donewhen.records import frozen
from donewhen.workspace.policy import Policy
from donewhen.workspace.sandbox.sandbox import Sandbox

Plain = Mapping[str, Any]

INVOKED, RETURNED = "invoked", "returned"
RETRIES = 2
"""Retries after an agent died. They do not count as rounds."""
BACK_OFF_SECS = 0.5
REFUSED = (401, 403)
REFUSALS = 2
"""This many refused credentials at the gateway are not an accident."""


@frozen(kw_only=True)
class ExternalConfig:
    policy: Policy
    timeout_secs: float = 1800
    back_off_secs: float = BACK_OFF_SECS


@frozen
class ExternalEngine:
    hired: AgentLaunchSpec
    config: ExternalConfig

    @property
    def name(self) -> str:
        return "external"

    async def attempt(self, job: Job, emit: Emit) -> Attempt:
        del emit  # events are written through the notebook
        return await _Round(self.hired, self.config, job).to_its_end()


@dataclass(slots=True)
class _Round:
    hired: AgentLaunchSpec
    config: ExternalConfig
    job: Job

    async def to_its_end(self) -> Attempt:
        """Continue from the notes. Do not repeat an invocation that returned; undo one that was cut short first."""
        while True:
            notes = self.job.notebook.notes()
            ended = [one.body for one in notes if one.kind == RETURNED]
            returns = [one for one in ended if one["iteration"] == self.job.iteration]
            if returns and not _calls_again(returns):
                return self._attempt(returns[-1])
            if returns:
                await anyio.sleep(self.config.back_off_secs * 2 ** (len(returns) - 1))
            await self._undo()
            await self._invoke(*_conversation(notes, returns))

    async def _undo(self) -> None:
        """Restore the tree from before an invocation that has no recorded end."""
        last = next((one for one in reversed(self.job.notebook.notes()) if one.kind in (INVOKED, RETURNED)), None)
        if last is not None and last.kind == INVOKED and last.body["iteration"] == self.job.iteration:
            await self.job.maker.restore(str(last.body["tree"]))

    async def _invoke(self, conversation: str, earlier: Usage) -> None:
        job, hired = self.job, self.hired
        can_resume = bool(conversation and not hired.way.anew and (hired.kind == "acp" or hired.way.resume))
        before, earlier = (conversation, earlier) if can_resume else ("", NOTHING)
        tree = await job.maker.checkpoint()
        job.notebook.write(Note(INVOKED, {"iteration": job.iteration, "agent": hired.profile.name, "tree": tree}))
        scope, report = anyio.CancelScope(), AgentReport(end="stopped")
        ledger = Ledger(job, hired.profile.name, hired.provider, scope.cancel, earlier)
        task = AgentTask(
            text=words.follow_up(job) if before and job.feedback else words.opening(job),
            conversation=before,
            model=hired.model,
            max_turns=job.max_turns,
            permit=self._permit(),
        )
        with scope:
            quarters = furnish(hired, job, task, self._porters(ledger))
            room = job.maker.sandbox.with_guest(quarters.guest)
            agent = _agent(hired, quarters, room, job.maker.root, self.config.timeout_secs)
            report = await agent.work(task, ledger.take)
        ledger.close()
        if ledger.broken is not None:
            raise ledger.broken
        problem = _problem(report, self.config.timeout_secs)
        told = [Error(kind="agent", message=f"{hired.profile.name} {problem}")] if problem else []
        body = {"iteration": job.iteration, "resumed": before, **ledger.summary(), "end": report.end}
        body |= {"conversation": ledger.conversation or before, "exit_code": report.exit_code, "broke": problem}
        job.notebook.write(Note(RETURNED, body), *told)

    def _attempt(self, returned: Plain) -> Attempt:
        name, said, ending = self.hired.profile.name, str(returned["said"]), returned["ending"]
        if ending in ("sign_in", "quota"):
            problem = f"{name}: {returned['problem']}"
            return Attempt(stop="waits", said=said, problem=problem, waits_for=ending, reset_at=returned["reset_at"])
        if ending:
            return Attempt(stop=ending, said=said)
        if returned["end"] in ("died", "not_started"):
            return Attempt(stop="model_failed", said=said, problem=f"{name} {returned['broke']}")
        return Attempt(stop="turns" if returned["end"] == "timed_out" else "done", said=said)

    # -- permissions and callbacks --

    def _permit(self) -> Permit:
        job, launcher, ids = self.job, self.job.maker.trees.store.bare.launcher, self._question_ids()

        async def permit(wish: PermissionRequest) -> bool:
            if wish.kind != "execute" or not wish.command:
                return True  # the sandbox decides where it may write and what it may reach
            refused = await refusal(launcher, self.config.policy, wish.command, job.asker, ids(wish.command))
            if refused is None:
                return True
            job.notebook.write(None, refused.event)
            return False

        return permit

    def _porters(self, ledger: Ledger) -> AgentCallbacks:
        refused = 0

        def show_denial(request: RequestLog) -> None:
            if request.status == FORBIDDEN and request.detail:
                what = f"{request.method} {request.path}"
                ledger.denials.add(what, what, "gateway", request.detail)

        def requested(request: RequestLog) -> None:
            nonlocal refused
            refused += request.status in REFUSED and not request.detail
            show_denial(request)
            if request.method == "POST" and request.status == 200:
                ledger.requested()
            if refused >= REFUSALS:
                ledger.take(AgentProblem("sign_in", f"the model's endpoint rejects the key ({request.status})"))

        return AgentCallbacks(requested, show_denial, ledger.connected, self._ask(ledger))

    def _ask(self, ledger: Ledger) -> Ask | None:
        """Return the function behind the question tool that any agent can be given; None without an asker. If a person
        must decide later, the agent is ended, too."""
        asker, ids = self.job.asker, self._question_ids()
        if asker is None:
            return None

        async def ask(prompt: str) -> str:
            try:
                return await asker.ask(ids(prompt), prompt)
            except NobodyAnswered as nobody:
                return str(nobody)
            except NeedsPerson as waits:
                ledger.break_off(waits)
                return "the question waits for an answer"

        return ask

    def _question_ids(self) -> Callable[[str], str]:
        """Return a function that makes question ids for one invocation. An id is derived from the question's text: a
        repeated invocation gets the answers it was given before, and never the answer to another question."""
        asked: Counter[str] = Counter()

        def id_of(words: str) -> str:
            digest = hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()[:12]
            asked[digest] += 1
            return f"{self.hired.profile.name}-{self.job.iteration}-{digest}-{asked[digest]}"

        return id_of


def _agent(hired: AgentLaunchSpec, quarters: PreparedAgent, room: Sandbox, root: str, timeout_secs: float) -> Agent:
    if hired.kind == "cli":
        from donewhen.engines.external.run.cli_agent import CliAgent

        return CliAgent(room, quarters.argv, hired.way.stream, timeout_secs)
    from donewhen.engines.external.acp.client import AcpOptions
    from donewhen.engines.external.acp.in_sandbox import AcpInSandbox

    manner = AcpOptions(cwd=root, mode=hired.way.mode, mcp_url=quarters.mcp_url)
    return AcpInSandbox(room, quarters, manner, timeout_secs)


def _calls_again(returns: Sequence[Plain]) -> bool:
    """Return True if the last invocation must be repeated: it died, or it no longer knew the conversation."""
    last = returns[-1]
    if last["end"] == "died" and not last["ending"]:
        return sum(one["end"] == "died" for one in returns) <= RETRIES
    return _forgot(last)


def _forgot(returned: Plain) -> bool:
    silent = not (returned["turns"] or returned["calls"] or returned["ending"])
    return bool(silent and returned["resumed"] and returned["end"] == "exited" and returned["exit_code"] != 0)


def _conversation(notes: Sequence[Note], returns: Sequence[Plain]) -> tuple[str, Usage]:
    """Return the conversation to resume and its usage so far; an empty id if there is none or the agent has lost it."""
    last = next((one.body for one in reversed(notes) if one.kind == RETURNED), None)
    if last is None or (returns and _forgot(returns[-1])):
        return "", NOTHING
    return str(last["conversation"]), Usage.load(last["used"])


def _problem(report: AgentReport, timeout_secs: float) -> str:
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
