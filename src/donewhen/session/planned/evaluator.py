"""Evaluation of green planned work: runs the commands that the plan items promise, then asks an evaluator.

Both can send the work back or stop a landing. Neither can make a red contract green. A reply that cannot be used is not
an opinion: it is asked for again, and then a person decides. The result is one note of the round.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import anyio

from donewhen.engines.interface import Engine, Job
from donewhen.engines.planned import prompts
from donewhen.engines.planned.evaluation import Evaluation, evaluation_in
from donewhen.engines.planned.notes import EvaluationBegun, UnusableEvaluation
from donewhen.engines.planned.plan import Plan
from donewhen.engines.planner import MOST_TURNS, LimitReached, NoAnswer, ask_until_valid
from donewhen.engines.spec import EngineKind
from donewhen.engines.typed_reply import InvalidReply
from donewhen.event_records import CheckResult
from donewhen.events import EvaluationCompleted, EvaluationStarted, Event, RevisionStarted
from donewhen.judge.contract import Check, Contract
from donewhen.judge.verdict import CheckStatus, Verdict
from donewhen.records import frozen
from donewhen.session.check import command_policy
from donewhen.session.check.engine_sandbox import run_on_copy
from donewhen.session.check.judge_tree import TreeToJudge, check_results, judge_tree
from donewhen.session.log import plan_files
from donewhen.session.log.notes import Judged, Opinion
from donewhen.session.log.state import Round
from donewhen.session.log.writer import StepNotebook
from donewhen.session.loop import feedback
from donewhen.session.loop.round import LadderStep, job_to_plan
from donewhen.session.loop.round_context import RoundContext
from donewhen.session.loop.worker_services import SessionWorkerServices
from donewhen.session.planned.ask import answer_in_time
from donewhen.session.planned.evaluator_input import evaluator_input

ATTEMPTS = 3
VERIFY_SECS = 120
"""Time limit of a command. It is raised to the longest time limit of the contract's checks."""
MOST_PROBES = 5
"""Most probes of one evaluation that are run."""


@frozen(kw_only=True)
class EvaluatorConfig:
    """Which engine evaluates, and how often the work may be sent back."""

    engine: Engine
    model: str
    revisions: int


@dataclass(slots=True)
class Evaluator:
    context: RoundContext
    config: EvaluatorConfig

    def __post_init__(self) -> None:
        self.context = replace(self.context, budget=self.context.budget.without_turns())

    async def evaluate(self, current: Round) -> None:
        """Evaluate a round whose contract is green, and write the opinion to the log."""
        plan = plan_files.plan_in(self.context.log.state)
        assert plan is not None  # only planned work is evaluated
        checks = self._plan_checks(plan)
        results: tuple[CheckResult, ...] = ()
        if checks:
            verdict = await self._run(checks, current)
            results = check_results(verdict)
            if _ran_out_of_time(verdict) and (reached := self.context.budget.reached_limit()):
                self._inconclusive(current, f"a limit was reached while the checks of the plan items ran: {reached}")
                return
            if not verdict.green:
                self._unproven(current, verdict, checks)
                return
        await self._evaluate(current, results)

    # -- commands of the plan items --

    def _plan_checks(self, plan: Plan) -> tuple[Check, ...]:
        """Return the verify commands that are not checks of the contract, and the probes that failed before."""
        known = {check.at_root for check in self.context.start_record.contract.checks if check.expect_exit_zero}
        found: list[Check] = []
        for number, item in enumerate(plan.items, 1):
            for position, command in enumerate(item.verify, 1):
                if command not in known:
                    known.add(command)
                    found.append(Check(name=f"verify-{number}.{position}", command=command))
        probes = [probe for opinion in self._opinions() for probe in opinion.probes or ()]
        found += [Check(name=f"probe-{number}", command=probe) for number, probe in enumerate(probes, 1)]
        return tuple(found)

    async def _run(self, checks: Sequence[Check], current: Round) -> Verdict:
        """Run checks on the judged tree, by the same judge and with the same protected paths."""
        start_record, emit, left = self.context.start_record, self.context.log.emit, self.context.budget.seconds_left()
        longest = max(VERIFY_SECS, *(check.timeout_secs for check in start_record.contract.checks))
        limit = longest if left is None else max(1, min(longest, left))
        # The contract shows that the work turns something from red to green; not every command has to show it.
        evidence = "exit" if start_record.contract.min_evidence == "exit" else "tests"
        limited = tuple(replace(check, timeout_secs=limit) for check in checks)
        contract = replace(start_record.contract, checks=limited, description="", min_evidence=evidence)
        tree = TreeToJudge(base=start_record.base, candidate=_judged_green(current).candidate or "", phase="round")
        return await judge_tree(self.context.workplace, contract, tree, emit)

    def _unproven(self, current: Round, verdict: Verdict, checks: Sequence[Check]) -> None:
        red = [
            f"{one.name} is {_status_text(one.status)}" for one in verdict.results if one.status is not CheckStatus.PASS
        ]
        failures = feedback.of_verdict(verdict, Contract(checks=tuple(checks)))
        unproven = Opinion(
            n=current.n,
            status="unproven",
            summary=f"the contract is green, but plan item checks fail: {', '.join(red)}",
            feedback=f"The contract is green, but checks of the plan items fail.\n\n{failures}",
            results=check_results(verdict),
        )
        self._write(unproven)

    # -- the evaluator --

    async def _evaluate(self, current: Round, results: Sequence[CheckResult]) -> None:
        number = 1 + sum(opinion.evaluation is not None for opinion in self._opinions())
        if current.n not in [begun.n for begun in EvaluationBegun.all_in(self._notebook.notes())]:
            started = EvaluationStarted(round=number, model=self.config.model)
            self._notebook.write(EvaluationBegun(current.n).as_note(), started)
        evaluation: Evaluation | None = None
        with anyio.move_on_after(self.context.budget.seconds_left()):
            evaluation = await self._ask_evaluator(current, results)
        if evaluation is None:
            why = self.context.budget.reached_limit() or "; ".join(self._unusable_replies(current)[-1:])
            self._inconclusive(current, why)
        else:
            await self._conclude(current, evaluation)

    async def _ask_evaluator(self, current: Round, results: Sequence[CheckResult]) -> Evaluation | None:
        """Return the evaluation; None if there is no usable one."""
        services, tree = SessionWorkerServices(self.context, plan_files.NOTEBOOK), _judged_green(current).tree or ""
        part = f"evaluator#{current.n}"
        async with services.maker(part, tree) as maker:
            case = prompts.evaluator_task(await evaluator_input(self.context, current, results))

            async def ask() -> str:
                job = replace(
                    self._job(case, current),
                    maker=maker,
                    notebook=services.notebook(part),
                    run_on_copy=run_on_copy(self.context.workplace, self.context.start_record.base, tree),
                )
                return await answer_in_time(self.context, self.config.engine, job)

            async def read(reply: str) -> Evaluation:
                return evaluation_in(reply)

            def reject(invalid: InvalidReply) -> None:
                self._note_unusable(current, invalid.issues)

            try:
                return await ask_until_valid(lambda: ATTEMPTS - len(self._unusable_replies(current)), ask, read, reject)
            except NoAnswer as none:
                self._note_unusable(current, [f"no evaluation: {none}"])
            except LimitReached:
                pass
        return None

    def _job(self, case: str, current: Round) -> Job:
        job, unusable = (
            job_to_plan(self.context, LadderStep(kind=EngineKind.PLANNED, engine=None, reason="")),
            self._unusable_replies(current),
        )
        return replace(
            job,
            intent=case,
            rules=prompts.EVALUATOR,
            role="evaluator",
            iteration=len(unusable) + 1,
            feedback=prompts.evaluation_issues(unusable[-1:]) if unusable else "",
            hint="",
            private_dir=job.private_dir / "evaluator",
            asker=None,
            max_turns=MOST_TURNS,
        )

    # -- the result --

    async def _conclude(self, current: Round, evaluation: Evaluation) -> None:
        state = self.context.log.state
        artifact = plan_files.path(self.context.start_record.session, "evaluation.md")
        opinion = Opinion(
            n=current.n,
            status="passed" if evaluation.passed else "rejected",
            summary=evaluation.explained_summary(),
            evaluation=evaluation.plain(),
        )
        completed = EvaluationCompleted(
            status=opinion.status,
            scorecard=dict(evaluation.scorecard),
            summary=evaluation.explained_summary(),
            failed_rules=evaluation.failed_rules(),
            artifact=artifact,
        )
        if evaluation.passed:
            self._write(opinion, completed)
            return
        probes = await self._failing_probes(evaluation, current)
        used = sum(one.opinion is not None and one.opinion.status == "rejected" for one in state.allowed_rounds)
        revises = used < self.config.revisions
        feedback_text = _send_back_text(evaluation, probes, used + 1, self.config.revisions)
        events: list[Event] = [completed]
        if revises:
            events.append(RevisionStarted(round=used + 1, summary=evaluation.explained_summary(), artifact=artifact))
        self._write(opinion.changed(probes=tuple(probes), revises=revises, feedback=feedback_text), *events)

    async def _failing_probes(self, evaluation: Evaluation, current: Round) -> list[str]:
        """Return the probes that really fail on the judged tree. A probe that does not fail is only an opinion."""
        plan = plan_files.plan_in(self.context.log.state)
        known = {check.command for check in self._plan_checks(plan)} if plan is not None else set[str]()
        refused = await command_policy.refused_commands(self.context.workplace, evaluation.probes)
        new = [one for one in evaluation.probes if one not in known and one not in refused][:MOST_PROBES]
        if not new:
            return []
        checks = [Check(name=f"probe-of-{current.n}.{number}", command=one) for number, one in enumerate(new, 1)]
        verdict = await self._run(checks, current)
        failed = {one.name for one in verdict.results if one.status is CheckStatus.FAIL}
        return [check.command for check in checks if check.name in failed]

    def _inconclusive(self, current: Round, why: str) -> None:
        summary = f"the evaluation is inconclusive: {why}"
        completed = EvaluationCompleted(status="inconclusive", scorecard={}, summary=summary)
        self._write(Opinion(n=current.n, status="inconclusive", summary=summary), completed)

    def _write(self, opinion: Opinion, *events: Event) -> None:
        log = self.context.log
        log.write(*events, note=opinion.note(), sync=True)
        plan_files.write(log.session, log.state)

    def _opinions(self) -> list[Opinion]:
        return [one.opinion for one in self.context.log.state.rounds if one.opinion is not None]

    # -- notes --

    def _note_unusable(self, current: Round, issues: Sequence[str]) -> None:
        self._notebook.write(UnusableEvaluation(current.n, tuple(issues)).as_note())

    def _unusable_replies(self, current: Round) -> list[str]:
        """Return what was wrong with each unusable evaluation of the round so far."""
        unusable = UnusableEvaluation.all_in(self._notebook.notes())
        return ["; ".join(one.issues) for one in unusable if one.n == current.n]

    @property
    def _notebook(self) -> StepNotebook:
        return StepNotebook(self.context.log, plan_files.NOTEBOOK)


def _judged_green(current: Round) -> Judged:
    assert current.judged is not None  # only green work is evaluated
    return current.judged


def _ran_out_of_time(verdict: Verdict) -> bool:
    red = {one.status for one in verdict.results if one.status is not CheckStatus.PASS}
    return red == {CheckStatus.TIMEOUT}


def _status_text(status: CheckStatus) -> str:
    """Return the status as text. A command that is still running has not passed."""
    return "still running at its time limit" if status is CheckStatus.TIMEOUT else status.value


def _send_back_text(evaluation: Evaluation, probes: Sequence[str], number: int, most: int) -> str:
    parts = [
        "The checks are green, but the evaluator did not accept the work"
        + (f" (revision {number} of {most})." if number <= most else "."),
        evaluation.rendered(number).strip(),
    ]
    if probes:
        listed = "\n".join(f"- {command}" for command in probes)
        parts.append(f"These commands fail now. They are checks of the next round:\n\n{listed}")
    return "\n\n".join(parts)
