"""The references of a git dir, read as data: `HEAD`, loose files below `refs/`, and `packed-refs`.

No git runs here, so nothing in the directory can make one run something. Only the `files` format is known; whoever
opens a repository refuses the others first.
"""

import os
import re
from pathlib import Path

MOST_BYTES = 64 * 1024
"""A reference is a line; what is longer than this is none."""
MOST_HOPS = 5
ID = re.compile(rb"(?:[0-9a-f]{40}|[0-9a-f]{64})(?![0-9a-f])")
BAD_NAME = re.compile(rb"\.\.|[\x00-\x20\x7f~^:?*\[\\]|//|/\.|@\{|\.lock(?:/|$)|/$")

Refs = dict[bytes, str]


def is_name(name: bytes) -> bool:
    return name.startswith(b"refs/") and not BAD_NAME.search(name)


def read(path: Path) -> bytes:
    """What a reference file says: an id, or `ref: name`; empty when there is none."""
    try:
        if path.is_symlink():
            return b"ref: " + bytes(path.readlink())
        with path.open("rb") as file:
            return file.read(MOST_BYTES).split(b"\n")[0].rstrip()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return b""


def target(said: bytes) -> bytes:
    """The name that a symbolic reference points to; empty for any other."""
    name = said.removeprefix(b"ref:").strip()
    return name if said.startswith(b"ref:") and is_name(name) else b""


def id_in(said: bytes) -> str:
    found = ID.match(said)
    return found.group().decode() if found else ""


def follow(said: bytes, common_dir: Path) -> str:
    """The commit that `HEAD`, or any reference that says this, stands for; empty when it does not exist yet."""
    for _ in range(MOST_HOPS):
        name = target(said)
        if not name:
            return id_in(said)
        said = read(common_dir / name.decode("utf-8", "surrogateescape"))
        if not said:
            return packed(common_dir).get(name, "")
    return ""


def packed(common_dir: Path) -> Refs:
    try:
        lines = (common_dir / "packed-refs").read_bytes().split(b"\n")
    except FileNotFoundError:
        return {}
    pairs = (line.split(b" ", 1) for line in lines if line[:1] not in (b"#", b"^", b""))
    return {pair[1]: pair[0].decode() for pair in pairs if len(pair) == 2 and ID.match(pair[0])}


def loose(common_dir: Path) -> dict[bytes, bytes]:
    """Name → what the file says, for everything below `refs/`."""
    found: dict[bytes, bytes] = {}
    for directory, _, names in os.walk(bytes(common_dir / "refs"), onerror=_complain):
        for path in (os.path.join(directory, name) for name in names):
            name = os.path.relpath(path, bytes(common_dir))
            if is_name(name) and (said := read(Path(os.fsdecode(path)))):
                found[name] = said
    return found


def _complain(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):  # a directory that git removed while we looked
        raise error


def every(common_dir: Path, saying: dict[bytes, bytes]) -> Refs:
    """All references with the ids they stand for; loose ones win over packed ones, broken ones are left out."""
    known = {name: id for name, id in packed(common_dir).items() if is_name(name)}
    known |= {name: id for name, said in saying.items() if (id := id_in(said))}
    symbolic = {name: target(said) for name, said in saying.items() if target(said)}
    ends = {name: _end(name, symbolic) for name in symbolic}
    return known | {name: known[end] for name, end in ends.items() if end in known}


def _end(name: bytes, symbolic: dict[bytes, bytes]) -> bytes:
    for _ in range(MOST_HOPS):
        name = symbolic.get(name, name)
    return name
