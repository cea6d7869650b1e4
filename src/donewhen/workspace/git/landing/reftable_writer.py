"""Moves and removes a branch of a repository whose references are in tables, by adding a table in the way git does.

The caller holds `refs.TABLES_LOCK`. A table is complete before the list names it, so a reader sees a change as a whole
or not at all. Existing tables are not changed or joined here: git does that when it next writes to the repository. Git
ignores a table that a crash left out of the list, and removes it later.

The reflog of a branch is in the same table as its move. The HEAD of a linked worktree has tables of its own; its reflog
is written first, and not twice if the move is repeated after a crash.
"""

import datetime
import os
import secrets
import struct
import zlib
from collections.abc import Mapping, Sequence

from donewhen.workspace.beneath import Root
from donewhen.workspace.git import refs, reftable
from donewhen.workspace.git.landing import lockfile, reflog
from donewhen.workspace.git.landing.commits import identity, stamp
from donewhen.workspace.git.landing.deliver_objects import git_dirs
from donewhen.workspace.git.objects import raw
from donewhen.workspace.git.reftable import HASHES, LAST_UPDATE, LIST, LOGS, MAGIC, ONE_ID, REFS, REMOVED, LogRecord
from donewhen.workspace.git.repo import Repo

TEMPORARY_LIST = "tables.list.donewhen"
BLOCK_SIZE = 4096
"""Git's default. It has no effect on a table with one block of each kind."""
RESTART_EVERY = 16
"""Git's default: how often a name is stored in full, so that a reader can start there."""

Entry = tuple[bytes, int, bytes]
"""Key, kind and encoded fields of a record."""


def move(repo: Repo, ref: bytes, old: str, new: str, why: str) -> None:
    """Set a reference to a new commit, and write the reflogs of the reference and of every HEAD that points to it."""
    for git in git_dirs(repo.common)[1:]:
        if refs.target(refs.read(git, "HEAD")) == ref:
            with lockfile.hold_lock(git, refs.TABLES_LOCK):
                last = [record for record in reftable.logs_in(git) if record.ref == b"HEAD"][-1:]
                if not last or (last[0].old, last[0].new) != (old, new):
                    _add_table(git, repo.object_format, {}, _log_records(repo, git, [b"HEAD"], old, new, why))
    logged = [ref, *([b"HEAD"] if refs.target(refs.read(repo.common, "HEAD")) == ref else [])]
    _add_table(repo.common, repo.object_format, {ref: new}, _log_records(repo, repo.common, logged, old, new, why))


def remove(repo: Repo, ref: bytes) -> None:
    """Remove a reference and its reflog."""
    removed = [LogRecord(ref, record.update) for record in reftable.logs_in(repo.common) if record.ref == ref]
    _add_table(repo.common, repo.object_format, {ref: ""}, removed)


def _log_records(repo: Repo, root: Root, names: Sequence[bytes], old: str, new: str, why: str) -> list[LogRecord]:
    """Return one record for each reference that has a reflog, or gets one."""
    if repo.setting("core.logallrefupdates", "true").lower() in reflog.OFF:
        existing = {record.ref for record in reftable.logs_in(root)}
        names = [name for name in names if name in existing]
    name, _, email = raw(identity(repo, "committer")).rstrip(b">").rpartition(b" <")
    seconds, zone = map(int, stamp(datetime.datetime.now().astimezone()).split())
    update = _next_update(root)
    return [LogRecord(ref, update, old, new, name, email, seconds, zone, raw(f"{why}\n")) for ref in names]


def _next_update(root: Root) -> int:
    headers = [reftable.header_of(table, path) for path, table in reftable.read_tables(root)]
    return 1 + max((header.last_update for header in headers), default=0)


def _add_table(root: Root, object_format: str, ids: Mapping[bytes, str], logs: Sequence[LogRecord]) -> None:
    """Write a table with these references (an empty id removes one) and reflog records, and add it to the list."""
    if not ids and not logs:
        return
    update = _next_update(root)
    name = f"0x{update:012x}-0x{update:012x}-{secrets.token_hex(4)}.ref"
    descriptor = root.open(f"reftable/{name}", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    with os.fdopen(descriptor, "wb") as file:
        file.write(encode(object_format, update, ids, logs))
        file.flush()
        root.share(file.fileno())
        os.fsync(file.fileno())
    listing = root.read(LIST, reftable.LARGEST_LIST) or b""
    lockfile.replace_file(root, LIST, listing + f"{name}\n".encode(), TEMPORARY_LIST)


# -- encoding --


def encode(object_format: str, update: int, ids: Mapping[bytes, str], logs: Sequence[LogRecord]) -> bytes:
    """Return a table of one update: the references, and the reflog records."""
    version, hash_name, _ = HASHES[object_format]
    header = MAGIC + bytes([version]) + BLOCK_SIZE.to_bytes(3) + struct.pack(">QQ", update, update)
    header += hash_name if version > 1 else b""
    table = header
    if ids:
        # The number of the update is stored as the difference from the one in the header: 0.
        entries = [(ref, ONE_ID if id else REMOVED, _number(0) + bytes.fromhex(id)) for ref, id in sorted(ids.items())]
        table += _block(REFS, entries, len(header))
    logs_at = len(table) if ids and logs else 0
    if logs:
        table += _block(LOGS, sorted(map(_log_entry, logs)), 0 if ids else len(header))
    # The positions of indexes are 0: there are none.
    footer = header + struct.pack(">QQQQQ", 0, 0, 0, logs_at, 0)
    return table + footer + struct.pack(">I", zlib.crc32(footer))


def _block(kind: bytes, entries: Sequence[Entry], before: int) -> bytes:
    """Return a block. `before` is the length of the file header, which counts as a part of the first block."""
    records, full, previous = b"", list[int](), b""
    for number, (key, record_kind, fields) in enumerate(entries):
        differing = (at for at, (a, b) in enumerate(zip(previous, key, strict=False)) if a != b)
        shared = next(differing, min(len(previous), len(key))) if number % RESTART_EVERY else 0
        if not shared:
            full.append(before + 4 + len(records))
        records += _number(shared) + _number((len(key) - shared) << 3 | record_kind) + key[shared:] + fields
        previous = key
    records += b"".join(offset.to_bytes(3) for offset in full) + len(full).to_bytes(2)
    length = before + 4 + len(records)
    return kind + length.to_bytes(3) + (zlib.compress(records, 9) if kind == LOGS else records)


def _log_entry(record: LogRecord) -> Entry:
    """Return the entry of a reflog record. The number of the update is stored so that newer records come first."""
    key = record.ref + b"\0" + (LAST_UPDATE - record.update).to_bytes(8)
    if not record.new:
        return key, REMOVED, b""
    fields = bytes.fromhex(record.old + record.new) + _text(record.name) + _text(record.email)
    return key, ONE_ID, fields + _number(record.seconds) + struct.pack(">h", record.zone) + _text(record.message)


def _text(text: bytes) -> bytes:
    return _number(len(text)) + text


def _number(value: int) -> bytes:
    """Encode a number as `reftable` reads it."""
    found = [value & 127]
    while value := value >> 7:
        value -= 1
        found.append(value & 127 | 128)
    return bytes(reversed(found))
