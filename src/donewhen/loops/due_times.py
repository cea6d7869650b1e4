"""The due times of loops, and the occurrences for which no round is run. For the scheduler: it decides, this writes."""

import datetime
from collections.abc import Collection, Sequence

from donewhen.loops import loop_rows as rows
from donewhen.loops.loop_database import LoopDatabase
from donewhen.loops.loop_records import Decided, Move
from donewhen.loops.loop_rows import text_of
from donewhen.storage.connection import Connection


class DueTimes:
    def __init__(self, database: LoopDatabase) -> None:
        self._database = database

    def decide(
        self, repo: str, loop: str, decided: Sequence[Decided], move: Move | None, now: datetime.datetime
    ) -> bool:
        """Write occurrences that are skipped, missed or coalesced, and move the due time. An occurrence that has a row
        keeps it. Return False, with nothing written, if the loop is paused or its due time is not the expected one."""

        def change(connection: Connection) -> bool:
            state = rows.lock_state(connection, repo, loop)
            if move and (state.paused or state.due_at != move.was_due):
                return False
            for one in decided:
                rows.add_row(connection, repo, loop, one)
            if move:
                move_due(connection, repo, loop, move)
            rows.evict(connection, repo, loop, now)
            return True

        return self._database.write(change)

    def keep_only(self, repo: str, loops: Collection[str]) -> list[str]:
        """Delete the due times of all other loops of a repository. Return those that had one."""

        def change(connection: Connection) -> list[str]:
            gone = [one.loop for one in rows.states(connection, repo) if one.due_at and one.loop not in loops]
            for loop in gone:
                rows.change_state(connection, repo, loop, due_at="", schedule="")
                rows.forget_seen(connection, repo, loop)
            return gone

        return self._database.write(change)

    def put_back(self, repo: str, loop: str, due_at: datetime.datetime, now: datetime.datetime) -> None:
        """Set the due time after the clock was put back. Occurrences after `now` without a round are due again."""

        def change(connection: Connection) -> None:
            state = rows.lock_state(connection, repo, loop)
            if state.due_at is not None and not state.paused:
                rows.drop_future(connection, repo, loop, now)
                rows.change_state(connection, repo, loop, due_at=text_of(due_at), looked_at=text_of(now))

        self._database.write(change)

    def look(self, repo: str, loops: Collection[str], now: datetime.datetime) -> None:
        """Record that a scheduler has looked at these loops."""
        self._database.write(lambda connection: rows.look(connection, repo, loops, now))

    def seen(self, repo: str, loop: str) -> dict[str, str]:
        """Return the triggers of a loop with the state in which they were seen last."""
        return self._database.read(lambda connection: rows.seen(connection, repo, loop))


def move_due(connection: Connection, repo: str, loop: str, move: Move) -> None:
    rows.change_state(connection, repo, loop, due_at=text_of(move.due_at), schedule=move.schedule)
    rows.see(connection, repo, loop, move.seen)
