"""Reader of the references in a git directory: `HEAD`, loose files below `refs/`, and `packed-refs`.

It reads them as data and does not run git, so nothing in the directory can start a program. It supports only the
`files` format; `repo` refuses other formats before it reads references.
"""

import re

from donewhen.workspace.beneath import AnyPath, LeavesRoot, Root

MOST_BYTES = 64 * 1024
"""A reference is one line; only this much of a file is read."""
MOST_PACKED = 256 << 20
MOST_HOPS = 5
ID = re.compile(rb"(?:[0-9a-f]{40}|[0-9a-f]{64})(?![0-9a-f])")
BAD_NAME = re.compile(rb"\.\.|[\x00-\x20\x7f~^:?*\[\\]|//|/\.|@\{|\.lock(?:/|$)|/$")

Refs = dict[bytes, str]


def is_name(name: bytes) -> bool:
    return name.startswith(b"refs/") and not BAD_NAME.search(name)


def read(root: Root, path: AnyPath) -> bytes:
    """Return the first line of a reference file: an id or `ref: name`; empty if missing. A link gives `ref: target`."""
    try:
        said = root.read(path, MOST_BYTES)
    except LeavesRoot:
        target = root.target(path)
        return b"ref: " + target if target is not None else b""
    return (said or b"").split(b"\n")[0].rstrip()


def target(said: bytes) -> bytes:
    """Return the name that a symbolic reference points to; empty for any other content."""
    name = said.removeprefix(b"ref:").strip()
    return name if said.startswith(b"ref:") and is_name(name) else b""


def id_in(said: bytes) -> str:
    found = ID.match(said)
    return found.group().decode() if found else ""


def follow(said: bytes, common: Root) -> str:
    """Return the commit id to which the content of a reference resolves; empty if the target does not exist yet."""
    for _ in range(MOST_HOPS):
        name = target(said)
        if not name:
            return id_in(said)
        said = read(common, name)
        if not said:
            return packed(common).get(name, "")
    return ""


def packed(common: Root) -> Refs:
    lines = (common.read("packed-refs", MOST_PACKED) or b"").split(b"\n")
    pairs = (line.split(b" ", 1) for line in lines if line[:1] not in (b"#", b"^", b""))
    return {pair[1]: pair[0].decode() for pair in pairs if len(pair) == 2 and ID.match(pair[0])}


def loose(common: Root) -> dict[bytes, bytes]:
    """Return name → first line for every reference file below `refs/`."""
    names = (name for name in common.files_below("refs") if is_name(name))
    return {name: said for name in names if (said := read(common, name))}


def every(common: Root, saying: dict[bytes, bytes]) -> Refs:
    """Return all references with their ids. Loose ones override packed ones; broken ones are left out."""
    known = {name: id for name, id in packed(common).items() if is_name(name)}
    known |= {name: id for name, said in saying.items() if (id := id_in(said))}
    symbolic = {name: target(said) for name, said in saying.items() if target(said)}
    ends = {name: _end(name, symbolic) for name in symbolic}
    return known | {name: known[end] for name, end in ends.items() if end in known}


def _end(name: bytes, symbolic: dict[bytes, bytes]) -> bytes:
    for _ in range(MOST_HOPS):
        name = symbolic.get(name, name)
    return name
