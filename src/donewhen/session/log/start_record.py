"""What a session was started with. Later changes of files and branches do not affect it.

It is the first record in a session's log, and enough to resume after a crash: settings with their sources, the
contract, the base. It holds no secrets. Environment variables are named without their values. The user and password in
an address are hidden, and a resumed session takes them from the settings of that time.
"""

import json
import secrets
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from donewhen.engines.spec import EngineKind
from donewhen.judge.contract import Contract
from donewhen.judge.receipt import contract_from
from donewhen.model.providers import HIDDEN_USER, with_hidden_user
from donewhen.records import frozen
from donewhen.session.log.loop_record import LoopRecord
from donewhen.session.settings.contract_file import tables_of
from donewhen.session.settings.settings import Setting, Settings

NOTE_KIND = "opened"
NOT_KEPT = frozenset({("storage", "url")})
"""Not kept: it may hold a password, and it is needed before the log can be read."""
BASE_URL = ("model", "base_url")
ADDRESSES = (BASE_URL, ("external", "mcp_url"))
"""Settings that may hold a user and a password."""
ADDRESS_TABLES = tuple(table for table, _ in ADDRESSES)


@frozen(kw_only=True)
class StartRecord:
    session: str
    intent: str
    repo: str
    base: str
    """The commit that the work starts from. Protection is based on it."""
    parent: str
    """The parent of a landed commit: the base, or HEAD if the base is a snapshot of the working tree."""
    contract: Contract
    settings: Settings
    max_iterations: int
    """Limit over all engines; 0 leaves it to each of them."""
    may_ask: bool
    """True if a person can be asked."""
    yes: bool
    wants_plan: bool = False
    """True if a person wants to see the plan before anything is built."""
    drafts_contract: bool = False
    """True if no contract was given, and a planner drafts it."""
    loop: LoopRecord | None = None
    """What is special about a loop round; None for an ordinary session."""

    @property
    def reads_only(self) -> bool:
        """True if no agent of this session may write."""
        return self.loop is not None and self.loop.reads_only

    def plain(self) -> dict[str, Any]:
        """Return the record as the log keeps it."""
        settings = self.settings
        kept = [(key, one) for key, one in settings.by_key() if key not in NOT_KEPT]
        body: dict[str, Any] = {
            "session": self.session,
            "intent": self.intent,
            "repo": self.repo,
            "base": self.base,
            "parent": self.parent,
            "contract": asdict(self.contract),
            "max_iterations": self.max_iterations,
            "may_ask": self.may_ask,
            "yes": self.yes,
            "plans": self.wants_plan,
            "drafts": self.drafts_contract,
            "settings": [[*key, _without_user(key, one.value), one.source] for key, one in kept],
            "base_url_beside": settings.get(*BASE_URL).model_use,
            "files": [str(settings.file) if settings.file else None, *map(str, settings.also)],
            **({"loop": self.loop.plain()} if self.loop is not None else {}),
        }
        return json.loads(json.dumps(body, default=str))

    @classmethod
    def load(cls, body: Mapping[str, Any], now: Settings) -> "StartRecord":
        """Return the record out of the log. `now` has the settings that are not kept there."""
        contract = contract_from(body["contract"])
        values = dict(now.by_key())
        values.update({(table, key): Setting(value, source) for table, key, value, source in body["settings"]})
        values.update({key: _whole_address(values[key], now.get(*key)) for key in ADDRESSES})
        values[BASE_URL] = values[BASE_URL]._replace(model_use=body.get("base_url_beside", ""))
        file, *also = body["files"]
        settings = Settings(values, Path(file) if file else None)
        return cls(
            contract=contract,
            settings=settings.with_checks(tables_of(contract), tuple(map(Path, also))),
            wants_plan=bool(body.get("plans")),
            drafts_contract=bool(body.get("drafts")),
            loop=LoopRecord.load(body["loop"]) if "loop" in body else None,
            **{
                key: body[key]
                for key in ("session", "intent", "repo", "base", "parent", "max_iterations", "may_ask", "yes")
            },
        )


def is_planned(settings: Settings) -> bool:
    """Return True if the engine is the one that plans, builds and has its work evaluated."""
    return EngineKind.of(settings.text("engine", "use")) is EngineKind.PLANNED


def new_id() -> str:
    return secrets.token_hex(4)


def _without_user(key: tuple[str, str], value: Any) -> Any:
    return with_hidden_user(str(value)) if key in ADDRESSES else value


def settings_in(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return every setting for display: table, key, value, source. Hide the passwords in logs of older versions."""
    return [
        {"table": table, "key": key, "value": _without_user((table, key), value), "source": source}
        for table, key, value, source in body.get("settings", ())
    ]


def _whole_address(kept: Setting, now: Setting) -> Setting:
    """Return the address with the user and password configured now, if it is still the same address; else without."""
    address = str(kept.value)
    if HIDDEN_USER not in address:
        return kept
    return kept._replace(
        value=now.value if with_hidden_user(str(now.value)) == address else address.replace(HIDDEN_USER, "", 1)
    )
