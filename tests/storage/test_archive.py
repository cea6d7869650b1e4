"""Records written to the archive are read again: numbers, times, summaries, search. On both databases."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from places import DEAD, RUNNING, SAID, Place, says, texts

from donewhen.errors import BadInput, MachineryBroke
from donewhen.events import Error, Event, PlanText, SessionFinished, StateChanged
from donewhen.storage.archive import Archive
from donewhen.storage.lease import LeaseLost
from tiers import examples


def finished(outcome: str) -> Event:
    return SessionFinished(outcome=outcome, reason="why", iterations=1, results=(), summary="", tree="")


def test_events_are_numbered_from_one_and_notes_only_have_a_position(place: Place) -> None:
    archive = place.open()
    lease = archive.create("a", "/r", "title")
    lease.write(SAID, RUNNING)
    wrote = lease.write(SAID, note=("turn", {"role": "maker"}))
    assert [(record.position, record.seq, record.kind) for record in wrote] == [(3, None, "turn"), (4, 3, "plan_text")]
    kept = list(archive.records("a"))
    assert [record.position for record in kept] == [1, 2, 3, 4]
    assert [record.seq for record in archive.events("a")] == [1, 2, 3]
    assert kept[2:] == wrote
    assert [record.position for record in archive.records("a", after=2)] == [3, 4]
    assert [record.position for record in archive.records("a", kinds={"turn", "state_changed"})] == [2, 3]
    assert list(archive.records("a", kinds=())) == []
    assert [record.seq for record in archive.events("a", after_seq=2)] == [3]


def test_a_public_record_gives_the_promised_line(place: Place) -> None:
    (record,) = place.open().create("a", "/r", "title").write(RUNNING)
    line = record.line()
    assert list(line) == ["seq", "at", "session", "type", "from", "to"]
    assert line | {"at": ""} == {
        "seq": 1, "at": "", "session": "a", "type": "state_changed", "from": "created", "to": "running",
    }  # fmt: skip
    assert len(record.at) == len("2026-01-01T00:00:00.000Z") and record.at.endswith("Z")


def test_times_of_a_session_never_run_backwards(place: Place) -> None:
    archive = place.open()
    lease = archive.create("a", "/r", "title")
    archive._connection.run("UPDATE donewhen_sessions SET last_at = ?", "2999-01-01T00:00:00.000Z")  # pyright: ignore[reportPrivateUsage] - a clock that was set back
    assert [record.at for record in lease.write(SAID, SAID)] == ["2999-01-01T00:00:00.000Z"] * 2


def test_a_row_follows_the_state_and_the_outcome_of_its_session(place: Place) -> None:
    archive = place.open()
    lease = archive.create("a", "/r", "title")

    def shown() -> tuple[str, str, str]:
        (row,) = archive.sessions()
        return row.state, row.outcome, row.reason

    assert shown() == ("created", "", "")
    lease.write(RUNNING)
    assert shown() == ("running", "", "")
    lease.write(finished("red"), StateChanged(from_="running", to="finished"))
    assert shown() == ("finished", "red", "why")
    lease.write(StateChanged(from_="finished", to="running"))
    assert shown() == ("running", "", "")
    lease.write(StateChanged(from_="running", to="finished"), finished("verified"))
    assert shown() == ("finished", "verified", "why")
    assert archive.sessions()[0].events == 6


def test_sessions_are_listed_newest_first_and_by_repository(place: Place) -> None:
    archive = place.open()
    for name in ("one", "two", "three"):
        archive.create(name, f"/{name[0]}", name)
        archive._connection.run(  # pyright: ignore[reportPrivateUsage] - sessions are not made within one millisecond
            "UPDATE donewhen_sessions SET created_at = ? WHERE id = ?", f"2026-0{len(name)}", name
        )
    assert [row.id for row in archive.sessions()] == ["three", "one", "two"]
    assert [row.id for row in archive.sessions(repo="/t")] == ["three", "two"]
    assert [row.id for row in archive.sessions(limit=1)] == ["three"]
    assert archive.sessions(repo="/elsewhere") == []


def test_a_session_is_found_by_a_prefix_of_its_id(place: Place) -> None:
    archive = place.open()
    for name in ("abc1", "abc2", "abc", "b_1", "bx1"):
        archive.create(name, f"/{name}", "")
    assert archive.find("abc1") == "abc1"
    assert archive.find("abc") == "abc"
    assert archive.find("b_") == "b_1"
    assert archive.find("ab", repo="/abc2") == "abc2"
    with pytest.raises(BadInput, match=r"^'ab' is ambiguous; it matches these sessions: abc.*, abc.*, abc.*$"):
        archive.find("ab")
    with pytest.raises(BadInput, match=r"^there is no session 'c%'$"):
        archive.find("c%")


def test_an_id_is_unique_and_must_be_a_plain_word(place: Place) -> None:
    archive = place.open()
    archive.create("a", "/r", "title")
    with pytest.raises(BadInput, match=r"^session a already"):
        archive.create("a", "/r", "title")
    for name in ("", "../a", "a/b", ".a", "a" * 101, "a\n"):
        with pytest.raises(BadInput, match="is not a valid session id"):
            archive.create(name, "/r", "title")


def test_a_deleted_session_leaves_nothing_and_its_writer_loses_the_lease(place: Place) -> None:
    archive = place.open()
    lease, other = archive.create("a", "/r", "title"), archive.create("b", "/r", "title")
    lease.write(SAID)
    other.write(SAID)
    archive.delete("a")
    assert list(archive.records("a")) == [] and [row.id for row in archive.sessions()] == ["b"]
    assert not place.log("a").exists()
    assert len(list(archive.events("b"))) == 1
    with pytest.raises(LeaseLost, match="was deleted"):
        lease.write(SAID)
    with pytest.raises(BadInput, match="there is no session 'a'"):
        archive.delete("a")
    archive.create("a", "/r", "again").write(SAID)


def test_a_session_that_another_process_works_on_is_not_deleted(place: Place) -> None:
    worker = place.start("archive.create('a', '/r', 'title')\nready()")
    assert says(worker) == "ready"
    archive = place.open()
    with pytest.raises(BadInput, match=f"^process {worker.pid} on .* is working on session"):
        archive.delete("a")
    worker.kill()
    worker.wait()
    archive.delete("a")


def test_unusual_texts_are_stored_unchanged(place: Place) -> None:
    archive = place.open()
    lease = archive.create("a", "/r\udcff\0", "title\0\udcff")
    odd = "NUL \0 lone \udcff \ud800 line\u2028 emoji 😀 quote ' ? %s"
    lease.write(PlanText(text=odd), note=("odd", {odd: [odd, None, 1.5, True]}))
    note, event = archive.records("a")
    assert event.body["text"] == odd and note.body == {odd: [odd, None, 1.5, True]}
    assert [row.id for row in archive.sessions(repo="/r\udcff\0")] == ["a"]
    lease.write(note=("numbers", {"a": float("nan"), "b": [float("inf")], "c": 10**30}))
    assert list(archive.records("a"))[-1].body == {"a": None, "b": [None], "c": 10**30}


def test_an_overlong_or_invalid_value_is_refused_and_nothing_is_written(place: Place) -> None:
    archive = place.open()
    lease = archive.create("a", "/r", "title")
    with pytest.raises(MachineryBroke, match="too long for the log"):
        lease.write(SAID, PlanText(text="x" * 9_000_000))
    with pytest.raises(TypeError, match="PosixPath cannot be stored in the log"):
        lease.write(SAID, note=("note", {"path": Path("/")}))
    assert lease.write() == [] and list(archive.records("a")) == []


def test_many_records_are_read_in_pages(place: Place) -> None:
    archive = place.open()
    lease = archive.create("a", "/r", "title")
    lease.write(*(PlanText(text=str(n)) for n in range(350)))
    assert texts(list(archive.events("a"))) == [str(n) for n in range(350)]


def test_written_records_are_there_when_the_archive_is_opened_again(place: Place) -> None:
    first = place.open()
    first.create("a", "/r", "title", owner=DEAD).write(SAID, sync=True)
    second = place.open()
    assert texts(list(second.events("a"))) == ["said"]
    second.claim("a").write(Error(kind="k", message="m"))
    assert [record.seq for record in first.events("a")] == [1, 2]


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=st.dictionaries(st.text(), values, max_size=4))
def test_any_plain_body_comes_back_equal_from_database_and_log_file(sqlite: Place, body: dict[str, object]) -> None:
    archive = Archive.open(sqlite.directory)
    lease = archive.claim("a", force=True) if archive.sessions() else archive.create("a", "/r", "title")
    (wrote,) = lease.write(note=("note", body))
    archive.close()
    assert wrote.body == body
    line = sqlite.log("a").read_bytes().splitlines()[-1]
    assert json.loads(line[9:])["body"] == body
