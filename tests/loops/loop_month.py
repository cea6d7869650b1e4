"""A month of loops in simulated time, by real processes that are killed at chosen steps. Started as a program.

    python loop_month.py month DIRECTORY DAYS SEED KIND     20 loops, killed at random steps
    python loop_month.py steps DIRECTORY EVERY KIND         one loop, killed at each step, or every second or third one

It prints a summary, and then the faults that were found, one per line.

Each life of the scheduler is a fork that continues where the last one was killed. A round has one effect, a line in a
file, and knows by its session whether an earlier life has made it. The steps at which a life may be killed are the
moments before, inside and after each write of the store, and before and after each effect of a round and of a decision.

Some rounds are escalated: such a round makes a branch and then an entry in the inbox, and a person denies the oldest
entry when there are too many, which removes its branch.
"""

import datetime
import os
import random
import signal
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, timedelta
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

from donewhen.loops.due import key_at
from donewhen.loops.due_times import DueTimes
from donewhen.loops.loop_database import LoopDatabase
from donewhen.loops.loop_records import (
    SCHEDULE,
    Claim,
    ClaimRefusal,
    Decided,
    Due,
    Move,
    Occurrence,
    OccurrenceStatus,
    RoundEnd,
)
from donewhen.loops.loop_store import LoopStore
from donewhen.loops.scheduler import RepoLoops, Scheduler, Start
from donewhen.loops.spec_files import StatedLoop
from donewhen.loops.triggers import Watch
from donewhen.session.log.open_archive import silent
from donewhen.storage.connection import Connection
from loops.scheduler_scene import TOP, stated

T = TypeVar("T")
Step = Callable[[], None]
BEGIN = datetime.datetime(2026, 10, 2, 0, 7, tzinfo=UTC)
"""Clocks change in Sydney on 4 October, in Berlin on 25 October, and in New York on 1 November."""
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
WRONG_CLOCK = (
    (4 * DAY + 5 * HOUR, 4 * DAY + 7 * HOUR, 20 * DAY),
    (6 * DAY + 3 * HOUR, 6 * DAY + 7 * HOUR, -3 * HOUR),
    (19 * DAY, 20 * DAY + 5 * HOUR, 2 * HOUR),
    (23 * DAY, 23 * DAY + 30 * MINUTE, -DAY),
)
"""From, until, by how much."""
DOWNTIME = ((7 * DAY + HOUR, 7 * DAY + 9 * HOUR), (11 * DAY, 14 * DAY), (22 * DAY + 20 * HOUR, 23 * DAY + 10 * MINUTE))
LONGEST_STEP = 20 * MINUTE
PLACES = 4
STEPS = "steps"
"""The loop that is killed at each step. All of its rounds are escalated, and denied at once."""
MOST_WAITING = 3
ESCALATED = "escalated"
BRANCHES, INBOX, DENIED, REMOVED = "branches", "inbox", "denied", "removed"
"""Files of the world. Each has one session in a line; the last one has those whose branch was removed."""
OFF = 7
"""The exit code of a life that ended with the machine."""
MOST_STEPS = 700
"""A life is killed after at most so many steps."""


def loops() -> tuple[StatedLoop, ...]:
    zones = ("Europe/Berlin", "America/New_York", "Australia/Sydney")
    found = [stated(f"night-{number}", schedule="daily 02:30", timezone=zone) for number, zone in enumerate(zones)]
    found += [
        stated(f"often-{number}", schedule="30 1-3 * * *", timezone=zone, overlap="queue")
        for number, zone in enumerate(zones)
    ]
    found += [stated(f"week-{number}", schedule="weekly sun 02:00", timezone=zone) for number, zone in enumerate(zones)]
    found += [
        stated(f"jitter-{number}", schedule="17 */4 * * *", jitter_secs=3000, timezone=zones[0]) for number in range(4)
    ]
    found += [stated(f"hour-{one}", schedule="5 * * * *", timezone=zones[1], overlap=one) for one in ("skip", "queue")]
    found += [stated(f"six-{number}", schedule="every 6h") for number in range(3)]
    found += [stated("work", schedule="0,40 9-11 * * mon-fri", timezone=zones[2]), stated("gap", schedule="0 2 * * *")]
    return tuple(found)


LOOPS = loops()


def duration(loop: str) -> timedelta:
    return 95 * MINUTE if loop.startswith(("hour", "often")) else 7 * MINUTE


def outcome(claim: Claim) -> str:
    if claim.loop == STEPS:
        return ESCALATED
    first, second = sha256(claim.key.encode()).digest()[:2]
    return "failed" if first % 20 == 0 else ESCALATED if second % 4 == 0 else "reported"


# -- stores --


class SteppedDatabase(LoopDatabase):
    def __init__(self, directory: Path, step: Step) -> None:
        super().__init__(directory, "", 5.0)
        self._step = step

    def write(self, change: Callable[[Connection], T], sync: bool = False) -> T:
        def inside(connection: Connection) -> T:
            result = change(connection)
            self._step()
            return result

        del sync  # without waiting for the disk: the machine does not lose power here
        self._step()
        result = super().write(inside)
        self._step()
        return result


class SteppedStore(LoopStore):
    def __init__(self, directory: Path, step: Step) -> None:
        super().__init__(directory)
        self._database = SteppedDatabase(directory, step)
        self.due_times = DueTimes(self._database)


class RepeatingStore(SteppedStore):
    """A control: an occurrence can be claimed again."""

    def claim_due(self, due: Due, session: str, now: datetime.datetime) -> Claim | ClaimRefusal:
        found = super().claim_due(due, session, now)
        if found is not ClaimRefusal.DECIDED:
            return found
        forget = "DELETE FROM donewhen_loop_occurrences WHERE repo = ? AND loop = ? AND key = ?"
        self._database.write(lambda connection: connection.run(forget, due.repo, due.loop, due.key))
        return super().claim_due(due, session, now)


class ForgetfulDueTimes(DueTimes):
    def decide(
        self, repo: str, loop: str, decided: Sequence[Decided], move: Move | None, now: datetime.datetime
    ) -> bool:
        del decided
        return super().decide(repo, loop, (), move, now)


class ForgetfulStore(SteppedStore):
    """A control: what is skipped gets no row."""

    def __init__(self, directory: Path, step: Step) -> None:
        super().__init__(directory, step)
        self.due_times = ForgetfulDueTimes(self._database)


STORES = {"repeating": RepeatingStore, "forgetful": ForgetfulStore}
"""Stores of controls; every other kind has the sound one."""
UNRESUMED, UNDENIED = "unresumed", "undenied"
"""Controls: an escalation, or a denial, that was interrupted is not continued."""


# -- the world --


class World:
    """What survives a killed process: the database, the effects, and the time."""

    def __init__(self, directory: Path, days: float, loops: tuple[StatedLoop, ...] = LOOPS) -> None:
        self.directory = directory
        self.loops = loops
        self.end = BEGIN + days * DAY
        self._effects = directory / "effects"
        self._time = directory / "time"

    @property
    def time(self) -> datetime.datetime:
        return datetime.datetime.fromisoformat(self._time.read_text()) if self._time.exists() else BEGIN

    def set_time(self, time: datetime.datetime) -> None:
        self._time.with_suffix(".new").write_text(time.isoformat())
        self._time.with_suffix(".new").replace(self._time)

    def effects(self) -> list[tuple[str, str, str]]:
        lines = self._effects.read_text().splitlines() if self._effects.exists() else []
        return [(loop, key, session) for loop, key, session in map(str.split, lines)]

    def has_effect(self, session: str) -> bool:
        return any(session == one for _, _, one in self.effects())

    def make_effect(self, claim: Claim) -> None:
        with self._effects.open("a") as file:
            file.write(f"{claim.loop} {claim.key} {claim.session}\n")

    def sessions_in(self, name: str) -> list[str]:
        file = self.directory / name
        return file.read_text().split() if file.exists() else []

    def add_session(self, name: str, session: str) -> None:
        with (self.directory / name).open("a") as file:
            file.write(f"{session}\n")


def clock(time: datetime.datetime) -> datetime.datetime:
    """What the clock of the machine shows."""
    for begin, end, wrong in WRONG_CLOCK:
        if BEGIN + begin <= time < BEGIN + end:
            return time + wrong
    return time


def after_downtime(time: datetime.datetime) -> datetime.datetime:
    for begin, end in DOWNTIME:
        if BEGIN + begin <= time < BEGIN + end:
            return BEGIN + end
    return time


def live(world: World, store: LoopStore, step: Step, kind: str) -> None:
    """One life of the scheduler: until the end, or until `step` kills it."""

    def new_session() -> str:
        return os.urandom(6).hex()

    files = RepoLoops(top=TOP, loops=world.loops)
    scheduler = Scheduler(store, lambda: [files], Watch(), new_session, silent)
    running: list[tuple[datetime.datetime, Start]] = []
    time = world.time
    while time < world.end:
        if after_downtime(time) > time:
            world.set_time(after_downtime(time))
            os._exit(OFF)
        world.set_time(time)
        for one in sorted(running, key=lambda one: one[0]):
            if one[0] <= time:
                running.remove(one)
                end(world, store, one[1], clock(time), step, kind)
        deny(world, step, kind)
        tick = scheduler.tick(clock(time), PLACES - len(running))
        running += [(time + duration(start.claim.loop), start) for start in tick.starts]
        following = [one[0] for one in running]
        if tick.wake_at:
            following.append(time + max(tick.wake_at - clock(time), timedelta(seconds=1)))
        time = min(time + LONGEST_STEP, *following) if following else time + LONGEST_STEP
    world.set_time(time)


def end(world: World, store: LoopStore, start: Start, now: datetime.datetime, step: Step, kind: str) -> None:
    claim = start.claim
    step()
    if not (claim.is_resumed and world.has_effect(claim.session)):
        world.make_effect(claim)
    step()
    if outcome(claim) == ESCALATED and not (claim.is_resumed and kind == UNRESUMED):
        escalate(world, claim.session, step)
    store.finish(claim, RoundEnd(outcome=outcome(claim), usd=0.0), now)


def escalate(world: World, session: str, step: Step) -> None:
    """Keep the work as a branch, and then let it wait. Each is done once, however often this is called."""
    for name in (BRANCHES, INBOX):
        if session not in world.sessions_in(name):
            world.add_session(name, session)
        step()


def deny(world: World, step: Step, kind: str) -> None:
    """Let a person deny the oldest entry if there are too many. A denial that was interrupted is continued."""
    denied, removed = world.sessions_in(DENIED), world.sessions_in(REMOVED)
    unfinished = [] if kind == UNDENIED else [one for one in denied if one not in removed]
    waiting = [one for one in world.sessions_in(INBOX) if one not in denied]
    most = 0 if world.loops[0].spec.name == STEPS else MOST_WAITING
    for session in [*unfinished, *waiting[: max(0, len(waiting) - most)]]:
        if session not in denied:
            world.add_session(DENIED, session)
            step()
        step()
        world.add_session(REMOVED, session)
        step()


def killed_at(number: int) -> Step:
    """Return a step that kills this process the given time it is called."""
    count = 0

    def step() -> None:
        nonlocal count
        count += 1
        if count == number:
            os.kill(os.getpid(), signal.SIGKILL)

    return step


def run_life(world: World, kind: str, number: int) -> bool:
    """Run a life in a process of its own, killed at its step `number`. Return True if it reached the end."""
    child = os.fork()
    if child == 0:  # an error in it ends this program, as it does in its parent
        step = killed_at(number)
        live(world, STORES.get(kind, SteppedStore)(world.directory, step), step, kind)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code not in (0, OFF, -signal.SIGKILL):
        sys.exit(code)
    return code == 0


def run_month(world: World, seed: int, kind: str) -> int:
    """Run to the end of the world. Return the number of lives."""
    chance, lives = random.Random(seed), 1
    while not run_life(world, kind, chance.randint(1, MOST_STEPS)):
        lives += 1
        if world.time > BEGIN:
            world.set_time(world.time + chance.choice([0, 0, 1, 25]) * MINUTE)
    return lives


def run_steps(directory: Path, every: int, kind: str) -> tuple[int, list[str]]:
    """Kill the first life at each step, and the second one a few steps later, until there is no further step."""
    number, found, loop = 1, list[str](), stated(STEPS, schedule="every 1h")
    while True:
        world = World(directory / str(number), 0.15, (loop,))
        world.directory.mkdir()
        if run_life(world, kind, number):
            return number, found
        run_life(world, kind, number % 13 + 1)
        run_life(world, kind, 0)
        expected = [key_at(one) for one in loop.spec.schedule.between(BEGIN, world.end)]
        ran = [key for _, key, _ in world.effects()]
        found += [f"step {number}: {fault}" for fault in faults(world)]
        found += [f"step {number}: {ran} instead of {expected}"] if ran != expected else []
        number += every


# -- what must hold --


def faults(world: World) -> list[str]:
    store, found = LoopStore(world.directory), list[str]()
    sessions: dict[tuple[str, str], set[str]] = {}
    for loop, key, session in world.effects():
        sessions.setdefault((loop, key), set()).add(session)
    found += [f"double run: {loop} {key}" for (loop, key), all in sessions.items() if len(all) > 1]
    counts = Counter(session for _, _, session in world.effects())
    found += [f"double effect: {session}" for session, count in counts.items() if count > 1]
    for loop in world.loops:
        found += faults_of(store, loop, sessions)
    rows = [row for loop in world.loops for row in store.history(str(TOP), loop.spec.name, 5000)]
    store.close()
    return found + faults_of_escalations(world, rows)


def faults_of_escalations(world: World, rows: Sequence[Occurrence]) -> list[str]:
    inbox, denied, branches = (Counter(world.sessions_in(name)) for name in (INBOX, DENIED, BRANCHES))
    running = {row.session for row in rows if row.status is OccurrenceStatus.RUNNING}
    found = [f"lost escalation: {row.key}" for row in rows if row.outcome == ESCALATED and not inbox[row.session]]
    found += [f"double escalation: {one}" for counts in (inbox, branches) for one, count in counts.items() if count > 1]
    left = branches.keys() - set(world.sessions_in(REMOVED))
    found += [f"orphaned branch: {one}" for one in left if one not in running and (not inbox[one] or denied[one])]
    return found + [f"no branch: {one}" for one in inbox if one not in branches]


def faults_of(store: LoopStore, loop: StatedLoop, sessions: dict[tuple[str, str], set[str]]) -> list[str]:
    name, schedule, found = loop.spec.name, loop.spec.schedule, list[str]()
    state, rows = store.state(str(TOP), name), store.history(str(TOP), name, 5000)
    if state.due_at is None:
        return [f"no due time: {name}"]
    calendar = {key_at(one) for one in schedule.between(BEGIN, state.due_at - timedelta(seconds=1))}
    keys = {row.key for row in rows}
    found += [f"lost occurrence: {name} {key}" for key in sorted(calendar - keys)]
    for row in rows:
        made = sessions.get((name, row.key), set())
        if row.trigger != SCHEDULE or (row.key not in calendar and not row.session):
            found.append(f"not in the calendar: {name} {row.key}")
        if row.status is OccurrenceStatus.RAN and made != {row.session}:
            found.append(f"effect of another session: {name} {row.key} {made} {row.session}")
        if row.status in (OccurrenceStatus.SKIPPED, OccurrenceStatus.COALESCED, OccurrenceStatus.MISSED) and made:
            found.append(f"ran and did not run: {name} {row.key}")
        if row.coalesced_into and row.coalesced_into not in keys:
            found.append(f"coalesced into nothing: {name} {row.key}")
    return found


def main(kind: str, directory: Path, *given: str) -> None:
    if kind == "steps":
        steps, found = run_steps(directory, int(given[0]), given[1])
        summary = f"{steps} steps"
    else:
        world = World(directory, float(given[0]))
        lives = run_month(world, int(given[1]), given[2])
        summary = f"{lives} lives, {len(world.effects())} rounds, {len(world.sessions_in(INBOX))} escalated"
        found = faults(world)
    sys.stdout.write("\n".join([summary, *found, ""]))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:])
