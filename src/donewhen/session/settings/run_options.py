"""Command line options of `run`, and how they become settings and a contract. Nothing is started here.

The command line wins over every file. An option sets its value under the key that the file would use, so that each
value is looked up in one place.
"""

import itertools
import math
import os
from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import Any, cast

from donewhen.errors import BadInput
from donewhen.judge import globs
from donewhen.judge.contract import Check, Contract, require_sound
from donewhen.printable import shortened
from donewhen.records import frozen
from donewhen.session.settings import contract_file, settings
from donewhen.session.settings.schema import CHECK, Key, flags, keys_by_flag
from donewhen.session.settings.settings import Settings, Table


@frozen(kw_only=True)
class RunOptions:
    intent: str
    repo: Path | None = None
    base: str = ""
    dirty: bool = False
    checks: Mapping[str, str | Table] = field(default_factory=dict[str, "str | Table"])
    """Checks by name: a command, or the other keys of a `[[check]]`."""
    contract: Path | None = None
    max_iterations: int | None = None
    """Limits the rounds over all engines; the keys of the same name each limit one engine."""
    values: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Values of the options that set a key of the schema, by option: "--max-turns"."""
    yes: bool = False
    ask: bool = False
    plan: bool = False
    """Only plan, and wait for a person to approve the plan."""


def require_valid(options: RunOptions) -> None:
    """Raise BadInput for what can be refused without looking at a repository."""
    if not options.intent.strip():
        raise BadInput("the intent is empty; describe what you want")
    try:
        options.intent.encode()
    except UnicodeEncodeError as error:
        raise BadInput(f"the intent is not UTF-8 at character {error.start + 1}") from error
    if "\0" in options.intent:
        raise BadInput("the intent contains a NUL byte")
    if options.dirty and options.base:
        raise BadInput("--dirty and --base exclude each other: --dirty always starts from HEAD")
    if options.yes and options.ask:
        raise BadInput("--yes and --ask exclude each other: with --yes nothing is asked")
    if options.max_iterations is not None and options.max_iterations < 1:
        raise BadInput(f"--max-iterations must be 1 or more, not {options.max_iterations}")
    keys = flags()
    for flag, value in options.values.items():
        _require_possible(flag, keys[flag], value)


def _require_possible(flag: str, key: Key, value: Any) -> None:
    if key.least and value < key.least:
        raise BadInput(f"{flag} must be {key.least} or more, not {value}")
    if key.python_type in (int, float) and (value <= 0 or not math.isfinite(value)):
        raise BadInput(f"{flag} must be a finite number above 0, not {value:g}")
    if not key.fits(value):
        raise BadInput(f"{flag} must be {key.kind}, not {value!r}")


def with_options(held: Settings, options: RunOptions) -> Settings:
    """Return the settings with everything that the command line sets. A list is added to the one that is there."""
    keys = keys_by_flag()
    for flag, value in options.values.items():
        for (table, name), key in keys[flag].items():
            added = [*held.texts(table, name), *value] if key.python_type is list else value
            held = held.with_value(table, name, added, flag)
    return held


def contract_of(held: Settings, options: RunOptions) -> tuple[Settings, Contract]:
    """Return the settings, which include the checks, and the contract in force.

    `--contract FILE` replaces what donewhen.toml says about the contract. `--check` adds a check, or replaces the one
    of the same name.
    """
    stated, also = (held, ()) if options.contract is None else _of_file(held, options.contract)
    contract = contract_file.contract_in(stated)
    named = {check.name: check for check in itertools.starmap(_check, options.checks.items())}
    kept = [check for check in contract.checks if check.name not in named]
    contract = replace(
        contract,
        checks=(*kept, *named.values()),
        editable=(*contract.editable, *_patterns(options.values.get("--editable", []))),
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
            wrong = f"'{shortened(name)}' is not allowed here; only [contract] and [[check]] are"
            raise BadInput(f"--contract {named}: {wrong}")
    return held.with_contract_of(file, content), (file,)


def _check(name: str, stated: str | Table) -> Check:
    is_command = isinstance(stated, str)
    entry = {"name": name, **(cast("Table", {"command": stated}) if is_command else stated)}
    try:
        settings.check_content(Path(), {"check": [entry]})
        check = contract_file.check_of(0, {**{key: spec.default for key, spec in CHECK.items()}, **entry})
        require_sound([check])
    except BadInput as error:
        about = f"--check {shortened(f'{name}={stated}')!r}" if is_command else f"checks: {shortened(name)!r}"
        raise BadInput(f"{about}: {str(error).removeprefix('.: ').replace('check[0].', '')}") from error
    return check


def _patterns(patterns: list[str]) -> list[str]:
    for pattern in patterns:
        globs.require_sound(pattern, "--editable")
    return patterns
