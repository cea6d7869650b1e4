"""The feed on a real store: every event once and in order, for readers of any speed, from any number on."""

import json
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from donewhen.events import Error, GateOpened, QuestionAnswered, QuestionAsked, SessionFinished, StateChanged
from donewhen.server.feed import feed as feed_module
from donewhen.server.feed.feed import Feed
from donewhen.server.feed.subscriptions import FollowedBoard, FollowedSession, positions_of
from donewhen.server.service import Notification
from donewhen.session.person.gates import GateKind
from donewhen.storage.archive import Archive
from donewhen.storage.lease import Lease


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def writer(directory: Path) -> Iterator[Archive]:
    """The store as the process of a session opens it."""
    archive = Archive.open(directory)
    yield archive
    archive.close()


@pytest.fixture
def feed(directory: Path, writer: Archive) -> Iterator[Feed]:
    archive = Archive.open(directory)
    yield Feed(archive)
    archive.close()


def emit(lease: Lease, first: int, count: int) -> None:
    for n in range(first, first + count):
        lease.write(Error(kind="test", message=str(n)))


async def read(subscription: FollowedSession | FollowedBoard, until: int) -> list[Any]:
    """Return so many events."""
    found: list[Any] = []
    async with aclosing(events(subscription)) as all_events:
        async for one in all_events:
            found.append(one)
            if len(found) == until:
                break
    return found


async def events(subscription: FollowedSession | FollowedBoard) -> AsyncGenerator[Any]:
    async for one in aiter(subscription):
        if one.kind == "event":
            yield json.loads(one.text)


def test_a_reader_gets_what_was_and_then_what_happens_without_gap_or_duplicate(feed: Feed, writer: Archive) -> None:
    lease = writer.create("one", "/repo", "a title")
    emit(lease, 1, 5)

    found: list[Any] = []

    async def scene() -> None:
        feed.look()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(feed.run)
            subscription = FollowedSession(feed, "one", 1)
            found.extend(await read(subscription, 5))
            emit(lease, 6, 250)
            found.extend(await read(subscription, 250))
            tasks.cancel_scope.cancel()

    anyio.run(scene)

    assert [one["seq"] for one in found] == list(range(1, 256))
    assert [one["message"] for one in found] == [str(n) for n in range(1, 256)]


@pytest.mark.parametrize("from_seq", [-3, 0, 1, 4, 9, 10, 11])
def test_a_reader_begins_at_the_number_that_it_names(feed: Feed, writer: Archive, from_seq: int) -> None:
    lease = writer.create("one", "/repo", "a title")
    emit(lease, 1, 10)

    async def scene() -> list[Any]:
        feed.look()
        subscription = FollowedSession(feed, "one", from_seq)
        emit(lease, 11, 1)
        feed.look()
        return await read(subscription, 12 - max(from_seq, 1))

    assert [one["seq"] for one in anyio.run(scene)] == list(range(max(from_seq, 1), 12))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 40), min_size=1, max_size=8), st.integers(1, 60), st.integers(2, 12))
def test_readers_of_any_speed_read_the_same_events(
    tmp_path_factory: pytest.TempPathFactory, bursts: list[int], from_seq: int, kept: int
) -> None:
    directory, before = tmp_path_factory.mktemp("feed"), feed_module.KEPT_EVENTS
    writer, reader = Archive.open(directory), Archive.open(directory)
    feed_module.KEPT_EVENTS = kept
    try:
        lease, feed = writer.create("one", "/repo", "a title"), Feed(reader)
        total = sum(bursts)

        async def scene() -> list[list[int]]:
            quick, late = FollowedSession(feed, "one", 1), FollowedSession(feed, "one", from_seq)
            feed.look()
            found, written = list[int](), 0
            for burst in bursts:
                emit(lease, written + 1, burst)
                written += burst
                feed.look()
                if burst:
                    found += [one["seq"] for one in await read(quick, burst)]
            expected = max(total - from_seq + 1, 0)
            return [found, [one["seq"] for one in await read(late, expected)] if expected else []]

        quick, late = anyio.run(scene)
    finally:
        feed_module.KEPT_EVENTS = before
        writer.close()
        reader.close()
    assert quick == list(range(1, total + 1))
    assert late == list(range(from_seq, total + 1))


def test_recent_events_are_kept_up_to_a_number_and_older_ones_are_read_from_the_store(
    feed: Feed, writer: Archive
) -> None:
    lease = writer.create("one", "/repo", "a title")
    feed.look()
    count = 2 * feed_module.KEPT_EVENTS + 500
    for start in range(0, count, 500):
        lease.write(*(Error(kind="test", message=str(n)) for n in range(start, start + 500)))
        feed.look()

    kept = feed.kept("one")
    found = [seq for seq, _ in feed.events("one", 1)]

    assert feed_module.KEPT_EVENTS <= kept <= 2 * feed_module.KEPT_EVENTS
    assert found == list(range(1, count + 1))


def test_the_status_comes_after_the_events_that_caused_it(feed: Feed, writer: Archive) -> None:
    lease = writer.create("one", "/repo", "a title")

    async def scene() -> list[Notification]:
        feed.look()
        subscription, found = FollowedSession(feed, "one", 1), list[Notification]()
        lease.write(StateChanged(from_="created", to="running"))
        lease.write(QuestionAsked(id="q1", prompt="Which one?", expires_at=""))
        feed.look()
        async for one in aiter(subscription):
            found.append(one)
            if len(found) == 3:
                break
        return found

    found = anyio.run(scene)

    assert [one.kind for one in found] == ["event", "event", "status"]
    status = json.loads(found[-1].text)
    assert (status["state"], status["next_seq"]) == ("running", 3)
    assert status["needs_you"] == {"kind": "question", "text": "Answer a question", "detail": "Which one?"}


def test_what_a_session_needs_changes_with_its_questions_and_gates(feed: Feed, writer: Archive) -> None:
    lease = writer.create("one", "/repo", "a title")
    gate = GateKind.CONTRACT
    steps = [
        (StateChanged(from_="created", to="running"), "none"),
        (QuestionAsked(id="q1", prompt="Which one?", expires_at=""), "question"),
        (QuestionAnswered(id="q1", answer="this"), "none"),
        (GateOpened(gate=gate, id=gate.id(), reason=gate.reason, detail=""), "contract"),
        (SessionFinished(outcome="cancelled", reason="", iterations=0, results=(), summary="", tree=""), "contract"),
        (StateChanged(from_="running", to="finished"), "none"),
    ]
    feed.look()
    found: list[str] = []
    for event, _ in steps:
        lease.write(event)
        feed.look()
        status = feed.status("one")
        assert status is not None
        found.append(status.needs_you.kind)

    assert found == [kind for _, kind in steps]


def test_the_board_goes_on_where_a_reader_was_and_begins_new_sessions_at_their_first_event(
    feed: Feed, writer: Archive
) -> None:
    one, two = writer.create("one", "/repo", "a"), writer.create("two", "/repo", "b")
    emit(one, 1, 4)
    emit(two, 1, 4)

    async def scene() -> list[Any]:
        feed.look()
        subscription = FollowedBoard(feed, positions_of({"one": 3}))
        three = writer.create("three", "/repo", "c")
        emit(three, 1, 2)
        emit(one, 5, 1)
        feed.look()
        return await read(subscription, 9)

    found = [(one["session"], one["seq"]) for one in anyio.run(scene)]

    assert sorted(found) == [
        *(("one", n) for n in (3, 4, 5)),
        *(("three", n) for n in (1, 2)),
        *(("two", n) for n in (1, 2, 3, 4)),
    ]
    assert all(
        [seq for id, seq in found if id == name] == sorted(seq for id, seq in found if id == name)
        for name in ("one", "two", "three")
    )


def test_a_board_without_a_position_begins_now(feed: Feed, writer: Archive) -> None:
    one = writer.create("one", "/repo", "a")
    emit(one, 1, 4)

    async def scene() -> tuple[Any, list[Any]]:
        feed.look()
        subscription = FollowedBoard(feed, None)
        start = subscription.start
        emit(one, 5, 1)
        feed.look()
        return start, await read(subscription, 1)

    start, found = anyio.run(scene)

    assert [(row["id"], row["next_seq"]) for row in start["sessions"]] == [("one", 5)]
    assert [one["seq"] for one in found] == [5]


def test_a_session_that_is_deleted_ends_its_subscription(feed: Feed, writer: Archive) -> None:
    lease = writer.create("one", "/repo", "a")
    emit(lease, 1, 1)

    async def scene() -> int:
        feed.look()
        count = 0
        async for one in aiter(FollowedSession(feed, "one", 1)):
            if one.kind == "event":
                count += 1
                lease.release()
                writer.delete("one")
                feed.look()
        return count

    assert anyio.run(scene) == 1
    assert feed.status("one") is None


@pytest.mark.parametrize("value", [1, -1, True, "x", [], {"one": "2"}, {"one": True}, {"one": -1}])
def test_a_position_that_is_none_is_refused(value: object) -> None:
    with pytest.raises(Exception, match="'from' must be"):
        positions_of(value)


@pytest.mark.parametrize(("value", "meaning"), [(None, None), (0, {}), ({}, {}), ({"one": 0}, {"one": 1})])
def test_positions_of_the_board(value: object, meaning: object) -> None:
    assert positions_of(value) == meaning
