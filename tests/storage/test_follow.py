"""Readers that follow a session: existing records, then new ones, without a gap and each once."""

from contextlib import aclosing

import anyio
import pytest
from places import SAID, Place, says, tell

from donewhen.errors import BadInput
from donewhen.events import PlanText
from donewhen.storage.archive import Archive

pytestmark = pytest.mark.anyio

PATIENCE = 30


async def take(archive: Archive, count: int, after_seq: int = 0) -> list[int | None]:
    seen: list[int | None] = []
    with anyio.fail_after(PATIENCE):
        async with aclosing(archive.follow("a", after_seq)) as records:
            async for record in records:
                seen.append(record.seq)
                if len(seen) == count:
                    break
    return seen


async def test_a_reader_gets_existing_records_and_then_new_ones(place: Place) -> None:
    writing, reading = place.open(), place.open()
    lease = writing.create("a", "/r", "title")
    lease.write(SAID, SAID, note=("note", {}))
    with anyio.fail_after(PATIENCE):
        async with aclosing(reading.follow("a")) as records:
            assert [(await anext(records)).seq for _ in range(2)] == [1, 2]
            lease.write(note=("note", {}))
            lease.write(SAID)
            assert (await anext(records)).seq == 3


async def test_a_reader_may_start_at_any_position(place: Place) -> None:
    archive = place.open()
    archive.create("a", "/r", "title").write(*[SAID] * 250)
    assert await take(archive, 50, after_seq=200) == list(range(201, 251))


async def test_a_writer_and_its_readers_may_share_one_archive(place: Place) -> None:
    archive = place.open()
    lease = archive.create("a", "/r", "title")
    seen: list[list[int | None]] = []

    async def read() -> None:
        seen.append(await take(archive, 60))

    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(read)
        for _ in range(20):
            lease.write(SAID, SAID, SAID)
            await anyio.lowlevel.checkpoint()
    assert seen == [list(range(1, 61))] * 3


async def test_following_ends_with_the_session(place: Place) -> None:
    archive = place.open()
    archive.create("a", "/r", "title").write(SAID)
    with anyio.fail_after(PATIENCE):
        async with aclosing(archive.follow("a")) as records:
            assert (await anext(records)).seq == 1
            archive.delete("a")
            assert await anext(records, None) is None
    with pytest.raises(BadInput, match="there is no session 'a'"):
        await take(archive, 1)


APPEND = """
lease = archive.claim("a", force=True)
ready()
for n in range(int(sys.argv[3])):
    lease.write(PlanText(text=str(n)), note=("note", {"n": n}))
"""


async def test_readers_follow_a_writer_in_another_process_without_a_gap(place: Place) -> None:
    archive = place.open()
    archive.create("a", "/r", "title").write(PlanText(text="first"))
    writer = place.start(APPEND, 300)
    assert says(writer) == "ready"
    seen: list[list[int | None]] = []

    async def read(after: int) -> None:
        seen.append(await take(place.open(), 301 - after, after))

    async with anyio.create_task_group() as group:
        for after in (0, 0, 1):
            group.start_soon(read, after)
        tell(writer)
    assert sorted(seen, key=len) == [list(range(2, 302)), list(range(1, 302)), list(range(1, 302))]
