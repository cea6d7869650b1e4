"""Judges the work of a round: the verdict, its note in the log, and the receipt if it is green."""

import time

from donewhen.judge.contract import Contract
from donewhen.judge.verdict import CheckStatus, Verdict
from donewhen.session.check import receipts
from donewhen.session.check.judge_tree import TreeToJudge, check_results, judge_tree
from donewhen.session.log.notes import Attempted, EditedPath, FailingCheck, Judged
from donewhen.session.log.state import Round
from donewhen.session.loop import feedback
from donewhen.session.loop.round_context import RoundContext


async def judge_round(context: RoundContext, current: Round) -> None:
    """Judge what was made, independent of what the engine reported about it."""
    attempted = current.attempted
    assert attempted is not None  # a round is judged after its attempt
    if attempted.refused is not None:
        judged = Judged(
            n=current.n,
            green=False,
            refused=attempted.refused,
            feedback=feedback.of_refusal(attempted.refused, attempted.refused_paths or ()),
            refused_paths=attempted.refused_paths or (),
        )
    else:
        judged = await _judge(context, attempted)
    context.log.write(note=judged.note(), sync=judged.green)
    await context.memory.learn_from(current)


async def _judge(context: RoundContext, attempted: Attempted) -> Judged:
    began = time.monotonic()
    contract, workplace = context.start_record.contract, context.workplace
    tree = TreeToJudge(base=context.start_record.base, candidate=attempted.candidate or "", phase="round")
    verdict = await judge_tree(workplace, contract, tree, context.log.emit)
    judged = judged_note(attempted.n, verdict, contract).changed(signatures=context.memory.signatures(verdict))
    if not verdict.green:
        return judged
    costs = receipts.ReceiptCosts.of(context.log.state, time.monotonic() - began)
    return judged.changed(receipt=await receipts.receipt_text(workplace, verdict, contract, costs))


def judged_note(n: int, verdict: Verdict, contract: Contract) -> Judged:
    """Return the part of a verdict that the log keeps."""
    failing = sorted((r.name, r.status.value) for r in verdict.results if r.status is not CheckStatus.PASS)
    return Judged(
        n=n,
        green=verdict.green,
        candidate=verdict.candidate,
        tree=verdict.tree,
        results=check_results(verdict),
        failing=tuple(FailingCheck(*one) for one in failing),
        edits=tuple(EditedPath(edit.path, edit.action, edit.reason) for edit in verdict.edits),
        discriminating=verdict.discriminating,
        notes=tuple(map(str, verdict.notes)),
        note_checks=tuple(note.check for note in verdict.notes),
        feedback="" if verdict.green else feedback.of_verdict(verdict, contract),
    )
