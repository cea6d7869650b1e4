"""Triggers beside time: commits, files and red checks, noticed by polling, with real repositories and archives."""

import datetime
import os
import tempfile
from collections.abc import Generator
from datetime import UTC
from pathlib import Path

import pytest

from donewhen.errors import BadInput
from donewhen.event_records import CheckResult
from donewhen.events import BaselineCompleted, Landed, SessionStarted
from donewhen.loops.loop_store import LoopStore
from donewhen.loops.triggers import MOST_BYTES, Sighting, Watch
from donewhen.storage.archive import Archive
from loops.scheduler_scene import Scene, moment, stated
from repositories import git, write

NOW = datetime.datetime(2026, 11, 18, 9, 0, tzinfo=UTC)


@pytest.fixture
def top(tmp_path: Path) -> Path:
    root = tmp_path / "repo"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    commit(root, "first")
    return root


@pytest.fixture
def archive(tmp_path: Path) -> Generator[Archive]:
    archive = Archive.open(tmp_path / "state")
    yield archive
    archive.close()


@pytest.fixture
def file_store(tmp_path: Path) -> Generator[LoopStore]:
    store = LoopStore(tmp_path / "state")
    yield store
    store.close()


def commit(root: Path, text: str) -> str:
    write(root, {"a.txt": text})
    git(root, "add", "--all")
    git(root, "commit", "-q", "-m", text)
    return git(root, "rev-parse", "HEAD")


def scene_of(store: LoopStore, top: Path, *on: str, archive: Archive | None = None, overlap: str = "skip") -> Scene:
    loop = stated(schedule="daily 23:00", on=list(on), overlap=overlap)
    scene = Scene(store, loop, top=top, watch=Watch(archive))
    scene.tick("2026-11-18T09:00:00")
    return scene


def record(archive: Archive, session: str, top: Path, base: str, status: str) -> None:
    lease = archive.create(session, str(top), "try")
    started = SessionStarted(
        intent="try",
        repo=str(top),
        base=base,
        engine=None,
        model=None,
        contract={},
        isolation="",
        path_transparent=True,
    )
    lease.write(started, BaselineCompleted(results=(CheckResult("lint", "pass"), CheckResult("tests", status))))
    lease.release()


def test_the_first_look_records_and_a_new_commit_is_one_occurrence(file_store: LoopStore, top: Path) -> None:
    scene = scene_of(file_store, top, "commit:main")
    assert scene.started("2026-11-18T09:01:00") == []
    commit(top, "second")
    newest = commit(top, "third")
    assert scene.ran("2026-11-18T09:02:00") == [f"commit:main:{newest}"]
    assert (scene.rows()[0].trigger, scene.rows()[0].due_at) == ("commit:main", moment("2026-11-18T09:02:00"))
    assert scene.started("2026-11-18T09:03:00") == []


def test_a_commit_in_packed_references_and_of_another_branch_is_told_apart(file_store: LoopStore, top: Path) -> None:
    scene = scene_of(file_store, top, "commit:main")
    git(top, "switch", "-q", "-c", "side")
    commit(top, "elsewhere")
    git(top, "pack-refs", "--all")
    assert scene.started("2026-11-18T09:01:00") == []
    git(top, "switch", "-q", "main")
    newest = commit(top, "here")
    git(top, "pack-refs", "--all")
    assert scene.started("2026-11-18T09:02:00") == [f"commit:main:{newest}"]


def test_a_branch_that_is_put_back_is_another_occurrence_and_to_an_own_landing_it_is_none(
    file_store: LoopStore, top: Path, archive: Archive
) -> None:
    scene = scene_of(file_store, top, "commit:main", archive=archive)
    (second, own) = (commit(top, text) for text in ("a person's", "the loop's"))
    lease = archive.create("s1", str(top), "round")
    lease.write(Landed(branch="main", commit=own))
    lease.release()
    git(top, "update-ref", "refs/heads/main", second)
    assert scene.ran("2026-11-18T09:01:00") == [f"commit:main:{second}"]
    third = commit(top, "another of a person")
    assert scene.ran("2026-11-18T09:02:00") == [f"commit:main:{third}"]
    for minute, key in enumerate([f"{second}#2", f"{third}#2", f"{second}#3"], start=3):
        git(top, "update-ref", "refs/heads/main", key.partition("#")[0])
        assert scene.ran(f"2026-11-18T09:{minute:02}:00") == [f"commit:main:{key}"]
        assert scene.started(f"2026-11-18T09:{minute:02}:30") == []
    git(top, "update-ref", "refs/heads/main", own)
    assert scene.started("2026-11-18T09:06:00") == []
    assert any(line.endswith(f"for the commit {second[:8]} on main") for line in scene.said)


def test_two_schedulers_that_see_a_branch_put_back_start_one_round(file_store: LoopStore, top: Path) -> None:
    scene = scene_of(file_store, top, "commit:main")
    first = git(top, "rev-parse", "HEAD")
    second = commit(top, "second")
    scene.ran("2026-11-18T09:01:00")
    git(top, "update-ref", "refs/heads/main", first)
    scene.ran("2026-11-18T09:02:00")
    git(top, "update-ref", "refs/heads/main", second)
    look, other = Watch.look, Scene(file_store, *scene.loops, top=top)

    class LateWatch(Watch):
        """The other scheduler looks and runs its round between two steps of this one."""

        def look(self, trigger: str, top: Path) -> Sighting:
            found = look(self, trigger, top)
            assert other.ran("2026-11-18T09:03:00") == [f"commit:main:{second}#2"]
            return found

    late = Scene(file_store, *scene.loops, top=top, watch=LateWatch())
    assert late.started("2026-11-18T09:03:01") == []
    assert list(scene.statuses()) == [f"commit:main:{second}", f"commit:main:{first}", f"commit:main:{second}#2"]


def test_a_branch_that_does_not_exist_is_said_once(file_store: LoopStore, top: Path) -> None:
    scene = scene_of(file_store, top, "commit:mian")
    scene.tick("2026-11-18T09:01:00")
    assert [line for line in scene.said if "does not exist" in line] == [
        "/repo/.donewhen/loops/sweeper.toml: the branch of the trigger commit:mian does not exist"
    ]


def test_a_landing_of_the_loop_itself_is_no_trigger_and_one_of_a_person_is(
    file_store: LoopStore, top: Path, archive: Archive
) -> None:
    scene = scene_of(file_store, top, "commit:main", archive=archive)
    commit(top, "a person's")
    (start,) = scene.tick("2026-11-18T09:01:00").starts
    own = commit(top, "the loop's")
    lease = archive.create(start.claim.session, str(top), "round")
    lease.write(Landed(branch="main", commit=own))
    lease.release()
    scene.end(start, moment("2026-11-18T09:02:00"))
    assert scene.started("2026-11-18T09:03:00") == []
    theirs = commit(top, "another of a person")
    assert scene.started("2026-11-18T09:04:00") == [f"commit:main:{theirs}"]


def test_without_the_archive_the_own_landing_would_start_a_round(file_store: LoopStore, top: Path) -> None:
    scene = scene_of(file_store, top, "commit:main")
    commit(top, "a person's")
    (start,) = scene.tick("2026-11-18T09:01:00").starts
    own = commit(top, "the loop's")
    scene.end(start, moment("2026-11-18T09:02:00"))
    assert scene.started("2026-11-18T09:03:00") == [f"commit:main:{own}"]


def test_a_changed_file_is_an_occurrence_and_a_touched_or_removed_one_is_not(file_store: LoopStore, top: Path) -> None:
    write(top, {"docs/plan.md": "one"})
    scene = scene_of(file_store, top, "file:docs/plan.md")
    file = top / "docs/plan.md"
    os.utime(file, (1, 1))
    assert scene.started("2026-11-18T09:01:00") == []
    write(top, {"docs/plan.md": "two"})
    (first,) = scene.ran("2026-11-18T09:02:00")
    assert first.startswith("file:")
    file.unlink()
    assert scene.started("2026-11-18T09:03:00") == []
    write(top, {"docs/plan.md": "two"})
    os.utime(file, (2, 2))
    (again,) = scene.ran("2026-11-18T09:04:00")
    assert again != first


def test_a_link_or_a_large_file_is_said_once_and_time_still_counts(file_store: LoopStore, top: Path) -> None:
    (top / "link").symlink_to("/etc/hostname")
    with (top / "large").open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    scene = scene_of(file_store, top, "file:link", "file:large", "file:../outside", "commit:..")
    scene.tick("2026-11-18T09:01:00")
    assert len(scene.said) == 5
    for words in ("is a link", "more than 64 MiB", "outside", "does not name a branch"):
        assert any(words in line for line in scene.said), (words, scene.said)
    assert scene.started("2026-11-18T23:00:00") == ["2026-11-18T23:00:00Z"]


def test_a_red_baseline_of_the_present_commit_is_an_occurrence_once(
    file_store: LoopStore, top: Path, archive: Archive
) -> None:
    scene = scene_of(file_store, top, "check-red:tests", archive=archive)
    head = git(top, "rev-parse", "HEAD")
    record(archive, "aaaa", top, "0" * 40, "fail")
    assert scene.started("2026-11-18T09:01:00") == []
    record(archive, "bbbb", top, head, "pass")
    assert scene.started("2026-11-18T09:02:00") == []
    record(archive, "cccc", top, head, "fail")
    assert scene.ran("2026-11-18T09:03:00") == [f"check-red:tests:{head}"]
    record(archive, "dddd", top, head, "fail")
    assert scene.started("2026-11-18T09:04:00") == []
    commit(top, "next")
    assert scene.started("2026-11-18T09:05:00") == []


def test_everything_that_is_due_at_one_look_is_one_round(file_store: LoopStore, top: Path) -> None:
    scene = scene_of(file_store, top, "commit:main", "file:a.txt")
    newest = commit(top, "second")
    assert scene.ran("2026-11-18T23:00:00") == ["2026-11-18T23:00:00Z"]
    rows = {row.key.partition(":")[0]: row for row in scene.rows()}
    assert (rows["commit"].key, rows["commit"].coalesced_into) == (f"commit:main:{newest}", "2026-11-18T23:00:00Z")
    assert (rows["file"].status.value, rows["file"].coalesced_into) == ("coalesced", "2026-11-18T23:00:00Z")
    assert scene.started("2026-11-18T23:01:00") == []


@pytest.mark.parametrize("overlap", ["skip", "queue"])
def test_a_commit_during_a_round_is_skipped_with_a_row_or_waits(file_store: LoopStore, top: Path, overlap: str) -> None:
    scene = scene_of(file_store, top, "commit:main", overlap=overlap)
    commit(top, "second")
    (start,) = scene.tick("2026-11-18T09:01:00").starts
    third = commit(top, "third")
    assert scene.started("2026-11-18T09:02:00") == []
    scene.end(start, moment("2026-11-18T09:03:00"))
    assert scene.started("2026-11-18T09:04:00") == ([] if overlap == "skip" else [f"commit:main:{third}"])
    assert scene.statuses()[f"commit:main:{third}"] == ("skipped" if overlap == "skip" else "running")


def test_a_pause_forgets_what_was_seen_so_that_nothing_is_due_at_its_end(file_store: LoopStore, top: Path) -> None:
    scene = scene_of(file_store, top, "commit:main")
    file_store.pause(str(top), "sweeper", "stop")
    commit(top, "second")
    assert scene.started("2026-11-18T09:01:00") == []
    file_store.resume(str(top), "sweeper")
    assert scene.started("2026-11-18T09:02:00") == []
    assert scene.started("2026-11-18T09:03:00") == []
    third = commit(top, "third")
    assert scene.started("2026-11-18T09:04:00") == [f"commit:main:{third}"]


def test_the_branch_of_a_linked_worktree_is_read_from_the_shared_directory(top: Path) -> None:
    with tempfile.TemporaryDirectory() as place:
        linked = Path(place) / "linked"
        git(top, "worktree", "add", "-q", "-b", "side", str(linked))
        tip = commit(linked, "there")
        assert Watch().look("commit:side", linked).state == tip
        assert Watch().look("commit:side", top).state == tip
        assert Watch().look("check-red:x", linked).state == f"{tip} "


def test_a_directory_that_is_no_repository_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="is not in a git repository"):
        Watch().look("commit:main", tmp_path)
