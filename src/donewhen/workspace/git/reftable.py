"""Reader of references and reflogs in git's `reftable` format: a list of binary tables, in which later ones count.

It reads them as data and does not run git, so it does not need a git that knows the format. Every block of a table is
read in order; the indexes that a table may contain are not used. A damaged table raises BadInput. This module does not
write: `landing.reftable_writer` does.

Git's documentation describes the format in `technical/reftable`.
"""

import contextlib
import re
import struct
import zlib
from collections.abc import Generator, Iterator
from typing import NamedTuple

from donewhen.errors import BadInput
from donewhen.workspace.beneath import Root
from donewhen.workspace.git.objects import shown

LIST = "reftable/tables.list"
TABLE_NAME = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]*\.(?:ref|log)")
LARGEST_LIST = 1 << 20
LARGEST_TABLE = 256 << 20
MOST_NAME_BYTES = 128 << 20
"""Bytes of all names in a table. A name is stored as its difference from the previous one, so a small file can contain
many long names."""
MOST_TRIES = 20
MOST_REMEMBERED = 8
MAGIC = b"REFT"
HASHES = {"sha1": (1, b"sha1", 20), "sha256": (2, b"s256", 32)}
"""Object format → version of the tables, name in their header, length of an id. Version 1 has no name in its header."""
HEADER_BYTES = {1: 24, 2: 28}
FOOTER_BYTES = 44
"""Five positions and a checksum, after a copy of the header."""
REFS, LOGS = b"r", b"g"
"""Kinds of blocks."""
REMOVED, ONE_ID, TWO_IDS, SYMBOLIC = range(4)
"""Kinds of records. A reference has two ids if it is a tag: the second one is the tagged object."""
LAST_UPDATE = (1 << 64) - 1

_remembered: dict[tuple[str, bytes], dict[bytes, bytes]] = {}
"""References by directory and list of tables. The content of a table never changes."""


class Header(NamedTuple):
    version: int
    block_size: int
    """0 if blocks are not aligned."""
    last_update: int
    id_bytes: int


class LogRecord(NamedTuple):
    """One line of a reflog. If `new` is empty, the record removes the one with the same reference and number."""

    ref: bytes
    update: int
    """The number of the update. Newer updates have higher numbers."""
    old: str = ""
    new: str = ""
    name: bytes = b""
    email: bytes = b""
    seconds: int = 0
    zone: int = 0
    """Hours and minutes as one decimal number: 530 for +0530."""
    message: bytes = b""

    def line(self) -> bytes:
        """Return the record as a line of a reflog file."""
        ids, zone = f"{self.old} {self.new}".encode(), f"{self.zone:+05d}".encode()
        return b"%s %s <%s> %d %s\t%s\n" % (ids, self.name, self.email, self.seconds, zone, self.message.rstrip())


def refs_in(root: Root) -> dict[bytes, bytes]:
    """Return all references in the tables of a git directory, name → content: an id, or `ref: name`."""
    key = (str(root.location), root.read(LIST, LARGEST_LIST) or b"")
    if key not in _remembered:
        found: dict[bytes, bytes] = {}
        for path, table in read_tables(root):
            found.update(ref_records(table, path))
        while len(_remembered) >= MOST_REMEMBERED:
            _remembered.pop(next(iter(_remembered)))
        _remembered[key] = {name: content for name, content in found.items() if content}
    return _remembered[key]


def logs_in(root: Root) -> list[LogRecord]:
    """Return all reflog records in the tables of a git directory, by reference, oldest first."""
    found: dict[tuple[bytes, int], LogRecord] = {}
    for path, table in read_tables(root):
        found.update(((record.ref, record.update), record) for record in log_records(table, path))
    return [record for _, record in sorted(found.items()) if record.new]


def listed_tables(listing: bytes) -> list[str]:
    """Return the names in a list of tables, oldest first."""
    names = listing.decode("ascii", "replace").splitlines()
    for name in names:
        if not TABLE_NAME.fullmatch(name):
            raise BadInput(f"{LIST} contains {shown(name)}, which is not the name of a table")
    return names


def read_tables(root: Root) -> list[tuple[str, bytes]]:
    """Return path and content of every table. If git replaces some of them meanwhile, read the new list."""
    missing = ""
    for _ in range(MOST_TRIES):
        names = listed_tables(root.read(LIST, LARGEST_LIST) or b"")
        found = [(root.full_path(f"reftable/{name}"), root.read(f"reftable/{name}", LARGEST_TABLE)) for name in names]
        missing = next((path for path, content in found if content is None), "")
        if not missing:
            return [(path, content) for path, content in found if content is not None]
    raise BadInput(f"{shown(missing)} is missing, although {LIST} names it")


# -- one table --


def header_of(table: bytes, path: str = "a table") -> Header:
    with _report_damage(path):
        magic, version, size, _, last = struct.unpack(">4sB3sQQ", table[:24])
        name = table[24:28] if version > 1 else b"sha1"
        id_bytes = {name: length for _, name, length in HASHES.values()}[name]
        footer = len(table) - HEADER_BYTES[version] - FOOTER_BYTES
        # A file that was cut has no footer.
        if magic != MAGIC or footer < 0 or zlib.crc32(table[footer:-4]) != int.from_bytes(table[-4:]):
            raise ValueError("no valid header and footer")
        return Header(version, int.from_bytes(size), last, id_bytes)


def ref_records(table: bytes, path: str = "a table") -> list[tuple[bytes, bytes]]:
    """Return name and content of every reference in a table. The content of a removed one is empty."""
    header = header_of(table, path)
    with _report_damage(path):
        return [
            (name, _ref_content(fields, kind, header.id_bytes))
            for name, kind, fields in _records(_ref_blocks(table, header))
        ]


def log_records(table: bytes, path: str = "a table") -> list[LogRecord]:
    """Return every reflog record in a table, newest first for each reference."""
    header = header_of(table, path)
    with _report_damage(path):
        return [
            _log_record(key, fields, kind, header.id_bytes)
            for key, kind, fields in _records(_log_blocks(table, header))
        ]


@contextlib.contextmanager
def _report_damage(path: str) -> Generator[None]:
    try:
        yield
    except (ValueError, LookupError, struct.error, zlib.error) as error:
        raise BadInput(f"{shown(path)} is damaged or not a reftable: {error}") from error


class _Fields:
    """The bytes of a block from a position on. Reading past the end raises ValueError."""

    def __init__(self, block: bytes, at: int, end: int) -> None:
        self.block, self.at, self.end = block, at, end

    def take(self, length: int) -> bytes:
        self.at += length
        if self.at > self.end:
            raise ValueError("a record ends outside its block")
        return self.block[self.at - length : self.at]

    def number(self) -> int:
        """Read a number: seven bits per byte, the highest ones first, as git stores offsets in packs."""
        (byte,) = self.take(1)
        value = byte & 127
        while byte & 128:
            (byte,) = self.take(1)
            value = (value + 1 << 7) | byte & 127
            if value > LAST_UPDATE:
                raise ValueError("a number is too large")
        return value

    def text(self) -> bytes:
        return self.take(self.number())


def _ref_blocks(table: bytes, header: Header) -> Iterator[_Fields]:
    """Yield the records of each block of references. They are at the start of a table."""
    start, skipped = 0, HEADER_BYTES[header.version]
    while table[start + skipped : start + skipped + 1] == REFS:
        length = int.from_bytes(table[start + skipped + 1 : start + skipped + 4])
        block = table[start : start + length]
        if length < skipped + 6:
            raise ValueError("a block is too short")
        yield _Fields(block, skipped + 4, _end_of_records(block))
        # Blocks are aligned, except that the last one may not be padded.
        padded = length < header.block_size and table[start + length : start + length + 1] == b"\0"
        start += max(length, header.block_size) if padded else length
        skipped = 0


def _log_blocks(table: bytes, header: Header) -> Iterator[_Fields]:
    """Yield the records of each block of reflogs. The footer says where the first one is."""
    footer = len(table) - FOOTER_BYTES
    start, skipped = int.from_bytes(table[footer + 24 : footer + 32]), 0
    if start == 0:
        skipped = HEADER_BYTES[header.version]
    while table[start + skipped : start + skipped + 1] == LOGS:
        length = int.from_bytes(table[start + skipped + 1 : start + skipped + 4]) - skipped - 4
        # Only what a block of this length can need: passing the whole rest would copy it once per block.
        first = start + skipped + 4
        packed = table[first : first + max(length, 0) + length // 100 + 64]
        inflating = zlib.decompressobj()
        block = inflating.decompress(packed, max(length, 1))
        if len(block) != length or not inflating.eof:
            raise ValueError("a block has another length than it states")
        yield _Fields(block, 0, _end_of_records(block))
        start, skipped = first + len(packed) - len(inflating.unused_data), 0


def _end_of_records(block: bytes) -> int:
    """Return where the records of a block end. A list of offsets follows, which a reader may use to skip some."""
    return len(block) - 2 - 3 * int.from_bytes(block[-2:])


def _records(blocks: Iterator[_Fields]) -> Iterator[tuple[bytes, int, _Fields]]:
    """Yield key, kind and fields of each record. The caller reads all fields before it asks for the next record."""
    expanded = 0
    for fields in blocks:
        key = b""
        while fields.at < fields.end:
            shared, packed = fields.number(), fields.number()
            if shared > len(key):
                raise ValueError("a name shares more than the previous one has")
            key = key[:shared] + fields.take(packed >> 3)
            expanded += len(key)
            if expanded > MOST_NAME_BYTES:
                raise ValueError("the names are too long")
            yield key, packed & 7, fields


def _ref_content(fields: _Fields, kind: int, id_bytes: int) -> bytes:
    fields.number()  # the update
    if kind == REMOVED:
        return b""
    if kind == SYMBOLIC:
        return b"ref: " + fields.text()
    if kind not in (ONE_ID, TWO_IDS):
        raise ValueError("a reference has an unknown kind")
    return fields.take(kind * id_bytes)[:id_bytes].hex().encode()


def _log_record(key: bytes, fields: _Fields, kind: int, id_bytes: int) -> LogRecord:
    ref, update = key[:-9], LAST_UPDATE - int.from_bytes(key[-8:])
    if kind > 1:
        raise ValueError("a reflog record has an unknown kind")
    if kind == REMOVED:
        return LogRecord(ref, update)
    old, new = fields.take(id_bytes).hex(), fields.take(id_bytes).hex()
    name, email, seconds = fields.text(), fields.text(), fields.number()
    zone = int.from_bytes(fields.take(2), signed=True)
    return LogRecord(ref, update, old, new, name, email, seconds, zone, fields.text())
