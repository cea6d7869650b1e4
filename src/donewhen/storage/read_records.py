"""Reading of records: a record that is damaged in the database is read from the log file, with a warning."""

from collections.abc import Iterable, Iterator

from donewhen.storage.log_file import LogFile
from donewhen.storage.record import Record, Written


def read(
    pages: Iterable[list[tuple[Written, bool]]], session: str, log_file: LogFile | None, warnings: list[str]
) -> Iterator[Record]:
    """Yield the records. One that is damaged in both places is left out; the others keep their numbers."""
    for page in pages:
        for record, is_valid in page:
            found = record if is_valid else _second_copy(session, record.position, log_file, warnings)
            if found:
                yield found.read(session)


def _second_copy(session: str, position: int, log_file: LogFile | None, warnings: list[str]) -> Written | None:
    copies = log_file.records(position - 1) if log_file and log_file.path.exists() else iter(())
    found = next((copy for copy in copies if copy.position == position), None)
    done = "was read from its log file" if found else "is lost"
    warning = f"record {position} of session {session} is damaged in the database and {done}"
    if warning not in warnings:
        warnings.append(warning)
    return found
