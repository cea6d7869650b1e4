"""Permission to run a command, the same for every engine: the policy decides, or a person whom the policy requires."""

from donewhen.engines.interface import AnswerTimeout, Asker
from donewhen.events import PolicyDenied
from donewhen.records import frozen
from donewhen.workspace.policy import Decision, Policy, Ruling
from donewhen.workspace.policy_process.client import consult
from donewhen.workspace.process.launch import Launcher

YES = frozenset({"y", "yes", "ok", "okay", "allow", "allowed", "approve", "approved", "sure", "go", "true", "1"})


@frozen
class Refusal:
    why: str
    """Shown to the model or agent that wanted to run the command."""
    event: PolicyDenied


async def refusal(launcher: Launcher, policy: Policy, command: str, asker: Asker | None, id: str) -> Refusal | None:
    """Return why a command must not run; None if it may run. `id` names the question if a person is asked."""
    ruling = await consult(launcher, policy, command)
    if ruling.decision is Decision.ALLOW:
        return None
    why = await _denial_reason(ruling, asker, id)
    return Refusal(why, PolicyDenied(command=ruling.command, rule=ruling.rule, reason=ruling.reason)) if why else None


async def _denial_reason(ruling: Ruling, asker: Asker | None, id: str) -> str:
    if ruling.decision is Decision.DENY:
        return f"denied by the policy, rule {ruling.rule}: {ruling.reason} ({ruling.command})"
    if asker is None:
        return f"denied: rule {ruling.rule} needs a person and none is available: {ruling.reason} ({ruling.command})"
    question = f"Allow this command? {ruling.command}\nRule {ruling.rule}: {ruling.reason}. Answer yes or no."
    try:
        answer = await asker.ask(f"{id}-policy", question)
    except AnswerTimeout:
        return f"denied: rule {ruling.rule} needs a person and none answered: {ruling.reason} ({ruling.command})"
    if (answer.split() or [""])[0].casefold().strip(".,!") in YES:
        return ""
    return f"a person was asked because of rule {ruling.rule} and answered: {answer}"
