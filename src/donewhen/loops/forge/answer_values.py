"""Values out of the answer of a forge. Each has the type that it must have, or `ForgeFailed` is raised.

An answer of another shape must not become an empty list or a "no": failing to look is never "nothing to do".
"""

from collections.abc import Mapping
from typing import Any, cast

from donewhen.loops.forge.forge import BOT, Account, ForgeFailed

Json = Mapping[str, Any]
STATES = ("open", "closed")


def unexpected_shape() -> ForgeFailed:
    return ForgeFailed("the answer of the forge has an unexpected shape")


def object_of(value: object) -> Json:
    if not isinstance(value, Mapping):
        raise unexpected_shape()
    return cast("Json", value)


def list_of(value: object) -> list[object]:
    if not isinstance(value, list):
        raise unexpected_shape()
    return cast("list[object]", value)


def optional_object_in(answer: Json, key: str) -> Json | None:
    """Return an object, or None if it is missing or null."""
    value = answer.get(key)
    return None if value is None else object_of(value)


def object_in(answer: Json, key: str) -> Json | None:
    """Return an object that must be there; None if it is null."""
    if key not in answer:
        raise unexpected_shape()
    return optional_object_in(answer, key)


def optional_text_in(answer: Json, key: str) -> str:
    """Return a text; empty if it is missing or null."""
    value = answer.get(key)
    if not isinstance(value, str | None):
        raise unexpected_shape()
    return value or ""


def text_in(answer: Json, key: str) -> str:
    """Return a text that must be there; empty if it is null."""
    if key not in answer:
        raise unexpected_shape()
    return optional_text_in(answer, key)


def required_text_in(answer: Json, key: str) -> str:
    """Return a text that must be there and not be empty."""
    if not (found := optional_text_in(answer, key)):
        raise unexpected_shape()
    return found


def number_in(answer: Json, key: str) -> int:
    """Return a whole number that must be there and not be negative."""
    value = answer.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise unexpected_shape()
    return value


def optional_flag_in(answer: Json, key: str) -> bool:
    """Return a yes or no; no if it is missing or null."""
    value = answer.get(key)
    if not isinstance(value, bool | None):
        raise unexpected_shape()
    return bool(value)


def is_open_in(answer: Json) -> bool:
    """Return the state of an issue or a pull request."""
    state = required_text_in(answer, "state")
    if state not in STATES:
        raise unexpected_shape()
    return state == "open"


def account_in(answer: Json, key: str) -> Account:
    """Return an account. One that was deleted is null and has no name."""
    found = object_in(answer, key)
    return Account("") if found is None else account_of(found)


def account_of(value: Json) -> Account:
    return Account(required_text_in(value, "login"), optional_text_in(value, "type") == BOT)


def labels_in(answer: Json) -> tuple[str, ...]:
    """Return the names of labels, which are texts or objects."""
    given = answer.get("labels")
    found = [] if given is None else list_of(given)
    return tuple(one if isinstance(one, str) else optional_text_in(object_of(one), "name") for one in found)
