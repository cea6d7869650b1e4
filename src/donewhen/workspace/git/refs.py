"""Reader of the references in a git directory: `HEAD`, loose files below `refs/`, and `packed-refs`, or tables.

It reads them as data and does not run git, so nothing in the directory can start a program. Both formats of git are
supported: `files`, and `reftable` by the module of that name. Other files of one line are read here as well.
"""

import os
import re
from collections.abc import Mapping

from donewhen.workspace.beneath import AnyPath, LeavesRoot, Root

MOST_BYTES = 64 * 1024
"""A reference is one line; only this much of a file is read."""
MOST_PACKED = 256 << 20
MOST_HOPS = 5
IN_TABLES = b"ref: refs/heads/.invalid"
"""The content of the file `HEAD` if the references, also HEAD, are in tables. It is not a valid reference."""
TABLES_LOCK = "reftable/tables.list.lock"
ID = re.compile(rb"(?:[0-9a-f]{40}|[0-9a-f]{64})(?![0-9a-f])")
BAD_NAME = re.compile(rb"\.\.|[\x00-\x20\x7f~^:?*\[\\]|//|/\.|@\{|\.lock(?:/|$)|/$")

Refs = dict[bytes, str]


def is_name(name: bytes) -> bool:
    return name.startswith(b"refs/") and not BAD_NAME.search(name)


def read(root: Root, path: AnyPath) -> bytes:
    """Return the content of a reference: an id or `ref: name`; empty if missing. A link gives `ref: target`."""
    content = _first_line(root, path)
    return content if content not in (b"", IN_TABLES) else table_refs(root).get(os.fsencode(path), b"")


def _first_line(root: Root, path: AnyPath) -> bytes:
    try:
        content = root.read(path, MOST_BYTES)
    except LeavesRoot:
        target = root.target(path)
        return b"ref: " + target if target is not None else b""
    return (content or b"").split(b"\n")[0].rstrip()


def has_tables(root: Root) -> bool:
    """Return whether the references of a git directory are in tables (the `reftable` format)."""
    return _first_line(root, "HEAD") == IN_TABLES


def table_refs(root: Root) -> Mapping[bytes, bytes]:
    """Return name → content of all references in tables; empty for the `files` format."""
    if not has_tables(root):
        return {}
    from donewhen.workspace.git import reftable  # few repositories need it

    return reftable.refs_in(root)


def target(content: bytes) -> bytes:
    """Return the name that a symbolic reference points to; empty for any other content."""
    name = content.removeprefix(b"ref:").strip()
    return name if content.startswith(b"ref:") and is_name(name) else b""


def id_in(content: bytes) -> str:
    found = ID.match(content)
    return found.group().decode() if found else ""


def follow(content: bytes, common: Root) -> str:
    """Return the commit id to which the content of a reference resolves; empty if the target does not exist yet."""
    for _ in range(MOST_HOPS):
        name = target(content)
        if not name:
            return id_in(content)
        content = read(common, name)
        if not content:
            return packed_refs(common).get(name, "")
    return ""


def packed_refs(common: Root) -> Refs:
    lines = (common.read("packed-refs", MOST_PACKED) or b"").split(b"\n")
    pairs = (line.split(b" ", 1) for line in lines if line[:1] not in (b"#", b"^", b""))
    return {pair[1]: pair[0].decode() for pair in pairs if len(pair) == 2 and ID.match(pair[0])}


def loose_refs(common: Root) -> dict[bytes, bytes]:
    """Return name → content of every reference below `refs/` that is not in `packed-refs`."""
    if has_tables(common):
        return {name: content for name, content in table_refs(common).items() if is_name(name)}
    names = (name for name in common.files_below("refs") if is_name(name))
    return {name: content for name in names if (content := read(common, name))}


def all_refs(common: Root, contents: dict[bytes, bytes]) -> Refs:
    """Return all references with their ids. Loose ones override packed ones; broken ones are left out."""
    known = {name: id for name, id in packed_refs(common).items() if is_name(name)}
    known |= {name: id for name, content in contents.items() if (id := id_in(content))}
    symbolic = {name: target(content) for name, content in contents.items() if target(content)}
    ends = {name: _end(name, symbolic) for name in symbolic}
    return known | {name: known[end] for name, end in ends.items() if end in known}


def _end(name: bytes, symbolic: dict[bytes, bytes]) -> bytes:
    for _ in range(MOST_HOPS):
        name = symbolic.get(name, name)
    return name
