"""Actions of a loop: what is done with verified or approved work. Each returns a receipt.

They run in this process, which holds the tokens of the user: never in a sandbox, and never for an agent. What an agent
wrote reaches an action as data only: in files, as arguments and on stdin, never as a part of a shell line.
"""

import contextlib
import json
import os
import re
import tempfile
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Any

from donewhen.errors import DonewhenError
from donewhen.events import Error
from donewhen.loops import report
from donewhen.loops.action import ActionContext, ActionFailed, ActionReceipt
from donewhen.loops.hidden_secrets import secret_variables, text_without
from donewhen.loops.report import Delivery
from donewhen.loops.spec import ActionKind
from donewhen.session.check.rejudging import Rejudging
from donewhen.session.conclude import land as landing
from donewhen.workspace.process.command import Command

COMMAND_SECS = 1800.0
SAYS_WHERE = re.compile(r"\$\{?[0-9@*#]|[;\s](?:\}|done|fi|esac)\Z|\A\((?s:.*)\)\Z|\\;\Z")
"""A command that names an argument, or that ends where a shell takes none."""
ON_FORGE = (ActionKind.OPEN_PR, ActionKind.COMMENT)
ON_BRANCH = (ActionKind.OPEN_PR, ActionKind.APPLY_PATCH)
"""Actions for the branch that is checked out."""


def may_repeat(kind: ActionKind) -> bool:
    """Return True if repeating an action whose result is unknown has no second effect."""
    return kind is not ActionKind.COMMAND


async def describe(context: ActionContext) -> str:
    """Return in one line what the action would do."""
    spec, branch = context.spec, landing.branch_name(context.session)
    match spec.action.kind:
        case ActionKind.NONE:
            return "do nothing"
        case ActionKind.REPORT:
            return f"deliver the report to {', '.join(spec.deliver) or 'nobody'}"
        case ActionKind.BRANCH:
            return f"make the branch {branch}"
        case ActionKind.APPLY_PATCH:
            return f"add the work as a commit to {context.onto or 'the checked-out branch'}"
        case ActionKind.COMMAND:
            return f"run '{spec.action.command}' in a checkout of the work"
        case ActionKind.OPEN_PR | ActionKind.COMMENT:
            from donewhen.loops import forge_actions  # loaded on use: other actions need no forge

            return await forge_actions.describe(context)


async def published_besides(context: ActionContext) -> str:
    """Return what an action would publish besides the work; empty if that is nothing, or if it cannot be seen now."""
    if context.spec.action.kind is not ActionKind.OPEN_PR:
        return ""
    from donewhen.loops import forge_actions

    with contextlib.suppress(DonewhenError):  # the action is not carried out then, either
        return await forge_actions.published_besides(context)
    return ""


@contextlib.asynccontextmanager
async def admission(context: ActionContext) -> AsyncGenerator[str]:
    """Provide why the action cannot begin now; empty if it can, while the block lasts."""
    if context.spec.action.kind not in ON_FORGE:
        yield ""
        return
    from donewhen.loops import forge_actions

    async with forge_actions.admission(context) as obstacle:
        yield obstacle


async def carry_out(context: ActionContext) -> ActionReceipt:
    """Carry the action of a loop out. Raise `ActionFailed` or another DonewhenError if it is not carried out."""
    kind = context.spec.action.kind
    match kind:
        case ActionKind.NONE:
            return ActionReceipt(kind=kind.value, summary="nothing was carried out")
        case ActionKind.REPORT:
            return await _report(context)
        case ActionKind.BRANCH:
            made = await landing.land_branch(context.parts.workplace, context.plan)
            summary = f"the work is on the branch {made.branch}"
            return ActionReceipt(kind=kind.value, summary=summary, branch=made.branch, commit=made.commit)
        case ActionKind.APPLY_PATCH:
            return await _apply(context)
        case ActionKind.COMMAND:
            return await _run(context)
        case ActionKind.OPEN_PR | ActionKind.COMMENT:
            from donewhen.loops import forge_actions

            return await forge_actions.carry_out(context)


async def _report(context: ActionContext) -> ActionReceipt:
    places, parts = context.spec.deliver, context.parts
    text = report.rendered(context.finished)
    delivery = Delivery(
        top=parts.workplace.repo.root, session=context.session, say=parts.say, is_repeated=context.is_repeated
    )
    problems = await report.deliver(text, context.finished, places, delivery)
    if problems:
        raise ActionFailed("; ".join(problems))
    return ActionReceipt(kind=ActionKind.REPORT.value, summary=f"reported to {', '.join(places) or 'nobody'}")


async def _apply(context: ActionContext) -> ActionReceipt:
    """Add the work to the branch of the round. If the branch has moved, the work is judged again on top of it."""
    parts, branch = context.parts, context.onto
    if not branch:
        raise ActionFailed("no branch was checked out")
    judge = Rejudging(parts.workplace, parts.start_record.contract, parts.log)
    landed = await landing.land_onto(parts.workplace, context.plan, branch, judge.rejudge, judge.write_receipt)
    if isinstance(landed, landing.LandingRefused):
        raise ActionFailed(landed.reason)
    await landing.remove_landed_branch(parts.workplace, context.session)  # an escalation may have made one
    summary = f"the work is on {branch} as {landed.commit[:12]}"
    if landed.note:
        summary = f"{summary}; {landed.note}"
    return ActionReceipt(kind=ActionKind.APPLY_PATCH.value, summary=summary, branch=landed.branch, commit=landed.commit)


async def _run(context: ActionContext) -> ActionReceipt:
    """Run a command of the user in a checkout of the judged tree, with the session and the branch as arguments."""
    parts, spec, command = context.parts, context.spec, context.spec.action.command
    line = command if SAYS_WHERE.search(command) else f'{command} "$@"'
    commit = landing.commit_of(parts.workplace, context.plan)
    with tempfile.TemporaryDirectory(prefix="donewhen-action-") as directory:
        checkout = Path(directory) / parts.workplace.repo.root.name
        checkout.mkdir()
        await parts.workplace.store.check_out(commit, checkout)
        finished = await parts.workplace.launcher.run(
            Command(
                argv=["/bin/sh", "-c", line, "donewhen-action", context.session, spec.name],
                cwd=str(checkout),
                env=_environment(directory),
                stdin=f"{json.dumps(_told(context))}\n".encode(),
                timeout_secs=COMMAND_SECS,
                merge_stderr=True,
                keep_bytes=4096,
            )
        )
    token = parts.workplace.settings.text("forge", "token_env")
    output = text_without(secret_variables(os.environ, token), finished.stdout)[-4000:]
    if not finished.ok:
        for last in output.strip().splitlines()[-1:]:  # for a person: later makers are told the reason, and not this
            parts.log.emit(Error(kind="action", message=f"the last line of its output: {last}"))
        how = f"exited with {finished.exit_code}" if finished.exit_code is not None else finished.end.value
        raise ActionFailed(f"'{command}' {how}")
    return ActionReceipt(kind=ActionKind.COMMAND.value, summary=f"ran '{command}'", output=output)


def _environment(above: str) -> Mapping[str, str]:
    """Return the variables of a command. Git takes nothing in its checkout for a repository with settings to follow."""
    given = os.environ.get("GIT_CONFIG_COUNT", "")
    count = int(given) if given.isdecimal() else 0
    ceilings = os.pathsep.join(filter(None, (above, os.environ.get("GIT_CEILING_DIRECTORIES"))))
    return {
        **os.environ,
        "GIT_CEILING_DIRECTORIES": ceilings,
        "GIT_CONFIG_COUNT": str(count + 1),
        f"GIT_CONFIG_KEY_{count}": "safe.bareRepository",
        f"GIT_CONFIG_VALUE_{count}": "explicit",
    }


def _told(context: ActionContext) -> Mapping[str, Any]:
    """Return what a command reads on stdin."""
    plan = context.plan
    facts = {"session": plan.session, "tree": plan.tree, "base": plan.base, "receipt": plan.receipt_digest}
    return {**facts, "finding": context.finding, "report": context.finished.fields()}
