"""Checks that were flaky in the sessions of this repository: the runtime repeats a red check, and keeps what it saw."""

from collections import Counter
from contextlib import closing

from donewhen.events import CheckCompleted
from donewhen.judge.output_tail import plain
from donewhen.judge.verdict import CheckStatus
from donewhen.loops.readings.listing import indented, listing
from donewhen.printable import one_line
from donewhen.session.log.open_archive import archive_of
from donewhen.session.workplace import Workplace

SESSIONS = 200
"""How many sessions are read, the newest first."""
LONGEST_OUTPUT = 2000


def read_flaky_checks(workplace: Workplace) -> str:
    """Return each check that was flaky, how often, and what it printed the last time."""
    flaky = Counter[str]()
    outputs: dict[str, str] = {}
    with closing(archive_of(workplace.settings)) as archive:
        for row in archive.sessions(str(workplace.repo.root), SESSIONS):
            for record in archive.records(row.id, kinds=(CheckCompleted.type(),)):
                event = record.event
                if isinstance(event, CheckCompleted) and event.status == CheckStatus.FLAKY.value:
                    flaky[event.name] += 1
                    outputs.setdefault(event.name, event.output_tail)
    entries = [
        f"{one_line(name)}: flaky {count} time{'s' if count > 1 else ''}; the newest output:\n"
        f"{indented(plain(outputs[name])[-LONGEST_OUTPUT:], LONGEST_OUTPUT)}"
        for name, count in flaky.most_common()
    ]
    return listing("Checks that were flaky in sessions of donewhen:", entries)
