"""What is open and what failed on a forge, as the inputs of loops read it."""

from pathlib import Path

import pytest

from donewhen.loops.forge.access import Patience, Token
from donewhen.loops.forge.connect import open_reader
from donewhen.loops.forge.forge import ForgeFailed
from donewhen.loops.forge.remote import ForgePlace, Remote, forge_place
from forge_server import ForgeServer, running_forge

pytestmark = pytest.mark.anyio
QUICK = Patience(tries=1, first_wait_secs=0.01, longest_wait_secs=0.5, timeout_secs=5.0)


def place_on(server: ForgeServer) -> ForgePlace:
    api = "forgejo" if server.is_forgejo else "github"
    return forge_place(Remote("127.0.0.1", server.owner, server.name), server.url, "FORGE_TOKEN", api)


async def test_only_what_failed_at_the_commit_is_listed_also_behind_the_first_page(
    server: ForgeServer, place: ForgePlace, token: Token
) -> None:
    for number in range(101):
        server.run(f"build {number}", "success")
    server.run("tests", "failure")
    server.run("windows", "timed_out")
    server.run("tests", "failure", commit="0" * 40)
    for name, state in (("coverage", "error"), ("docs", "success"), ("deploy", "pending")):
        server.status(name, state)
    async with open_reader(place, token, QUICK) as reader:
        commit = await reader.head_of("main")
        failed = await reader.failed_checks(commit)
    assert commit == server.world.commit_of("main")
    assert [(one.name, one.conclusion) for one in failed] == [
        ("tests", "failure"),
        ("windows", "timed_out"),
        ("coverage", "error"),
    ]
    assert server.count("checks/list-for-ref") == 2


async def test_a_branch_that_is_not_on_the_forge_is_named(server: ForgeServer, place: ForgePlace, token: Token) -> None:
    async with open_reader(place, token, QUICK) as reader:
        with pytest.raises(ForgeFailed, match="octo/widgets has no branch topic/x"):
            await reader.head_of("topic/x")


async def test_issues_are_listed_without_pull_requests_and_without_what_is_closed(
    server: ForgeServer, place: ForgePlace, token: Token
) -> None:
    server.close(server.issue("solved"))
    number = server.issue("wrong sum", "2 + 2 is 0", labels=("bug",))
    server.comment(number, "same here")
    pull = server.pull("main", "a change")
    async with open_reader(place, token, QUICK) as reader:
        (issue,) = await reader.open_issues()
        pulls = await reader.open_pulls()
    assert (issue.number, issue.title, issue.labels, issue.comments) == (number, "wrong sum", ("bug",), 1)
    assert issue.author.login == "ada" and [one.number for one in pulls] == [pull]


async def test_forgejo_is_read_with_its_own_parameters_and_names(tmp_path: Path) -> None:
    with running_forge(tmp_path / "forgejo", is_forgejo=True) as server:
        number = server.issue("wrong sum")
        pull = server.pull("main", "a change")
        server.status("tests", "failure")
        server.status("lint", "success")
        async with open_reader(place_on(server), Token("FORGE_TOKEN", server.token), QUICK) as reader:
            issues, pulls = await reader.open_issues(), await reader.open_pulls()
            failed = await reader.failed_checks(await reader.head_of("main"))
    assert [one.number for one in issues] == [number] and [one.number for one in pulls] == [pull]
    assert [(one.name, one.conclusion) for one in failed] == [("tests", "failure")]


async def test_what_failed_behind_the_first_page_of_forgejo_is_found(tmp_path: Path) -> None:
    with running_forge(tmp_path / "forgejo", is_forgejo=True) as server:
        async with open_reader(place_on(server), Token("FORGE_TOKEN", server.token), QUICK) as reader:
            commit = await reader.head_of("main")
            assert await reader.failed_checks(commit) == []
            for number in range(50):
                server.status(f"build {number}", "success")
            server.status("tests", "failure")
            assert [one.name for one in await reader.failed_checks(commit)] == ["tests"]
