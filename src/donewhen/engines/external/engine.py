"""The external engine: one round is one invocation of somebody else's agent in our walls; then the tree is judged.

Before an invocation the tree is noted, so that one that was cut short by the death of this process is made again from
there. What an agent says about its success is told and not believed; that it could not start, crashed, hung or hit a
limit ends the invocation and nothing more.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import anyio

from donewhen.engines.base import Attempt, Job, NobodyAnswered, Note
from donewhen.engines.external import task as words
from donewhen.engines.external.agent import Agent, Permit, Report, Task, Wish
from donewhen.engines.external.costs import NOTHING
from donewhen.engines.external.happening import Complained
from donewhen.engines.external.ledger import Ledger
from donewhen.engines.external.network.endpoints import FORBIDDEN
from donewhen.engines.external.network.gateway import Request
from donewhen.engines.external.network.questions import Ask
from donewhen.engines.external.quarters import Hired, Porters, Quarters, furnish
from donewhen.engines.permission import refusal
from donewhen.errors import NeedsPerson
from donewhen.events import Emit, Error
from donewhen.model.base import Usage
from donewhen.records import frozen
from donewhen.workspace.policy import Policy
from donewhen.workspace.sandbox.room import Sandbox

Plain = Mapping[str, Any]

INVOKED, RETURNED = "invoked", "returned"
RETRIES = 2
"""Of an agent that died; they do not count as rounds."""
BACK_OFF_SECS = 0.5
REFUSED = (401, 403)
REFUSALS = 2
"""So many refused credentials at the gateway are no accident."""


@frozen(kw_only=True)
class ExternalConfig:
    policy: Policy
    timeout_secs: float = 1800
    back_off_secs: float = BACK_OFF_SECS


@frozen
class ExternalEngine:
    hired: Hired
    config: ExternalConfig

    @property
    def name(self) -> str:
        return "external"

    async def attempt(self, job: Job, emit: Emit) -> Attempt:
        del emit  # what is told here belongs to the notebook
        return await _Round(self.hired, self.config, job).to_its_end()


@dataclass(slots=True)
class _Round:
    hired: Hired
    config: ExternalConfig
    job: Job

    async def to_its_end(self) -> Attempt:
        """From whatever the notes say: what has returned is not done again, what was cut short is undone first."""
        while True:
            returns = self._returns()
            if returns and not _calls_again(returns):
                return self._attempt(returns[-1])
            if returns:
                await anyio.sleep(self.config.back_off_secs * 2 ** (len(returns) - 1))
            await self._undo()
            await self._invoke(*_conversation(self.job.notebook.notes(), returns))

    def _returns(self) -> list[Plain]:
        """How the invocations of this round ended."""
        notes = self.job.notebook.notes()
        return [one.body for one in notes if one.kind == RETURNED and one.body["iteration"] == self.job.iteration]

    async def _undo(self) -> None:
        """Go back to the tree before an invocation that nobody saw the end of."""
        last = next((one for one in reversed(self.job.notebook.notes()) if one.kind in (INVOKED, RETURNED)), None)
        if last is not None and last.kind == INVOKED and last.body["iteration"] == self.job.iteration:
            await self.job.maker.restore(str(last.body["tree"]))

    async def _invoke(self, conversation: str, earlier: Usage) -> None:
        job, hired = self.job, self.hired
        can_resume = bool(conversation and not hired.way.anew and (hired.kind == "acp" or hired.way.resume))
        before, earlier = (conversation, earlier) if can_resume else ("", NOTHING)
        tree = await job.maker.checkpoint()
        job.notebook.write(Note(INVOKED, {"iteration": job.iteration, "agent": hired.profile.name, "tree": tree}))
        scope, report = anyio.CancelScope(), Report(end="stopped")
        ledger = Ledger(job, hired.profile.name, hired.provider, scope.cancel, earlier)
        task = Task(
            text=words.follow_up(job) if before and job.feedback else words.opening(job),
            conversation=before,
            model=hired.model,
            max_turns=job.max_turns,
            permit=self._permit(),
        )
        with scope:
            quarters = furnish(hired, job, task, self._porters(ledger))
            room = job.maker.room.hosting(quarters.guest)
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

    # -- what it may --

    def _permit(self) -> Permit:
        job, launcher, ids = self.job, self.job.maker.trees.store.bare.launcher, self._question_ids()

        async def permit(wish: Wish) -> bool:
            if wish.kind != "execute" or not wish.command:
                return True  # where it may write and whom it may reach is decided by the walls
            refused = await refusal(launcher, self.config.policy, wish.command, job.asker, ids(wish.command))
            if refused is None:
                return True
            job.notebook.write(None, refused.event)
            return False

        return permit

    def _porters(self, ledger: Ledger) -> Porters:
        refused = 0

        def requested(request: Request) -> None:
            nonlocal refused
            refused += request.status in REFUSED and not request.detail
            if request.status == FORBIDDEN and request.detail:
                what = f"{request.method} {request.path}"
                ledger.denials.add(what, what, "gateway", request.detail)
            if request.method == "POST" and request.status == 200:
                ledger.requested()
            if refused >= REFUSALS:
                ledger.take(Complained("sign_in", f"the model's endpoint refuses the key ({request.status})"))

        return Porters(requested, ledger.connected, self._ask(ledger))

    def _ask(self, ledger: Ledger) -> Ask | None:
        """By the tool that any agent can be given. What only a person can decide later ends the agent, too."""
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
        """Names for what is asked during one invocation. They stand for the words: one that is made again gets the
        answers it had been given, and never one that was given to something else."""
        asked: Counter[str] = Counter()

        def id_of(words: str) -> str:
            digest = hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()[:12]
            asked[digest] += 1
            return f"{self.hired.profile.name}-{self.job.iteration}-{digest}-{asked[digest]}"

        return id_of


def _agent(hired: Hired, quarters: Quarters, room: Sandbox, root: str, timeout_secs: float) -> Agent:
    if hired.kind == "cli":
        from donewhen.engines.external.cli import CliAgent

        return CliAgent(room, quarters.argv, hired.way.stream, timeout_secs)
    from donewhen.engines.external.acp import Manner
    from donewhen.engines.external.acp_room import AcpInRoom

    manner = Manner(cwd=root, mode=hired.way.mode, mcp_url=quarters.mcp_url)
    return AcpInRoom(room, quarters, manner, timeout_secs)


def _calls_again(returns: Sequence[Plain]) -> bool:
    """Whether the last invocation of a round was none: it died, or did not know the conversation any more."""
    last = returns[-1]
    if last["end"] == "died" and not last["ending"]:
        return sum(one["end"] == "died" for one in returns) <= RETRIES
    return _forgot(last)


def _forgot(returned: Plain) -> bool:
    silent = not (returned["turns"] or returned["calls"] or returned["ending"])
    return bool(silent and returned["resumed"] and returned["end"] == "exited" and returned["exit_code"] != 0)


def _conversation(notes: Sequence[Note], returns: Sequence[Plain]) -> tuple[str, Usage]:
    """The one to go on with, and what it has used; none where the agent's memory of it is gone."""
    last = next((one.body for one in reversed(notes) if one.kind == RETURNED), None)
    if last is None or (returns and _forgot(returns[-1])):
        return "", NOTHING
    return str(last["conversation"]), Usage(**last["used"])


def _problem(report: Report, timeout_secs: float) -> str:
    """What went wrong with the invocation as such, for people; empty when it just ended."""
    detail = f": {report.detail}" if report.detail else ""
    match report.end:
        case "not_started":
            return f"could not start{detail}"
        case "died":
            return f"died{detail}"
        case "timed_out":
            return f"was ended after {timeout_secs:g} s, external.timeout_secs{detail}"
        case "exited" if report.exit_code:
            return f"exited with {report.exit_code}{detail}"
        case _:
            return ""
