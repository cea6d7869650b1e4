"""Git objects as plain data: ids, tree entries, changes between trees, and paths formatted for people.

Pure functions: they read no file and start no process. Paths are bytes, as git and the kernel see them. Only `Change`
has text paths, because events contain it; bytes that are not valid UTF-8 become surrogate escapes there.
"""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from donewhen.printable import escaped

TREE, FILE, PROGRAM, LINK, GITLINK = 0o040000, 0o100644, 0o100755, 0o120000, 0o160000

RULES = frozenset({b".gitignore", b".gitattributes"})
"""Names of the files in which git finds rules about other files."""

Kind = Literal["added", "modified", "deleted", "unmerged", "nested"]


class TreeEntry(NamedTuple):
    """Mode and object id of one name in a tree."""

    mode: int
    id: str
    """Empty if the content was not hashed."""


Entries = dict[bytes, TreeEntry]


class Change(NamedTuple):
    """One path that differs between two trees. A changed type or mode counts as modified."""

    path: str
    kind: Kind
    old: TreeEntry | None
    new: TreeEntry | None


class LineCount(NamedTuple):
    """Changed lines of one file."""

    added: int
    removed: int


class Size(NamedTuple):
    """Size of a diff. Binary files count only in `files`."""

    files: int
    insertions: int
    deletions: int


def object_id(object_format: str, kind: str, content: bytes) -> str:
    return hashlib.new(object_format, frame(kind, content), usedforsecurity=False).hexdigest()


def frame(kind: str, content: bytes) -> bytes:
    """Return an object in the form in which git hashes and stores it."""
    return b"%s %d\0%s" % (kind.encode(), len(content), content)


def tree_content(entries: Mapping[bytes, TreeEntry]) -> bytes:
    """Return the content of a tree object. Git sorts directories as if their names ended with a slash."""
    ordered = sorted(entries.items(), key=lambda item: item[0] + (b"/" if item[1].mode == TREE else b""))
    return b"".join(b"%o %s\0%s" % (entry.mode, name, bytes.fromhex(entry.id)) for name, entry in ordered)


def tree_entries(content: bytes, object_format: str) -> Entries:
    width = hashlib.new(object_format, usedforsecurity=False).digest_size
    entries: Entries = {}
    at = 0
    while at < len(content):
        end = content.index(b"\0", at)
        mode, _, name = content[at:end].partition(b" ")
        at = end + 1 + width
        entries[name] = TreeEntry(int(mode, 8), content[end + 1 : at].hex())
    return entries


def date_in(commit: bytes) -> str:
    """Return the committer date of a commit object in a format that git accepts."""
    committer = next(line for line in commit.split(b"\n") if line.startswith(b"committer "))
    return "@" + b" ".join(committer.split(b" ")[-2:]).decode()


def changes_in(raw: bytes) -> list[Change]:
    """Parse the output of `diff-tree --raw -z --no-renames` with full ids."""
    fields = raw.split(b"\0")[:-1]
    return [_change(about.decode(), path) for about, path in zip(fields[::2], fields[1::2], strict=True)]


def _change(about: str, path: bytes) -> Change:
    old_mode, new_mode, old_id, new_id, _ = about.removeprefix(":").split(" ")
    old = TreeEntry(int(old_mode, 8), old_id) if int(old_mode, 8) else None
    new = TreeEntry(int(new_mode, 8), new_id) if int(new_mode, 8) else None
    return change_of(path, old, new)


def change_of(path: bytes, old: TreeEntry | None, new: TreeEntry | None) -> Change:
    return Change(text(path), "added" if old is None else "deleted" if new is None else "modified", old, new)


def parse_ls_tree(answer: bytes) -> Iterator[tuple[bytes, TreeEntry]]:
    """Parse the output of `ls-tree -z`."""
    for record in answer.split(b"\0")[:-1]:
        about, _, path = record.partition(b"\t")
        mode, _, entry_id = about.decode().split(" ")
        yield path, TreeEntry(int(mode, 8), entry_id)


def text(path: bytes) -> str:
    return path.decode("utf-8", "surrogateescape")


def raw(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")


def shown(path: bytes | str) -> str:
    """Return a path for a one-line message. Characters that a terminal could interpret are escaped."""
    plain = path if isinstance(path, str) else text(path)
    safe = escaped(plain, _escape)
    return plain if safe == plain else f'"{safe}"'


def _escape(char: str) -> str:
    is_byte = "\udc80" <= char <= "\udcff"
    return "".join(f"\\{byte:03o}" for byte in char.encode("utf-8", "surrogateescape" if is_byte else "surrogatepass"))


def parents(path: bytes) -> Iterator[bytes]:
    """Yield the directories above a path, from the nearest up to the root, which is empty."""
    while path:
        path = path.rpartition(b"/")[0]
        yield path
