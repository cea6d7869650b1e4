"""The findings of loops, by key: what a round found, and what became of it. A person's no is kept here."""

from donewhen.loops import loop_rows as rows
from donewhen.loops.loop_database import LoopDatabase
from donewhen.loops.loop_records import FindingStatus, LoopFinding


class LoopFindings:
    def __init__(self, database: LoopDatabase) -> None:
        self._database = database

    def get(self, repo: str, loop: str, key: str) -> LoopFinding | None:
        found = self._database.read(lambda connection: rows.findings(connection, repo, loop, "key", key))
        return found[0] if found else None

    def put(self, repo: str, loop: str, finding: LoopFinding) -> None:
        """Store a finding, or replace what is known about it."""
        self._database.write(lambda connection: rows.put_finding(connection, repo, loop, finding), sync=True)

    def of_status(self, repo: str, loop: str, status: FindingStatus) -> list[LoopFinding]:
        """Return the findings with a status, the newest first."""
        return self._database.read(lambda connection: rows.findings(connection, repo, loop, "status", status.value))
