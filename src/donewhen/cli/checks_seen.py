"""How the checks of a session stand, by what the events say; for a live view, which shows it.

The state of a check is what it said about the work as a whole. What is judged on the way, a patch alone or some of them
together, is seen only while it runs.
"""

from dataclasses import dataclass

from donewhen.cli.event_lines import DECIDING, Deciding
from donewhen.cli.fields import Body, mapping, objects, whole
from donewhen.storage.record import Record


@dataclass(slots=True)
class CheckSeen:
    name: str
    status: str = ""
    duration_ms: int = 0
    phase: str = ""
    """While it runs."""
    since: float = 0.0
    is_on_the_way: bool = False
    """No check of the contract: it goes away when it has run."""


class Checks:
    def __init__(self) -> None:
        self.all: dict[str, CheckSeen] = {}
        self._deciding = Deciding()

    def promise(self, contract: object) -> None:
        """Those that a contract names, and nothing of before."""
        names = [str(check.get("name")) for check in objects(mapping(contract).get("checks"))]
        self.all = {name: CheckSeen(name) for name in names}

    def running(self) -> CheckSeen | None:
        """The one that began last."""
        return max((one for one in self.all.values() if one.phase), key=lambda one: one.since, default=None)

    def begin(self, body: Body, now: float, is_working: bool) -> None:
        name, phase = str(body.get("name")), _phase(body)
        check = self.all.setdefault(name, CheckSeen(name, is_on_the_way=is_working and phase not in DECIDING))
        check.phase, check.since = phase, now

    def end(self, body: Body, is_working: bool) -> bool:
        """Whether the result decides. That of the base counts only until there is work."""
        decides = self._deciding.is_said_by(body)
        name = str(body.get("name"))
        check = self.all.get(name) or CheckSeen(name)
        if decides or not is_working:
            self.all[name], check.is_on_the_way = check, False
            check.status, check.duration_ms = str(body.get("status")), whole(body.get("duration_ms"))
            self._stop(check)
        elif check.phase == _phase(body):
            self._stop(check)
        return decides

    def stop(self) -> None:
        """Whatever was broken off has no result to end it."""
        for check in [*self.all.values()]:
            self._stop(check)

    def _stop(self, check: CheckSeen) -> None:
        check.phase = ""
        if check.is_on_the_way:
            self.all.pop(check.name, None)

    def is_on_the_way(self, record: Record) -> bool:
        """Whether it is a result that says nothing about the whole: what comes of it is told by itself."""
        return record.kind == "check_completed" and self._deciding.is_on_the_way(record.body)

    def verdict(self) -> str:
        red = [f"{one.name} {one.status or 'not run'}" for one in self.all.values() if one.status != "pass"]
        return ", ".join(red) or "every check passed"


def _phase(body: Body) -> str:
    return str(body.get("phase") or "round")
