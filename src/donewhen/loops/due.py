"""Which occurrences of a schedule are due. Pure: the caller gives the time and writes the result.

Everything before the due time of a loop is decided. From there until now, every occurrence is due, each a little later
if the loop has jitter. The jitter of an occurrence is always the same, and shorter than the time to the next one, so
that occurrences keep their order.
"""

import datetime
import hashlib
from itertools import islice

from donewhen.loops.loop_records import SCHEDULE, Decided, LoopState, OccurrenceStatus
from donewhen.loops.schedule import Schedule
from donewhen.loops.spec import LoopSpec
from donewhen.records import frozen

MOST_AT_ONCE = 500
"""Occurrences that get a row of their own after a long time without a look; of more, only the newest do."""
LONGEST_PAUSE = datetime.timedelta(minutes=5)
"""A scheduler that runs looks more often than this."""
SECOND = datetime.timedelta(seconds=1)


@frozen(kw_only=True)
class Pending:
    """An occurrence that is due and has no row yet, as far as the caller knows."""

    key: str
    due_at: datetime.datetime
    trigger: str = SCHEDULE
    seen: tuple[tuple[str, str], ...] = ()
    """The trigger with its state, to be recorded together with the decision."""
    since: datetime.datetime | None = None
    """If given, this one stands for all occurrences since then, which have no rows."""


def key_at(due_at: datetime.datetime) -> str:
    """Return the key of an occurrence of a schedule."""
    return due_at.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def schedule_id(schedule: Schedule) -> str:
    """Return a text that changes when the schedule or its zone does."""
    return f"{schedule.text} {getattr(schedule.zone, 'key', None) or 'local'}"


def starts_at(repo: str, spec: LoopSpec, due_at: datetime.datetime) -> datetime.datetime:
    """Return when an occurrence may start: when it is due, or later by its jitter."""
    if not spec.jitter_secs:
        return due_at
    room = min(spec.jitter_secs, (spec.schedule.next_after(due_at) - due_at).total_seconds())
    digest = hashlib.sha256(f"{repo}\0{spec.name}\0{key_at(due_at)}".encode("utf-8", "surrogateescape")).digest()
    return due_at + datetime.timedelta(seconds=room * int.from_bytes(digest[:4]) / 2**32)


def pending_times(repo: str, spec: LoopSpec, due_at: datetime.datetime, now: datetime.datetime) -> list[Pending]:
    """Return the occurrences from `due_at` that may start by now, the oldest first."""
    if now < due_at:
        return []
    schedule = spec.schedule
    times = [due_at, *islice(schedule.between(due_at, now), MOST_AT_ONCE)]
    since = None
    if len(times) > MOST_AT_ONCE:
        newest = [schedule.last_until(now)]
        while len(newest) < MOST_AT_ONCE and newest[-1] > due_at:
            newest.append(schedule.last_until(newest[-1] - SECOND))
        times = [one for one in reversed(newest) if one >= due_at]
        since = due_at if times[0] > due_at else None
    if starts_at(repo, spec, times[-1]) > now:
        times.pop()
    return [Pending(key=key_at(one), due_at=one, since=None if number else since) for number, one in enumerate(times)]


@frozen
class Held:
    """A loop has a due time and could not run."""

    since: datetime.datetime
    why: str


def coalesced(
    pending: Pending, into: str, state: LoopState, now: datetime.datetime, held: Held | None = None
) -> Decided:
    """Return the row of an occurrence that is put together with another one. `held` has lasted until now."""
    reason = f"coalesced into {into}"
    why = _why_missed(pending.due_at, state.looked_at, now, held) if pending.trigger == SCHEDULE else ""
    if why:
        return decided(pending, OccurrenceStatus.MISSED, f"{why}; {reason}", into)
    return decided(pending, OccurrenceStatus.COALESCED, reason, into)


def _why_missed(
    due_at: datetime.datetime, looked: datetime.datetime | None, now: datetime.datetime, held: Held | None
) -> str:
    if held is not None and due_at >= held.since:
        return f"{held.why} from {key_at(held.since)} to {key_at(now)}"
    until = held.since if held is not None else now
    if looked and looked < due_at and until - looked > LONGEST_PAUSE:
        return f"nobody looked from {key_at(looked)} to {key_at(until)}"
    return ""


def decided(pending: Pending, status: OccurrenceStatus, reason: str, into: str = "") -> Decided:
    if pending.since:
        reason += f", as were all since {key_at(pending.since)}"
    return Decided(
        key=pending.key,
        due_at=pending.due_at,
        trigger=pending.trigger,
        status=status,
        reason=reason,
        coalesced_into=into,
    )
