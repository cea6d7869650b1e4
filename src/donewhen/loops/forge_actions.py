"""Actions on a forge: open a pull request with the work, or write the comments that the maker proposes.

Each has one effect, also if it is repeated: the forge is asked for what we made before it is made. A branch of others
is never changed, a request that a person closed is never opened again, and our own comments are never answered.
"""

import contextlib
import hashlib
import os
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

from donewhen.errors import BadInput
from donewhen.loops.action import ActionContext, ActionFailed, ActionReceipt
from donewhen.loops.comments import WantedComment, comments_in, harmless, why_not_to_comment
from donewhen.loops.forge.access import Token
from donewhen.loops.forge.connect import open_forge, place_of, token_for
from donewhen.loops.forge.forge import Forge, ForgeFailed, Later, NewPullRequest, PullRequest
from donewhen.loops.forge.marker import Marker, marked_text
from donewhen.loops.forge.remote import ForgePlace
from donewhen.loops.hidden_secrets import round_secrets
from donewhen.loops.loop_records import FindingStatus
from donewhen.loops.report import rendered
from donewhen.loops.spec import READ_FROM_FORGE, ActionKind, LoopSpec
from donewhen.memory.sanitise import hide_secrets
from donewhen.session.conclude import land as landing
from donewhen.session.workplace import Workplace
from donewhen.workspace.files import locked
from donewhen.workspace.git.landing.commits import DEFAULT_IDENTITY, identity
from donewhen.workspace.state_dir import private_directory, state_root

MOST_OPEN_IN_REPOSITORY = 3
"""Open pull requests of all loops of a repository."""
NO_FINDING = "none"
OF_ONE_NUMBER = {403: "", 404: "it is not there", 410: "it was deleted"}
"""Refusals of one comment that say nothing about the others, with our words for them."""
DRAFTS = "; set draft = false in the loop, and remove the branch of this work to let the loop begin again"


def require_possible(workplace: Workplace, spec: LoopSpec) -> None:
    """Raise BadInput if there is no forge, no token for it, or no name for a sign-off."""
    try:
        _access(workplace)
    except BadInput as error:
        reads = [one.read for one in spec.inputs if one.read in READ_FROM_FORGE]
        what = f"{reads[0]} cannot be read" if reads else f"{spec.action.kind.value} cannot be carried out"
        raise BadInput(f"loop '{spec.name}': {what}: {error}") from error
    signs = spec.signoff and spec.action.kind is ActionKind.OPEN_PR
    if signs and identity(workplace.repo, "committer").endswith(f"<{DEFAULT_IDENTITY['email']}>"):
        raise BadInput(
            f"loop '{spec.name}': signoff needs your name: set git config user.name and git config user.email"
        )


def _access(workplace: Workplace) -> tuple[ForgePlace, Token]:
    place = place_of(workplace.repo, workplace.settings)
    return place, token_for(place, os.environ)


async def describe(context: ActionContext) -> str:
    workplace = context.parts.workplace
    try:
        repository = place_of(workplace.repo, workplace.settings).repository
    except BadInput:  # the remote was removed meanwhile: that is why it is not carried out
        repository = "the forge"
    if context.spec.action.kind is ActionKind.COMMENT:
        numbers = ", ".join(f"#{one.number}" for one in wanted_comments(context))
        return f"comment on {numbers} of {repository}"
    draft = "a draft pull request" if context.spec.draft else "a pull request"
    text = f"push {landing.branch_name(context.session)} to {repository} and open {draft}"
    try:
        return f"{text}{await published_besides(context)}"
    except (BadInput, ForgeFailed) as error:
        return f"{text} (whether it brings other commits with it is not known: {error})"


async def published_besides(context: ActionContext) -> str:
    """Return which commits of the user a request publishes besides the work, as the end of a sentence.

    It is empty if the branch for which it is opened has them all.
    """
    from donewhen.loops.forge.push import unpushed_commits  # loaded on use: a comment pushes nothing

    place, token = _access(context.parts.workplace)
    store, base, branch = context.parts.workplace.store, context.plan.base, context.onto
    count = await unpushed_commits(store, place, token, base, branch)
    if count is None:
        return f", but there is no branch {branch} there yet"
    return f", and with it {count} commit{'s' if count > 1 else ''} of {branch} that are not there yet" if count else ""


@contextlib.asynccontextmanager
async def admission(context: ActionContext) -> AsyncGenerator[str]:
    """Provide why the action cannot begin; empty if it can.

    No other process opens a request for the repository while the block lasts: what was counted stays true.
    """
    try:
        place, _ = _access(context.parts.workplace)
    except BadInput as error:
        yield str(error)
        return
    if context.spec.action.kind is not ActionKind.OPEN_PR:
        yield ""
        return
    async with locked(_lock_file(place)):
        try:
            full = await too_many_open(
                context.parts.workplace, context.spec, besides=landing.branch_name(context.session)
            )
        except ForgeFailed as error:
            full = str(error)
        yield full


def _lock_file(place: ForgePlace) -> Path:
    """Return the file that is locked while requests of a repository are counted and opened, also from other clones."""
    key = hashlib.sha256(place.git_url.encode()).hexdigest()[:16]
    return private_directory(state_root(os.environ) / "forge") / f"{key}.lock"


async def carry_out(context: ActionContext) -> ActionReceipt:
    place, token = _access(context.parts.workplace)
    async with open_forge(place, token) as forge:
        if context.spec.action.kind is ActionKind.COMMENT:
            return await _comment(context, forge, place)
        return await _open_pull(context, forge, place, token)


async def too_many_open(workplace: Workplace, spec: LoopSpec, besides: str = "") -> str:
    """Return why no pull request may be opened; empty if one may. That of the branch `besides` does not count."""
    place, token = _access(workplace)
    async with open_forge(place, token) as forge:
        pulls = [pull for pull in await forge.marked_pulls() if pull.branch != besides]
    own = [pull for pull in pulls if pull.marker is not None and pull.marker.loop == spec.name]
    if spec.max_open and len(own) >= spec.max_open:
        return f"{len(own)} of {spec.max_open} open already: pull request #{own[0].number}"
    if len(pulls) >= MOST_OPEN_IN_REPOSITORY:
        return f"{len(pulls)} of {MOST_OPEN_IN_REPOSITORY} pull requests of all loops are open in {place.repository}"
    return ""


async def request_about(workplace: Workplace, loop: str, finding: str) -> tuple[PullRequest, FindingStatus] | None:
    """Return the open request of a loop about a finding, or the newest one if a person closed it; else None."""
    place, token = _access(workplace)
    async with open_forge(place, token) as forge:
        for is_open in (True, False):
            pulls = await forge.marked_pulls(loop, is_open)
            same = [pull for pull in pulls if pull.marker is not None and pull.marker.finding == finding]
            if same and is_open:
                return same[0], FindingStatus.OPEN
            if same and not same[0].is_merged and (await forge.state(same[0].number)).is_refused:
                return same[0], FindingStatus.REFUSED
    return None


async def status_now(workplace: Workplace, session: str) -> FindingStatus | None:
    """Return what became of the pull request of a round; None if there is none. One that a person closed is a no."""
    place, token = _access(workplace)
    async with open_forge(place, token) as forge:
        pull = await forge.newest_pull(landing.branch_name(session))
        if pull is None:
            return None
        if pull.is_open or pull.is_merged:
            return FindingStatus.OPEN if pull.is_open else FindingStatus.LANDED
        state = await forge.state(pull.number)
    return FindingStatus.REFUSED if state.is_refused else FindingStatus.CLOSED


async def _open_pull(context: ActionContext, forge: Forge, place: ForgePlace, token: Token) -> ActionReceipt:
    from donewhen.loops.forge.push import Pushed, push_branch  # loaded on use: a comment pushes nothing

    parts, spec, branch = context.parts, context.spec, landing.branch_name(context.session)
    if not context.onto:
        raise ActionFailed("no branch was checked out, so there is none to open a pull request for")
    plan = context.plan
    if spec.signoff:
        plan = replace(plan, signed_off_by=identity(parts.workplace.repo, "committer"))
    new = NewPullRequest(
        title=landing.subject_line(_without_secrets(context, context.finished.intent)),
        body=marked_text(_body(context), _marker(context)),
        branch=branch,
        base=context.onto,
        draft=spec.draft,
    )
    commit = landing.commit_of(parts.workplace, plan)
    pull = await _opened_before(context, forge) if context.is_repeated else None
    if pull is None:
        pushed = await push_branch(parts.workplace.store, place, token, commit, branch)
        try:
            pull = await forge.open_pull(new)
        except ForgeFailed as error:
            remedy = DRAFTS if spec.draft and error.status == 422 and "draft" in str(error).lower() else ""
            is_refused = not isinstance(error, Later) and 400 <= error.status < 500
            undone = (
                await _undo(context, forge, place, token, commit) if is_refused and pushed is Pushed.CREATED else ""
            )
            raise ActionFailed(f"{error}{remedy}{undone}") from error
    if not pull.is_open and not pull.is_merged:
        raise ActionFailed(f"the pull request #{pull.number} of {place.repository} was closed; it is not opened again")
    await landing.remove_landed_branch(parts.workplace, context.session)  # an escalation may have made one
    return ActionReceipt(
        kind=spec.action.kind.value,
        summary=f"{'draft ' if pull.is_draft else ''}pull request #{pull.number} of {place.repository}: {pull.url}",
        branch=branch,
        commit=commit,
        url=pull.url,
        number=pull.number,
    )


async def _opened_before(context: ActionContext, forge: Forge) -> PullRequest | None:
    """Return the request that an earlier process opened for this round: nothing is pushed for it again."""
    pull = await forge.newest_pull(landing.branch_name(context.session))
    is_ours = pull is not None and pull.marker == _marker(context) and await forge.is_me(pull.author)
    return pull if is_ours else None


async def _undo(context: ActionContext, forge: Forge, place: ForgePlace, token: Token, commit: str) -> str:
    """Remove the branch that was pushed for a request which the forge refuses. Return what became of it."""
    from donewhen.loops.forge.push import remove_branch

    branch = landing.branch_name(context.session)
    try:
        if (pull := await forge.newest_pull(branch)) is not None:
            return f"; pull request #{pull.number} has the branch {branch} already"
        await remove_branch(context.parts.workplace.store, place, token, commit, branch)
    except ForgeFailed as error:
        return f"; the branch {branch} stays in {place.repository}: {error}"
    return f"; the branch {branch} was removed from {place.repository} again"


async def _comment(context: ActionContext, forge: Forge, place: ForgePlace) -> ActionReceipt:
    written: list[str] = []
    left_out: list[str] = []
    refused: list[str] = []
    for wanted in wanted_comments(context):
        marker = replace(_marker(context), session=f"{context.session}/{wanted.number}")
        try:
            if reason := await _why_silent(forge, wanted.number, marker):
                left_out.append(f"#{wanted.number} ({reason})")
                continue
            text = marked_text(harmless(_without_secrets(context, wanted.text)), marker)
            written.append((await forge.comment(wanted.number, text)).url)
        except ForgeFailed as error:
            if isinstance(error, Later) or error.status not in OF_ONE_NUMBER:
                raise
            refused.append(f"#{wanted.number} ({OF_ONE_NUMBER[error.status] or error})")
    if refused and not written:
        raise ActionFailed(f"no comment was written: {', '.join([*refused, *left_out])}")
    summary = f"{len(written)} comment{'s' if len(written) != 1 else ''} in {place.repository}"
    if written:
        summary = f"{summary}: {', '.join(written)}"
    if left_out or refused:
        summary = f"{summary}; left out: {', '.join([*left_out, *refused])}"
    return ActionReceipt(kind=ActionKind.COMMENT.value, summary=summary, url=written[0] if written else "")


async def _why_silent(forge: Forge, number: int, marker: Marker) -> str:
    """Return why a comment is not written; empty if it is. One that an earlier process wrote changes nothing."""
    comments = await forge.comments(number)
    ours = [one for one in comments if one.marker is not None and await forge.is_me(one.author)]
    if any(one.marker == marker for one in ours):
        return ""
    item = await forge.state(number)
    if not item.is_open:
        return "it is closed"
    if item.is_pull and item.marker is not None and await forge.is_me(item.author):
        return "a loop opened it"
    login = (await forge.me()).login
    return why_not_to_comment(comments, {one.id for one in ours}, item.author.login, login, item.is_pull)


def wanted_comments(context: ActionContext) -> tuple[WantedComment, ...]:
    rounds = [one for one in context.parts.log.state.rounds if one.attempted is not None]
    return comments_in(rounds[-1].attempted.last_text) if rounds and rounds[-1].attempted is not None else ()


def _marker(context: ActionContext) -> Marker:
    return Marker(context.spec.name, context.session, context.finding or NO_FINDING)


def _without_secrets(context: ActionContext, text: str) -> str:
    return hide_secrets(text, round_secrets(context.parts.workplace.settings, context.spec, os.environ))


def _body(context: ActionContext) -> str:
    """Return the text of a pull request. The report comes from agents: it stands as a block, and mentions no one."""
    report = harmless(_without_secrets(context, rendered(context.finished))).replace("```", "'''")
    receipt = context.plan.receipt_digest
    parts = [
        f"Made by the donewhen loop `{context.spec.name}`, session `{context.session}`.",
        f"```text\n{report}```",
        f"Receipt: `{receipt}`" if receipt else "The contract was red; a person approved this work.",
    ]
    return "\n\n".join(parts)
