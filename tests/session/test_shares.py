"""The budget of parallel workers: equal shares of the rest, and nothing is reserved permanently."""

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.engines.interface import OutOfBudget
from donewhen.model.interface import Usage
from donewhen.session.log.state import SessionState
from donewhen.session.loop.budget import Allowance, Budget, Share


def test_a_share_is_limited_and_unspent_budget_goes_to_the_next_one() -> None:
    budget = Budget(Allowance(tokens=100), SessionState())
    greedy, modest = Share(budget, 4), Share(budget, 4)
    greedy.count_usage(Usage(input=25, output=0), None)
    with pytest.raises(OutOfBudget, match="used 25, share 25"):
        greedy.require()
    modest.count_usage(Usage(input=5, output=0), None)
    modest.require()
    Share(budget, 1).count_usage(Usage(input=69, output=0), None)
    modest.require()
    budget.count_usage(Usage(input=1, output=0), None)
    with pytest.raises(OutOfBudget, match="used 100, allowed 100"):
        modest.require()


def test_dollars_are_shared_as_tokens_are() -> None:
    budget = Budget(Allowance(usd=1.0), SessionState())
    one = Share(budget, 2)
    one.count_usage(Usage(), 0.5)
    with pytest.raises(OutOfBudget, match=r"share 0\.5"):
        one.require()
    Share(budget, 1).require()


def test_without_limits_a_share_has_none_either() -> None:
    one = Share(Budget(Allowance(), SessionState()), 8)
    one.count_usage(Usage(input=1_000_000, output=0), None)
    one.require()


async def _call(budget: Budget | Share, used: Usage, most: Usage) -> None:
    """Make a call that gives way to the others before it is counted, as a model call does."""
    async with budget.lease(most):
        await anyio.lowlevel.checkpoint()
        await anyio.lowlevel.checkpoint()
        budget.count_usage(used, None)


class WithoutLeases(Budget):
    def _has_room_for(self, most: Usage) -> bool:  # noqa: ARG002 - as in the class above it
        return True


def _overshoot(limit: int, calls: list[tuple[int, int]], kind: type[Budget] = Budget) -> int:
    """Return how far many workers go beyond a limit. A call is what it uses, and what it may use beyond that."""
    budget = kind(Allowance(tokens=limit), SessionState())

    async def work(used: int, more: int) -> None:
        try:
            while True:
                await _call(budget, Usage(input=used), Usage(input=used + more))
        except OutOfBudget:
            pass

    async def run() -> None:
        async with anyio.create_task_group() as tasks:
            for one in calls:
                tasks.start_soon(work, *one)

    anyio.run(run)
    return int(budget.reached_limit().split()[2].rstrip(",")) - limit


@given(
    limit=st.integers(1, 500),
    calls=st.lists(st.tuples(st.integers(1, 100), st.integers(0, 50)), min_size=1, max_size=6),
)
def test_workers_go_beyond_a_limit_by_one_call_at_most(limit: int, calls: list[tuple[int, int]]) -> None:
    assert 0 <= _overshoot(limit, calls) < max(used for used, _ in calls)


def test_without_leases_every_worker_goes_beyond_the_limit() -> None:
    assert _overshoot(10, [(100, 0)] * 4, WithoutLeases) == 390


def test_calls_run_side_by_side_while_there_is_room_for_them() -> None:
    budget, running, most = Budget(Allowance(tokens=1000, usd=1.0), SessionState(), free=True), 0, 0

    async def call() -> None:
        nonlocal running, most
        async with budget.lease(Usage(input=100)):
            running += 1
            most = max(most, running)
            await anyio.lowlevel.checkpoint()
            running -= 1

    async def run() -> None:
        async with anyio.create_task_group() as tasks:
            for _ in range(12):
                tasks.start_soon(call)

    anyio.run(run)
    assert (most, running) == (10, 0)


def test_a_call_waits_until_a_price_is_known() -> None:
    """What a call costs in dollars is estimated from the dearest call so far."""
    budget, order = Budget(Allowance(usd=1.0), SessionState()), list[str]()

    async def call(name: str) -> None:
        async with budget.lease(Usage(input=100)):
            order.append(f"{name} begins")
            await anyio.lowlevel.checkpoint()
            budget.count_usage(Usage(input=100), 0.2)
            order.append(f"{name} ends")

    async def run() -> None:
        async with anyio.create_task_group() as tasks:
            for name in "abc":
                tasks.start_soon(call, name)

    anyio.run(run)
    assert order == ["a begins", "a ends", "b begins", "c begins", "b ends", "c ends"]


def test_a_cancelled_call_gives_its_lease_back() -> None:
    budget = Budget(Allowance(tokens=10), SessionState())

    async def run() -> None:
        with anyio.CancelScope() as scope:
            async with budget.lease(Usage(input=10)):
                scope.cancel()
                await anyio.lowlevel.checkpoint()
        await _call(budget, Usage(input=1), Usage(input=10))

    anyio.run(run)
    assert budget.left() == (9, None)
