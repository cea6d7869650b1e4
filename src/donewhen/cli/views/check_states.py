"""States of the checks of a session, computed from events for the live view.

The state of a check is its result on the work as a whole. Intermediate runs, on one patch or on a combination of
patches, are visible only while they run.
"""

from dataclasses import dataclass

from donewhen.cli.views.event_fields import mapping, objects, whole
from donewhen.cli.views.event_lines import DECIDING, DecidingEvents
from donewhen.events import CheckCompleted, CheckStarted, Event


@dataclass(slots=True)
class CheckState:
    name: str
    status: str = ""
    duration_ms: int = 0
    phase: str = ""
    """The phase of the current run; empty if the check is not running."""
    since: float = 0.0
    is_intermediate: bool = False
    """True for an intermediate run of a check that is not listed otherwise; it is removed after the run."""


class CheckStates:
    def __init__(self) -> None:
        self.all: dict[str, CheckState] = {}
        self._deciding = DecidingEvents()

    def set_contract(self, contract: object) -> None:
        """Replace all states by the checks of a contract."""
        names = [str(check.get("name")) for check in objects(mapping(contract).get("checks"))]
        self.all = {name: CheckState(name) for name in names}

    def running(self) -> CheckState | None:
        """Return the running check that started last."""
        return max((one for one in self.all.values() if one.phase), key=lambda one: one.since, default=None)

    def begin(self, event: CheckStarted, now: float, is_working: bool) -> None:
        is_intermediate = is_working and event.phase not in DECIDING
        check = self.all.setdefault(event.name, CheckState(event.name, is_intermediate=is_intermediate))
        check.phase, check.since = event.phase, now

    def end(self, event: CheckCompleted, is_working: bool) -> bool:
        """Record a result. Return True if it decides the state. A result on the base counts only before the work."""
        decides = self._deciding.decides(event)
        check = self.all.get(event.name) or CheckState(event.name)
        if decides or not is_working:
            self.all[event.name], check.is_intermediate = check, False
            check.status, check.duration_ms = event.status, whole(event.duration_ms)
            self._stop(check)
        elif check.phase == event.phase:
            self._stop(check)
        return decides

    def stop(self) -> None:
        """Mark all checks as not running: an interrupted check has no result that ends it."""
        for check in [*self.all.values()]:
            self._stop(check)

    def _stop(self, check: CheckState) -> None:
        check.phase = ""
        if check.is_intermediate:
            self.all.pop(check.name, None)

    def is_intermediate(self, event: Event) -> bool:
        """Return True for an intermediate result, not about the whole work: other events report its consequence."""
        return isinstance(event, CheckCompleted) and self._deciding.is_intermediate(event)

    def verdict(self) -> str:
        red = [f"{one.name} {one.status or 'not run'}" for one in self.all.values() if one.status != "pass"]
        return ", ".join(red) or "every check passed"
