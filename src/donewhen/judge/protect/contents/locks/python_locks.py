"""Readers for the lock files of uv, poetry, pdm and pipenv. Names are normalised."""

from collections.abc import Iterator
from typing import cast

from donewhen.judge.protect.contents.accepted_part import FileUnreadable
from donewhen.judge.protect.contents.json_text import read_json
from donewhen.judge.protect.contents.locks.sources import (
    PUBLIC,
    Entry,
    LockSource,
    address_of,
    python_file,
    registry,
    repository,
    text_of,
)
from donewhen.judge.protect.contents.table_merge import MISSING, Table, table
from donewhen.judge.protect.names.judging_tools import normal
from donewhen.toml import BadToml, parse_toml

LARGEST = 8 << 20
"""In bytes. Programs write lock files, so they are larger than what people write."""
DIRECTORIES = ("path", "directory", "editable", "virtual", "file")


def toml_packages(text: str) -> Iterator[Table]:
    """Yield the tables `[[package]]` of a lock file in TOML."""
    try:
        lock = parse_toml(text, LARGEST)
    except BadToml as error:
        raise FileUnreadable from error
    for package in listed_in(lock, "package"):
        yield table(package)


def listed_in(of: Table, key: str) -> list[object]:
    value = of.get(key, [])
    if not isinstance(value, list):
        raise FileUnreadable
    return cast("list[object]", value)


def uv_lock(text: str) -> Iterator[Entry]:
    for package in toml_packages(text):
        name = normal(text_of(package.get("name")))
        yield name, _by_keys(table(package.get("source")))
        files = [table(one) for one in (package.get("sdist", MISSING), *listed_in(package, "wheels"))]
        yield from _files(name, files)


def poetry_lock(text: str) -> Iterator[Entry]:
    for package in toml_packages(text):
        source = table(package.get("source"))
        url = text_of(source.get("url", ""))
        match source.get("type"):
            case None:
                found = PUBLIC
            case "legacy":
                found = registry(url)
            case "git":
                found = repository(url)
            case "url":
                found = address_of(url)
            case _:
                found = LockSource("path", url)
        yield normal(text_of(package.get("name"))), found


def pdm_lock(text: str) -> Iterator[Entry]:
    for package in toml_packages(text):
        name = normal(text_of(package.get("name")))
        yield name, _by_keys(package)
        yield from _files(name, [table(one) for one in listed_in(package, "files")])


def pipfile_lock(text: str) -> Iterator[Entry]:
    lock = read_json(text)
    indexes = {
        text_of(table(one).get("name", "")): table(one) for one in listed_in(table(lock.get("_meta")), "sources")
    }
    default: Table = next(iter(indexes.values()), table(None))
    for section, packages in lock.items():
        for name, package in table(packages).items() if section != "_meta" else ():
            found = _by_keys(table(package))
            index = indexes.get(str(table(package).get("index")), default)
            is_listed = found == PUBLIC and "url" in index
            yield normal(name), registry(text_of(index.get("url"))) if is_listed else found


def _by_keys(keys: Table) -> LockSource:
    """Return the source that the keys of a table state."""
    for key in DIRECTORIES:
        if key in keys and not isinstance(keys[key], bool):
            return LockSource("path", text_of(keys[key]).removeprefix("./"))
    if "git" in keys:
        return repository(text_of(keys["git"]))
    if "url" in keys:
        return address_of(text_of(keys["url"]))
    return registry(text_of(keys["registry"])) if "registry" in keys else PUBLIC


def _files(name: str, files: list[Table]) -> Iterator[Entry]:
    """Yield where the files of a distribution are fetched from, if the lock says so and it is not the public place."""
    for file in files:
        source = LockSource("path", text_of(file["path"])) if "path" in file else PUBLIC
        if "url" in file:
            source = python_file(name, text_of(file["url"]))
        if source != PUBLIC:
            yield name, source
