"""What a person may choose in the editor for the sessions of a conversation: options of `donewhen run`."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from acp.schema import SessionConfigOptionSelect, SessionConfigSelectOption

from donewhen.errors import BadInput
from donewhen.records import frozen

AS_SET = "as-set"
"""The value of a choice that leaves it to the settings."""
_ENGINES = ("auto", "native", "external", "foreman", "planned")


@frozen(kw_only=True)
class Defaults:
    """What the command line of `donewhen acp` says."""

    engine: str = ""
    models: Sequence[str] = ()
    """Models to choose from. The first one is used until the person chooses another."""


@frozen
class SessionChoice:
    id: str
    name: str
    category: Literal["mode", "model"]
    values: Mapping[str, str]
    """The values and what a person reads."""
    value: str
    """The one that counts until the person chooses another."""

    def shown(self, chosen: Mapping[str, str]) -> SessionConfigOptionSelect:
        current = chosen.get(self.id, self.value)
        return SessionConfigOptionSelect(
            type="select",
            id=self.id,
            name=self.name,
            category=self.category,
            current_value=current if current in self.values else self.value,
            options=[SessionConfigSelectOption(value=value, name=name) for value, name in self.values.items()],
        )


class Choices:
    def __init__(self, defaults: Defaults) -> None:
        engines = dict.fromkeys((defaults.engine, *_ENGINES) if defaults.engine else _ENGINES)
        self._all = {
            one.id: one
            for one in (
                SessionChoice("engine", "Engine", "mode", _with_as_set(engines), defaults.engine or AS_SET),
                SessionChoice(
                    "model", "Model", "model", _with_as_set(defaults.models), next(iter(defaults.models), AS_SET)
                ),
                SessionChoice(
                    "green",
                    "If the checks are green already",
                    "mode",
                    {AS_SET: "As the settings say", "work": "Work anyway"},
                    AS_SET,
                ),
                SessionChoice(
                    "uncommitted",
                    "Uncommitted changes",
                    "mode",
                    {"leave-out": "Leave out", "include": "Include"},
                    "leave-out",
                ),
            )
        }

    def shown(self, chosen: Mapping[str, str]) -> list[Any]:
        return [one.shown(chosen) for one in self._all.values()]

    def choose(self, chosen: Mapping[str, str], id: str, value: object) -> dict[str, str]:
        """Return the choices with a new one. Raise BadInput for one that does not exist."""
        choice = self._all.get(id)
        if choice is None or not isinstance(value, str) or value not in choice.values:
            raise BadInput("there is no such option, or it has no such value")
        return {**chosen, id: value}

    def parameters(self, chosen: Mapping[str, str]) -> dict[str, Any]:
        """Return the parameters of `session.start` for what was chosen."""
        found = {id: chosen.get(id, one.value) for id, one in self._all.items()}
        parameters: dict[str, Any] = {id: found[id] for id in ("engine", "model") if found[id] != AS_SET}
        if found["green"] == "work":
            parameters["allow_green"] = True
        if found["uncommitted"] == "include":
            parameters["dirty"] = True
        return parameters


def _with_as_set(values: Mapping[str, None] | Sequence[str]) -> dict[str, str]:
    return {AS_SET: "As the settings say", **{value: value for value in values}}
