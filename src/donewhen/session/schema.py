"""Every key that donewhen.toml, the user's file and the environment may set: its type, its default, what widens.

Data and small checks only; reading files and merging them is `settings`. A key *widens* when it lets commands see,
reach or use more than the default does; from a repository's file it counts only after `donewhen trust`.
"""

from collections.abc import Callable, Mapping

from donewhen.records import frozen

Value = object
Test = Callable[[Value], bool]


@frozen
class Key:
    kind: str
    """In words, for messages: "text", "a list of texts", …"""
    fits: Test
    default: Value = None
    widens: Test | None = None


def _is_text(value: Value) -> bool:
    return isinstance(value, str)


def _is_list_of_texts(value: Value) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)  # pyright: ignore[reportUnknownVariableType] - any list


def _is_whole(value: Value) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


def _anything(value: Value) -> bool:
    return bool(value)


def text(default: str = "", widens: Test | None = None) -> Key:
    return Key("text", _is_text, default, widens)


def texts(widens: Test | None = None) -> Key:
    return Key("a list of texts", _is_list_of_texts, (), widens)


def whole(default: int = 0) -> Key:
    return Key("a whole number, 0 or more", _is_whole, default)


def number(default: float = 0) -> Key:
    return Key("a number, 0 or more", _is_number, default)


def flag(default: bool = False) -> Key:
    return Key("true or false", lambda value: isinstance(value, bool), default)


def choice(*names: str, widens: Test | None = None) -> Key:
    """One of a few names; the first is the default."""
    return Key(f"one of {', '.join(names)}", lambda value: value in names, names[0], widens)


TABLES: Mapping[str, Mapping[str, Key]] = {
    "contract": {
        "description": text(),
        "protect": texts(),
        "editable": texts(),
        "min_evidence": choice("tests", "exit", "control"),
        "allow_green": flag(),
    },
    "workspace": {
        "setup": texts(_anything),
        "share": texts(_anything),
        "network": choice("none", "setup", "full", widens=lambda value: value != "none"),
        "reach": texts(_anything),
        "sockets": texts(_anything),
        "env": texts(_anything),
        "isolation": choice("required", "best", "none", widens=lambda value: value != "required"),
        "history": choice("base", "none"),
    },
    "engine": {
        "use": text("auto"),
        "context": choice("auto", "fresh", "carry"),
        "on_question": choice("continue", "wait"),
        "land": choice("branch", "apply", "none"),
    },
    "native": {"max_iterations": whole(8), "max_turns": whole(24), "max_tokens_per_turn": whole(4096)},
    "external": {
        "max_turns": whole(50),
        "timeout_secs": number(1800),
        "repair_invokes": whole(1),
        "require": choice("confined", "full", "open", widens=lambda value: value == "open"),
        "mcp_url": text(widens=_anything),
    },
    "foreman": {"workers": whole(4), "plan_attempts": whole(3), "worker": text("native")},
    "planned": {"builder": text("native"), "max_revision_rounds": whole(2), "evaluator_model": text()},
    "model": {"use": text("auto"), "base_url": text(widens=_anything), "fallback": texts()},
    "limits": {"minutes": number(), "tokens": whole(), "usd": number(), "silence_secs": number(900)},
    "policy": {"deny": texts(), "ask": texts()},
    "memory": {"enabled": flag(True)},
    "storage": {"url": text(widens=_anything)},
}
"""Tables with single values. Lists of tables and named tables follow."""

AGENT: Mapping[str, Key] = {
    "command": text(),
    "path": text(),
    "way": Key("acp or cli", lambda value: value in ("acp", "cli"), ""),
    "project_settings": flag(),
}
"""`[agent.NAME]`: all of it widens."""

QUARANTINE: Mapping[str, Key] = {"reason": text(), "until": Key("a date", lambda value: value is not None, "")}

CHECK: Mapping[str, Key] = {
    "name": text(),
    "command": text(),
    "dir": text("."),
    "expect_exit_zero": flag(True),
    "output_contains": text(),
    "timeout_secs": number(120),
    "min_tests": whole(1),
    "allow_skips": flag(),
    "held_out": flag(),
    "quarantine": Key("a table with reason and until", lambda value: isinstance(value, dict), None),
}

LOOP: Mapping[str, Key] = {
    "name": text(),
    "intent": text(),
    "level": choice("report", "assisted", "unattended"),
    "schedule": text("daily 09:00"),
    "inputs": Key("a list of tables", lambda value: isinstance(value, list), (), _anything),
    "checks": texts(),
    "check": Key("a list of tables", lambda value: isinstance(value, list), ()),
    "maker": text(),
    "checker": text(),
    "action": text("report", widens=lambda value: value != "report"),
    "allow": texts(_anything),
    "budget": Key("a table", lambda value: isinstance(value, dict), None),
}

LISTS: Mapping[str, Mapping[str, Key]] = {"check": CHECK, "loop": LOOP}
