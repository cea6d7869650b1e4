"""The contract of donewhen.toml, read from the settings. Errors name the file, the line and the key.

`without_held_out` returns the same file as the maker may see it: without the held-out checks.
"""

import datetime
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

from donewhen.errors import BadInput
from donewhen.judge import globs
from donewhen.judge.contract import Check, Contract, MinEvidence, Quarantine, require_sound
from donewhen.judge.contract_lint import ContractWarning, warnings_about
from donewhen.printable import shortened
from donewhen.session.settings.settings import Settings, Table
from donewhen.toml import BadToml, file_content, parse_toml


class NothingToPropose(BadInput):
    """There is no contract, and the repository has no tests from which one could be proposed."""

    def __init__(self, root: Path, offers: tuple[str, ...]) -> None:
        super().__init__(f"no tests found in {root}; put a check like this into donewhen.toml:")
        self.offers = offers
        """Texts for donewhen.toml that a person may use."""


def contract_in(settings: Settings) -> Contract:
    """Return the contract of the repository's file; one without checks if the file has none."""
    file = settings.file
    lines = _lines(file) if file is not None else []
    checks: list[Check] = []
    for number, entry in enumerate(settings.tables("check")):
        with _at(file, lines, number):
            checks.append(check_of(number, entry))
            require_sound(checks)
    _require_sound_patterns(settings)
    return Contract(
        checks=tuple(checks),
        description=settings.text("contract", "description"),
        product=settings.texts("contract", "product"),
        protect=settings.texts("contract", "protect"),
        editable=settings.texts("contract", "editable"),
        min_evidence=cast("MinEvidence", settings.text("contract", "min_evidence")),
    )


def _require_sound_patterns(settings: Settings) -> None:
    for key in ("product", "protect", "editable"):
        with settings.naming_source("contract", key):
            for pattern in settings.texts("contract", key):
                globs.require_sound(pattern, f"contract.{key}")


class _at:  # noqa: N801 - reads as a word: with _at(file, …)
    """Put the file and line in front of an error about one check."""

    def __init__(self, file: Path | None, lines: list[str], number: int) -> None:
        self._file, self._lines, self._number = file, lines, number

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, BadInput):
            key = re.match(r"'check\[\d+\]\.(\w+)", str(error))
            line = line_of(self._lines, self._number, key[1] if key else "")
            raise BadInput(f"{self._file}:{line}: {error}") from error


def check_of(number: int, entry: Table) -> Check:
    """Return a check as its table states it. The table has every key; messages name it by its number."""
    for key in ("name", "command"):
        if not entry[key]:
            raise BadInput(f"'check[{number}].{key}' is missing or empty")
    quarantine = cast("Table | None", entry["quarantine"])
    known = {**entry, "quarantine": _quarantine(number, quarantine) if quarantine is not None else None}
    return Check(**cast("dict[str, Any]", known))


def _quarantine(number: int, entry: Table) -> Quarantine:
    at, until = f"check[{number}].quarantine", entry.get("until")
    if not entry.get("reason"):
        raise BadInput(f"'{at}' needs a reason")
    if isinstance(until, str):
        try:
            until = datetime.date.fromisoformat(until)
        except ValueError as error:
            raise BadInput(f"'{at}.until' must be a date such as 2026-12-31, not {shortened(until)!r}") from error
    if isinstance(until, datetime.datetime):
        until = until.date()
    if not isinstance(until, datetime.date):
        raise BadInput(f"'{at}' needs a date until which it holds: until = \"2026-12-31\"")
    return Quarantine(str(entry["reason"]), until)


def _lines(file: Path) -> list[str]:
    """Return the lines of the file, for messages only; empty if it cannot be read any more."""
    try:
        return file_content(file).decode("utf-8", "replace").splitlines()
    except BadToml:
        return []


def line_of(lines: list[str], number: int, key: str) -> int:
    """Return the line of a key of the n-th check, or of its heading. It is for messages, so a guess is good enough."""
    seen, heading = -1, 1
    for at, line in enumerate(lines, 1):
        if re.match(r"\s*\[", line):
            if seen == number:
                break
            if re.match(r"\s*\[\[\s*check\s*\]\]", line):
                seen += 1
                heading = at if seen == number else heading
        elif seen == number and re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=", line):
            return at
    return heading


def warnings(settings: Settings, contract: Contract) -> list[str]:
    """Return what is odd about the contract, one line each with file, line and key."""
    if settings.file is None:
        return []
    lines = _lines(settings.file)
    return [
        f"{settings.file}:{_line(lines, warning)}: {_key(warning)}: {warning.message}"
        for warning in warnings_about(contract)
    ]


def _line(lines: list[str], warning: ContractWarning) -> int:
    if warning.check >= 0:
        return line_of(lines, warning.check, warning.key)
    found = (at for at, line in enumerate(lines, 1) if re.match(rf"\s*(\[\[)?{warning.key}\b", line))
    return next(found, 1)


def _key(warning: ContractWarning) -> str:
    return f"check[{warning.check}].{warning.key}" if warning.check >= 0 else warning.key


def tables_of(contract: Contract) -> list[dict[str, Any]]:
    """Return the checks of a contract as `[[check]]` entries, for callers that only ask which are held out."""
    return [{**asdict(check), "quarantine": None} for check in contract.checks]


def entry_of(check: Check) -> dict[str, Any]:
    """Return a check as a `[[check]]` entry: only what differs from the defaults."""
    usual = Check(name="", command="")
    entry = {key: value for key, value in asdict(check).items() if value != getattr(usual, key) and key != "quarantine"}
    if check.timeout_secs == int(check.timeout_secs) and "timeout_secs" in entry:
        entry["timeout_secs"] = int(check.timeout_secs)
    return {"name": check.name, "command": check.command, **entry}


def without_held_out(text: bytes) -> bytes:
    """Return donewhen.toml as the maker may see it: without held-out checks.

    If there are any, comments are removed as well, because they may reveal them. Of a file that cannot be read, nothing
    is shown.
    """
    try:
        content = parse_toml(text)
    except BadToml:
        return b""
    stated = content.get("check")
    entries = cast("list[object]", stated) if isinstance(stated, list) else []
    checks = [cast("Table", entry) for entry in entries if isinstance(entry, dict)]
    shown = [entry for entry in checks if not entry.get("held_out")]
    if len(shown) == len(checks):
        return text
    import tomlkit

    content.pop("check")
    return tomlkit.dumps({**content, **({"check": shown} if shown else {})}).encode()
