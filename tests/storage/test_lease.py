"""One writer per session: claims, generations, lost leases. On both databases, with real processes where it matters."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from places import DEAD, SAID, Place, says, tell, texts

from donewhen.errors import BadInput
from donewhen.events import PlanText
from donewhen.storage.archive import Archive
from donewhen.storage.lease import Lease, LeaseLost
from donewhen.storage.owner import Owned, Owner

RACES = 50


def test_a_session_is_owned_by_the_process_that_made_it(place: Place) -> None:
    archive = place.open()
    lease = archive.create("a", "/r", "title")
    assert lease.session == "a" and lease.generation == 1
    assert archive.owner("a") == Owner.here()
    with pytest.raises(Owned, match=f"^process {Owner.here().pid} on .* is working on session a$") as caught:
        archive.claim("a")
    assert caught.value.owner == Owner.here() and caught.value.exit_code == 2
    lease.write(SAID)


def test_a_dead_owner_is_replaced_at_the_next_generation_and_can_no_longer_write(place: Place) -> None:
    archive = place.open()
    old = archive.create("a", "/r", "title", owner=DEAD)
    old.write(SAID)
    new = archive.claim("a")
    assert new.generation == 2
    with pytest.raises(
        LeaseLost, match=f"^session a belongs to process {Owner.here().pid} on .* now; this process cannot write"
    ):
        old.write(SAID, note=("note", {}))
    old.release()
    assert archive.owner("a") == Owner.here()
    assert [record.seq for record in new.write(SAID)] == [2]
    assert [record.position for record in archive.records("a")] == [1, 2]


def test_a_released_session_has_no_owner_and_may_be_claimed(place: Place) -> None:
    archive = place.open()
    lease = archive.create("a", "/r", "title")
    lease.release()
    assert archive.owner("a") is None
    with pytest.raises(LeaseLost, match="was released"):
        lease.write(SAID)
    assert archive.claim("a").generation == 2
    assert archive.owner("a") == Owner.here()


def test_an_owner_on_another_host_is_replaced_only_on_explicit_request(place: Place) -> None:
    archive = place.open()
    archive.create("a", "/r", "title", owner=replace(DEAD, host="elsewhere"))
    with pytest.raises(Owned, match="on elsewhere"):
        archive.claim("a")
    assert archive.claim("a", force=True).generation == 2


def test_a_session_that_does_not_exist_cannot_be_claimed(place: Place) -> None:
    archive = place.open()
    with pytest.raises(BadInput, match=r"^there is no session 'a'$"):
        archive.claim("a")
    assert archive.owner("a") is None


def test_a_stopped_writer_is_not_replaced_and_a_killed_one_is(place: Place) -> None:
    worker = place.start("lease = archive.create('a', '/r', 'title')\nlease.write(PlanText(text='one'))\nready()")
    assert says(worker) == "ready"
    archive = place.open()
    worker.send_signal(19)
    with pytest.raises(Owned, match=f"process {worker.pid} "):
        archive.claim("a")
    worker.kill()
    worker.wait()
    assert archive.claim("a").generation == 2
    assert texts(list(archive.events("a"))) == ["one"]


CLAIM = """
for n in range(int(sys.argv[3])):
    ready()
    try:
        archive.claim(f"s{n}").write(PlanText(text=str(os.getpid())))
        print("won", flush=True)
    except DonewhenError:
        print("lost", flush=True)
ready()
"""


def test_when_two_processes_claim_at_once_exactly_one_wins(place: Place) -> None:
    archive = place.open()
    for number in range(RACES):
        archive.create(f"s{number}", "/r", "title", owner=DEAD)
    racers = [place.start(CLAIM, RACES) for _ in range(2)]
    for number in range(RACES):
        assert [says(racer) for racer in racers] == ["ready", "ready"]
        for racer in racers:
            tell(racer)
        assert sorted(says(racer) for racer in racers) == ["lost", "won"], number
        (event,) = archive.events(f"s{number}")
        owner = archive.owner(f"s{number}")
        assert owner and event.body["text"] == str(owner.pid)


steps = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from(["claim", "event", "events", "note", "both", "release"])),
    max_size=30,
)


def take(lease: Lease, step: str, said: str) -> tuple[int, int]:
    """The number of written events and notes."""
    event = PlanText(text=said)
    match step:
        case "event":
            return len(lease.write(event)), 0
        case "events":
            return len(lease.write(event, event, event)), 0
        case "note":
            return 0, len(lease.write(note=("note", {"said": said})))
        case "both":
            return len(lease.write(event, note=("note", {"said": said}))) - 1, 1
        case _:
            return 0, 0


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=steps)
def test_any_order_of_claims_and_writes_keeps_numbers_complete_and_old_writers_out(
    place: Place, steps: list[tuple[int, str]]
) -> None:
    """Three writers with separate connections; a model of who may write gives the expected result."""
    writers = [Archive.open(place.directory, place.url) for _ in range(3)]
    session = f"s{len(writers[0].sessions())}"
    leases: dict[int, Lease] = {0: writers[0].create(session, "/r", "title", owner=DEAD)}
    holder, events, notes = 0, 0, 0
    for number, (who, step) in enumerate(steps):
        if step == "claim":
            leases[who], holder = writers[who].claim(session, DEAD), who
        elif who in leases and step == "release":
            leases[who].release()
            holder = -1 if who == holder else holder
        elif who in leases and who == holder:
            wrote = take(leases[who], step, str(number))
            events, notes = events + wrote[0], notes + wrote[1]
        elif who in leases:
            with pytest.raises(LeaseLost):
                take(leases[who], step, str(number))
    for archive in writers:
        records = list(archive.records(session))
        assert [record.position for record in records] == list(range(1, events + notes + 1))
        assert [record.seq for record in records if record.seq] == list(range(1, events + 1))
        assert [record.at for record in records] == sorted(record.at for record in records)
        archive.close()
