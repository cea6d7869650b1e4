"""What is kept of a stream, for any bytes in any chunks: properties of the buffer and its result."""

import os
import stat
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.errors import MachineryBroke
from donewhen.workspace.process.output import Output, OutputBuffer, OutputPipe

CHUNKS = st.lists(st.binary(max_size=40), max_size=20)
KEPT = st.integers(0, 30)


def recorded(chunks: list[bytes], keep_bytes: int) -> Output:
    recorder = OutputBuffer(keep_bytes)
    for chunk in chunks:
        recorder.add(chunk)
    return recorder.output()


@given(CHUNKS, KEPT)
def test_head_and_tail_are_the_ends_of_the_output_and_the_cut_is_between_them(chunks: list[bytes], keep: int) -> None:
    printed = b"".join(chunks)
    output = recorded(chunks, keep)
    assert output.head == printed[:keep]
    rest = printed[keep:]
    assert output.tail == rest[max(len(rest) - keep, 0) :]
    assert output.total == len(printed)
    assert output.cut == max(len(printed) - 2 * keep, 0)


@given(CHUNKS, KEPT)
def test_the_chunking_of_the_output_makes_no_difference(chunks: list[bytes], keep: int) -> None:
    assert recorded(chunks, keep) == recorded([b"".join(chunks)], keep)


@given(CHUNKS, KEPT)
def test_the_text_is_exact_if_nothing_was_cut_and_says_so_otherwise(chunks: list[bytes], keep: int) -> None:
    printed = b"".join(chunks)
    output = recorded(chunks, keep)
    if len(printed) <= 2 * keep:
        assert output.whole() == printed
    else:
        assert output.whole() == output.head + b"\n[... %d bytes cut ...]\n" % output.cut + output.tail


@given(CHUNKS, KEPT, st.integers(0, 100))
def test_the_spool_holds_the_beginning_up_to_its_cap(chunks: list[bytes], keep: int, cap: int) -> None:
    with TemporaryDirectory() as directory:
        spool = Path(directory, "spool")
        recorder = OutputBuffer(keep, spool, cap)
        for chunk in chunks:
            recorder.add(chunk)
        recorder.close()
        assert spool.read_bytes() == b"".join(chunks)[:cap]


def test_a_spool_file_is_private_for_any_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        OutputBuffer(spool=tmp_path / "spool").close()
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "spool").stat().st_mode) == 0o600


def test_a_spool_is_never_written_through_a_link_or_over_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    (tmp_path / "dangling").symlink_to(tmp_path / "made")
    for name in ("file", "link", "dangling"):
        with pytest.raises(MachineryBroke, match=f"cannot keep output in .*/{name}: File exists"):
            OutputBuffer(spool=tmp_path / name)
    assert (tmp_path / "file").read_text() == "mine"
    assert not (tmp_path / "made").exists()


def test_a_spool_on_a_full_disk_is_reported_in_one_line() -> None:
    class Full(OutputBuffer):
        """Its file is the device that is always full."""

        def __init__(self) -> None:
            super().__init__()
            self._spool = os.open("/dev/full", os.O_WRONLY)

    recorder = Full()
    try:
        with pytest.raises(MachineryBroke, match="No space left on device"):
            recorder.add(b"x")
    finally:
        recorder.close()


def test_memory_is_bounded_by_head_and_tail_for_any_chunk_size() -> None:
    recorder = OutputBuffer(keep_bytes=100)
    for number in range(100_000):
        recorder.add(b"%d" % (number % 10))
    output = recorder.output()
    assert (output.total, output.cut) == (100_000, 99_800)
    assert output.tail == b"0123456789" * 10


def test_draining_ends_even_if_another_process_keeps_writing() -> None:
    taken: list[int] = []
    recorder = OutputBuffer()
    stream = OutputPipe(recorder, lambda chunk: (taken.append(len(chunk)), os.write(stream.writer, chunk), None)[-1])
    stream.open()
    try:
        os.write(stream.writer, b"x" * 4096)
        stream.drain()
    finally:
        stream.close()
    assert 0 < sum(taken) <= 2 << 20
