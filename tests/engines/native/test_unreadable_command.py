"""A model sends a command that stalls the parser: it gets an error, and the work continues."""

from pathlib import Path

import pytest
from workshop import Person, calls, done, script, shell, workshop

pytestmark = pytest.mark.anyio

STALLING = "true e| | " + "true | " * 80 + "${x:-true | ${x:-true | git push"


async def test_a_command_that_stalls_the_parser_is_denied_and_the_next_one_runs(root: Path) -> None:
    async with workshop(root) as shop:
        model = script(calls(shell(STALLING)), calls(shell("touch it")), done())
        assert (await shop.attempt(model)).stop == "done"
        (denied,) = shop.pages.told("policy_denied")
        assert (denied["rule"], denied["reason"]) == ("unparsed", "could not be parsed")
        assert [result["ok"] for result in shop.pages.told("tool_result")] == [False, True]
        assert (shop.maker.tree.upper / "it").exists()


async def test_a_person_may_allow_a_command_that_stalls_the_parser(root: Path) -> None:
    async with workshop(root) as shop:
        shop.person = person = Person(["yes"])
        await shop.attempt(script(calls(shell(f"touch it; exit; {STALLING}")), done()))
        assert "Rule unparsed: could not be parsed" in person.asked[0][1]
        assert shop.pages.told("policy_denied") == []


async def test_a_complex_command_is_parsed(root: Path) -> None:
    async with workshop(root) as shop:
        assert "git-push" in await shop.refused("shell", command="echo …; git push")
        assert await shop.said("shell", command="echo …") == "…\n[exit code 0]"
