"""One approval has one effect on the forge, whatever happens to the answer; and what other people did is seen."""

import anyio
import anyio.lowlevel
import httpx2
import pytest
from gidgethub.httpx import GitHubAPI

from donewhen.loops.forge.access import Patience, Token
from donewhen.loops.forge.connect import open_forge
from donewhen.loops.forge.forge import Account, Forge, ForgeFailed, Later, NewPullRequest
from donewhen.loops.forge.marker import Marker, marked_text
from donewhen.loops.forge.remote import ForgePlace
from forge_server import BOT, ME, PERSON, Answers, Drops, Fault, ForgeServer, Hangs, User

pytestmark = pytest.mark.anyio
MARKER = Marker("ci-sweeper", "s1", "f1")
QUICK = Patience(tries=3, first_wait_secs=0.01, longest_wait_secs=0.5, timeout_secs=5.0)
LOST = [Drops(after_effect=True), Answers(502), Drops(), Answers(500)]


def new(branch: str = "work", marker: Marker = MARKER) -> NewPullRequest:
    return NewPullRequest(title="Fix the tests", body=marked_text("It was red.", marker), branch=branch, base="main")


@pytest.fixture
def work(server: ForgeServer) -> str:
    return server.push("work", {"fix.py": "1\n"})


async def test_a_pull_request_is_opened_as_a_draft_with_its_marker(
    server: ForgeServer, forge: Forge, work: str
) -> None:
    pull = await forge.open_pull(new())
    assert (pull.number, pull.branch, pull.head, pull.base) == (1, "work", work, "main")
    assert pull.is_draft
    assert pull.is_open
    assert pull.marker == MARKER
    assert server.item(1).draft
    assert await forge.newest_pull("work") == pull
    assert await forge.newest_pull("other") is None


@pytest.mark.parametrize("fault", LOST)
async def test_a_lost_answer_opens_one_pull_request(server: ForgeServer, forge: Forge, work: str, fault: Fault) -> None:
    server.fail("pulls/create", fault)
    assert (await forge.open_pull(new())).number == 1
    assert len(server.world.items) == 1


async def test_a_repetition_after_a_crash_finds_what_was_opened(
    server: ForgeServer, place: ForgePlace, token: Token, work: str
) -> None:
    server.fail("pulls/create", Hangs(after_effect=True))
    async with open_forge(place, token, QUICK) as killed, anyio.create_task_group() as tasks:
        tasks.start_soon(killed.open_pull, new())
        while not server.world.items:
            await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()
    async with open_forge(place, token, QUICK) as forge:
        assert (await forge.open_pull(new())).number == 1
    assert len(server.world.items) == 1


async def test_a_write_without_any_answer_ends_after_a_few_requests(
    server: ForgeServer, forge: Forge, work: str
) -> None:
    server.fail("pulls/create", *[Drops()] * 9)
    with pytest.raises(Later, match="no answer"):
        await forge.open_pull(new())
    assert server.count("pulls/create") == QUICK.tries
    assert server.world.items == {}


async def test_a_write_that_a_limit_stopped_is_repeated(server: ForgeServer, forge: Forge, work: str) -> None:
    server.fail("pulls/create", Answers(403, "secondary rate limit", {"Retry-After": "0"}))
    assert (await forge.open_pull(new())).number == 1


async def test_a_repetition_does_not_reopen_what_a_person_closed(server: ForgeServer, forge: Forge, work: str) -> None:
    await forge.open_pull(new())
    server.close(1)
    again = await forge.open_pull(new())
    assert (again.number, again.is_open) == (1, False)
    assert server.count("pulls/create") == 1


async def test_a_duplicate_is_found_instead_of_failing(server: ForgeServer, forge: Forge, work: str) -> None:
    """Control: the server refuses it with GitHub's sentence."""
    await forge.open_pull(new())
    again = await forge.open_pull(new(marker=Marker("ci-sweeper", "s2", "f2")))
    assert again.number == 1
    assert server.count("pulls/create") == 2
    assert len(server.world.items) == 1


async def test_a_pull_request_of_a_person_on_our_branch_is_not_ours(
    server: ForgeServer, forge: Forge, work: str
) -> None:
    server.pull("work", body=str(MARKER))
    with pytest.raises(ForgeFailed, match="ada has opened pull request 1 of the branch work"):
        await forge.open_pull(new())


async def test_a_request_that_its_owner_opened_by_hand_is_the_one_of_the_branch(
    server: ForgeServer, forge: Forge, work: str
) -> None:
    server.pull("work", author=ME)
    assert (await forge.open_pull(new())).number == 1


@pytest.mark.parametrize(
    ("branch", "said"), [("missing", "head: invalid"), ("main", "No commits between main and main")]
)
async def test_a_branch_that_cannot_be_merged_is_one_line(forge: Forge, branch: str, said: str) -> None:
    with pytest.raises(ForgeFailed, match=f"refused a request with 422: Validation Failed; {said}") as refused:
        await forge.open_pull(new(branch))
    assert refused.value.status == 422


async def test_only_our_own_marked_pull_requests_count(server: ForgeServer, forge: Forge, work: str) -> None:
    await forge.open_pull(new())
    server.push("second", {"b": "b"})
    await forge.open_pull(new("second", Marker("other-loop", "s2", "f2")))
    server.pull("person", body=str(MARKER))
    server.pull("work", body=str(MARKER), author=ME, fork_owner="mallory")
    server.pull("plain", author=ME)
    server.push("third", {"c": "c"})
    await forge.open_pull(new("third", Marker("ci-sweeper", "s3", "f3")))
    server.close(6)
    assert [pull.number for pull in await forge.marked_pulls()] == [2, 1]
    assert [pull.number for pull in await forge.marked_pulls("ci-sweeper")] == [1]


async def test_the_newest_pull_request_of_a_branch_is_not_that_of_a_fork(server: ForgeServer, forge: Forge) -> None:
    server.push("work", {"a": "a"})
    server.pull("work")
    server.close(1)
    server.pull("work", fork_owner="mallory")
    found = await forge.newest_pull("work")
    assert found is not None
    assert (found.number, found.is_open, found.author) == (1, False, Account("ada"))


async def test_all_pages_of_a_list_are_read(server: ForgeServer, forge: Forge) -> None:
    for number in range(230):
        server.pull(f"b{number}", body=str(MARKER), author=ME, fork_owner="" if number == 3 else "mallory")
    assert [pull.branch for pull in await forge.marked_pulls()] == ["b3"]
    assert server.count("pulls/list") == 3


async def test_a_list_that_is_too_long_is_not_taken_for_a_short_one(server: ForgeServer, forge: Forge) -> None:
    issue = server.issue("busy")
    for _ in range(2001):
        server.comment(issue, "+1")
    with pytest.raises(ForgeFailed, match="has more issues/1/comments than can be read"):
        await forge.comment(issue, "hello")
    assert server.count("issues/create-comment") == 0


@pytest.mark.parametrize("fault", LOST)
async def test_a_lost_answer_makes_one_comment(server: ForgeServer, forge: Forge, fault: Fault) -> None:
    issue = server.issue("broken")
    server.comment(issue, marked_text("quoted by a person", MARKER))
    server.fail("issues/create-comment", fault)
    made = await forge.comment(issue, marked_text("Cause found.", MARKER))
    assert made == await forge.comment(issue, marked_text("Cause found, in other words.", MARKER))
    assert [one.author.login for one in await forge.comments(issue)] == ["ada", ME.login]


async def test_control_a_client_that_only_repeats_makes_two_comments(server: ForgeServer, place: ForgePlace) -> None:
    issue = server.issue("broken")
    server.fail("issues/create-comment", Drops(after_effect=True))
    async with httpx2.AsyncClient(headers={"x-github-api-version": "2022-11-28"}) as client:
        plain = GitHubAPI(client, "test", oauth_token=server.token, base_url=place.api_url)
        path = f"/repos/{place.repository}/issues/{issue}/comments"
        with pytest.raises(httpx2.HTTPError):
            await plain.post(path, data={"body": "Cause found."})
        await plain.post(path, data={"body": "Cause found."})
    assert len(server.item(issue).comments) == 2


@pytest.mark.parametrize("fault", LOST)
async def test_a_body_and_labels_survive_a_lost_answer(
    server: ForgeServer, forge: Forge, work: str, fault: Fault
) -> None:
    await forge.open_pull(new())
    server.fail("pulls/update", fault)
    server.fail("issues/add-labels", fault)
    assert (await forge.update_body(1, "new text")).body == "new text"
    assert await forge.add_labels(1, ["bug", "loop"]) == ("bug", "loop")
    assert server.item(1).labels == ["bug", "loop"]


@pytest.mark.parametrize(
    ("by", "reason", "is_refused"),
    [(PERSON, None, True), (PERSON, "not_planned", True), (BOT, "not_planned", False), (User("robot"), None, True)],
)
async def test_a_request_that_a_person_closed_is_refused(
    server: ForgeServer, forge: Forge, work: str, by: User, reason: str | None, is_refused: bool
) -> None:
    await forge.open_pull(new())
    assert not (await forge.state(1)).is_refused
    server.close(1, by, reason)
    state = await forge.state(1)
    assert state.closed_by == Account(by.login, by.type == "Bot")
    assert (state.is_pull, state.is_open, state.reason) == (True, False, reason or "")
    assert state.is_refused is is_refused


async def test_a_merged_request_is_not_refused(server: ForgeServer, forge: Forge, work: str) -> None:
    await forge.open_pull(new())
    server.merge(1)
    state = await forge.state(1)
    assert (state.is_merged, state.is_refused) == (True, False)


async def test_a_person_who_shares_the_token_may_refuse(server: ForgeServer, forge: Forge, work: str) -> None:
    server.world.me = PERSON
    await forge.open_pull(new())
    server.close(1, PERSON)
    assert (await forge.state(1)).is_refused


async def test_a_token_of_an_app_works_although_it_may_not_ask_who_it_is(
    server: ForgeServer, forge: Forge, work: str
) -> None:
    server.fail("users/get-authenticated", Answers(403, "Resource not accessible by integration"))
    server.pull("person", body=str(MARKER))
    server.pull("backport/s1", title="a copy", body=str(MARKER), author=User("Copilot", "Bot"))
    server.pull("backport", title="another copy", body=str(MARKER), author=BOT)
    server.push("donewhen/s1", {"fix.py": "1\n"})
    await forge.open_pull(new("donewhen/s1"))
    assert (await forge.me()).login == ""
    assert [pull.branch for pull in await forge.marked_pulls()] == ["donewhen/s1"]


async def test_a_request_of_another_bot_is_not_ours_for_a_token_of_an_app(
    server: ForgeServer, forge: Forge, work: str
) -> None:
    server.fail("users/get-authenticated", Answers(403, "Resource not accessible by integration"))
    server.pull("work", body="no marker", author=BOT)
    with pytest.raises(ForgeFailed, match=r"stale\[bot\] has opened pull request 1 of the branch work"):
        await forge.open_pull(new())


async def test_a_long_or_hostile_title_is_one_line(server: ForgeServer, forge: Forge, work: str) -> None:
    long = NewPullRequest(title="Fix\n\x1b[31m" + "x" * 999, body=str(MARKER), branch="work", base="main")
    title = (await forge.open_pull(long)).title
    assert title.isprintable()
    assert len(title) <= 256


async def test_an_answer_of_another_shape_is_one_line(server: ForgeServer, forge: Forge) -> None:
    server.fail("pulls/list", Answers(200, "an object instead of a list", is_wrong=True))
    with pytest.raises(ForgeFailed, match="unexpected shape"):
        await forge.marked_pulls()
