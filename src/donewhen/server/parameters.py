"""The parameters of the methods: their names and types, and a strict check of what a caller sends.

A whole number is no boolean, and no text is a number. Whatever is wrong is one line that names the parameter. The types
come from the functions of the table; pydantic checks them, and it is loaded on use.
"""

import inspect
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args, get_origin

from donewhen.errors import BadInput
from donewhen.printable import shortened
from donewhen.records import frozen
from donewhen.server.methods.method import Method

if TYPE_CHECKING:
    from pydantic import TypeAdapter

GREATEST = 2**53
"""No number of a caller may be greater: the numbers of many JSON readers are not exact beyond."""
_NO_VALUE = inspect.Parameter.empty
_WORDS = {
    "string_type": "must be a text",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
    "dict_type": "must be an object",
    "missing": "is missing",
    "extra_forbidden": "is unknown",
}
"""What is wrong, by the kind of an error of pydantic."""

Check = Callable[[object], dict[str, Any]]
"""Returns the keyword arguments for a function, or raises WrongParameters."""


class WrongParameters(BadInput):
    """A parameter is unknown or missing, or its value has another type."""


@frozen(kw_only=True)
class MethodParameter:
    name: str
    keyword: str
    """The name in the function. It differs where Python reserves the word."""
    kind: Any
    """Its type."""
    default: Any = _NO_VALUE
    description: str = ""

    @property
    def is_required(self) -> bool:
        return self.default is _NO_VALUE


def parameters_of(function: Callable[..., Any]) -> list[MethodParameter]:
    """Return the parameters that a caller may send, in the order of the function."""
    hints = type_hints(function)
    found: list[MethodParameter] = []
    for name, parameter in inspect.signature(function).parameters.items():
        if name in ("self", "context"):
            continue
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            found += _of_table(get_args(hints[name])[0])
        else:
            kind, description = _described(hints[name])
            default = parameter.default
            json_name = name.removesuffix("_")
            found.append(
                MethodParameter(name=json_name, keyword=name, kind=kind, default=default, description=description)
            )
    return found


def result_type(function: Callable[..., Any]) -> Any:
    return type_hints(function)["return"]


def type_hints(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the types of a function. The methods name the types of their results without loading them."""
    return typing.get_type_hints(function, {**_names(), **function.__globals__}, include_extras=True)


@cache
def _names() -> dict[str, Any]:
    from donewhen.server.methods import (
        agent_results,
        loop_results,
        machine_results,
        memory_results,
        results,
        start_options,
        verdict_results,
    )

    modules = (agent_results, results, loop_results, machine_results, memory_results, verdict_results, start_options)
    return {**{name: kind for module in modules for name, kind in vars(module).items()}, "Unpack": typing.Unpack}


def _of_table(table: Any) -> Iterator[MethodParameter]:
    """Yield the keys of a table whose keys are parameters."""
    from typing import NotRequired

    from donewhen.session.settings import schema

    help_texts = {flag.removeprefix("--").replace("-", "_"): key.help for flag, key in schema.flags().items()}
    for name, annotated in typing.get_type_hints(table, include_extras=True).items():
        is_optional = name in table.__optional_keys__
        if get_origin(annotated) is NotRequired:
            annotated = get_args(annotated)[0]
        kind, description = _described(annotated)
        default = None if is_optional else _NO_VALUE
        yield MethodParameter(
            name=name, keyword=name, kind=kind, default=default, description=description or help_texts.get(name, "")
        )


def _described(annotated: Any) -> tuple[Any, str]:
    """Return a type and the text that describes it."""
    if get_origin(annotated) is not Annotated:
        return annotated, ""
    kind, *texts = get_args(annotated)
    return kind, next((text for text in texts if isinstance(text, str)), "")


def validators(table: Mapping[str, Method]) -> dict[str, Check]:
    """Return a check for the parameters of each method, by its name. The types are read at the first call."""
    return {name: _Validator(name, method.function).checked for name, method in table.items()}


class _Validator:
    def __init__(self, method: str, function: Callable[..., Any]) -> None:
        self._method = method
        self._function = function

    @cached_property
    def _known(self) -> "dict[str, tuple[MethodParameter, TypeAdapter[Any]]]":
        from pydantic import TypeAdapter

        return {one.name: (one, TypeAdapter(one.kind)) for one in parameters_of(self._function)}

    def checked(self, params: object) -> dict[str, Any]:
        """Return the keyword arguments. A caller who needs none may send nothing, or an empty list."""
        if params is None or params == []:
            params = {}
        if not isinstance(params, dict):
            raise WrongParameters(f"{self._method}: params must be an object with the parameters by name")
        given = cast("dict[str, Any]", params)
        for name in given:
            if name not in self._known:
                known = ", ".join(self._known) or "none"
                raise self._wrong(name, f"is unknown; known parameters: {known}")
        for name, (parameter, _) in self._known.items():
            if parameter.is_required and name not in given:
                raise self._wrong(name, "is missing")
        return {self._known[name][0].keyword: self._value(name, value) for name, value in given.items()}

    def _value(self, name: str, value: Any) -> Any:
        from pydantic import ValidationError

        if problem := problem_in(value):
            raise self._wrong(name, problem)
        try:
            checked = self._known[name][1].validate_python(value, strict=True)
        except ValidationError as error:
            details = error.errors(include_url=False)
            first = max(details, key=lambda one: len(one["loc"])) if isinstance(value, dict) else details[0]
            path = _path(value, first["loc"])
            words = _WORDS.get(first["type"]) or first["msg"].replace("Input should be", "must be")
            raise self._wrong(".".join((name, *path)), words) from None
        if isinstance(checked, int | float) and checked < 0:
            raise self._wrong(name, "must be 0 or more")
        return checked

    def _wrong(self, name: str, problem: str) -> WrongParameters:
        return WrongParameters(f"{self._method}: parameter '{shortened(name)}' {problem}")


def problem_in(value: object) -> str:
    """Return what no parameter may contain: half a character, and numbers that not every reader reads exactly."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return "contains half of a surrogate pair"
    elif isinstance(value, int | float) and not abs(value) <= GREATEST:  # neither is NaN
        return f"must be a number below {GREATEST}"
    parts: list[object] = []
    if isinstance(value, dict):
        items = cast("dict[object, object]", value)
        parts = [*items.keys(), *items.values()]
    elif isinstance(value, list):
        parts = cast("list[object]", value)
    return next((problem for one in parts if (problem := problem_in(one))), "")


def _path(value: Any, location: Sequence[int | str]) -> list[str]:
    """Return where in a value an error is. pydantic also names the branches of a union, which no caller knows."""
    path: list[str] = []
    for at, step in enumerate(location):
        inner = _item(value, step)
        if inner is not _NO_VALUE or (at == len(location) - 1 and isinstance(value, dict)):
            path.append(str(step))
            value = inner
    return path


def _item(value: Any, step: int | str) -> Any:
    try:
        return value[step]
    except (LookupError, TypeError):
        return _NO_VALUE
