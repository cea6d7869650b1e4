"""Judges the work of a round: the verdict, its note in the log, and the receipt if it is green."""

import time
from typing import Any

from donewhen.judge.contract import Contract
from donewhen.judge.verdict import CheckStatus, Verdict
from donewhen.session.check import receipts
from donewhen.session.check.judge_tree import check_results, judge_tree
from donewhen.session.log.start_record import StartRecord
from donewhen.session.log.state import JUDGED, Round
from donewhen.session.log.writer import LogWriter
from donewhen.session.loop import feedback
from donewhen.session.recall.session_memory import SessionMemory
from donewhen.session.workplace import Workplace


async def judge_round(
    place: Workplace, opened: StartRecord, recorder: LogWriter, current: Round, memory: SessionMemory
) -> None:
    """Judge what was made, independent of what the engine reported about it."""
    attempted = current.attempted or {}
    if "refused" in attempted:
        paths = attempted.get("refused_paths", [])
        words = feedback.of_refusal(attempted["refused"], paths)
        body: dict[str, Any] = {"green": False, "refused": attempted["refused"], "feedback": words, "failing": []}
        body["refused_paths"] = paths
    else:
        body = await _judged(place, opened, recorder, str(attempted["candidate"]), memory)
    recorder.write(note=(JUDGED, {"n": current.n, **body}), sync=bool(body["green"]))
    await memory.judged(current)


async def _judged(
    place: Workplace, opened: StartRecord, recorder: LogWriter, candidate: str, memory: SessionMemory
) -> dict[str, Any]:
    began = time.monotonic()
    contract, story = opened.contract, recorder.story
    verdict = await judge_tree(
        place, contract, base=opened.base, candidate=candidate, emit=recorder.emit, phase="round"
    )
    body = {**plain_verdict(verdict, contract), **memory.of_round(verdict)}
    if verdict.green:
        took = round((story.active_secs + time.monotonic() - began) * 1000)
        costs = receipts.ReceiptCosts(duration_ms=took, tokens=story.tokens, usd=story.usd)
        body["receipt"] = await receipts.made(place, verdict, contract, costs)
    return body


def plain_verdict(verdict: Verdict, contract: Contract) -> dict[str, Any]:
    """Return the part of a verdict that the log keeps."""
    failing = sorted((r.name, r.status.value) for r in verdict.results if r.status is not CheckStatus.PASS)
    return {
        "green": verdict.green,
        "candidate": verdict.candidate,
        "tree": verdict.tree,
        "results": [one.plain() for one in check_results(verdict)],
        "failing": failing,
        "edits": [[edit.path, edit.action, edit.reason] for edit in verdict.edits],
        "discriminating": verdict.discriminating,
        "notes": [str(note) for note in verdict.notes],
        "note_checks": [note.check for note in verdict.notes],
        "feedback": "" if verdict.green else feedback.of_verdict(verdict, contract),
    }
