"""Green work that was planned, looked at again: what its items promise is run, then a sceptic is asked.

Both can send the work back or stop a landing; neither can make a red contract green. A reply that cannot be used is no
opinion: it is asked for again, and then a person decides. What is said is one note of the round.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import anyio

from donewhen.engines.base import Engine, Job, Note, Probe
from donewhen.engines.planned import words
from donewhen.engines.planned.asking import MOST_TURNS, Interrupted, NoAnswer
from donewhen.engines.planned.evaluation import Evaluation, evaluation_in
from donewhen.engines.planned.plan import Plan
from donewhen.engines.planned.reading import Malformed
from donewhen.events import EvaluationCompleted, EvaluationStarted, Event, RevisionStarted
from donewhen.judge.contract import Check, Contract
from donewhen.judge.verdict import Status, Verdict
from donewhen.records import frozen
from donewhen.session import artifacts, feedback, permitted
from donewhen.session.attempting import Rung, Workbench
from donewhen.session.checking import judge_tree, plain_results
from donewhen.session.evaluation_case import case_of
from donewhen.session.hands import SessionHands
from donewhen.session.listening import answer_in_time
from donewhen.session.recorder import RungNotebook
from donewhen.session.story import OPINION, Plain, Round
from donewhen.workspace.command import Finished
from donewhen.workspace.sandbox.room import ShellCommand

BEGUN, UNUSABLE = "evaluates", "unusable"
"""The notes of a round that is evaluated, which is told once, and of an evaluation that cannot be used."""
TRIES = 3
VERIFY_SECS = 120
"""So long may a command take, and as long as any check of the contract."""
MOST_PROBES = 5
"""Of one evaluation."""


@frozen(kw_only=True)
class Sceptic:
    """Who is asked, and how often the work may be sent back."""

    engine: Engine
    model: str
    revisions: int


@dataclass(slots=True)
class Evaluating:
    bench: Workbench
    sceptic: Sceptic

    async def form(self, current: Round) -> None:
        """Write down what is to be said about a round whose contract is green."""
        plan = artifacts.plan_in(self.bench.recorder.story)
        assert plan is not None  # only what was planned is looked at again
        checks = self._promised(plan)
        results: list[dict[str, Any]] = []
        if checks:
            verdict = await self._run(checks, current)
            results = plain_results(verdict)
            if _ran_out_of_time(verdict) and (reached := self.bench.budget.reached()):
                self._inconclusive(current, f"what the items promise was still running: {reached}")
                return
            if not verdict.green:
                self._unproven(current, verdict, checks)
                return
        await self._evaluate(current, results)

    # -- what the items promise --

    def _promised(self, plan: Plan) -> tuple[Check, ...]:
        """The verify commands that are no checks of the contract, and probes that have failed before."""
        known = {check.at_root for check in self.bench.opened.contract.checks if check.expect_exit_zero}
        found: list[Check] = []
        for number, item in enumerate(plan.items, 1):
            for place, command in enumerate(item.verify, 1):
                if command not in known:
                    known.add(command)
                    found.append(Check(name=f"verify-{number}.{place}", command=command))
        probes = [probe for one in self.bench.recorder.story.rounds for probe in (one.opinion or {}).get("probes", ())]
        found += [Check(name=f"probe-{number}", command=probe) for number, probe in enumerate(probes, 1)]
        return tuple(found)

    async def _run(self, checks: Sequence[Check], current: Round) -> Verdict:
        """On the tree that was judged, by the same judge, with the same paths protected."""
        opened, emit, left = self.bench.opened, self.bench.recorder.emit, self.bench.budget.seconds_left()
        longest = max(VERIFY_SECS, *(check.timeout_secs for check in opened.contract.checks))
        limit = longest if left is None else max(1, min(longest, left))
        # That the work turns something from red to green is shown by the contract; not every command has to show it.
        evidence = "exit" if opened.contract.min_evidence == "exit" else "tests"
        limited = tuple(replace(check, timeout_secs=limit) for check in checks)
        contract = replace(opened.contract, checks=limited, description="", min_evidence=evidence)
        candidate = str((current.judged or {})["candidate"])
        return await judge_tree(
            self.bench.place, contract, base=opened.base, candidate=candidate, emit=emit, phase="round"
        )

    def _unproven(self, current: Round, verdict: Verdict, checks: Sequence[Check]) -> None:
        red = [f"{one.name} is {_said(one.status)}" for one in verdict.results if one.status is not Status.PASS]
        told = feedback.of_verdict(verdict, Contract(checks=tuple(checks)))
        body: dict[str, Any] = {
            "status": "unproven",
            "summary": f"the contract is green, but what the items promise is not: {', '.join(red)}",
            "feedback": f"The contract is green. What the items of the plan promise is not there yet.\n\n{told}",
            "results": plain_results(verdict),
        }
        self._write(current, body)

    # -- the sceptic --

    async def _evaluate(self, current: Round, results: Sequence[Plain]) -> None:
        number = 1 + sum(bool(one.opinion and "evaluation" in one.opinion) for one in self.bench.recorder.story.rounds)
        if current.n not in [body["n"] for body in self._notes(BEGUN)]:
            begun = EvaluationStarted(round=number, model=self.sceptic.model)
            RungNotebook(self.bench.recorder, artifacts.RUNG).write(Note(BEGUN, {"n": current.n}), begun)
        evaluation: Evaluation | None = None
        with anyio.move_on_after(self.bench.budget.seconds_left()):
            evaluation = await self._asked(current, results)
        if evaluation is None:
            why = self.bench.budget.reached() or "; ".join(self._unusable(current)[-1:])
            self._inconclusive(current, why)
        else:
            await self._concluded(current, evaluation)

    async def _asked(self, current: Round, results: Sequence[Plain]) -> Evaluation | None:
        """The evaluation; None where there is none that could be used."""
        hands, tree = SessionHands(self.bench, artifacts.RUNG), str((current.judged or {})["tree"])
        part = f"evaluator#{current.n}"
        async with hands.maker(part, tree) as maker:
            case = words.judging(await case_of(self.bench, current, results))
            while len(self._unusable(current)) < TRIES:
                job = replace(
                    self._job(case, current),
                    maker=maker,
                    notebook=hands.notebook(part),
                    probe=_probe(self.bench, tree),
                )
                try:
                    return evaluation_in(await answer_in_time(self.bench, self.sceptic.engine, job))
                except Malformed as malformed:
                    self._spoil(current, malformed.issues)
                except NoAnswer as none:
                    self._spoil(current, [f"no answer: {none}"])
                    break
                except Interrupted:
                    break
        return None

    def _job(self, case: str, current: Round) -> Job:
        job, spoilt = self.bench.job_to_plan(Rung(name=artifacts.RUNG, engine=None, reason="")), self._unusable(current)
        return replace(
            job,
            intent=case,
            rules=words.EVALUATOR,
            role="evaluator",
            iteration=len(spoilt) + 1,
            feedback=words.inconclusive(spoilt[-1:]) if spoilt else "",
            hint="",
            own=job.own / "evaluator",
            asker=None,
            max_turns=MOST_TURNS,
        )

    # -- what comes of it --

    async def _concluded(self, current: Round, evaluation: Evaluation) -> None:
        story = self.bench.recorder.story
        artifact = artifacts.path(self.bench.opened.session, "evaluation.md")
        status = "passed" if evaluation.passed else "rejected"
        completed = EvaluationCompleted(
            status=status,
            scorecard=dict(evaluation.scorecard),
            summary=evaluation.told(),
            failed_rules=evaluation.failed_rules(),
            artifact=artifact,
        )
        body: dict[str, Any] = {"status": status, "summary": evaluation.told(), "evaluation": evaluation.plain()}
        if evaluation.passed:
            self._write(current, body, completed)
            return
        probes = await self._failing(evaluation, current)
        used = sum((one.opinion or {}).get("status") == "rejected" for one in story.allowed_rounds)
        body |= {"probes": probes, "revises": used < self.sceptic.revisions}
        body["feedback"] = _sent_back(evaluation, probes, used + 1, self.sceptic.revisions)
        told: list[Event] = [completed]
        if body["revises"]:
            told.append(RevisionStarted(round=used + 1, summary=evaluation.told(), artifact=artifact))
        self._write(current, body, *told)

    async def _failing(self, evaluation: Evaluation, current: Round) -> list[str]:
        """The probes of an evaluation that really fail on what was judged; what does not is only an opinion."""
        plan = artifacts.plan_in(self.bench.recorder.story)
        known = {check.command for check in self._promised(plan)} if plan is not None else set[str]()
        refused = await permitted.refused(self.bench.place, evaluation.probes)
        new = [one for one in evaluation.probes if one not in known and one not in refused][:MOST_PROBES]
        if not new:
            return []
        checks = [Check(name=f"probe-of-{current.n}.{number}", command=one) for number, one in enumerate(new, 1)]
        verdict = await self._run(checks, current)
        failed = {one.name for one in verdict.results if one.status is Status.FAIL}
        return [check.command for check in checks if check.name in failed]

    def _inconclusive(self, current: Round, why: str) -> None:
        summary = f"the evaluator came to no conclusion: {why}"
        told = EvaluationCompleted(status="inconclusive", scorecard={}, summary=summary)
        self._write(current, {"status": "inconclusive", "summary": summary}, told)

    def _write(self, current: Round, body: Plain, *told: Event) -> None:
        recorder = self.bench.recorder
        recorder.write(*told, note=(OPINION, {"n": current.n, **body}), sync=True)
        artifacts.write(recorder.session, recorder.story)

    # -- notes --

    def _spoil(self, current: Round, issues: Sequence[str]) -> None:
        note = Note(UNUSABLE, {"n": current.n, "issues": list(issues)})
        RungNotebook(self.bench.recorder, artifacts.RUNG).write(note)

    def _unusable(self, current: Round) -> list[str]:
        """What was wrong with each evaluation of the round so far."""
        return ["; ".join(body["issues"]) for body in self._notes(UNUSABLE) if body["n"] == current.n]

    def _notes(self, kind: str) -> list[Plain]:
        return [note.body for note in self.bench.recorder.story.notes.get(artifacts.RUNG, ()) if note.kind == kind]


def _probe(bench: Workbench, tree: str) -> Probe:
    """Commands on copies of a tree that are thrown away."""
    place, base = bench.place, bench.opened.base

    async def probe(command: str, timeout_secs: float) -> Finished:
        async with place.tree("judge", base, tree) as judged:
            return await place.room(judged).run(ShellCommand(text=command, timeout_secs=timeout_secs))

    return probe


def _ran_out_of_time(verdict: Verdict) -> bool:
    red = {one.status for one in verdict.results if one.status is not Status.PASS}
    return red == {Status.TIMEOUT}


def _said(status: Status) -> str:
    """What is still running has not passed."""
    return "still running when its time was over" if status is Status.TIMEOUT else status.value


def _sent_back(evaluation: Evaluation, probes: Sequence[str], number: int, most: int) -> str:
    parts = [
        "The checks are green, and the work was evaluated: it is not accepted"
        + (f" (revision {number} of {most})." if number <= most else "."),
        evaluation.rendered(number).strip(),
    ]
    if probes:
        listed = "\n".join(f"- {command}" for command in probes)
        parts.append(f"These commands fail now. They are checks of the next round:\n\n{listed}")
    return "\n\n".join(parts)
