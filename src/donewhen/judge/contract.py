"""The outcome contract as data: what "done" means, in named shell checks.

Where it comes from (a file, the command line, a proposal) is the business of others; here it is checked for sense and
put into words. `render` is the text that an engine is shown: held-out checks are never in it.
"""

import datetime
import hashlib
import json
import re
import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import PurePosixPath
from typing import Literal

from donewhen.errors import BadInput
from donewhen.records import frozen

NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
MinEvidence = Literal["exit", "tests", "control"]


@frozen
class Quarantine:
    """A known flaky check: reported, does not decide, until a date."""

    reason: str
    until: datetime.date


@frozen(kw_only=True)
class Check:
    name: str
    command: str
    dir: str = "."
    expect_exit_zero: bool = True
    output_contains: str = ""
    timeout_secs: float = 120
    min_tests: int = 1
    allow_skips: bool = False
    held_out: bool = False
    quarantine: Quarantine | None = None

    @property
    def at_root(self) -> str:
        """What somebody types at the root for it."""
        return self.command if self.dir == "." else f"cd {shlex.quote(self.dir)} && {self.command}"

    def in_quarantine(self, today: datetime.date) -> bool:
        return self.quarantine is not None and today <= self.quarantine.until


@frozen(kw_only=True)
class Contract:
    checks: tuple[Check, ...]
    description: str = ""
    protect: tuple[str, ...] = ()
    editable: tuple[str, ...] = ()
    min_evidence: MinEvidence = "tests"

    @property
    def digest(self) -> str:
        """What names this very contract: any change of any key is another one."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True, default=str).encode()).hexdigest()

    def render(self) -> str:
        """The contract as an engine is shown it."""
        shown = [check for check in self.checks if not check.held_out]
        lines = [self.description] if self.description else []
        lines += [line for check in shown for line in _rendered(check)]
        return "\n".join(lines)


def _rendered(check: Check) -> list[str]:
    where = "" if check.dir == "." else f" (in {check.dir})"
    expected = "exit 0" if check.expect_exit_zero else "run and exit with a status from 1 to 125"
    lines = [f"- {check.name}{where}: {check.command}", f"  must {expected} within {check.timeout_secs:g} s"]
    if check.output_contains:
        lines.append(f"  and print {check.output_contains!r}")
    return lines


def require_sound(checks: Sequence[Check]) -> None:
    """Refuse what is no contract: names that are empty, odd or used twice, an empty command, a directory outside."""
    seen: set[str] = set()
    for number, check in enumerate(checks):
        at = f"check[{number}]"
        if not NAME.fullmatch(check.name):
            raise BadInput(f"'{at}.name' must be 1 to 64 letters, digits, '_', '.' or '-', not {check.name!r}")
        if check.name in seen:
            raise BadInput(f"'{at}.name' repeats '{check.name}'; every check needs a name of its own")
        seen.add(check.name)
        if not check.command.strip():
            raise BadInput(f"'{at}.command' of check '{check.name}' is empty")
        if "\0" in check.command:
            raise BadInput(f"'{at}.command' of check '{check.name}' holds a NUL byte")
        parts = PurePosixPath(check.dir).parts
        if check.dir == "" or check.dir.startswith("/") or ".." in parts or "\0" in check.dir:
            raise BadInput(f"'{at}.dir' must be a directory below the repository root, not {check.dir!r}")
        if check.timeout_secs <= 0:
            raise BadInput(f"'{at}.timeout_secs' of check '{check.name}' must be more than 0")
