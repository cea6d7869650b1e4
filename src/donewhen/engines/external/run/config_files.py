"""Configuration files of an agent's private directory: their content, and how they are written.

An earlier invocation could write to the directory. Whatever it left there, links above all, is replaced and never
followed: we write with the user's rights, and only here.
"""

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from donewhen.engines.external.discover.profile import ProfileFile, fill
from donewhen.workspace.beneath import Root
from donewhen.workspace.files import remove_tree


def write_file(directory: Path, path: str, text: str) -> None:
    """Write a file with exactly this content below a directory."""
    try:
        _write_new(directory, path, text)
    except OSError:  # something of the wrong kind is in the way
        remove_tree(directory / path.partition("/")[0])
        _write_new(directory, path, text)


def _write_new(directory: Path, path: str, text: str) -> None:
    with Root(directory).above(path, make=True) as (fd, name):
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=fd)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(name, flags, 0o600, dir_fd=fd), "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)


def content(file: ProfileFile, parts: Iterable[Mapping[str, Any] | None], values: Mapping[str, str]) -> str:
    """Return a file's content with placeholders filled in. JSON is merged from its parts; later parts override earlier
    ones."""
    if file.json is None:
        return fill(file.text, values)
    whole: dict[str, Any] = {}
    for part in parts:
        _merge(whole, cast("Mapping[str, Any]", _fill_all(part or {}, values)))
    return json.dumps(whole, indent=2)


def _fill_all(value: Any, values: Mapping[str, str]) -> Any:
    if value == "{turns}":
        return int(values["turns"])
    if isinstance(value, str):
        return fill(value, values)
    if isinstance(value, dict):
        table = cast("dict[str, Any]", value)
        return {fill(key, values): _fill_all(one, values) for key, one in table.items()}
    if isinstance(value, list):
        return [_fill_all(one, values) for one in cast("list[Any]", value)]
    return value


def _merge(into: dict[str, Any], more: Mapping[str, Any]) -> None:
    for key, value in more.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            _merge(into[key], cast("dict[str, Any]", value))
        else:
            into[key] = value
