"""The checker of a loop round: a second agent in a new conversation, which tries to refute the work.

Only its words count: `confirmed`, `refuted` or `unproven`, with evidence. An answer that cannot be used is asked for
again, and then the work is unproven. How its conversation ended proves nothing.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import anyio

from donewhen.engines.interface import Engine, Job
from donewhen.engines.planner import LimitReached, NoAnswer, ask_until_valid
from donewhen.engines.spec import EngineKind
from donewhen.engines.typed_reply import InvalidReply, cleaned, cut, describe_value, only_object_in
from donewhen.loops import prompts
from donewhen.loops.notes import NOTEBOOK, CheckerDone, CheckerVerdict, InputOutput, UnusableCheck
from donewhen.loops.prompts import CheckerCase
from donewhen.loops.spec import LoopSpec
from donewhen.session.check.engine_sandbox import run_on_copy
from donewhen.session.log.state import Round, turns_of
from donewhen.session.log.writer import StepNotebook
from donewhen.session.loop.round import LadderStep, job_to_plan
from donewhen.session.loop.round_context import RoundContext
from donewhen.session.loop.worker_services import SessionWorkerServices
from donewhen.session.planned.ask import answer_in_time

ATTEMPTS = 2
ROLE = "checker"
WORD = re.compile(r"[^\W_]")
"""A text without one says nothing, such as the dots of the form that the checker is shown."""
VERDICTS: tuple[CheckerVerdict, ...] = ("confirmed", "refuted", "unproven")
LONGEST_TEXT = 4000
UNCHANGED = "the maker changed nothing since"


class BudgetUsedUp(Exception):
    """Control flow: a limit was reached while the checker worked. The message says which."""


@dataclass(slots=True)
class Checker:
    context: RoundContext
    engine: Engine
    spec: LoopSpec
    inputs: tuple[InputOutput, ...]

    def __post_init__(self) -> None:
        self.context = replace(self.context, budget=self.context.budget.without_turns())

    async def check(self, current: Round) -> CheckerDone:
        """Return the recorded or a new verdict on the work of a session round. Raise `BudgetUsedUp` at a limit."""
        earlier = CheckerDone.all_in(self._notebook.notes())
        if known := [one for one in earlier if one.n == current.n]:
            return known[-1]
        if refuted := [one for one in earlier if one.verdict == "refuted" and self._is_same_work(one.n, current)]:
            unchanged = refuted[-1].changed(n=current.n, summary=f"{refuted[-1].summary} ({UNCHANGED})", turns=0)
            self._notebook.write(unchanged.as_note())
            return unchanged
        answer: tuple[CheckerVerdict, str, str] | None = None
        with anyio.move_on_after(self.context.budget.seconds_left()) as scope:
            answer = await self._ask(current)
        if scope.cancelled_caught:
            raise BudgetUsedUp(self._limit())
        issues = self._issues(current)
        verdict, summary, evidence = answer or ("unproven", f"the checker gave no usable answer: {issues[-1]}", "")
        turns = turns_of(self.context.log.state, ROLE) - sum(one.turns for one in earlier)
        done = CheckerDone(n=current.n, verdict=verdict, summary=summary, evidence=evidence, turns=turns)
        self._notebook.write(done.as_note())
        return done

    def _is_same_work(self, number: int, current: Round) -> bool:
        """Return True if an earlier round made the same: no second checker is asked about what one has refuted."""
        before = self.context.log.state.rounds[number - 1]
        if self.context.start_record.reads_only:
            return before.attempted is not None and before.attempted.last_text == _report(current)
        return before.judged is not None and current.judged is not None and before.judged.tree == current.judged.tree

    async def _ask(self, current: Round) -> tuple[CheckerVerdict, str, str] | None:
        """Return the answer; None if there is no usable one."""
        services, part = SessionWorkerServices(self.context, NOTEBOOK), f"{ROLE}#{current.n}"
        workplace, start_record = self.context.workplace, self.context.start_record
        tree = await self._tree(current)
        case = await self._case(current, services, tree)
        async with services.maker(part, tree) as maker:

            async def ask() -> str:
                job = replace(self._job(case, current), maker=maker, notebook=services.notebook(part))
                if not start_record.reads_only:
                    job = replace(job, run_on_copy=run_on_copy(workplace, start_record.base, tree))
                return await answer_in_time(self.context, self.engine, job)

            async def read(reply: str) -> tuple[CheckerVerdict, str, str]:
                return verdict_in(reply)

            def reject(invalid: InvalidReply) -> None:
                self._note_unusable(current, invalid.issues)

            try:
                return await ask_until_valid(lambda: ATTEMPTS - len(self._issues(current)), ask, read, reject)
            except NoAnswer as none:
                self._note_unusable(current, (str(none),))
                return None
            except LimitReached:
                raise BudgetUsedUp(self._limit()) from None

    def _limit(self) -> str:
        return self.context.budget.reached_limit() or "minutes: used up by the checker"

    async def _tree(self, current: Round) -> str:
        judged = current.judged
        if judged is not None and judged.tree:
            return judged.tree
        return await self.context.workplace.store.tree_of(self.context.start_record.base)

    async def _case(self, current: Round, services: SessionWorkerServices, tree: str) -> str:
        judged = current.judged
        hidden = services.held_out
        results = judged.results if judged is not None else self.context.log.state.baseline_results
        base = await services.base()
        case = CheckerCase(
            report=_report(current),
            patch=await services.patch(base, tree) if tree != base else "",
            results=[one for one in results or () if one.name not in hidden],
            inputs=self.inputs,
        )
        return prompts.checker_task(self.spec, case)

    def _job(self, case: str, current: Round) -> Job:
        job, issues = (
            job_to_plan(self.context, LadderStep(kind=EngineKind.NATIVE, engine=None, reason="")),
            self._issues(current),
        )
        return replace(
            job,
            intent=job.redact(case),
            rules=prompts.CHECK_REPORT if self.context.start_record.reads_only else prompts.CHECK_WORK,
            role=ROLE,
            iteration=len(issues) + 1,
            feedback=prompts.unusable_answer(issues[-1:]) if issues else "",
            hint="",
            private_dir=job.private_dir / ROLE,
            asker=None,
            max_turns=self.spec.budget.turns or self._most_turns(),
        )

    def _most_turns(self) -> int:
        is_agent = EngineKind.of(self.spec.checker_engine) is EngineKind.EXTERNAL
        return self.context.start_record.settings.whole("external" if is_agent else "native", "max_turns")

    def _note_unusable(self, current: Round, issues: tuple[str, ...]) -> None:
        self._notebook.write(UnusableCheck(current.n, issues).as_note())

    def _issues(self, current: Round) -> list[str]:
        unusable = UnusableCheck.all_in(self._notebook.notes())
        return ["; ".join(one.issues) for one in unusable if one.n == current.n]

    @property
    def _notebook(self) -> StepNotebook:
        return StepNotebook(self.context.log, NOTEBOOK)


def _report(current: Round) -> str:
    return current.attempted.last_text if current.attempted is not None else ""


def verdict_in(reply: str) -> tuple[CheckerVerdict, str, str]:
    """Return verdict, summary and evidence of a reply. Raise `InvalidReply` with every reason why it is invalid."""
    found: Mapping[str, Any] = only_object_in(reply, ["verdict", "evidence"], prompts.FORM)
    issues: list[str] = []
    word = found.get("verdict")
    verdict = word.strip().lower() if isinstance(word, str) else ""
    if verdict not in VERDICTS:
        issues.append(f"verdict must be one of {', '.join(VERDICTS)}, not {describe_value(word)}")
    texts = {key: _text(found.get(key)) for key in ("summary", "evidence")}
    texts = {key: text if WORD.search(text) else "" for key, text in texts.items()}
    if not texts["evidence"] and verdict != "unproven":
        issues.append(f"evidence is missing or empty: say what shows that the work is {verdict or 'right or wrong'}")
    if issues:
        raise InvalidReply(issues)
    return cast("CheckerVerdict", verdict), texts["summary"] or texts["evidence"], texts["evidence"]


def _text(value: object) -> str:
    """Return a text, or a list of texts as lines; empty for anything else."""
    lines = cast("list[object]", value) if isinstance(value, list) else [value]
    if not all(isinstance(line, str) for line in lines):
        return ""
    return cut(cleaned("\n".join(cast("list[str]", lines))).strip(), LONGEST_TEXT)
