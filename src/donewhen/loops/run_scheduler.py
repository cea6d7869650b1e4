"""Runs the scheduler in the foreground until it is told to stop, with rounds side by side.

It looks when something is due, when a round has ended, and once a minute for triggers and a changed clock. On SIGTERM
and SIGINT it cancels the rounds and returns; their claims are released, so that the next scheduler resumes them.
"""

import contextlib
import datetime
import signal
from collections.abc import Awaitable, Callable

import anyio
from anyio.abc import TaskStatus

from donewhen.errors import MachineryBroke
from donewhen.loops.due_words import time_words
from donewhen.loops.loop_records import FAILED, Claim, LoopState, RoundEnd
from donewhen.loops.loop_store import ClaimLost
from donewhen.loops.scheduler import Scheduler, Start
from donewhen.loops.spec_files import StatedLoop

LONGEST_WAIT = 60.0
"""Seconds between two looks."""
RunRound = Callable[[StatedLoop, Claim], Awaitable[RoundEnd]]
Clock = Callable[[], datetime.datetime]


def utc_now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


async def run_forever(scheduler: Scheduler, run_round: RunRound, places: int, clock: Clock = utc_now) -> bool:
    """Run rounds, at most `places` at a time, until SIGTERM, SIGINT or a cancellation. Return True after SIGINT."""
    running, received = _RunningScheduler(scheduler, run_round, clock), list[signal.Signals]()
    async with anyio.create_task_group() as listening:
        async with anyio.create_task_group() as group:
            # Before the first round is claimed, and until the last one has ended: a second signal changes nothing.
            await listening.start(_stop_on_signal, group.cancel_scope, received)
            while True:
                starts, seconds = running.look(places)
                for start in starts:
                    group.start_soon(running.run, start)
                await running.wait(seconds)
        listening.cancel_scope.cancel()
    going_on = "".join(f"; round {session} goes on at the next start" for session in running.released)
    scheduler.say(f"stopped{going_on}")
    return signal.SIGINT in received


async def _stop_on_signal(
    scope: anyio.CancelScope, received: list[signal.Signals], *, task_status: TaskStatus[None]
) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        task_status.started()
        async for one in signals:
            received.append(one)
            scope.cancel()


class _RunningScheduler:
    def __init__(self, scheduler: Scheduler, run_round: RunRound, clock: Clock) -> None:
        self._scheduler = scheduler
        self._run_round = run_round
        self._clock = clock
        self._running = 0
        self._ended = anyio.Event()
        self.released: list[str] = []
        """The sessions of rounds that were stopped before their end."""
        self._unwritten: list[tuple[Claim, RoundEnd]] = []
        """Ends of rounds that the database refused. They are written at the next look."""

    def look(self, places: int) -> tuple[tuple[Start, ...], float]:
        """Look once. Return the rounds to run, and how many seconds to wait."""
        waiting, self._unwritten = self._unwritten, []
        for claim, end in waiting:
            self._write(claim, end)
        now = self._clock()
        tick = self._scheduler.tick(now, places - self._running)
        self._running += len(tick.starts)
        seconds = (tick.wake_at - now).total_seconds() if tick.wake_at else LONGEST_WAIT
        return tick.starts, min(max(seconds, 0), LONGEST_WAIT)

    async def wait(self, seconds: float) -> None:
        with anyio.move_on_after(seconds):
            await self._ended.wait()
        self._ended = anyio.Event()

    async def run(self, start: Start) -> None:
        claim, end = start.claim, None
        try:
            end = await self._round(start)
            self._write(claim, end)
        finally:
            if end is None:
                self.released.append(claim.session)
                with contextlib.suppress(MachineryBroke):  # then it counts as interrupted when this process has ended
                    self._scheduler.store.release(claim)
            self._running -= 1
            self._ended.set()

    async def _round(self, start: Start) -> RoundEnd:
        try:
            return await self._run_round(start.loop, start.claim)
        except Exception as error:  # noqa: BLE001 - whatever breaks in a round, the other loops go on
            return RoundEnd(outcome=FAILED, reason=f"{type(error).__name__}: {' '.join(str(error).split())}")

    def _write(self, claim: Claim, end: RoundEnd) -> None:
        """Write and say how a round ended. The next look says if its loop is paused now."""
        now = self._clock()
        try:
            state = self._scheduler.store.finish(claim, end, now)
            self._scheduler.say(_words(claim, end, state, now))
        except ClaimLost as error:
            self._scheduler.say(str(error))
        except MachineryBroke as error:
            self._scheduler.say(f"the end of round {claim.session} is not written yet: {error}")
            self._unwritten.append((claim, end))


def _words(claim: Claim, end: RoundEnd, state: LoopState, now: datetime.datetime) -> str:
    """Return how a round ended, and when the next one is tried if the loop waits because of that."""
    what = f"round {claim.session} {end.outcome}" if end.has_session else f"{end.outcome} before its session began"
    line = f"loop {claim.loop}: {what}: {end.reason}".rstrip(": ")
    if end.outcome != FAILED or state.paused or state.backoff_until is None:
        return line
    return f"{line}; the next attempt is at {time_words(max(state.backoff_until, state.due_at or now), now)}"
