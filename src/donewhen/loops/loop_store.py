"""The loop store: claims, rounds and pauses of all loops, with `findings`, `works` and `due_times`.

A method is one transaction.

It decides who may run a round; it does not run one, and it does not know what a round does. `scheduler` decides what is
due. A round is claimed before anything is spent, and the claim names the process that runs it. The claim of a process
that is gone is an interrupted round: whoever takes it over resumes its session, or runs it again under the same key.
`repo` is always the text that `repo_key` makes from the top directory of a repository.
"""

import datetime
from pathlib import Path

from donewhen.errors import MachineryBroke
from donewhen.loops import loop_rows as rows
from donewhen.loops.due_times import DueTimes, move_due
from donewhen.loops.loop_database import LoopDatabase
from donewhen.loops.loop_findings import LoopFindings
from donewhen.loops.loop_records import (
    BUDGET,
    FAILED,
    MANUAL,
    Claim,
    ClaimRefusal,
    Decided,
    Due,
    LoopState,
    LoopUsage,
    Occurrence,
    OccurrenceStatus,
    RoundEnd,
    RunningRound,
)
from donewhen.loops.loop_rows import MICROS, text_of
from donewhen.loops.loop_works import LoopWorks
from donewhen.storage.connection import LOCK_TIMEOUT, Connection, Value
from donewhen.storage.owner import Owner

FIRST_BACKOFF, LONGEST_BACKOFF = datetime.timedelta(minutes=1), datetime.timedelta(hours=6)
MOST_FAILURES = 5
"""Failures in a row after which a loop is paused."""


class ClaimLost(MachineryBroke):
    """Another process has taken the round over."""


class LoopStore:
    def __init__(self, directory: Path, url: str = "", lock_timeout: float = LOCK_TIMEOUT) -> None:
        """The loops of a state directory, or of a PostgreSQL server if `url` is given. Nothing is opened before use."""
        self._database = LoopDatabase(directory, url, lock_timeout)
        self.warnings = self._database.warnings
        """What was damaged and what was done about it, for a person to read."""
        self.findings = LoopFindings(self._database)
        self.works = LoopWorks(self._database)
        self.due_times = DueTimes(self._database)

    def close(self) -> None:
        self._database.close()

    # -- rounds --

    def claim(
        self,
        repo: str,
        loop: str,
        key: str,
        session: str,
        trigger: str,
        due_at: datetime.datetime,
        now: datetime.datetime,
    ) -> Claim | ClaimRefusal:
        """Claim an occurrence that somebody asks for. See `claim_due`."""
        return self.claim_due(Due(repo=repo, loop=loop, key=key, trigger=trigger, due_at=due_at), session, now)

    def claim_due(self, due: Due, session: str, now: datetime.datetime) -> Claim | ClaimRefusal:
        """Claim an occurrence, write those that are put together with it, and move the due time.

        Nothing is written if it is refused. A person may run a paused loop; a trigger may not.
        """

        def change(connection: Connection) -> Claim | ClaimRefusal:
            repo, loop = due.repo, due.loop
            refusal = self._refusal(connection, due)
            if refusal:
                return refusal
            for other in due.others:
                rows.add_row(connection, repo, loop, other)
            claim = Claim(repo=repo, loop=loop, key=due.key, session=session, trigger=due.trigger, due_at=due.due_at)
            _add_running(connection, claim, now)
            owner = Owner.here().text()
            rows.change_state(connection, repo, loop, running_key=due.key, running_session=session, owner=owner)
            if due.move:
                move_due(connection, repo, loop, due.move)
            rows.evict(connection, repo, loop, now)
            return claim

        return self._database.write(change, sync=True)

    def _refusal(self, connection: Connection, due: Due) -> ClaimRefusal | None:
        state = rows.lock_state(connection, due.repo, due.loop)
        if rows.status_of(connection, due.repo, due.loop, due.key):
            return ClaimRefusal.DECIDED
        if state.running:
            return ClaimRefusal.INTERRUPTED if state.running.is_interrupted else ClaimRefusal.RUNNING
        if state.paused and due.trigger != MANUAL:
            return ClaimRefusal.PAUSED
        return ClaimRefusal.MOVED if due.move and due.move.was_due != state.due_at else None

    def interrupted(self, repo: str) -> list[RunningRound]:
        """Return the rounds whose process is gone or has released them."""
        return [state.running for state in self.states(repo) if state.running and state.running.is_interrupted]

    def take_over(self, round: RunningRound, force: bool = False) -> Claim | None:
        """Become the owner of an interrupted round. Only one process succeeds; the others get None.

        `force` takes a round of another host, which a person knows to be gone.
        """

        def change(connection: Connection) -> Claim | None:
            running = rows.lock_state(connection, round.repo, round.loop).running
            row = rows.occurrence(connection, round.repo, round.loop, round.key)
            if row is None or running is None or running != round or not (force or running.is_interrupted):
                return None
            attempt = row.attempts + (round.owner is not None)  # a released round was not killed
            rows.change_state(connection, round.repo, round.loop, owner=Owner.here().text())
            rows.change_row(connection, round.repo, round.loop, round.key, attempts=attempt)
            return Claim(
                repo=round.repo,
                loop=round.loop,
                key=round.key,
                session=round.session,
                trigger=row.trigger,
                due_at=row.due_at,
                attempt=attempt,
                is_resumed=True,
            )

        return self._database.write(change, sync=True)

    def release(self, claim: Claim) -> None:
        """Give up a round that has not ended, so that it counts as interrupted."""

        def change(connection: Connection) -> None:
            if _is_ours(rows.lock_state(connection, claim.repo, claim.loop), claim):
                rows.change_state(connection, claim.repo, claim.loop, owner="")

        self._database.write(change)

    def finish(self, claim: Claim, end: RoundEnd, now: datetime.datetime) -> LoopState:
        """Write the end of a round, and return the state of the loop after it. A second call writes nothing.

        Raise ClaimLost if another process has the round. `failed` makes the loop wait, longer each time, and pauses it
        in the end; `budget` pauses it at once.
        """

        def change(connection: Connection) -> LoopState:
            repo, loop = claim.repo, claim.loop
            state = rows.lock_state(connection, repo, loop)
            if not _is_ours(state, claim) and not _is_new(connection, state, claim, now):
                return state
            rows.change_row(
                connection,
                *(repo, loop, claim.key),
                status=OccurrenceStatus.RAN.value,
                finished_at=text_of(now),
                **_columns(end),
            )
            rows.change_state(connection, repo, loop, running_key="", running_session="", owner="")
            _after(connection, state, end, now)
            rows.evict(connection, repo, loop, now)
            return rows.lock_state(connection, repo, loop)

        return self._database.write(change, sync=True)

    def change_end(self, repo: str, loop: str, session: str, end: RoundEnd) -> bool:
        """Replace the end of a round that has ended, after a decision. Return False if it has not ended before.

        The schedule does not change.
        """

        def change(connection: Connection) -> bool:
            keys = rows.keys_of(connection, repo, loop, session, OccurrenceStatus.RAN)
            for key in keys:
                rows.change_row(connection, repo, loop, key, **_columns(end))
            return bool(keys)

        return self._database.write(change, sync=True)

    # -- pauses and levels --

    def pause(self, repo: str, loop: str, reason: str) -> None:
        """Pause a loop and delete its due time. A round that is running goes on."""

        def change(connection: Connection) -> None:
            rows.lock_state(connection, repo, loop)
            _pause(connection, repo, loop, reason)

        self._database.write(change, sync=True)

    def resume(self, repo: str, loop: str, due_at: datetime.datetime | None = None, schedule: str = "") -> None:
        """End a pause and forget failures. Without a due time, the next look of a scheduler sets one."""

        def change(connection: Connection) -> None:
            rows.lock_state(connection, repo, loop)
            again = {"paused": "", "failures": 0, "backoff_until": ""}
            rows.change_state(connection, repo, loop, **again, due_at=text_of(due_at), schedule=schedule)
            rows.forget_seen(connection, repo, loop)

        self._database.write(change, sync=True)

    def set_level(
        self, repo: str, loop: str, level: str, reason: str, now: datetime.datetime, of_table: str = ""
    ) -> None:
        """Set the level that counts instead of the one in the file; an empty one lets the file count again.

        `of_table` is a digest of the loop's table, to which a promotion is bound.
        """

        def change(connection: Connection) -> None:
            rows.lock_state(connection, repo, loop)
            levels = {"level": level, "level_reason": reason, "level_of": of_table, "level_since": text_of(now)}
            rows.change_state(connection, repo, loop, **levels)

        self._database.write(change, sync=True)

    # -- reading --

    def state(self, repo: str, loop: str) -> LoopState:
        found = self._database.read(lambda connection: rows.states(connection, repo, loop))
        return found[0] if found else LoopState(repo=repo, loop=loop, paused=self._database.read(rows.loss))

    def repos(self) -> list[str]:
        """Return the repositories of which a loop has a state."""
        return self._database.read(rows.repos)

    def states(self, repo: str) -> list[LoopState]:
        """Return the states of all loops of a repository that have one, by name."""
        return self._database.read(lambda connection: rows.states(connection, repo))

    def history(self, repo: str, loop: str, limit: int = 20) -> list[Occurrence]:
        """Return the occurrences, the newest first."""
        return self._database.read(lambda connection: rows.occurrences(connection, repo, loop, limit))

    def strip(self, repo: str, loop: str, count: int = 10) -> list[str]:
        """Return the outcomes of the last rounds, the oldest first."""
        return self._database.read(lambda connection: rows.outcomes(connection, repo, loop, count))

    def usage(self, repo: str, loop: str, since: datetime.datetime | None = None) -> LoopUsage:
        """Return what the ended rounds that started since a moment have used, or all rounds. A moment may be at most
        two days ago: older rounds may be removed, and count for all rounds only."""
        return self._database.read(lambda connection: rows.usage(connection, repo, loop, since))


def backoff_after(failures: int) -> datetime.timedelta:
    """Return how long a loop waits after this number of failures in a row: twice as long each time."""
    doublings = (LONGEST_BACKOFF // FIRST_BACKOFF).bit_length()
    return min(FIRST_BACKOFF * 2 ** min(failures - 1, doublings), LONGEST_BACKOFF)


def _is_ours(state: LoopState, claim: Claim) -> bool:
    running = state.running
    return running is not None and (running.key, running.session, running.owner) == (
        claim.key,
        claim.session,
        Owner.here(),
    )


def _is_new(connection: Connection, state: LoopState, claim: Claim, now: datetime.datetime) -> bool:
    """Return False if the round has ended before. Add its row if the file was damaged and replaced while it ran."""
    status = rows.status_of(connection, claim.repo, claim.loop, claim.key)
    if status is None and state.running is None:
        return _add_running(connection, claim, now)
    if status is not OccurrenceStatus.RAN:
        raise ClaimLost(f"another process runs the round {claim.session} of the loop {claim.loop}")
    return False


def _columns(end: RoundEnd) -> dict[str, Value]:
    return {
        "outcome": end.outcome,
        "reason": end.reason,
        "finding": end.finding,
        "input_tokens": end.input_tokens,
        "output_tokens": end.output_tokens,
        "usd_micros": None if end.usd is None else round(end.usd * MICROS),
        **({} if end.has_session else {"session": ""}),
    }


def _add_running(connection: Connection, claim: Claim, now: datetime.datetime) -> bool:
    row = Decided(key=claim.key, due_at=claim.due_at, trigger=claim.trigger, status=OccurrenceStatus.RUNNING, reason="")
    return rows.add_row(connection, claim.repo, claim.loop, row, claim.session, text_of(now))


def _pause(connection: Connection, repo: str, loop: str, reason: str) -> None:
    rows.change_state(connection, repo, loop, paused=reason or "paused", due_at="", schedule="")
    rows.forget_seen(connection, repo, loop)


def _after(connection: Connection, state: LoopState, end: RoundEnd, now: datetime.datetime) -> None:
    """Change when the loop runs next, as the end of a round requires."""
    failures, backoff_until = 0, ""
    if end.is_stopped:
        failures, backoff_until = state.failures, text_of(state.backoff_until)
    elif end.outcome == FAILED:
        failures = state.failures + 1
        backoff_until = text_of(now + backoff_after(failures))
    rows.change_state(connection, state.repo, state.loop, failures=failures, backoff_until=backoff_until)
    if end.outcome == BUDGET:
        _pause(connection, state.repo, state.loop, end.reason or "a budget is spent")
    elif failures >= MOST_FAILURES:
        _pause(connection, state.repo, state.loop, f"{failures} failures in a row; the last: {end.reason}")
