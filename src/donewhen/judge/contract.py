"""The outcome contract as data: what "done" means, as named shell checks.

Other modules read it from a file, from the command line or from a proposal. This module validates it and renders it as
text. `render` returns the text that an engine is shown; it never contains held-out checks.
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
from donewhen.printable import shortened
from donewhen.records import frozen

NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
LONGEST_COMMAND = 128 * 1024 - 1
"""In bytes. The kernel accepts no longer argument for a shell."""
MinEvidence = Literal["exit", "tests", "control"]


@frozen
class Quarantine:
    """A known flaky check: it is reported, but does not decide until the date is over."""

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
        """The command line that runs this check from the root of the repository."""
        return self.command if self.dir == "." else f"cd {shlex.quote(self.dir)} && {self.command}"

    def in_quarantine(self, today: datetime.date) -> bool:
        return self.quarantine is not None and today <= self.quarantine.until


@frozen(kw_only=True)
class Contract:
    checks: tuple[Check, ...]
    description: str = ""
    product: tuple[str, ...] = ()
    """Patterns: of what the checks use, what the work may change. If empty, it is inferred."""
    protect: tuple[str, ...] = ()
    editable: tuple[str, ...] = ()
    min_evidence: MinEvidence = "tests"

    @property
    def digest(self) -> str:
        """The identity of this contract: a change of any key gives another digest."""
        known = asdict(self)
        if not self.product:
            known.pop("product")  # receipts that are older than the key stay valid
        return hashlib.sha256(json.dumps(known, sort_keys=True, default=str).encode()).hexdigest()

    def render(self) -> str:
        """Return the contract as text for an engine, without held-out checks."""
        shown = [check for check in self.checks if not check.held_out]
        lines = [self.description] if self.description else []
        lines += [line for check in shown for line in _render_check(check)]
        return "\n".join(lines)


def _render_check(check: Check) -> list[str]:
    where = "" if check.dir == "." else f" (in {check.dir})"
    expected = "exit 0" if check.expect_exit_zero else "run and exit with a status from 1 to 125"
    lines = [f"- {check.name}{where}: {check.command}", f"  must {expected} within {check.timeout_secs:g} s"]
    if check.output_contains:
        lines.append(f"  and print {check.output_contains!r}")
    return lines


def require_sound(checks: Sequence[Check]) -> None:
    """Raise BadInput for an invalid contract.

    Invalid are: empty, odd or repeated names, an empty command or one with a NUL byte or too long, a directory outside
    of the repository, a timeout that is not positive.
    """
    seen: set[str] = set()
    for number, check in enumerate(checks):
        at = f"check[{number}]"
        if not NAME.fullmatch(check.name):
            raise BadInput(
                f"'{at}.name' must be 1 to 64 letters, digits, '_', '.' or '-', not {shortened(check.name)!r}"
            )
        if check.name in seen:
            raise BadInput(f"'{at}.name' repeats '{check.name}'; every check needs its own name")
        seen.add(check.name)
        if not check.command.strip():
            raise BadInput(f"'{at}.command' of check '{check.name}' is empty")
        if "\0" in check.command:
            raise BadInput(f"'{at}.command' of check '{check.name}' contains a NUL byte")
        if (size := len(check.command.encode("utf-8", "surrogatepass"))) > LONGEST_COMMAND:
            problem = f"has {size} bytes; at most {LONGEST_COMMAND} are possible: put it into a script"
            raise BadInput(f"'{at}.command' of check '{check.name}' {problem}")
        parts = PurePosixPath(check.dir).parts
        if check.dir == "" or check.dir.startswith("/") or ".." in parts or "\0" in check.dir:
            raise BadInput(f"'{at}.dir' must be a directory below the repository root, not {shortened(check.dir)!r}")
        if check.timeout_secs <= 0:
            raise BadInput(f"'{at}.timeout_secs' of check '{check.name}' must be more than 0")
