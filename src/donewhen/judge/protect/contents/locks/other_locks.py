"""Readers for Cargo.lock, Gemfile.lock and composer.lock."""

from collections.abc import Iterator

from donewhen.judge.protect.contents.accepted_part import FileUnreadable, lines
from donewhen.judge.protect.contents.json_text import read_json
from donewhen.judge.protect.contents.locks.python_locks import listed_in, toml_packages
from donewhen.judge.protect.contents.locks.sources import (
    PACKAGIST,
    Entry,
    LockSource,
    address_of,
    registry,
    repository,
    text_of,
)
from donewhen.judge.protect.contents.table_merge import table


def cargo_lock(text: str) -> Iterator[Entry]:
    for package in toml_packages(text):
        name, source = text_of(package.get("name")), text_of(package.get("source", ""))
        if not source:
            yield name, LockSource("path", name)
        else:
            yield name, repository(source) if source.startswith("git+") else registry(source)
        if "replace" in package:
            yield name, LockSource("alias", text_of(package["replace"]))


def gemfile_lock(text: str) -> Iterator[Entry]:
    section, remotes = "", list[str]()
    for line in lines(text):
        if line and not line.startswith(" "):
            if line.startswith(("<<<<<<<", "=======", ">>>>>>>")):
                raise FileUnreadable
            section, remotes = line, []
        elif line.startswith("  remote: "):
            remotes.append(line.removeprefix("  remote: ").strip())
        elif line.startswith("    ") and not line.startswith("     ") and remotes:
            yield line.strip().partition(" (")[0], _gem_source(section, remotes)


def _gem_source(section: str, remotes: list[str]) -> LockSource:
    place = " ".join(remotes)
    if section == "GEM":
        return registry(place)
    kinds = {"PATH": LockSource("path", place), "GIT": repository(place)}
    return kinds.get(section, LockSource("url", place))


def composer_lock(text: str) -> Iterator[Entry]:
    lock = read_json(text)
    for section in ("packages", "packages-dev"):
        for package in map(table, listed_in(lock, section)):
            is_public = package.get("notification-url") == "https://packagist.org/downloads/"
            for way in (table(package.get("dist")), table(package.get("source"))):
                if way:
                    source = _composer_source(text_of(way.get("type")), text_of(way.get("url")))
                    is_listed = is_public and source.kind == "git" and source.place.startswith("https://")
                    place = f"{PACKAGIST}{source.place.lower()}"
                    yield text_of(package.get("name")), LockSource("registry", place) if is_listed else source


def _composer_source(kind: str, url: str) -> LockSource:
    if kind == "path":
        return LockSource("path", url)
    return repository(url) if kind == "git" or url.startswith("https://api.github.com/repos/") else address_of(url)
