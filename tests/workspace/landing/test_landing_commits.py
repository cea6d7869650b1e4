"""The landed commit: the user's own name, the recorded time, the same id for the same inputs."""

import datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from landing_work import AT, commit_of, is_sound, store_of, work

from donewhen.workspace.git.landing.branches import move_branch
from donewhen.workspace.git.landing.commits import commit_for, identity, stamp
from donewhen.workspace.git.landing.deliver_objects import deliver
from repositories import git, repository

pytestmark = pytest.mark.anyio


async def test_the_same_inputs_give_the_same_commit_and_others_another(tmp_path: Path) -> None:
    root = repository(tmp_path / "r")
    async with store_of(root, tmp_path / "state") as store:
        tree = await work(store, {b"b": b"b\n"})
        assert commit_of(store, tree) == commit_of(store, tree)
        others = {commit_of(store, tree, message="other"), commit_of(store, await store.tree_of(store.repo.head))}
        assert commit_of(store, tree) not in others


async def test_the_commit_equals_the_one_that_git_would_make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = repository(tmp_path / "r")
    git(root, "config", "user.name", " Jos\u00e9 <of> the .Tests.")
    git(root, "config", "user.email", "jose@example.invalid")
    for variable in ("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL", "EMAIL"):
        monkeypatch.delenv(variable, raising=False)
    async with store_of(root, tmp_path / "state") as store:
        made = commit_of(store, await store.tree_of(store.repo.head))
        (content,) = await store.bare.contents([made])
    assert b"author Jos\xc3\xa9 of the .Tests <jose@example.invalid> 1749283750 +0000\n" in content
    assert content.endswith(b"\n\nthe work\n")


SAID: list[tuple[dict[str, str], dict[str, str], str]] = [
    ({}, {}, "donewhen <donewhen@localhost>"),
    ({"user.name": "U"}, {}, "donewhen <donewhen@localhost>"),
    ({"user.name": "U", "user.email": "u@x"}, {}, "U <u@x>"),
    ({"user.name": "U"}, {"EMAIL": "e@x"}, "U <e@x>"),
    ({"user.name": "U", "user.email": "u@x", "author.name": "A"}, {}, "A <u@x>"),
    ({"user.name": "U", "user.email": "u@x"}, {"GIT_AUTHOR_NAME": "V"}, "V <u@x>"),
    ({"user.name": "U", "user.email": "u@x"}, {"GIT_COMMITTER_NAME": "V"}, "U <u@x>"),
    ({"user.name": "<>", "user.email": "u@x"}, {}, "donewhen <donewhen@localhost>"),
]


@pytest.mark.parametrize(("settings", "variables", "person"), SAID)
async def test_the_user_s_identity_follows_git_s_order(
    tmp_path: Path, settings: dict[str, str], variables: dict[str, str], person: str
) -> None:
    root = repository(tmp_path / "r")
    for key, value in settings.items():
        git(root, "config", key, value)
    async with store_of(root, tmp_path / "state") as store:
        assert identity(store.repo, "author", variables) == person


async def test_a_landed_commit_shows_its_author_and_time_in_the_user_s_log(tmp_path: Path) -> None:
    root = repository(tmp_path / "r")
    async with store_of(root, tmp_path / "state") as store:
        east = AT.astimezone(datetime.timezone(datetime.timedelta(hours=5, minutes=30)))
        tree = await work(store, {b"b": b"b\n"})
        made = commit_for(store, store.repo, tree=tree, parent=store.repo.head, message="line\n\nbody\0!", at=east)
        await deliver(store, store.repo, made)
        move_branch(store.repo, "work", None, made)
    shown = git(root, "log", "-1", "--format=%an <%ae> %ai|%B", "work")
    assert shown == "donewhen <donewhen@localhost> 2025-06-07 13:39:10 +0530|line\n\nbody!"
    is_sound(root)


def test_a_time_without_a_zone_is_refused_by_the_stamp() -> None:
    with pytest.raises(ValueError, match="has no time zone"):
        stamp(datetime.datetime(2025, 1, 1))  # noqa: DTZ001 - the point of this test is that it has no zone


@given(st.integers(0, 4_000_000_000), st.integers(-14 * 60, 14 * 60))
def test_a_stamp_reads_back_as_the_same_moment(moment: int, minutes: int) -> None:
    at = datetime.datetime.fromtimestamp(moment, datetime.timezone(datetime.timedelta(minutes=minutes)))
    seconds, zone = stamp(at).split(" ")
    assert int(seconds) == moment
    assert datetime.datetime.strptime(zone, "%z").utcoffset() == at.utcoffset()
