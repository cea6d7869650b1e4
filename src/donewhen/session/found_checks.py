"""What a repository has already: the checks that `init` would propose, and what one types for them.

Whether they can start here is only found out when somebody relies on them: a suite may take long.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import cached_property

from donewhen.judge.contract import Check, Contract
from donewhen.judge.verdict import Verdict
from donewhen.session import proposal
from donewhen.session.workplace import Workplace

Judge = Callable[[Contract], Awaitable[Verdict]]
"""Runs a contract on the base."""


class FoundChecks:
    def __init__(self, place: Workplace, contract: Contract, judge: Judge) -> None:
        self._place = place
        self._given = contract
        self._judge = judge
        self._unable: frozenset[str] | None = None
        """Names of those that cannot start here; None until they were tried."""

    @property
    def checks(self) -> tuple[Check, ...]:
        return tuple(check for check in self._all if check.name not in (self._unable or ()))

    @property
    def commands(self) -> list[str]:
        """To be typed at the root; where nothing was found, those of the contract that may be shown."""
        shown = [check for check in self.checks or self._given.checks if not check.held_out]
        return [check.at_root for check in shown]

    async def try_out(self) -> None:
        """Leave out what cannot start here."""
        if self._unable is None and self._all:
            verdict = await self._judge(replace(self._given, checks=self._all))
            self._unable = frozenset(one.name for one in verdict.results if proposal.unable(one))

    @cached_property
    def _all(self) -> tuple[Check, ...]:
        return tuple(one.check for one in proposal.plan(self._place).checks)
