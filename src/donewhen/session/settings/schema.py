"""Schema of every key in donewhen.toml, the user's file and the environment.

A key says its type, its default, its smallest number, when it widens, and which option of `run` sets it: the options,
their help and their checks are made from it. This module has only data and small checks, because `run --help` loads it;
`settings` reads and merges the files. A value *widens* if it lets commands see, reach or use more, or lets a session
spend more, than the value that counts without it: the default, or the user's own value. From a repository's file it
counts only after `donewhen trust`. Every key says when it widens.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from donewhen.engines.spec import EngineKind, EngineSpec
from donewhen.errors import BadInput
from donewhen.records import frozen

Value = object
Test = Callable[[Value], bool]
Widens = Callable[[Any, Any], bool]
"""Returns True if a value is wider than the one that counts without it."""


@frozen
class Key:
    kind: str
    """The type as text, for messages: "text", "a list of texts", …"""
    fits: Test
    default: Value = None
    widens: Widens | None = None
    """None: not decided yet. Every value then widens unless it is the one that counts without it."""
    adds: bool = False
    """True if a list is added to the one of the user's own file, and does not replace it."""
    python_type: type = str
    """The Python type of a value; `list` for a list of texts."""
    least: float = 0
    """The smallest number with which a session can start."""
    flag: str = ""
    """The option of `run` that sets this key, for example "--max-turns". Several keys may have the same one."""
    help: str = ""
    """The help text of that option; of several keys with the same option, the first one has it."""
    names: tuple[str, ...] = ()
    """Values that a shell offers to complete."""
    inner: "Mapping[str, Key]" = field(default_factory=dict[str, "Key"])
    """The keys of a table, or of each table of a list."""

    def is_wider(self, value: Value, held: Value) -> bool:
        return self.widens(value, held) if self.widens is not None else value != held


def _is_text(value: Value) -> bool:
    return isinstance(value, str)


def _is_list_of_texts(value: Value) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)  # pyright: ignore[reportUnknownVariableType] - any list


def _is_whole(value: Value) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_number(value: Value) -> bool:
    """Return True for a finite number, 0 or more. TOML also has `inf` and `nan`, which are not usable as limits."""
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 and math.isfinite(value)


def _is_boolean(value: Value) -> bool:
    return isinstance(value, bool)


def never(value: Any, held: Any) -> bool:
    """For keys that say what done means, or how. They neither reach nor spend anything."""
    del value, held
    return False


def _anything(value: Any, held: Any) -> bool:
    del held
    return bool(value)


def _another(value: Any, held: Any) -> bool:
    return bool(value) and value != held


def _more_items(value: Any, held: Any) -> bool:
    return any(item not in held for item in value)


def _more(value: Any, held: Any) -> bool:
    return value > held


def _more_than_limit(value: Any, held: Any) -> bool:
    """For numbers where 0 means no limit."""
    return bool(held) and (not value or value > held)


def _further(*names: Value) -> Widens:
    """For names in order from the narrowest to the widest."""
    return lambda value, held: names.index(value) > names.index(held)


def _server(value: Any, held: Any) -> bool:
    """A server in the repository's file gets a key. Without the user's own server, the key for it goes elsewhere."""
    return bool(value) or bool(held)


def _paid_model(value: Any, held: Any) -> bool:
    """Another model may cost more, and it sees the repository. A value that is not a model name is refused later."""
    return value != held and (":" in str(value) or value == "auto")


def _paid_models(value: Any, held: Any) -> bool:
    return any(_paid_model(one, "") for one in value if one not in held)


def _engine(value: Any, held: Any) -> bool:
    """Agents use the user's accounts. Our own engines use the model that is chosen anyway, and the same limits."""
    try:
        spec = EngineSpec.parse(str(value), "engine")
    except BadInput:
        return False  # it is refused when a session starts
    if value == held or spec.kind is EngineKind.NATIVE:
        return False
    has_agents = spec.inner is not None and spec.inner.kind is not EngineKind.NATIVE
    return spec.kind is EngineKind.EXTERNAL or held != EngineKind.AUTO or has_agents


def _worker(value: Any, held: Any) -> bool:
    return value not in (EngineKind.NATIVE, held)


def text(
    default: str = "", widens: Widens | None = None, *, flag: str = "", help: str = "", names: tuple[str, ...] = ()
) -> Key:
    return Key("text", _is_text, default, widens, flag=flag, help=help, names=names)


def texts(widens: Widens | None = None, adds: bool = False, *, flag: str = "", help: str = "") -> Key:
    return Key("a list of texts", _is_list_of_texts, (), widens, adds, python_type=list, flag=flag, help=help)


def whole(default: int = 0, widens: Widens | None = None, *, least: int = 0, flag: str = "", help: str = "") -> Key:
    kind = "a whole number, 0 or more"
    return Key(kind, _is_whole, default, widens, python_type=int, least=least, flag=flag, help=help)


def number(
    default: float = 0, widens: Widens | None = None, *, least: float = 0, flag: str = "", help: str = ""
) -> Key:
    kind = "a finite number, 0 or more"
    return Key(kind, _is_number, default, widens, python_type=float, least=least, flag=flag, help=help)


def boolean(default: bool = False, widens: Widens | None = None, *, flag: str = "", help: str = "") -> Key:
    return Key("true or false", _is_boolean, default, widens, python_type=bool, flag=flag, help=help)


def choice(*names: str, widens: Widens | None = None, flag: str = "", help: str = "") -> Key:
    """Return a key that allows a few names; the first is the default."""
    kind = f"one of {', '.join(names)}"
    return Key(kind, lambda value: value in names, names[0], widens, flag=flag, help=help, names=names)


TABLES: Mapping[str, Mapping[str, Key]] = {
    "contract": {
        "description": text(widens=never),
        "product": texts(never),
        "protect": texts(never),
        "editable": texts(
            never, flag="--editable", help="Paths that may change although they are protected: a glob; repeatable."
        ),
        "min_evidence": choice("tests", "exit", "control", widens=never),
        "allow_green": boolean(widens=never, flag="--allow-green", help="Work even if every check is green already."),
    },
    "workspace": {
        "setup": texts(_more_items),
        "share": texts(_more_items),
        "network": choice("none", "setup", "full", widens=_further("none", "setup", "full")),
        "reach": texts(_more_items),
        "sockets": texts(_more_items),
        "env": texts(_more_items),
        "isolation": choice("required", "best", "none", widens=_further("required", "best", "none")),
        "history": choice("base", "none", widens=_further("none", "base")),
    },
    "engine": {
        "use": text(
            "auto",
            _engine,
            flag="--engine",
            help="auto, native, external[:AGENT], foreman[:WORKER] or planned[:BUILDER].",
            names=tuple(EngineKind),
        ),
        "context": choice("auto", "fresh", "carry", widens=never),
        "on_question": choice("continue", "wait", widens=_further("wait", "continue")),
        "land": choice(
            "branch",
            "apply",
            "none",
            widens=_further("none", "branch", "apply"),
            flag="--land",
            help="branch (donewhen/ID, the default), apply (also the files of a clean checkout) or none.",
        ),
    },
    "native": {
        "max_iterations": whole(8, _more, least=1),
        "max_turns": whole(
            24, _more, least=1, flag="--max-turns", help="Model turns in a round; then the tree is judged."
        ),
        "max_tokens_per_turn": whole(4096, _more_than_limit, least=1),
    },
    "external": {
        "max_turns": whole(50, _more, least=1, flag="--max-turns"),
        "timeout_secs": number(1800, _more, least=1),
        "repair_invokes": whole(1, _more),
        "require": choice("confined", "full", "open", widens=_further("full", "confined", "open")),
        "mcp_url": text(widens=_another),
    },
    "foreman": {
        "workers": whole(4, _more, least=1),
        "plan_attempts": whole(3, _more, least=1),
        "worker": text("native", _worker),
    },
    "planned": {
        "builder": text("native", _worker),
        "max_revision_rounds": whole(2, _more),
        "evaluator_model": text(widens=_paid_model),
    },
    "model": {
        "use": text(
            "auto",
            _paid_model,
            flag="--model",
            help="PROVIDER:NAME (see `donewhen models`), scripted:FILE, replay:ID or auto.",
        ),
        "base_url": text(widens=_server),
        "fallback": texts(_paid_models),
    },
    "limits": {
        "minutes": number(0, _more_than_limit, flag="--max-minutes", help="Minutes of work; then the tree is judged."),
        "tokens": whole(0, _more_than_limit, flag="--max-tokens", help="Tokens, input and output, over all models."),
        "usd": number(
            0, _more_than_limit, flag="--max-usd", help="US dollars; the session ends if a price is unknown."
        ),
        "silence_secs": number(900, _more_than_limit),
    },
    "policy": {"deny": texts(never, adds=True), "ask": texts(never, adds=True)},
    "memory": {
        "enabled": boolean(True, _further(False, True)),
        "across_repositories": boolean(widens=_further(False, True)),
    },
    "storage": {"url": text(widens=_another)},
    "forge": {
        "url": text(widens=_another),
        "token_env": text("GITHUB_TOKEN", _another),
        "api": choice("github", "forgejo", widens=never),
    },
}
"""Tables with single values. Lists of tables and named tables follow."""


def keys_by_flag() -> dict[str, dict[tuple[str, str], Key]]:
    """Return the keys that each option of `run` sets, by table and name of the key."""
    found: dict[str, dict[tuple[str, str], Key]] = {}
    for table, keys in TABLES.items():
        for name, key in keys.items():
            if key.flag:
                found.setdefault(key.flag, {})[table, name] = key
    return found


def flags() -> dict[str, Key]:
    """Return the options of `run` that set a key, each with the key that has its help."""
    return {flag: next(iter(keys.values())) for flag, keys in keys_by_flag().items()}


AGENT: Mapping[str, Key] = {
    "command": text(),
    "path": text(),
    "way": Key("acp or cli", lambda value: value in ("acp", "cli"), ""),
    "project_settings": boolean(),
}
"""`[agent.NAME]`: every key widens."""

QUARANTINE: Mapping[str, Key] = {"reason": text(), "until": Key("a date", lambda value: value is not None, "")}

CHECK: Mapping[str, Key] = {
    "name": text(widens=never),
    "command": text(widens=never),
    "dir": text(".", never),
    "expect_exit_zero": boolean(True, never),
    "output_contains": text(widens=never),
    "timeout_secs": number(120, never),
    "min_tests": whole(1, never),
    "allow_skips": boolean(widens=never),
    "held_out": boolean(widens=never),
    "quarantine": Key(
        "a table with reason and until", lambda value: isinstance(value, dict), None, never, inner=QUARANTINE
    ),
}

LOOP_INPUT: Mapping[str, Key] = {
    "name": text(),
    "command": text(),
    "read": text(),
    "network": boolean(),
    "env": texts(),
    "timeout_secs": number(120),
}
LOOP_BUDGET: Mapping[str, Key] = {
    "turns": whole(12, _more_than_limit),
    "tokens": whole(400_000, _more_than_limit),
    "input_tokens": whole(0, _more_than_limit),
    "output_tokens": whole(0, _more_than_limit),
    "minutes": number(30, _more_than_limit),
    "usd": number(0, _more_than_limit),
    "tokens_per_day": whole(0, _more_than_limit),
    "usd_per_day": number(5, _more_than_limit),
    "tokens_lifetime": whole(0, _more_than_limit),
    "usd_lifetime": number(100, _more_than_limit),
}
"""0 means no limit."""


def _more_budget(value: Any, held: Any) -> bool:
    del held
    return any(LOOP_BUDGET[name].is_wider(given, LOOP_BUDGET[name].default) for name, given in value.items())


def _table(keys: Mapping[str, Key], widens: Widens) -> Key:
    """Return a key whose value is a table with these keys. An unknown or wrong key in it is reported elsewhere."""
    return Key(f"a table with {', '.join(keys)}", lambda value: isinstance(value, dict), None, widens, inner=keys)


def _tables(keys: Mapping[str, Key], widens: Widens) -> Key:
    """Return a key whose value is a list of such tables."""
    kind = f"a list of tables with {', '.join(keys)}"
    return Key(kind, lambda value: isinstance(value, list), (), widens, inner=keys)


LOOP: Mapping[str, Key] = {
    "name": text(widens=never),
    "intent": text(widens=never),
    "level": choice("report", "assisted", "unattended", widens=never),
    "schedule": text("daily 09:00", never),
    "timezone": text(widens=never),
    "on": texts(never),
    "overlap": choice("skip", "queue", widens=never),
    "jitter_secs": number(0, never),
    "inputs": _tables(LOOP_INPUT, _anything),
    "checks": texts(never),
    "check": _tables(CHECK, never),
    "maker": text(widens=never),
    "checker": text(widens=never),
    "engine": text("native", lambda value, held: _engine(value, held)),
    "model": text(widens=_paid_model),
    "checker_engine": text("native", lambda value, held: _engine(value, held)),
    "checker_model": text(widens=_paid_model),
    "never": texts(never),
    "action": text("report", lambda value, held: value != held),
    "allow": texts(_anything),
    "gate": text(widens=lambda value, _: value.startswith("command:")),
    "max_open": whole(1, _more),
    "draft": boolean(True, never),
    "signoff": boolean(widens=never),
    "expires_days": number(14, never),
    "deliver": Key("a list of texts", _is_list_of_texts, ("stdout",), _more_items, python_type=list),
    "budget": _table(LOOP_BUDGET, _more_budget),
}

LISTS: Mapping[str, Mapping[str, Key]] = {"check": CHECK, "loop": LOOP}
