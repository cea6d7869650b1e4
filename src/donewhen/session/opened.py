"""What a session was started with, and keeps to its end whatever happens to files and branches meanwhile.

It is the first thing in a session's log, and enough to go on with after a crash: settings with their sources, the
contract, the base. Secrets are not in it: variables are named there, never told.
"""

import json
import secrets
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from donewhen.judge.contract import Contract
from donewhen.judge.receipt import contract_from
from donewhen.records import frozen
from donewhen.session.contract_file import tables_of
from donewhen.session.settings import Setting, Settings

NOTE = "opened"
NOT_KEPT = frozenset({("storage", "url")})
"""It may hold a password, and it is needed before the log can be read."""
BASE_URL = ("model", "base_url")


@frozen(kw_only=True)
class Opened:
    session: str
    intent: str
    repo: str
    base: str
    """The commit that the work starts from, and that protection is taken from."""
    parent: str
    """The commit that a landed one stands on: the base, or HEAD where the base is a snapshot of the working tree."""
    contract: Contract
    settings: Settings
    max_iterations: int
    """Over all engines; 0 leaves it to each of them."""
    may_ask: bool
    """Whether somebody is there to be asked."""
    yes: bool
    plans: bool = False
    """Whether a person wants to see the plan before anything is built."""
    drafts: bool = False
    """Whether nobody gave a contract, and a planner drafts it."""


def is_planned(settings: Settings) -> bool:
    """Whether the engine is the one that plans, builds and has its work evaluated."""
    return settings.text("engine", "use").partition(":")[0] == "planned"


def new_id() -> str:
    return secrets.token_hex(4)


def plain(opened: Opened) -> dict[str, Any]:
    """As the log keeps it."""
    settings = opened.settings
    known: dict[str, Any] = {
        "session": opened.session,
        "intent": opened.intent,
        "repo": opened.repo,
        "base": opened.base,
        "parent": opened.parent,
        "contract": asdict(opened.contract),
        "max_iterations": opened.max_iterations,
        "may_ask": opened.may_ask,
        "yes": opened.yes,
        "plans": opened.plans,
        "drafts": opened.drafts,
        "settings": [[*key, one.value, one.source] for key, one in settings.by_key() if key not in NOT_KEPT],
        "base_url_beside": settings.get(*BASE_URL).beside,
        "files": [str(settings.file) if settings.file else None, *map(str, settings.also)],
    }
    return json.loads(json.dumps(known, default=str))


def from_plain(known: Mapping[str, Any], now: Settings) -> Opened:
    """Out of the log; `now` has what is not kept there."""
    contract = contract_from(known["contract"])
    values = dict(now.by_key())
    values.update({(table, key): Setting(value, source) for table, key, value, source in known["settings"]})
    values[BASE_URL] = values[BASE_URL]._replace(beside=known.get("base_url_beside", ""))
    file, *also = known["files"]
    settings = Settings(values, Path(file) if file else None)
    return Opened(
        contract=contract,
        settings=settings.with_checks(tables_of(contract), tuple(map(Path, also))),
        plans=bool(known.get("plans")),
        drafts=bool(known.get("drafts")),
        **{
            key: known[key]
            for key in ("session", "intent", "repo", "base", "parent", "max_iterations", "may_ask", "yes")
        },
    )
