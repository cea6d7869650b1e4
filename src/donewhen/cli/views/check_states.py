"""States of the checks of a session, computed from events for the live view.

The state of a check is its result on the work as a whole. Intermediate runs, on one patch or on a combination of
patches, are visible only while they run.
"""

from dataclasses import dataclass

from donewhen.cli.views.event_fields import Body, mapping, objects, whole
from donewhen.cli.views.event_lines import DECIDING, DecidingEvents
from donewhen.storage.record import Record


@dataclass(slots=True)
class CheckState:
    name: str
    status: str = ""
    duration_ms: int = 0
    phase: str = ""
    """The phase of the current run; empty if the check is not running."""
    since: float = 0.0
    is_on_the_way: bool = False
    """True for an intermediate run of a check that is not listed otherwise; it is removed after the run."""


class CheckStates:
    def __init__(self) -> None:
        self.all: dict[str, CheckState] = {}
        self._deciding = DecidingEvents()

    def promise(self, contract: object) -> None:
        """Replace all states by the checks of a contract."""
        names = [str(check.get("name")) for check in objects(mapping(contract).get("checks"))]
        self.all = {name: CheckState(name) for name in names}

    def running(self) -> CheckState | None:
        """Return the running check that started last."""
        return max((one for one in self.all.values() if one.phase), key=lambda one: one.since, default=None)

    def begin(self, body: Body, now: float, is_working: bool) -> None:
        name, phase = str(body.get("name")), _phase(body)
        check = self.all.setdefault(name, CheckState(name, is_on_the_way=is_working and phase not in DECIDING))
        check.phase, check.since = phase, now

    def end(self, body: Body, is_working: bool) -> bool:
        """Record a result. Return True if it decides the state. A result on the base counts only before the work."""
        decides = self._deciding.is_said_by(body)
        name = str(body.get("name"))
        check = self.all.get(name) or CheckState(name)
        if decides or not is_working:
            self.all[name], check.is_on_the_way = check, False
            check.status, check.duration_ms = str(body.get("status")), whole(body.get("duration_ms"))
            self._stop(check)
        elif check.phase == _phase(body):
            self._stop(check)
        return decides

    def stop(self) -> None:
        """Mark all checks as not running: an interrupted check has no result that ends it."""
        for check in [*self.all.values()]:
            self._stop(check)

    def _stop(self, check: CheckState) -> None:
        check.phase = ""
        if check.is_on_the_way:
            self.all.pop(check.name, None)

    def is_on_the_way(self, record: Record) -> bool:
        """Return True for an intermediate result, not about the whole work: other events report its consequence."""
        return record.kind == "check_completed" and self._deciding.is_on_the_way(record.body)

    def verdict(self) -> str:
        red = [f"{one.name} {one.status or 'not run'}" for one in self.all.values() if one.status != "pass"]
        return ", ".join(red) or "every check passed"


def _phase(body: Body) -> str:
    return str(body.get("phase") or "round")
