"""The tools of builders with a plan, and of evaluators: a tracker to update, a shell that changes nothing."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from workshop import Workshop, calls, done, script, shell, workshop

from donewhen.engines.interface import NoSuchItem
from donewhen.engines.native.tools import ToolContext, ToolOutput, run_call
from donewhen.model.interface import Call
from donewhen.workspace.process.command import Finished
from donewhen.workspace.sandbox.sandbox import ShellCommand

pytestmark = pytest.mark.anyio


@dataclass
class Book:
    """A plan with one item."""

    spec: str = "what is wanted"
    said: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])

    def tracker(self) -> str:
        return "- [ ] 1. do it"

    def update(self, item: str, state: str, note: str) -> str:
        if item != "1":
            raise NoSuchItem(f"there is no item {item}; there is: 1. do it")
        self.said.append((item, state, note))
        return f"item {item} is {state}"

    def read_back(self, text: str) -> None:
        raise AssertionError(text)


async def use(shop: Workshop, book: Book | None, **input: Any) -> ToolOutput:
    return await run_call(Call("id", "update_tracker", input), ToolContext(shop.maker, shop.rules, None, plan=book))


@pytest.mark.promise("tools.update-tracker")
async def test_a_builder_updates_the_state_of_an_item(root: Path) -> None:
    book = Book()
    async with workshop(root) as shop:
        assert (await use(shop, book, item=1, state="in_progress")).text == "item 1 is in_progress"
        assert (await use(shop, book, item="1", state="completed", note="ran it")).ok
    assert book.said == [("1", "in_progress", ""), ("1", "completed", "ran it")]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"item": 2, "state": "completed"}, "update_tracker: there is no item 2; there is: 1. do it"),
        ({"item": 1, "state": "done"}, "state must be one of pending, in_progress, completed, blocked"),
        ({"item": True, "state": "completed"}, "item must be a string, not true"),
        ({"state": "completed"}, "update_tracker needs item"),
        ({"item": 1, "state": "completed", "verify": []}, 'update_tracker has no parameter "verify"'),
    ],
)
async def test_an_invalid_tracker_update_is_answered_with_an_error(root: Path, given: dict[str, Any], why: str) -> None:
    async with workshop(root) as shop:
        outcome = await use(shop, Book(), **given)
    assert (outcome.ok, outcome.text.startswith("ERROR: "), why in outcome.text) == (False, True, True)


async def test_without_a_plan_there_is_no_tracker(root: Path) -> None:
    async with workshop(root) as shop:
        outcome = await use(shop, None, item=1, state="completed")
        assert "unknown tool update_tracker" in outcome.text
        model = script(done())
        await shop.attempt(model)
    assert "update_tracker" not in [tool.name for tool in model.turns[0].tools]


async def test_an_evaluator_reads_and_probes_and_changes_nothing(root: Path) -> None:
    ran: list[str] = []
    async with workshop(root) as shop:

        async def probe(command: str, timeout_secs: float) -> Finished:
            ran.append(command)
            return await shop.maker.sandbox.run(ShellCommand(text="echo probed; exit 3", timeout_secs=timeout_secs))

        model = script(
            calls(shell("echo x > made.txt"), ("write_file", {"path": "b.txt", "content": ""})),
            done("{}"),
        )
        attempt = await shop.attempt(model, {"reads_only": True, "temperature": 0.1}, run_on_copy=probe, role="maker")
        snapshot = await shop.maker.is_unchanged()
    assert (attempt.last_text, ran, snapshot) == ("{}", ["echo x > made.txt"], True)
    assert [tool.name for tool in model.turns[0].tools] == [
        "read_file",
        "list_dir",
        "find_files",
        "grep_files",
        "shell",
    ]
    assert [turn.temperature for turn in model.turns] == [0.1, 0.1]
    answers = [note.body["text"] for note in shop.pages.pages if note.kind == "result"]
    assert answers[0] == "probed\n[exit code 3]"
    assert answers[1].startswith("ERROR: unknown tool write_file")
    assert not [note for note in shop.pages.pages if note.kind == "begun"]
