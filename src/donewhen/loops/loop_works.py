"""The works of a loop: what became of what its rounds made. It is the evidence for a promotion and for a demotion."""

from donewhen.loops import loop_rows as rows
from donewhen.loops.loop_database import LoopDatabase
from donewhen.loops.loop_records import LoopWork


class LoopWorks:
    def __init__(self, database: LoopDatabase) -> None:
        self._database = database

    def put(self, repo: str, loop: str, work: LoopWork) -> None:
        self._database.write(lambda connection: rows.put_work(connection, repo, loop, work), sync=True)

    def of_loop(self, repo: str, loop: str) -> list[LoopWork]:
        """Return the works of a loop, the newest first."""
        return self._database.read(lambda connection: rows.works(connection, repo, loop))
