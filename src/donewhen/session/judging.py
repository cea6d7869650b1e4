"""A round's work, judged: the verdict, what the log keeps of it, and the receipt of a green one."""

import time
from typing import Any

from donewhen.judge.contract import Contract
from donewhen.judge.verdict import Status, Verdict
from donewhen.session import feedback, receipts
from donewhen.session.checking import judge_tree, plain_results
from donewhen.session.opened import Opened
from donewhen.session.recorder import Recorder
from donewhen.session.remembering import NoMemory
from donewhen.session.story import JUDGED, Round
from donewhen.session.workplace import Workplace


async def judge_round(place: Workplace, opened: Opened, recorder: Recorder, current: Round, memory: NoMemory) -> None:
    """Judge what was made, whatever the engine said about it."""
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
    place: Workplace, opened: Opened, recorder: Recorder, candidate: str, memory: NoMemory
) -> dict[str, Any]:
    began = time.monotonic()
    contract, story = opened.contract, recorder.story
    verdict = await judge_tree(
        place, contract, base=opened.base, candidate=candidate, emit=recorder.emit, phase="round"
    )
    body = {**plain_verdict(verdict, contract), **memory.of_round(verdict)}
    if verdict.green:
        took = round((story.active_secs + time.monotonic() - began) * 1000)
        costs = receipts.Costs(duration_ms=took, tokens=story.tokens, usd=story.usd)
        body["receipt"] = await receipts.made(place, verdict, contract, costs)
    return body


def plain_verdict(verdict: Verdict, contract: Contract) -> dict[str, Any]:
    """What the log keeps of a verdict."""
    failing = sorted((r.name, r.status.value) for r in verdict.results if r.status is not Status.PASS)
    return {
        "green": verdict.green,
        "candidate": verdict.candidate,
        "tree": verdict.tree,
        "results": plain_results(verdict),
        "failing": failing,
        "edits": [[edit.path, edit.action, edit.reason] for edit in verdict.edits],
        "discriminating": verdict.discriminating,
        "notes": [str(note) for note in verdict.notes],
        "note_checks": [note.check for note in verdict.notes],
        "feedback": "" if verdict.green else feedback.of_verdict(verdict, contract),
    }
