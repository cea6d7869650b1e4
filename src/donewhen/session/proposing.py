"""A plan and a contract put before a person: what is written down and told of it. How they are made is `drafting`."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from donewhen.engines.planned.plan import Plan, uncovered
from donewhen.events import BaselineCompleted, ContractProposed, Event, PlanningCompleted
from donewhen.judge.contract import Contract
from donewhen.judge.verdict import Verdict
from donewhen.records import frozen
from donewhen.session import artifacts
from donewhen.session.attempting import Workbench
from donewhen.session.checking import plain_results
from donewhen.session.story import PROPOSED, Plain


@frozen
class Proposing:
    bench: Workbench
    plans: bool
    """Whether a plan is wanted, and not a contract alone."""

    def take(self, plan: Plan, contract: Contract | None, verdict: Verdict | None) -> None:
        counts = contract or self.bench.opened.contract
        commands = [check.command for check in counts.checks if not check.held_out]
        in_force = tuple(entry for entry in plan.checks if str(entry["command"]).strip() in commands)
        missing = uncovered(replace(plan, checks=in_force), commands)
        body: dict[str, Any] = {
            "plan": plan.plain() if self.plans else None,
            "contract": asdict(contract) if contract is not None else None,
            "drafted": contract is None or bool(_drafted_names(plan)),
            "why": _why(plan, contract),
            "not_verified": list(missing),
            "revised": True if self.bench.recorder.story.wish else None,
            "reason": "",
        }
        items = tuple(item.plain() for item in plan.items) if self.plans else ()
        told: list[Event] = [
            PlanningCompleted(subtasks=(), levels=(), prefer_single_session=True, items=items, filled=plan.filled)
        ]
        if contract is not None and verdict is not None:
            self.bench.recorder.write(note=self.bench.memory.of_baseline(verdict))
            told += [proposed(body), BaselineCompleted(results=tuple(plain_results(verdict)))]
        self._write(body, told)

    def keep(self, reason: str, plan: Plan | None = None) -> None:
        """The contract of before, with its baseline, and why it is not another one; the plan may be.

        One that a person gave is theirs, and not proposed to them.
        """
        is_ours = self.bench.opened.drafts or not self.plans
        results = tuple((self.bench.recorder.story.baseline or {}).get("results", ()))
        before: Plain = self.bench.recorder.story.proposals[-1] if self.bench.recorder.story.proposals else {}
        body: dict[str, Any] = {
            "plan": plan.plain() if plan is not None and self.plans else None,
            "contract": self.bench.recorder.story.opened["contract"] if is_ours else None,
            "drafted": bool(before.get("drafted", True)),
            "why": list(before.get("why", ())),
            "not_verified": list(before.get("not_verified", ())),
            "revised": False,
            "reason": reason,
        }
        baseline = [BaselineCompleted(results=results)] if results else []
        self._write(body, [proposed(body), *baseline] if is_ours else [])

    def _write(self, body: Plain, told: Sequence[Event]) -> None:
        recorder = self.bench.recorder
        recorder.write(*told, note=(PROPOSED, body), sync=True)
        artifacts.write(recorder.session, recorder.story)
        recorder.move("proposed")


def _why(plan: Plan, contract: Contract | None) -> list[str]:
    drafts = _drafted_names(plan)
    checks = contract.checks if contract is not None else ()
    return [f"{check.name}: {'planned' if check.name in drafts else 'the repository has it'}" for check in checks]


def _drafted_names(plan: Plan) -> set[str]:
    return {str(entry.get("name", "")).strip() for entry in plan.checks}


def proposed(body: Plain) -> ContractProposed:
    """What is told of a contract that is put before a person, or was changed by one."""
    return ContractProposed(
        contract=dict(body["contract"]),
        why=tuple(body["why"]),
        not_verified=tuple(body["not_verified"]),
        revised=body["revised"],
        reason=str(body["reason"]),
        by_person=bool(body.get("by_person")),
    )
