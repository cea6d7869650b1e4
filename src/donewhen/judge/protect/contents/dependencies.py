"""Decides if a changed dependency still comes from the same source, or is a fake with the same name.

Versions may change, and new names may come from anywhere. A name that the base knows, or the name of a tool, may not be
redirected to a directory, an archive, a repository or another name.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import cast

from donewhen.judge.protect.contents.table_merge import MISSING, Side, strings, table
from donewhen.judge.protect.names.judging_tools import TOOLS, normal

NAME = re.compile(r"\s*([A-Za-z0-9][\w.-]*)")
SOURCE_KEYS = (
    "path",
    "git",
    "url",
    "file",
    "registry",
    "registry-index",
    "package",
    "branch",
    "rev",
    "tag",
    "index",
    "subdirectory",
)
"""Keys of a dependency table that state its source. `workspace` means another member of the project."""
LOCATION = re.compile(
    r"(?:file|link|portal|patch|npm|git|github|gitlab|bitbucket|gist|https?|git\+\w+|exec|jsr|catalog|workspace):|[.~]?/|[\w.-]+/[\w.-]+"
)
"""Matches a value in package.json that is a location and not a version."""


def requirements(old: object, new: object, known: Collection[str] = ()) -> Side:
    """Return the side of a changed list of Python requirements. `pytest @ file:///somewhere` is a replacement."""
    before, after = _texts(old), _texts(new)
    if before is None or after is None:
        return Side.JUDGE
    sources = {_name(line): _source(line) for line in before}
    for line in after:
        name = _name(line)
        is_guarded = name in sources or name in TOOLS or name in known
        if is_guarded and _source(line) and _source(line) != sources.get(name, ""):
            return Side.JUDGE
    return Side.PRODUCT


def _texts(value: object) -> list[str] | None:
    """Return the requirements of a list, without tables that include another dependency group."""
    if not isinstance(value, list):
        return strings(value)
    items = cast("list[object]", value)
    plain = [item for item in items if not _is_group(item)]
    return strings(plain)


def _is_group(item: object) -> bool:
    return isinstance(item, Mapping) and list(table(cast("object", item))) == ["include-group"]


def _name(line: str) -> str:
    found = NAME.match(line)
    return normal(found[1]) if found else line


def _source(line: str) -> str:
    if NAME.match(line) is None or "://" in line.partition("@")[0]:
        return line  # a bare path or address
    return line.partition("@")[2].partition(";")[0].strip()


def entry(name: str, old: object, new: object, known: Collection[str] = ()) -> Side:
    """Return the side of one entry in a dependency table (Cargo, Poetry, PDM): a version, or a table with one."""
    if new is MISSING:
        return Side.PRODUCT
    is_guarded = old is not MISSING or name in TOOLS or normal(name) in TOOLS or normal(name) in known
    is_redirected = is_guarded and any(table(new).get(key) != table(old).get(key) for key in SOURCE_KEYS)
    many = isinstance(new, list)  # Poetry accepts several, one per environment
    return Side.JUDGE if is_redirected or (many and is_guarded) else Side.PRODUCT


def version(name: str, old: object, new: object) -> Side:
    """Return the side of one dependency in package.json or composer.json: name and version."""
    if new is MISSING:
        return Side.PRODUCT
    if not isinstance(new, str):
        return Side.JUDGE
    is_guarded = old is not MISSING or name in TOOLS
    return Side.JUDGE if is_guarded and LOCATION.match(new) else Side.PRODUCT


def adds_source(old: object, new: object) -> bool:
    """Return True if a version, a table or a list of requirements states a source that the base does not state."""
    if isinstance(new, str):
        return bool(LOCATION.match(new)) and not new.startswith(("workspace:", "catalog:"))
    if isinstance(new, list):
        before = _texts(old) or []
        return any(_source(line) and line not in before for line in _texts(cast("object", new)) or [""])
    return any(table(new).get(key) != table(old).get(key) for key in SOURCE_KEYS)


def more_members(old: object, new: object) -> Side:
    """Return PRODUCT if workspace members were only added. A removed member would take its tests with it."""
    before, after = strings(old), strings(new)
    if before is None or after is None:
        return Side.JUDGE
    return Side.PRODUCT if set(before) <= set(after) and not any(word.startswith("!") for word in after) else Side.JUDGE


def names_in(tables: Iterable[object]) -> set[str]:
    """Return the names of all dependencies in these lists and tables."""
    found: set[str] = set()
    for one in tables:
        found |= {_name(line) for line in strings(one) or []} | {normal(key) for key in table(one)}
    return found
