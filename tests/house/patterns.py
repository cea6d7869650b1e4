"""Every regular expression of the source, with the way in which it is used.

Patterns that a module holds are taken from the imported module. Patterns inside functions are read from the source and
evaluated in their module; a value that is only known at run time counts as the letter x.
"""

import ast
import importlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

import donewhen

SOURCE = Path(donewhen.__file__).parent
CALLS = frozenset({"compile", "match", "search", "sub", "subn", "split", "fullmatch", "finditer", "findall"})
Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(frozen=True)
class Found:
    place: str
    pattern: str | bytes | None
    """None for one that only exists at run time."""
    flags: int
    how: str
    """The use that may take longest: finditer (for every match), search, match or fullmatch."""


@cache
def found() -> tuple[Found, ...]:
    """All of them, each once."""
    paths = sorted(SOURCE.rglob("*.py"))
    trees = {path: ast.parse(path.read_text()) for path in paths}
    modules = {path: vars(importlib.import_module(module_name(path))) for path in paths}
    known: dict[int, tuple[str, re.Pattern[Any], set[str]]] = {}
    helpers = _helpers(trees.values())
    elsewhere = _used_elsewhere(trees.values(), helpers)
    for path in paths:
        uses = _uses(trees[path], helpers)
        for name, pattern in _held(modules[path]):
            place = f"{path.relative_to(SOURCE)}: {name}"
            ways = uses.get(name, set[str]()) | elsewhere.get(name, set[str]())
            known.setdefault(id(pattern), (place, pattern, set()))[2].update(ways)
    listed = [Found(place, one.pattern, one.flags, _anchoring(ways)) for place, one, ways in known.values()]
    for path in paths:
        listed += _in_functions(path, trees[path], modules[path])
    return tuple(listed)


def held(name: str) -> Iterator[re.Pattern[Any]]:
    """The patterns of the module that a function or class `module.name` is in."""
    module = importlib.import_module(f"donewhen.{name.rpartition('.')[0]}")
    yield from (pattern for _, pattern in _held(vars(module)))
    path = Path(str(module.__file__))
    inside = _in_functions(path, ast.parse(path.read_text()), vars(module))
    yield from (re.compile(one.pattern, one.flags) for one in inside if one.pattern is not None)


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__")


def _held(names: Mapping[str, Any]) -> Iterator[tuple[str, re.Pattern[Any]]]:
    for name, value in names.items():
        if isinstance(value, type) and value.__module__ == names["__name__"]:
            yield from _held({**vars(value), "__name__": ""})
        else:
            yield from ((name, pattern) for pattern in _inside(value, depth=4))


def _inside(value: object, depth: int) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield cast("re.Pattern[Any]", value)
    elif depth and isinstance(value, Mapping):
        for one in cast("Mapping[Any, Any]", value).values():
            yield from _inside(one, depth - 1)
    elif depth and isinstance(value, tuple | list | set | frozenset):
        for one in cast("Iterable[Any]", value):
            yield from _inside(one, depth - 1)


def _uses(tree: ast.Module, helpers: Mapping[str, Mapping[int, set[str]]]) -> dict[str, set[str]]:
    """By name, what is called on it, also by a function that it is passed to; every other use counts as finditer.

    So does a call with a position, which looks for one match after the other.
    """
    used: dict[str, set[str]] = {}
    known: set[int] = set()
    resumed = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call) and len(node.args) > 1}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and (name := _name(node.value)):
            known.add(id(name))
            if node.attr in CALLS:
                used.setdefault(name.id, set()).add("finditer" if id(node) in resumed else node.attr)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in helpers:
            for at, ways in helpers[node.func.id].items():
                if at < len(node.args) and ways and (name := _name(node.args[at])):
                    known.add(id(name))
                    used.setdefault(name.id, set()).update(ways)
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            known.update(id(name) for one in node.comparators if (name := _name(one)))
        elif isinstance(node, ast.comprehension | ast.For):
            inner = [one for one in ast.walk(node.iter) if isinstance(one, ast.Name)]
            targets = [one.id for one in ast.walk(node.target) if isinstance(one, ast.Name)]
            for name in inner:
                ways = set[str]().union(*(used.get(target, set()) for target in targets))
                known.update([id(name)] if ways else [])
                used.setdefault(name.id, set()).update(ways)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and id(node) not in known:
            used.setdefault(node.id, set()).add("finditer")
    return used


def _used_elsewhere(trees: Iterable[ast.Module], helpers: Mapping[str, Mapping[int, set[str]]]) -> dict[str, set[str]]:
    """By name, what a function does that is passed `module.NAME`."""
    used: dict[str, set[str]] = {}
    for node in (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call)):
        for at, ways in helpers.get(node.func.id, {}).items() if isinstance(node.func, ast.Name) else ():
            argument = node.args[at] if at < len(node.args) else None
            if isinstance(argument, ast.Attribute) and argument.attr.isupper():
                used.setdefault(argument.attr, set()).update(ways)
    return used


def _name(node: ast.expr) -> ast.Name | None:
    """The name in `NAME` and `NAME[key]`."""
    inner = node.value if isinstance(node, ast.Subscript) else node
    return inner if isinstance(inner, ast.Name) else None


def _helpers(trees: Iterable[ast.Module]) -> dict[str, dict[int, set[str]]]:
    """By function and place of a parameter, what the function calls on it."""
    found: dict[str, dict[int, set[str]]] = {}
    for function in (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        calls = [node for node in ast.walk(function) if isinstance(node, ast.Attribute) and node.attr in CALLS]
        for at, parameter in enumerate(function.args.args):
            ways = {node.attr for node in calls if (name := _name(node.value)) and name.id == parameter.arg}
            found.setdefault(function.name, {}).setdefault(at, set()).update(ways)
    return found


def _anchoring(ways: set[str]) -> str:
    if not ways or ways - {"fullmatch", "match", "search"}:
        return "finditer"
    return next(way for way in ("search", "match", "fullmatch") if way in ways)


def _in_functions(path: Path, tree: ast.Module, names: dict[str, Any]) -> Iterator[Found]:
    calls: dict[int, ast.Call] = {}
    for function in ast.walk(tree):
        if isinstance(function, Function):
            calls.update((id(node), node) for node in ast.walk(function) if isinstance(node, ast.Call))
    for node in calls.values():
        function = node.func
        if not (isinstance(function, ast.Attribute) and function.attr in CALLS and node.args):
            continue
        if isinstance(function.value, ast.Name) and function.value.id == "re":
            pattern, flags = _pattern(node.args[0], names), _flags(node, names)
            place = f"{path.relative_to(SOURCE)}:{node.lineno}"
            yield Found(place, pattern, flags, _anchoring({function.attr}))


def _pattern(node: ast.expr, names: dict[str, Any]) -> str | bytes | None:
    value = _evaluated(node, names)
    if value is None and isinstance(node, ast.JoinedStr):
        parts = [_evaluated(one.value, names) if isinstance(one, ast.FormattedValue) else one for one in node.values]
        return "".join(str(one.value) if isinstance(one, ast.Constant) else str(one or "x") for one in parts)
    return value if isinstance(value, str | bytes) else None


def _flags(node: ast.Call, names: dict[str, Any]) -> int:
    given = (_evaluated(one, names) for one in (*node.args[1:], *(one.value for one in node.keywords)))
    return sum(int(one) for one in given if isinstance(one, re.RegexFlag))


def _evaluated(node: ast.expr, names: dict[str, Any]) -> Any:
    try:
        return eval(compile(ast.Expression(node), "pattern", "eval"), names)
    except NameError:
        return None
