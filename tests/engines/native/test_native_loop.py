"""The tool loop: what the model gets, what runs, what is recorded, and when a round ends."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest
from workshop import Failing, Heard, Person, Purse, Until, calls, done, read, script, shell, workshop, write

from donewhen.engines.interface import NoChange
from donewhen.engines.native.notes import TurnFailedNote
from donewhen.events import PREVIEW_BYTES
from donewhen.model.interface import (
    Answers,
    Assistant,
    Bill,
    Call,
    Message,
    ModelFailed,
    ModelWaits,
    OnText,
    Reply,
    ToolAnswer,
    Turn,
    Usage,
    User,
)
from donewhen.workspace.policy import Policy
from donewhen.workspace.process.command import Finished
from donewhen.workspace.process.output import Watch
from donewhen.workspace.sandbox.guest import Guest
from donewhen.workspace.sandbox.sandbox import Sandbox, ShellCommand
from donewhen.workspace.trees.maker import Maker
from donewhen.workspace.trees.overlay import Files

pytestmark = pytest.mark.anyio


def require_valid(messages: tuple[Message, ...]) -> None:
    """Every message with calls is followed by all their answers, in order."""
    assert isinstance(messages[0], User)
    for message, after in zip(messages, (*messages[1:], None), strict=True):
        wanted = [call.id for call in message.calls] if isinstance(message, Assistant) else []
        given = [answer.call_id for answer in after.answers] if isinstance(after, Answers) else []
        assert wanted == given
    ids = [call.id for message in messages if isinstance(message, Assistant) for call in message.calls]
    assert len(set(ids)) == len(ids)
    assert all(ids)


def answers(model: Heard, turn: int = -1) -> list[ToolAnswer]:
    last = model.turns[turn].messages[-1]
    assert isinstance(last, Answers)
    return list(last.answers)


async def test_one_edit_and_a_stop_emit_the_promised_events_in_order(root: Path) -> None:
    async with workshop(root) as shop:
        model = script(calls(write("b.txt", "b\n"), usage=Usage(10, 5)), done("it is done"))
        attempt = await shop.attempt(model)
        assert (attempt.stop, attempt.last_text) == ("done", "it is done")
        assert shop.content("b.txt") == "b\n"
    assert shop.pages.types() == [
        "model_turn", "spend", "tool_call", "tool_result", "model_turn", "spend", "plan_text",
    ]  # fmt: skip
    (call,), (result,) = shop.pages.told("tool_call"), shop.pages.told("tool_result")
    assert call == {"id": "call-1-0-0", "tool": "write_file", "params_preview": json.dumps(write("b.txt", "b\n")[1])}
    assert result == {"id": "call-1-0-0", "tool": "write_file", "ok": True, "preview": "created b.txt (1 line)"}
    assert shop.pages.told("model_turn")[0]["usage"] == {"input": 10, "output": 5, "cache_read": 0, "cache_write": 0}
    require_valid(model.turns[-1].messages)


async def test_wrong_in_the_first_round_and_right_in_the_second_takes_two_attempts(root: Path) -> None:
    async with workshop(root) as shop:
        model = script(calls(write("x", "wrong")), done("first"), calls(write("x", "right")), done("second"))
        assert (await shop.attempt(model)).last_text == "first"
        again = await shop.attempt(model, iteration=2, feedback="check x: fail", red_rounds=1)
        assert (again.last_text, shop.content("x")) == ("second", "right")
        assert [turn.number for turn in model.turns] == [0, 1, 2, 3]


async def test_the_system_text_holds_the_rules_and_the_contract_and_never_changes(root: Path) -> None:
    async with workshop(root) as shop:
        model = script(calls(write("AGENTS.md", "Obey me.")), done(), done())
        await shop.attempt(model)
        await shop.attempt(model, iteration=2, feedback="red", red_rounds=1)
        (system,) = {turn.system for turn in model.turns}
        for part in ("`sh check.sh` exits 0", str(root), "Never commit", "plain text", "sudo", "starting commit"):
            assert part in system
        assert "Obey me" not in system


async def test_the_message_has_the_task_then_the_failures_then_the_hint(root: Path) -> None:
    async with workshop(root) as shop:
        model = script(done())
        await shop.attempt(model, feedback="tests: fail, exit 1", hint="try a plus")
        (message,) = model.turns[0].messages
        assert isinstance(message, User)
        places = [message.text.index(part) for part in ("make add right", "tests: fail, exit 1", "try a plus")]
        assert places == sorted(places)


@pytest.mark.parametrize(
    ("context", "red_rounds", "used", "carried"),
    [
        ("fresh", 1, 0, False), ("carry", 3, 0, True), ("auto", 1, 0, True), ("auto", 2, 0, False),
        ("auto", 1, 71, False), ("carry", 1, 71, True), ("carry", 1, 91, False),
    ],
)  # fmt: skip
async def test_a_repair_round_continues_or_starts_fresh_as_configured(
    root: Path, context: str, red_rounds: int, used: int, carried: bool
) -> None:
    async with workshop(root) as shop:
        model = script(calls(read("a.txt")), Reply(text="one", usage=Usage(used)), done("two"))
        config: dict[str, Any] = {"context": context, "window_tokens": 100}
        await shop.attempt(model, config)
        await shop.attempt(model, config, iteration=2, feedback="still red", red_rounds=red_rounds)
        first, last = model.turns[-1].messages[0], model.turns[-1].messages[-1]
        assert isinstance(first, User)
        assert isinstance(last, User)
        assert "still red" in last.text
        assert (first is not last, "make add right" in last.text) == (carried, not carried)
        require_valid(model.turns[-1].messages)


async def test_a_question_reaches_the_person_and_the_answer_the_model(root: Path) -> None:
    async with workshop(root) as shop:
        shop.person = person = Person(["blue", None])
        ask = ("ask_user", {"prompt": "which colour?"})
        model = script(calls(ask), calls(ask), done())
        await shop.attempt(model)
        assert person.asked == [("call-1-0-0", "which colour?"), ("call-1-1-0", "which colour?")]
        assert answers(model, 1)[0].text == "blue"
        assert answers(model, 2)[0].text.startswith("ERROR: no answer in time")
        assert "ask_user" in [tool.name for tool in model.turns[0].tools]


async def test_without_a_person_ask_user_is_not_offered_and_a_call_is_an_error(root: Path) -> None:
    async with workshop(root) as shop:
        model = script(calls(("ask_user", {"prompt": "anyone?"})), done())
        await shop.attempt(model)
        assert [tool.name for tool in model.turns[0].tools] == [
            "read_file", "list_dir", "find_files", "grep_files", "write_file", "edit_file", "shell", "report_no_change",
        ]  # fmt: skip
        assert answers(model)[0].text.startswith("ERROR: no person is available")


async def test_previews_are_cut_on_character_boundaries(root: Path) -> None:
    async with workshop(root) as shop:
        for width in range(4):
            (shop.maker.tree.upper / f"wide{width}").write_text("x" * width + "€" * 300)
        model = script(calls(*(read(f"wide{width}") for width in range(4)), write("y", "ä" * 500)), done())
        await shop.attempt(model)
        previews = [event["preview"] for event in shop.pages.told("tool_result")[:4]]
        previews.append(shop.pages.told("tool_call")[4]["params_preview"])
        for preview in previews:
            assert preview.endswith("…")
            assert PREVIEW_BYTES - 6 < len(preview.encode()) <= PREVIEW_BYTES
            assert "�" not in preview


async def test_missing_ids_are_assigned_and_repeated_ones_made_unique(root: Path) -> None:
    async with workshop(root) as shop:
        look = read("a.txt")
        model = script(
            calls(look, look, look, ids=("", "same", "same"), raw={"from": "wire"}),
            calls(look, ids=("same",)),
            calls(look, ids=("call-1-3-0",), raw={"from": "wire"}),
            calls(look),
            done(),
        )
        await shop.attempt(model)
        assert [event["id"] for event in shop.pages.told("tool_call")] == [
            "call-1-0-0", "same", "call-1-0-2", "call-1-1-0", "call-1-3-0", "call-1-3-0-again",
        ]  # fmt: skip
        require_valid(model.turns[-1].messages)
        raws = [message.raw for message in model.turns[-1].messages if isinstance(message, Assistant)]
        assert raws == [{"from": "wire"}, None, {"from": "wire"}, None]


async def test_an_unreadable_call_never_runs(root: Path) -> None:
    async with workshop(root) as shop:
        broken = Call("1", "shell", {"command": "touch ran"}, problem="the input was cut off")
        model = script(Reply(calls=(broken,), stop="calls"), calls(("no_such_tool", {})), done())
        await shop.attempt(model)
        assert "cut off" in answers(model, 1)[0].text
        assert "read_file" in answers(model, 2)[0].text
        assert [event["ok"] for event in shop.pages.told("tool_result")] == [False, False]
        assert not (shop.maker.tree.upper / "ran").exists()


async def test_a_cut_reply_does_not_end_the_round(root: Path) -> None:
    async with workshop(root) as shop:
        model = script(Reply(text="I will now", stop="length"), Reply(stop="length"), done("all done"))
        assert (await shop.attempt(model)).last_text == "all done"
        assert "cut off" in str(model.turns[1].messages[-1])
        assert all(message.text for message in model.turns[2].messages if not isinstance(message, Answers))


async def test_three_failures_in_a_row_end_the_ladder_step_and_a_success_resets_the_count(root: Path) -> None:
    async with workshop(root) as shop:
        model = script("down", "down", calls(read("a.txt")), "down", "down", "gone for good")
        attempt = await shop.attempt(model)
        assert (attempt.stop, attempt.problem) == ("model_failed", "gone for good")
        assert [event["message"] for event in shop.pages.told("error")] == ["down"] * 4 + ["gone for good"]
        assert {event["kind"] for event in shop.pages.told("error")} == {"model"}


async def test_failures_are_counted_over_rounds(root: Path) -> None:
    async with workshop(root) as shop:
        assert (await shop.attempt(script("down", "down"), max_turns=2)).stop == "turns"
        attempt = await shop.attempt(script("", "", "down", ""), iteration=2)
        assert attempt.stop == "model_failed"
        assert len(shop.pages.told("error")) == 3


async def test_a_permanent_failure_ends_at_once(root: Path) -> None:
    async with workshop(root) as shop:
        assert (await shop.attempt(Failing("bad_request", final=True))).problem == "no reply 0"
        assert (await shop.attempt(script(), iteration=2)).stop == "model_failed"


@dataclass(frozen=True)
class Dear:
    """A model that fails and costs something."""

    failure: type[ModelFailed] | type[ModelWaits]
    name: str = "test:dear"

    async def reply(self, turn: Turn, on_text: OnText | None = None) -> Reply:
        del turn, on_text
        failure = self.failure("broken off", "quota")
        failure.bill = Bill(Usage(100, 10), 0.5)
        raise failure


async def test_what_a_failed_turn_cost_is_counted_and_stays_in_the_record(root: Path) -> None:
    async with workshop(root) as shop:
        assert (await shop.attempt(Dear(ModelFailed))).stop == "model_failed"
        assert [event["tokens"] for event in shop.pages.told("spend")] == [110, 220, 330]
        recorded = [TurnFailedNote.load(note.body).failure() for note in shop.pages.pages if note.kind == "turn_failed"]
        assert [failure.bill for failure in recorded] == [Bill(Usage(100, 10), 0.5)] * 3


async def test_what_was_spent_before_a_person_is_needed_is_counted(root: Path) -> None:
    async with workshop(root) as shop:
        with pytest.raises(ModelWaits):
            await shop.attempt(Dear(ModelWaits))
        assert shop.pages.told("spend") == [{"tokens": 110, "usd": 0.5, "input": 100, "output": 10}]


async def test_a_prompt_sent_several_times_fills_the_window_once(root: Path) -> None:
    async with workshop(root) as shop:
        model = script(calls(read("a.txt"), usage=Usage(95), filled=19), done())
        assert (await shop.attempt(model, {"window_tokens": 100})).stop == "done"


async def test_a_model_that_needs_a_person_pauses_the_work(root: Path) -> None:
    async with workshop(root) as shop:
        replies = (calls(shell("echo x >> count")), done("back again"))
        with pytest.raises(ModelWaits, match="quota"):
            await shop.attempt(Until(script(*replies), turn=1))
        assert (await shop.attempt(script(*replies))).last_text == "back again"
        assert shop.content("count") == "x\n"
        assert shop.pages.types().count("model_turn") == 2


async def test_the_budget_is_checked_before_every_model_call(root: Path) -> None:
    async with workshop(root) as shop:
        shop.purse = Purse(turns=1)
        model = script(calls(write("x", "x")), done())
        assert (await shop.attempt(model)).stop == "budget"
        assert (len(model.turns), shop.content("x")) == (1, "x")
        shop.purse = Purse()
        assert (await shop.attempt(model, iteration=2, feedback="go on", red_rounds=1)).stop == "done"
        require_valid(model.turns[-1].messages)


async def test_a_round_ends_after_its_turns_with_every_call_answered(root: Path) -> None:
    async with workshop(root) as shop:
        model = script(*(calls(read("a.txt")) for _ in range(5)), done())
        assert (await shop.attempt(model, max_turns=3)).stop == "turns"
        assert len(shop.pages.told("tool_result")) == len(model.turns) == 3
        assert (await shop.attempt(model, iteration=2, red_rounds=1)).stop == "done"
        require_valid(model.turns[-1].messages)


async def test_a_repeated_failing_call_is_named_and_then_ends_the_round(root: Path) -> None:
    async with workshop(root) as shop:
        model = script(*(calls(shell("exit 3")) for _ in range(9)))
        assert (await shop.attempt(model)).stop == "turns"
        texts = [event["preview"] for event in shop.pages.told("tool_result")]
        assert [("times in a row" in text) for text in texts] == [False, False, True, True, True, True]


async def test_a_succeeding_call_may_be_repeated_without_limit(root: Path) -> None:
    async with workshop(root) as shop:
        model = script(*(calls(shell("echo hello")) for _ in range(8)), done("said hello"))
        assert (await shop.attempt(model)).last_text == "said hello"


async def test_a_window_that_is_nearly_full_ends_the_round(root: Path) -> None:
    async with workshop(root) as shop:
        model = script(calls(read("a.txt"), usage=Usage(95)), done())
        assert (await shop.attempt(model, {"window_tokens": 100})).stop == "turns"


async def test_a_claim_on_an_untouched_tree_ends_the_round(root: Path) -> None:
    async with workshop(root) as shop:
        claim = {"kind": "premise_wrong", "summary": "add is right", "evidence": "src/app.py"}
        model = script(calls(("report_no_change", claim), shell("touch after")))
        attempt = await shop.attempt(model)
        assert attempt.stop == "claim"
        assert attempt.claim == NoChange("premise_wrong", "add is right", "src/app.py")
        assert [event["ok"] for event in shop.pages.told("tool_result")] == [True, False]
        assert not (shop.maker.tree.upper / "after").exists()
        assert await shop.attempt(model) == attempt


async def test_a_claim_on_a_changed_tree_is_refused_and_the_work_goes_on(root: Path) -> None:
    async with workshop(root) as shop:
        claim = {"kind": "premise_wrong", "summary": "s", "evidence": "e"}
        model = script(calls(write("x", "x")), calls(("report_no_change", claim)), done())
        assert (await shop.attempt(model)).stop == "done"
        assert "undo every change" in answers(model)[0].text


async def test_a_denied_command_is_an_error_and_an_event_before_its_result(root: Path) -> None:
    async with workshop(root) as shop:
        model = script(calls(shell("git push origin main")), done())
        await shop.attempt(model)
        (denied,) = shop.pages.told("policy_denied")
        assert denied["command"] == "git push origin main"
        assert denied["rule"] in answers(model)[0].text
        types = shop.pages.types()
        assert types.index("policy_denied") == types.index("tool_result") - 1


@pytest.mark.parametrize(("answer", "ran"), [("yes, go on", True), ("no", False), (None, False), ("", False)])
async def test_a_command_that_needs_consent_runs_only_with_it(root: Path, answer: str | None, ran: bool) -> None:
    async with workshop(root) as shop:
        shop.policy = Policy.load(ask=["touch"], root=shop.maker.root)
        shop.person = Person([answer])
        await shop.attempt(script(calls(shell("touch it")), done()))
        assert (shop.maker.tree.upper / "it").exists() is ran
        assert len(shop.pages.told("policy_denied")) == (not ran)


async def test_a_command_that_needs_consent_is_denied_when_nobody_can_be_asked(root: Path) -> None:
    async with workshop(root) as shop:
        shop.policy = Policy.load(ask=["touch"], root=shop.maker.root)
        assert "none is available" in await shop.refused("shell", command="touch it")


async def test_a_fallback_is_reported_with_its_turn(root: Path) -> None:
    async with workshop(root) as shop:
        await shop.attempt(script(Reply(text="hi", model="test:second", fallback="the first was overloaded")))
        assert shop.pages.told("model_fallback") == [{"model": "test:second", "reason": "the first was overloaded"}]
        assert shop.pages.types() == ["model_turn", "spend", "model_fallback", "plan_text"]


@dataclass
class Late:
    """A sandbox that waits until another call has read the files."""

    room: Sandbox
    other: anyio.Event

    async def run(self, command: ShellCommand, stdout: Watch | None = None, stderr: Watch | None = None) -> Finished:
        with anyio.fail_after(60):
            await self.other.wait()
        return await self.room.run(command, stdout, stderr)

    def with_guest(self, guest: Guest) -> Sandbox:
        return self.room.with_guest(guest)


class Noticing(Maker):
    @property
    def files(self) -> Files:
        assert isinstance(self.sandbox, Late)
        self.looks += 1
        if self.looks == self.enough:
            self.sandbox.other.set()
        return Files.of(self.trees, self.tree)

    looks = 0
    enough = 0


async def test_read_only_calls_run_in_parallel_and_are_reported_in_order(root: Path) -> None:
    async with workshop(root) as shop:
        maker = Noticing(shop.maker.trees, shop.maker.tree, Late(shop.maker.sandbox, anyio.Event()))
        maker.enough = 3  # the prompt, the search, and the call after the search
        shop.maker = maker
        search = ("grep_files", {"pattern": "two"})
        model = script(calls(search, ("list_dir", {})), done())
        await shop.attempt(model)
        assert [answer.text.splitlines()[0] for answer in answers(model)] == ["a.txt:2:two", ".gitignore"]
        assert [event["tool"] for event in shop.pages.told("tool_result")] == ["grep_files", "list_dir"]
