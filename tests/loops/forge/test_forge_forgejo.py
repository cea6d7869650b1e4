"""Forgejo and Gitea by the same client: where their API differs from GitHub's."""

from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import pytest

from donewhen.loops.forge.access import Patience, Token
from donewhen.loops.forge.connect import open_forge
from donewhen.loops.forge.forge import Forge, ForgeFailed, NewPullRequest
from donewhen.loops.forge.marker import Marker, marked_text
from donewhen.loops.forge.push import Pushed, push_branch
from donewhen.loops.forge.remote import ForgePlace, Remote, forge_place
from forge_server import ME, Answers, Drops, ForgeServer, running_forge
from repositories import commit, git, opened, write

pytestmark = pytest.mark.anyio
MARKER = Marker("ci-sweeper", "s1", "f1")
NEW = NewPullRequest(title="Fix the tests", body=marked_text("It was red.", MARKER), branch="work", base="main")


@pytest.fixture
def server(tmp_path: Path) -> Generator[ForgeServer]:
    with running_forge(tmp_path / "forge", is_forgejo=True) as server:
        yield server


@pytest.fixture
def place(server: ForgeServer) -> ForgePlace:
    return forge_place(Remote("127.0.0.1", server.owner, server.name), server.address, "FORGE_TOKEN", "forgejo")


@pytest.fixture
async def forge(server: ForgeServer, place: ForgePlace) -> AsyncGenerator[Forge]:
    async with open_forge(place, Token("FORGE_TOKEN", server.token), Patience(first_wait_secs=0.01)) as forge:
        yield forge


async def test_a_draft_is_marked_by_its_title(server: ForgeServer, forge: Forge) -> None:
    server.push("work", {"a": "a"})
    pull = await forge.open_pull(NEW)
    assert (pull.title, pull.branch, pull.marker) == ("WIP: Fix the tests", "work", MARKER)
    assert [one.number for one in await forge.marked_pulls("ci-sweeper")] == [1]


async def test_a_lost_answer_opens_one_pull_request(server: ForgeServer, forge: Forge) -> None:
    server.push("work", {"a": "a"})
    server.fail("pulls/create", Drops(after_effect=True))
    assert (await forge.open_pull(NEW)).number == 1
    assert len(server.world.items) == 1


async def test_a_duplicate_is_a_conflict(server: ForgeServer, forge: Forge) -> None:
    server.push("work", {"a": "a"})
    server.pull("work")
    with pytest.raises(ForgeFailed, match="ada has opened pull request 1") as refused:
        await forge.open_pull(NEW)
    assert refused.value.status == 409


async def test_the_branch_of_a_closed_request_is_known_after_its_deletion(server: ForgeServer, forge: Forge) -> None:
    server.push("work", {"a": "a"})
    await forge.open_pull(NEW)
    server.close(1)
    git(server.bare, "update-ref", "-d", "refs/heads/work")
    for number in range(120):
        server.pull(f"b{number}", author=ME)
    found = await forge.newest_pull("work")
    assert found is not None
    assert (found.number, found.is_open) == (1, False)
    assert server.count("pulls/list") > 3


async def test_many_requests_of_other_people_are_not_read(server: ForgeServer, forge: Forge) -> None:
    server.push("work", {"a": "a"})
    server.pull("work", title="old")
    server.close(1)
    for number in range(1010):
        server.pull(f"b{number}")
        server.close(number + 2)
    assert await forge.newest_pull("work") is None
    assert (await forge.open_pull(NEW)).number == 1012
    assert [one.number for one in await forge.marked_pulls()] == [1012]
    before = server.count("pulls/list")
    found = await forge.newest_pull("work")
    assert found is not None and found.number == 1012
    assert server.count("pulls/list") == before + 1


async def test_a_branch_is_not_said_to_have_no_request_if_our_own_cannot_be_read_to_their_end(
    server: ForgeServer, forge: Forge
) -> None:
    for number in range(1001):
        server.pull(f"b{number}", author=ME)
        server.close(number + 1)
    with pytest.raises(ForgeFailed, match="octo/widgets has more pulls than can be read"):
        await forge.newest_pull("work")


async def test_the_branch_of_a_fork_is_not_ours(server: ForgeServer, forge: Forge) -> None:
    server.push("work", {"a": "a"})
    server.pull("work", body=str(MARKER), author=ME, fork_owner="mallory")
    assert await forge.newest_pull("work") is None
    assert await forge.marked_pulls() == ()


async def test_every_closed_request_counts_as_refused_and_a_merged_one_does_not(
    server: ForgeServer, forge: Forge
) -> None:
    server.push("work", {"a": "a"})
    server.push("second", {"b": "b"})
    for branch in ("work", "second"):
        await forge.open_pull(NewPullRequest(title="t", body=str(MARKER), branch=branch, base="main"))
    server.close(1)
    server.merge(2)
    assert [(await forge.state(number)).is_refused for number in (1, 2)] == [True, False]


async def test_comments_labels_and_bodies_are_written_once(server: ForgeServer, forge: Forge) -> None:
    server.push("work", {"a": "a"})
    await forge.open_pull(NEW)
    made = await forge.comment(1, marked_text("Look.", MARKER))
    assert made == await forge.comment(1, marked_text("Look again.", MARKER))
    assert await forge.add_labels(1, ["bug"]) == ("bug",)
    assert (await forge.update_body(1, "other")).body == "other"


async def test_a_push_uses_the_address_beside_the_api(server: ForgeServer, place: ForgePlace, tmp_path: Path) -> None:
    write(server.checkout, {"a": "a"})
    made = commit(server.checkout)
    async with opened(server.checkout, tmp_path / "store") as store:
        pushed = await push_branch(store, place, Token("FORGE_TOKEN", server.token), made, "work")
    assert pushed is Pushed.CREATED
    assert server.world.commit_of("work") == made


async def test_a_token_that_cannot_say_whose_it_is_does_nothing(server: ForgeServer, place: ForgePlace) -> None:
    refused = "token does not have at least one of required scope(s): [read:user]"
    server.fail("users/get-authenticated", Answers(403, refused))
    with pytest.raises(ForgeFailed, match="the token in FORGE_TOKEN needs the scope read:user"):
        async with open_forge(place, Token("FORGE_TOKEN", server.token)) as forge:
            await forge.open_pull(NEW)
    assert [one.operation for one in server.received] == ["users/get-authenticated"]
