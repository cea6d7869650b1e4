"""A crash at any moment: a new process with the recorded notes continues and asks and does nothing twice."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from workshop import FILES, Crash, Heard, Pages, Person, Workshop, calls, done, fresh_tree, read, script, shell, write

from donewhen.engines.interface import Attempt, Note
from donewhen.model.interface import Answers, Assistant, Reply
from donewhen.session.workplace import open_workplace
from tiers import SPARSE

pytestmark = pytest.mark.anyio
Death = Callable[[str, Note | None], None]
STEPS: tuple[Reply | str, ...] = (
    calls(read("a.txt"), ("list_dir", {}), say="let me look"),
    calls(shell("echo x >> count; cat count"), write("new/b.txt", "b\n"), read("count")),
    "the line was dead",
    calls(
        ("edit_file", {"path": "a.txt", "old": "two", "new": "2"}),
        ("edit_file", {"path": "a.txt", "old": "not there", "new": ""}),
        shell("echo x >> count; rm new/b.txt; wc -l < count"),
    ),
    done("finished"),
)


def dying(at: int, when: str) -> Death:
    """Crash around the write of that number, counted from here."""
    written = 0

    def watch(now: str, _note: Note | None) -> None:
        nonlocal written
        if now == when:
            written += 1
            if written > at:
                raise Crash

    return watch


async def live(shop: Workshop, death: Death | None = None, **job: Any) -> Attempt | None:
    """One lifetime of a process; None if it crashed."""
    model = script(*STEPS)
    shop.pages.watch = death or Pages().watch
    try:
        return await shop.attempt(model, **job)
    except Crash:
        return None
    finally:
        require_valid_so_far(model)


def require_valid_so_far(model: Heard) -> None:
    for turn in model.turns:
        for message, after in zip(turn.messages, turn.messages[1:], strict=False):
            if isinstance(message, Assistant) and message.calls:
                assert isinstance(after, Answers)
                assert [answer.call_id for answer in after.answers] == [call.id for call in message.calls]


async def test_a_crash_at_any_write_leads_to_the_same_outcome(root: Path, show_table: Callable[[str], None]) -> None:
    async with open_workplace(root) as place:
        async with fresh_tree(place) as shop:
            attempt = await live(shop)
            wanted, events, notes = await shop.maker.snapshot(), shop.pages.events, shop.pages.notes()
            assert shop.content("count") == "x\nx\n"
        points = [(at, when) for at in range(len(notes)) for when in ("before", "after")][::SPARSE]
        for at, when in points:
            async with fresh_tree(place) as shop:
                assert await live(shop, dying(at, when)) is None
                assert await live(shop) == attempt
                assert await shop.maker.snapshot() == wanted, (at, when)
                assert shop.pages.events == events, (at, when)
                assert shop.pages.notes() == notes, (at, when)
    show_table(f"native engine: {len(points)} crash points, all recovered")


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_process_that_crashes_at_every_write_still_finishes(root: Path, when: str) -> None:
    async with open_workplace(root) as place:
        async with fresh_tree(place) as shop:
            attempt = await live(shop)
            wanted, notes = await shop.maker.snapshot(), shop.pages.notes()
        async with fresh_tree(place) as shop:
            lives = 1
            while (ended := await live(shop, dying(1 if when == "before" else 0, when))) is None:
                lives += 1
            assert ended == attempt
            assert lives >= len(notes) - 1
            assert await shop.maker.snapshot() == wanted
            assert shop.pages.notes() == notes


async def test_the_effects_of_an_interrupted_command_are_undone_before_it_runs_again(root: Path) -> None:
    async with open_workplace(root) as place, fresh_tree(place) as shop:
        shop.pages.watch = dying(3, "after")  # the tree is saved, the command has not run
        model = script(calls(shell("echo x >> count; echo y > other")), done())
        with pytest.raises(Crash):
            await shop.attempt(model)
        await shop.said("shell", command="echo x >> count; rm a.txt; mkdir -p src/deep; echo z > src/deep/z")
        shop.pages.watch = Pages().watch
        assert (await shop.attempt(model)).stop == "done"
        assert (shop.content("count"), shop.content("a.txt")) == ("x\n", FILES["a.txt"])
        assert "src/deep/z" not in [entry.path for entry in shop.maker.files.walk()]


async def test_a_cancelled_command_runs_again_after_a_resume(root: Path) -> None:
    async with open_workplace(root) as place, fresh_tree(place) as shop:
        model = script(calls(shell("echo x >> count; test -e go || echo stopped")), done())
        with anyio.CancelScope() as scope:

            def cancel(when: str, note: Note | None) -> None:
                if note is not None and note.kind == "begun" and when == "after":
                    scope.cancel()

            shop.pages.watch = cancel
            await shop.attempt(model)
        assert scope.cancelled_caught
        shop.pages.watch = Pages().watch
        assert (await shop.attempt(model)).stop == "done"
        assert shop.content("count") == "x\n"


async def test_an_interrupted_round_leaves_no_unanswered_call_in_the_next(root: Path) -> None:
    async with open_workplace(root) as place, fresh_tree(place) as shop:
        shop.pages.watch = dying(4, "before")
        model = script(calls(shell("echo x >> count"), read("a.txt")), done())
        with pytest.raises(Crash):
            await shop.attempt(model)
        shop.pages.watch = Pages().watch
        assert (
            await shop.attempt(model, {"context": "carry"}, iteration=2, feedback="red", red_rounds=1)
        ).stop == "done"
        require_valid_so_far(model)
        given = [message for message in model.turns[-1].messages if isinstance(message, Answers)]
        assert ["ERROR: the round ended" in answer.text for answer in given[0].answers] == [True, True]


async def test_a_pending_question_is_asked_again_under_the_same_id(root: Path) -> None:
    async with open_workplace(root) as place, fresh_tree(place) as shop:
        shop.person = person = Person(["red", "red"])
        shop.pages.watch = dying(3, "before")  # the answer is there and not recorded
        model = script(calls(("ask_user", {"prompt": "which?"})), done())
        with pytest.raises(Crash):
            await shop.attempt(model)
        shop.pages.watch = Pages().watch
        assert (await shop.attempt(model)).stop == "done"
        assert person.asked == [("call-1-0-0", "which?")] * 2


async def test_a_tree_that_cannot_be_saved_is_noted_and_the_work_goes_on(root: Path) -> None:
    async with open_workplace(root) as place, fresh_tree(place) as shop:
        model = script(calls(shell("echo x > x; mkfifo pipe")), calls(shell("rm pipe; echo y > y")), done())
        assert (await shop.attempt(model)).stop == "done"
        begun = [note.body for note in shop.pages.notes() if note.kind == "begun"]
        assert "pipe" in begun[1]["refused"]
        assert begun[1]["snapshot"] == begun[0]["snapshot"]
        assert shop.content("y") == "y\n"
