"""Manifests with product and judge settings: which keys of a changed one are accepted, and how the result is written.

    pyproject.toml  Cargo.toml  package.json  composer.json  Pipfile  setup.cfg   merged: the base's text, product keys
    go.mod                                                                        merged by directive
    Gemfile  pom.xml  *.csproj                                                    accepted as a whole, or not at all

A file that cannot be parsed is restored from the base. If only product keys changed, the bytes of the candidate are not
changed.
"""

import json
import re
from collections.abc import Callable, Collection
from typing import cast

from donewhen.judge.protect.base_files import LARGEST
from donewhen.judge.protect.contents import cargo, package_json, pyproject
from donewhen.judge.protect.contents.accepted_part import NOTHING, AcceptedPart, FileUnreadable
from donewhen.judge.protect.contents.json_text import read_json
from donewhen.judge.protect.contents.line_files import gemfile, go_mod, setup_cfg
from donewhen.judge.protect.contents.markup import project_file
from donewhen.judge.protect.contents.table_merge import MISSING, MergedTable, Path, Policy, Table, applied, merged, same
from donewhen.toml import BadToml, parse_toml

Words = Collection[str]
Reader = Callable[[str, str, Words], AcceptedPart]
INDENT = re.compile(r"\n([ \t]+)\S")


def accepted_part(path: str, base: bytes | None, candidate: bytes | None, words: Words) -> AcceptedPart:
    """Return how much of a changed manifest is accepted. None stands for a missing file."""
    name = path.rpartition("/")[2]
    reader = READERS.get(name) or (project_file if name.endswith((".csproj", ".fsproj", ".vbproj")) else None)
    return read_with(reader, base, candidate, words) if reader else NOTHING


def read_with(reader: Reader, base: bytes | None, candidate: bytes | None, words: Words) -> AcceptedPart:
    """Return what a reader accepts of two texts; nothing if one of them is too large or cannot be read."""
    if max(len(base or b""), len(candidate or b"")) > LARGEST:
        return NOTHING
    try:
        found = reader((base or b"").decode(), (candidate or b"").decode(), words)
    except (UnicodeDecodeError, FileUnreadable, RecursionError):
        return NOTHING
    if candidate is None and not found.is_all:
        return NOTHING  # a manifest that is needed is not deleted in part
    return found


def _cargo(base: str, candidate: str, words: Words) -> AcceptedPart:
    del words
    return merge_toml(base, candidate, lambda _: cargo.policy)


def merge_toml(base: str, candidate: str, policy: Callable[[Table], Policy]) -> AcceptedPart:
    old, new = _read_toml(base), _read_toml(candidate)
    found = merged(old, new, policy(old))
    if not found.reverted:
        return AcceptedPart()
    expected = applied(old, found.accepted)
    if same(expected, old):
        return AcceptedPart(base.encode(), found.reverted)
    text = _write_toml(base, candidate, found)
    if not same(_read_toml(text), expected):
        return NOTHING
    return AcceptedPart(text.encode(), found.reverted)


def _read_toml(text: str) -> Table:
    try:
        return parse_toml(text)
    except BadToml as error:
        raise FileUnreadable from error


def _write_toml(base: str, candidate: str, found: MergedTable) -> str:
    """Return the text of the base with the accepted values. Comments and order are kept as far as tomlkit can."""
    import tomlkit  # importing it costs 40 ms, and most candidates change no such file
    from tomlkit.exceptions import TOMLKitError

    try:
        document, other = tomlkit.parse(base), tomlkit.parse(candidate)
        for path, value in found.accepted:
            item = MISSING if value is MISSING else _item(cast("dict[str, object]", other), path)
            _put(cast("dict[str, object]", document), path, item, tomlkit.table)
        return tomlkit.dumps(document)
    except (TOMLKitError, KeyError, TypeError, ValueError) as error:
        raise FileUnreadable from error


def _item(document: dict[str, object], path: Path) -> object:
    for name in path[:-1]:
        document = cast("dict[str, object]", document[name])
    return document[path[-1]]


def _put(document: dict[str, object], path: Path, item: object, new_table: Callable[[], object]) -> None:
    for name in path[:-1]:
        if name not in document:
            if item is MISSING:
                return
            document[name] = new_table()
        document = cast("dict[str, object]", document[name])
    if item is not MISSING:
        document[path[-1]] = item
    elif path[-1] in document:
        del document[path[-1]]


def merge_json(base: str, candidate: str, policy: Callable[[Table], Policy]) -> AcceptedPart:
    old, new = read_json(base), read_json(candidate)
    found = merged(old, new, policy(old))
    if not found.reverted:
        return AcceptedPart()
    result = applied(old, found.accepted)
    if same(result, old):
        return AcceptedPart(base.encode(), found.reverted)
    indent = INDENT.search(base or candidate)
    text = json.dumps(result, indent=indent[1] if indent else None, ensure_ascii=False)
    end = "\n" if (base or candidate).endswith("\n") else ""
    return AcceptedPart((text + end).encode("utf-8", "surrogatepass"), found.reverted)


READERS: dict[str, Reader] = {
    "pyproject.toml": lambda base, new, words: merge_toml(base, new, lambda old: pyproject.policy(words, old)),
    "Cargo.toml": _cargo,
    "package.json": lambda base, new, words: merge_json(base, new, lambda old: package_json.node(words, old)),
    "composer.json": lambda base, new, words: merge_json(base, new, lambda old: package_json.composer(words, old)),
    "Pipfile": lambda base, new, _: merge_toml(base, new, lambda _: pyproject.pipfile),
    "setup.cfg": setup_cfg,
    "go.mod": go_mod,
    "Gemfile": gemfile,
    "pom.xml": project_file,
}
