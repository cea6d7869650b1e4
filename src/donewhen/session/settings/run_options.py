"""Command line options of `run`, and how they become settings and a contract. Nothing is started here.

The command line wins over every file. An option sets its value under the key that the file would use, so that each
value is looked up in one place.
"""

import math
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from donewhen.errors import BadInput
from donewhen.judge.contract import Check, Contract, require_sound
from donewhen.printable import shortened
from donewhen.records import frozen
from donewhen.session.settings import contract_file, settings
from donewhen.session.settings.model_server import MODEL_OPTION
from donewhen.session.settings.schema import TABLES
from donewhen.session.settings.settings import Settings

LAND = ("branch", "apply", "none")


@frozen(kw_only=True)
class RunOptions:
    intent: str
    repo: Path | None = None
    base: str = ""
    dirty: bool = False
    checks: tuple[str, ...] = ()
    """Each is NAME=COMMAND."""
    contract: Path | None = None
    engine: str = ""
    model: str = ""
    max_iterations: int | None = None
    max_turns: int | None = None
    max_minutes: float | None = None
    max_tokens: int | None = None
    max_usd: float | None = None
    allow_green: bool = False
    editable: tuple[str, ...] = ()
    yes: bool = False
    ask: bool = False
    land: str = ""
    plan: bool = False
    """Only plan, and wait for a person to approve the plan."""


def require_sense(options: RunOptions) -> None:
    """Raise BadInput for what can be refused without looking at a repository."""
    if not options.intent.strip():
        raise BadInput("the intent is empty; say in words what you want")
    try:
        options.intent.encode()
    except UnicodeEncodeError as error:
        raise BadInput(f"the intent is not UTF-8 at character {error.start + 1}") from error
    if "\0" in options.intent:
        raise BadInput("the intent holds a NUL byte")
    if options.dirty and options.base:
        raise BadInput("--dirty and --base exclude each other: a snapshot of the working tree stands on HEAD")
    if options.yes and options.ask:
        raise BadInput("--yes and --ask exclude each other: with --yes nothing is asked")
    if options.land and options.land not in LAND:
        raise BadInput(f"--land must be one of {', '.join(LAND)}, not {options.land!r}")
    for name, value in (("--max-iterations", options.max_iterations), ("--max-turns", options.max_turns)):
        if value is not None and value < 1:
            raise BadInput(f"{name} must be 1 or more, not {value}")
    for name, limit in (
        ("--max-minutes", options.max_minutes),
        ("--max-tokens", options.max_tokens),
        ("--max-usd", options.max_usd),
    ):
        if limit is not None and (limit <= 0 or not math.isfinite(limit)):
            raise BadInput(f"{name} must be a finite number above 0, not {limit:g}")


def applied(held: Settings, options: RunOptions) -> Settings:
    """Return the settings with everything that the command line sets."""
    for option, table, key, value in _values(options):
        spec = TABLES[table][key]
        if not spec.fits(value):
            raise BadInput(f"{option}: must be {spec.kind}, not {value!r}")
        held = held.with_value(table, key, value, option)
    return held


def _values(options: RunOptions) -> Iterator[tuple[str, str, str, Any]]:
    given = [
        ("--engine", "engine", "use", options.engine or None),
        ("--land", "engine", "land", options.land or None),
        (MODEL_OPTION, "model", "use", options.model or None),
        ("--max-turns", "native", "max_turns", options.max_turns),
        ("--max-turns", "external", "max_turns", options.max_turns),
        ("--max-minutes", "limits", "minutes", options.max_minutes),
        ("--max-tokens", "limits", "tokens", options.max_tokens),
        ("--max-usd", "limits", "usd", options.max_usd),
        ("--allow-green", "contract", "allow_green", options.allow_green or None),
    ]
    yield from (row for row in given if row[3] is not None)


def contract_of(held: Settings, options: RunOptions) -> tuple[Settings, Contract]:
    """Return the settings, which include the checks, and the contract in force.

    `--contract FILE` replaces what donewhen.toml says about the contract. `--check` adds a check, or replaces the one
    of the same name.
    """
    stated, also = (held, ()) if options.contract is None else _of_file(held, options.contract)
    contract = contract_file.contract_in(stated)
    named = {check.name: check for check in map(_check, options.checks)}
    if len(named) < len(options.checks):
        raise BadInput("--check: a name is used twice; every check needs a name of its own")
    kept = [check for check in contract.checks if check.name not in named]
    contract = replace(
        contract, checks=(*kept, *named.values()), editable=(*contract.editable, *_patterns(options.editable))
    )
    checks = contract_file.tables_of(contract)
    green = stated.get("contract", "allow_green")
    return held.with_value("contract", "allow_green", green.value, green.source).with_checks(checks, also), contract


def _of_file(held: Settings, named: Path) -> tuple[Settings, tuple[Path, ...]]:
    file = Path(os.path.abspath(named))
    if not os.path.lexists(file):
        raise BadInput(f"--contract {named}: there is no such file")
    content = settings.read(file)
    for name in content:
        if name not in ("contract", "check"):
            wrong = f"'{shortened(name)}' has no place here; only [contract] and [[check]] count"
            raise BadInput(f"--contract {named}: {wrong}")
    return held.stating(file, content), (file,)


def _check(text: str) -> Check:
    name, equals, command = text.partition("=")
    if not equals:
        raise BadInput(f"--check {shortened(text)!r}: must be NAME=COMMAND")
    check = Check(name=name.strip(), command=command)
    try:
        require_sound([check])
    except BadInput as error:
        raise BadInput(f"--check {shortened(text)!r}: {str(error).replace('check[0].', '')}") from error
    return check


def _patterns(patterns: tuple[str, ...]) -> tuple[str, ...]:
    if patterns:
        from donewhen.judge.protect.names import globs  # loaded on use: it loads the protection rules

        for pattern in patterns:
            globs.require_sound(pattern, "--editable")
    return patterns
