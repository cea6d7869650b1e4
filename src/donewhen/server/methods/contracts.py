"""The methods about contracts and verdicts without a session: propose, init, revise, check, union, and receipts.

A check must not load the database of sessions, so that nothing here imports it at the top.
"""

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from donewhen.server.methods.call_context import CallContext
from donewhen.server.methods.place import place

if TYPE_CHECKING:
    from donewhen.judge.verdict import Verdict
    from donewhen.server.methods.results import Answered
    from donewhen.server.methods.verdict_results import (
        StatedContract,
        TreeVerdict,
        UnionPart,
        UnionResult,
        VerifiedReceipt,
    )
    from donewhen.session.check.init_contract import ContractProposal
    from donewhen.union.combine import Dropped
    from donewhen.union.gate import Gated

Subject = Literal["working", "as-is", "head"]


async def contract_propose(repo: str = "") -> "StatedContract":
    """Return the contract that `init` would propose for a repository, before it tries it. Nothing is run or written."""
    from donewhen.session.verbs.init import proposal_for

    return _stated(await proposal_for(place(repo)))


async def contract_init(context: CallContext, repo: str = "") -> "StatedContract":
    """Write the proposed contract of a repository after it was run once. Checks that are there already stay."""
    from donewhen.session.verbs.init import InitWatcher, init

    views = context.views
    watch = InitWatcher(say=context.say, proposed=views.proposed, judging=context.judging, allows=views.allows)
    return _stated(await init(place(repo), watch))


def _stated(proposal: "ContractProposal") -> "StatedContract":
    return {
        "file": str(proposal.file),
        "is_new": proposal.before is None,
        "checks": [
            {"name": one.check.name, "command": one.check.command, "dir": one.check.dir, "why": one.why}
            for one in proposal.checks
        ],
        "known": [check.name for check in proposal.known],
        "workspace": {key: list(values) for key, values in proposal.workspace.items()},
        "product": [{"pattern": one.pattern, "reason": one.reason} for one in proposal.product],
        "notes": list(proposal.found.hints),
    }


def contract_revise(id: str, text: str) -> "Answered":
    """Ask for a change of the contract or plan that a session has proposed. It is an answer at its gate."""
    from donewhen.server.methods.session_decisions import session_answer

    return session_answer(id, text)


async def contract_check(
    context: CallContext, subject: Subject = "working", fresh: bool = False, receipt: str = "", repo: str = ""
) -> "TreeVerdict":
    """Judge the working tree of a repository against HEAD, without a model. Protected paths are those of HEAD.

    `subject` may be `as-is` for the files without protection, or `head` for HEAD alone. `fresh` ignores what is cached.
    The evidence is written to the file `receipt`, if it is given.
    """
    from donewhen.session.check.judge_tree import CheckRequest
    from donewhen.session.verbs.check import CheckWatcher, check

    watch = CheckWatcher(say=context.say, judging=context.judging, accepts=context.views.accepts)
    request = CheckRequest(subject=subject, fresh=fresh)
    return _judged(await check(place(repo), request, Path(receipt) if receipt else None, watch))


def _judged(verdict: "Verdict") -> "TreeVerdict":
    from donewhen.session.check.judge_tree import outcome_of, summary

    results: list[Any] = [{**asdict(result), "status": result.status.value} for result in verdict.results]
    for result in results:
        result["reasons"] = list(result["reasons"])
        del result["passed"]
    return {
        "green": verdict.green,
        "outcome": outcome_of(verdict).value,
        "summary": summary(verdict),
        "base": verdict.base,
        "candidate": verdict.candidate,
        "tree": verdict.tree,
        "results": results,
        "edits": [
            {"path": one.path, "action": one.action, "reason": one.reason, "parts": list(one.parts)}
            for one in verdict.edits
        ],
        "notes": [str(note) for note in verdict.notes],
    }


async def receipt_get(id: str, amended: bool = False) -> str:
    """Return the receipt of a verified session; with `amended`, that of its second commit."""
    from donewhen.session.verbs.finished import receipt

    return await receipt(id, amended)


async def receipt_verify(context: CallContext, receipt: str, repo: str = "", name: str = "") -> "VerifiedReceipt":
    """Judge again what a receipt certifies, without network access.

    `receipt` is the text of a receipt, or a commit that carries the digest of one. A text may have a `name`, which
    messages call it by.
    """
    from donewhen.session.check.judge_tree import summary
    from donewhen.session.verbs.verify import verify

    is_text = bool(name) or receipt.lstrip().startswith("{")
    content = receipt.encode("utf-8", "surrogateescape") if is_text else None
    named = name or ("the receipt" if is_text else receipt)
    verified = await verify(place(repo), named, content, context.say)
    return {
        "same": not verified.differences,
        "differences": list(verified.differences),
        "digest": verified.receipt.digest,
        "anchor": verified.anchor,
        "summary": summary(verified.verdict),
        "verdict": _judged(verified.verdict),
    }


async def union_run(context: CallContext, parts: list[str], base: str = "", repo: str = "") -> "UnionResult":
    """Combine finished branches and patch files on a commit, without a model: a maximal set that passes together.

    `parts` are branches, commits and patch files; files are named from the directory `repo`. Without `base`, the commit
    is HEAD.
    """
    from donewhen.session.verbs.union import union

    combined = await union(place(repo), base, parts, context.say, context.emit)
    united = combined.united
    left = {one.patch: one for one in united.dropped}
    deltas: Iterable[Any] = united.check_deltas.deltas if united.check_deltas else ()
    return {
        "is_complete": united.is_complete,
        "branch": combined.branch,
        "commit": combined.commit,
        "summary": combined.summary,
        "note": combined.note,
        "parts": [_part(gated, left.get(gated.patch.id)) for gated in united.gated],
        "reconciled": [{"path": path, "how": how} for path, how in united.together.reconciled],
        "flaky": list(united.flaky),
        "open_checks": [{"name": one.name, "detail": one.detail} for one in deltas if one.kind == "open"],
    }


def _part(gated: "Gated", dropped: "Dropped | None") -> "UnionPart":
    is_in = dropped is None and gated.status == "accepted"
    reasons = [str(reason) for reason in gated.reasons] if dropped is None else [dropped.detail]
    return {
        "id": gated.patch.id,
        "title": gated.patch.title,
        "status": "in" if is_in else "left out" if dropped is not None else gated.status,
        "reasons": [] if is_in else reasons,
        "notes": list(gated.notes),
    }
