"""Tables of references, read and encoded without git. The tables below were written by git 2.50."""

import base64
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.errors import BadInput
from donewhen.workspace.beneath import LeavesRoot, Root
from donewhen.workspace.git import refs, reftable
from donewhen.workspace.git.landing.reftable_writer import encode
from donewhen.workspace.git.reftable import LogRecord, log_records, ref_records

TABLES = {
    "0x000000000001-0x000000000006-eb5b27ca.ref": """
        UkVGVAEAEAAAAAAAAAAAAQAAAAAAAAAGcgAA4wAjSEVBRAAPcmVmcy9oZWFkcy9tYWluAIADcmVmcy9oZWFkcy9hbGlhcwMPcmVmcy9o
        ZWFkcy9tYWluCyFnb25lBTbgwpm4Mhf1iiJYO+wEESP4jwFOCyFtYWluATbgwpm4Mhf1iiJYO+wEESP4jwFOCyl0b3BpYwQ24MKZuDIX
        9YoiWDvsBBEj+I8BTgU6dGFncy92MQL/L68Ne5a6GD0u1tcsR5h3r7CLhjbgwpm4Mhf1iiJYO+wEESP4jwFOAAAcAAAzAAJnAAHoeNpj
        yPRwdXRh+A8BfxmwALMHh2buMBL/2qUUYf2GRVD5Rz+jH7OjghNrokOSXnLrmi+3pZiExJLzc3MzSxQ0MvMySzITczStFPLzUrkYGjyL
        UtOK9TNSE1OK9RNzMhOLYXb9JtsuRi7uzHSg6TCTfpJtklRSUWJecoaVgnNRamJJaopCWlF+rkJuYmYe0AoQRbOA4S4syS/ITIaZ/4sW
        XmBgYGFgSGZgAgA+1Z9nUkVGVAEAEAAAAAAAAAAAAQAAAAAAAAAGAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAOMAAAAAAAAA
        AEDxswA=
    """,
    "0x000000000007-0x000000000007-06aab9c0.ref": """
        UkVGVAEAEAAAAAAAAAAABwAAAAAAAAAHcgAAMwB4cmVmcy9oZWFkcy9nb25lAAAAHAABZwAAJHjaY2hwKEpNK9bPSE1MKdZPz89LZfgP
        AT8ZGFgYGAHg+A50UkVGVAEAEAAAAAAAAAAABwAAAAAAAAAHAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAADMAAAAAAAAAACnT
        jHA=
    """,
    "0x000000000008-0x000000000008-ad24cfa1.ref": """
        UkVGVAEAEAAAAAAAAAAACAAAAAAAAAAIcgAASQCAAXJlZnMvaGVhZHMvdG9waWMAnXVL585RbrcyhDVgNJz8zz/XXe0AABwAAWcAAGV4
        2mNo8CxKTSvWz0hNTCnWL8kvyExm+A8B380eHJq5w0j8a5dShPUbFkHlH/2MfnNLvZ+fC8zbbtRimmAy5895++uxb5kdFZxYEx2S9JJb
        13y5LcUkxJabX5aawsXAwMLACADbcCn3UkVGVAEAEAAAAAAAAAAACAAAAAAAAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
        AEkAAAAAAAAAAC9eDHY=
    """,
}
FIRST, SECOND, TAG = (
    "36e0c299b83217f58a22583bec041123f88f014e", "9d754be7ce516eb732843560349cfccf3fd75ded",
    "ff2faf0d7b96ba183d2ed6d72c479877afb08b86",
)  # fmt: skip
NEWEST = base64.b64decode(list(TABLES.values())[-1])
MOVED = LogRecord(b"refs/heads/topic", 8, FIRST, SECOND, b"A B", b"a@b.c", 1706913306, 530, b"moved\n")


@pytest.fixture
def git_dir(tmp_path: Path) -> Path:
    (tmp_path / "reftable").mkdir()
    (tmp_path / "HEAD").write_text("ref: refs/heads/.invalid\n")
    (tmp_path / "reftable" / "tables.list").write_text("".join(f"{name}\n" for name in TABLES))
    for name, content in TABLES.items():
        (tmp_path / "reftable" / name).write_bytes(base64.b64decode(content))
    return tmp_path


def test_references_are_read_from_all_tables_and_the_newest_counts(git_dir: Path) -> None:
    root = Root(git_dir)
    assert refs.read(root, "HEAD") == b"ref: refs/heads/main"
    assert refs.follow(b"ref: refs/heads/alias", root) == FIRST
    everything = {b"main": FIRST, b"alias": FIRST, b"topic": SECOND}
    found = refs.all_refs(root, refs.loose_refs(root))
    assert found == {b"refs/tags/v1": TAG} | {b"refs/heads/" + name: id for name, id in everything.items()}
    assert refs.read(root, "refs/heads/gone") == b""


def test_the_content_of_the_head_file_decides_the_format(git_dir: Path) -> None:
    (git_dir / "HEAD").write_text("ref: refs/heads/main\n")
    assert refs.read(Root(git_dir), "HEAD") == b"ref: refs/heads/main"
    assert refs.loose_refs(Root(git_dir)) == {}


def test_reflogs_are_read_oldest_first_without_the_removed_ones(git_dir: Path) -> None:
    found = reftable.logs_in(Root(git_dir))
    assert found[-1] == MOVED
    assert [(record.ref, record.message) for record in found if record.ref.startswith(b"refs/heads/t")] == [
        (b"refs/heads/topic", b"branch: Created from main\n"),
        (b"refs/heads/topic", b"moved\n"),
    ]
    assert b"refs/heads/gone" not in {record.ref for record in found}
    assert found[-1].line() == f"{FIRST} {SECOND} A B <a@b.c> 1706913306 +0530\tmoved\n".encode()


def test_an_encoded_update_has_the_bytes_of_git(git_dir: Path) -> None:
    ours = encode("sha1", 8, {b"refs/heads/topic": SECOND}, [MOVED])
    start = NEWEST.index(b"g\0\0", 24)  # the reflogs; another zlib may compress them differently
    assert ours[:start] == NEWEST[:start]
    assert log_records(ours) == log_records(NEWEST) == [MOVED]
    removed = base64.b64decode(list(TABLES.values())[1])
    again = encode("sha1", 7, {b"refs/heads/gone": ""}, log_records(removed))
    assert (again[:51], ref_records(again)) == (removed[:51], [(b"refs/heads/gone", b"")])


NAMES = st.binary(min_size=1, max_size=40)
IDS = st.binary(min_size=32, max_size=32).map(bytes.hex)
RECORDS = st.builds(
    LogRecord, NAMES, st.integers(0, 2**64 - 1), IDS, IDS, NAMES, NAMES, st.integers(0, 2**40),
    st.integers(-1200, 1400), NAMES,
)  # fmt: skip


@given(st.dictionaries(NAMES, IDS), st.lists(RECORDS, unique_by=lambda record: (record.ref, record.update)))
def test_what_is_encoded_is_read_back(ids: dict[bytes, str], logs: list[LogRecord]) -> None:
    table = encode("sha256", 3, ids, logs)
    assert dict(ref_records(table)) == {name: id.encode() for name, id in ids.items()}
    assert set(log_records(table)) == set(logs)


def with_checksum(table: bytes) -> bytes:
    return table[:-4] + zlib.crc32(table[-68:-4]).to_bytes(4)


@given(st.integers(0, len(NEWEST) - 1), st.integers(0, 255))
def test_a_changed_byte_gives_records_or_one_error(at: int, byte: int) -> None:
    table = with_checksum(NEWEST[:at] + bytes([byte]) + NEWEST[at + 1 :])
    for read in (ref_records, log_records):
        try:
            read(table)
        except BadInput as error:
            assert str(error).startswith("a table is damaged or not a reftable: ")


@pytest.mark.parametrize("length", [0, 3, 24, 60, len(NEWEST) - 1])
def test_a_table_that_was_cut_is_damaged(git_dir: Path, length: int) -> None:
    path = git_dir / "reftable" / list(TABLES)[-1]
    path.write_bytes(NEWEST[:length])
    with pytest.raises(BadInput, match=f"{path} is damaged"):
        reftable.refs_in(Root(git_dir))


def test_a_small_table_with_very_long_names_is_refused() -> None:
    """Each record repeats 65536 bytes of the name before it, and adds nothing."""
    name = b"x" * 65_664
    long = encode("sha1", 1, {name: FIRST}, [])
    start, end = long.index(name) + len(name), long.index(b"REFT", 24)
    record = b"\x82\xff\0" + b"\x01" + long[start : end - 5]
    added = record * 3_000
    length = (int.from_bytes(long[25:28]) + len(added)).to_bytes(3)
    table = long[:25] + length + long[28 : end - 5] + added + long[end - 5 :]
    assert len(table) < 200_000
    with pytest.raises(BadInput, match="the names are too long"):
        ref_records(table)


def test_a_list_that_names_a_path_elsewhere_is_refused(git_dir: Path) -> None:
    (git_dir / "reftable" / "tables.list").write_text("../../other.ref\n")
    with pytest.raises(BadInput, match="which is not the name of a table"):
        reftable.refs_in(Root(git_dir))


def test_a_missing_table_is_named(git_dir: Path) -> None:
    name = next(iter(TABLES))
    (git_dir / "reftable" / name).unlink()
    with pytest.raises(BadInput, match=f"{name} is missing"):
        reftable.refs_in(Root(git_dir))


@pytest.mark.parametrize("name", ["tables.list", next(iter(TABLES))])
def test_a_link_among_the_tables_is_not_followed(git_dir: Path, name: str) -> None:
    assert reftable.refs_in(Root(git_dir))
    path = git_dir / "reftable" / name
    path.rename(git_dir / "elsewhere")
    path.symlink_to("../elsewhere")
    with pytest.raises(LeavesRoot, match="is a link"):
        reftable.read_tables(Root(git_dir))
