"""Sessions of an editor, from its prompts to the work: the program driven by the official SDK's client."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from acp.exceptions import RequestError

from repositories import commit, git
from repositories import write as write_files
from runs.scenes import EXPECTED, FILES, RIGHT, WRONG, call, run_verb, say, scene, script, shell, write
from server.acp.editors import FORMS, Editor, Person, editor, new_mark, processes, until
from server.in_a_loop import in_a_loop

CHEAT = [write("expected.txt", "wrong\n"), say("the expectation was wrong")]
ASKING = [call("ask_user", prompt="which one?"), *RIGHT]


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return scene(tmp_path / "repo")


@pytest.fixture
def protected(tmp_path: Path) -> Path:
    """A repository whose contract compares with a protected file."""
    limits = "\n[native]\nmax_iterations = 1\n"
    return scene(tmp_path / "repo", {"donewhen.toml": EXPECTED + limits, "expected.txt": "right\n"})


def scripted(repo: Path, steps: object) -> tuple[str, str]:
    return "--model", script(repo.parent / "script.json", steps)


def sessions(repo: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run_verb(repo, "list", "--json").out.splitlines()]


def shown(repo: Path, session: str) -> dict[str, Any]:
    return json.loads(run_verb(repo, "show", session, "--json").out)


@pytest.mark.promise("command.acp")
@in_a_loop
async def test_a_prompt_is_worked_on_until_it_is_verified(repo: Path) -> None:
    person = Person()
    async with editor(person, repo, *scripted(repo, RIGHT)) as at:
        assert await at.prompt("say right") == "end_turn"
    (session,) = sessions(repo)
    assert git(repo, "show", f"donewhen/{session['id']}:answer.txt") == "right"
    assert person.plan == [
        ("Run the checks on the base", "completed"),
        ("Round 1 of 8: work until the checks pass", "completed"),
        (f"Land the work on donewhen/{session['id']}", "completed"),
    ]
    assert "it is right now" in person.text
    assert "**verified**: every check passed" in person.text
    assert f"`git merge donewhen/{session['id']}`" in person.text
    written, checked = person.tools["write_file answer.txt"], person.tools["check done: pass"]
    assert (written["kind"], written["status"]) == ("edit", "completed")
    assert written["locations"] == [{"path": str(repo / "answer.txt")}]
    assert (checked["kind"], checked["status"]) == ("execute", "completed")
    assert person.tools["check done on the base: fail"]["status"] == "completed"
    (diff,) = person.tools[f"the work of session {session['id']}"]["content"]
    assert diff == {"type": "diff", "path": str(repo / "answer.txt"), "oldText": "wrong\n", "newText": "right\n"}
    assert (repo / "answer.txt").read_text() == "wrong\n"


@in_a_loop
async def test_work_that_stays_red_says_what_failed_and_what_to_do(repo: Path) -> None:
    person = Person()
    async with editor(person, repo, *scripted(repo, [*WRONG, *WRONG])) as at:
        assert await at.prompt("say right") == "end_turn"
    assert "**no_progress**" in person.text or "**red**" in person.text or "**failed**" in person.text
    assert person.tools["check done: fail"]["status"] == "failed"
    assert "/resume" in person.text


@in_a_loop
async def test_a_spent_budget_is_said_to_the_editor(repo: Path) -> None:
    steps = [{**step, "usage": {"input": 900, "output": 100}} for step in (*WRONG, *WRONG, *WRONG)]
    write_files(repo, {"donewhen.toml": f"{FILES['donewhen.toml']}\n[limits]\ntokens = 1500\n"})
    commit(repo)
    person = Person()
    async with editor(person, repo, *scripted(repo, steps)) as at:
        assert await at.prompt("say right") == "max_turn_requests"
    assert "**budget**" in person.text


# -- decisions --


@in_a_loop
async def test_protected_edits_that_a_person_approves_are_judged_and_land(protected: Path) -> None:
    person = Person("approve")
    async with editor(person, protected, *scripted(protected, CHEAT)) as at:
        assert await at.prompt("say right") == "end_turn"
    (asked,) = person.asked
    assert "Decide on edits to protected files" in asked["title"]
    assert "+wrong" in asked["text"]
    assert asked["options"] == [("deny", "reject_once"), ("approve", "allow_once")]
    assert "**verified**" in person.text
    (session,) = sessions(protected)
    assert git(protected, "show", f"donewhen/{session['id']}:expected.txt") == "wrong"


@in_a_loop
async def test_protected_edits_that_a_person_denies_are_rejected(protected: Path) -> None:
    person = Person("deny")
    async with editor(person, protected, *scripted(protected, CHEAT)) as at:
        assert await at.prompt("say right") == "end_turn"
    assert "**rejected**" in person.text
    assert git(protected, "branch", "--list", "donewhen/*") == ""


@pytest.mark.parametrize("reply", [None, "allow", "Approve", ""])
@in_a_loop
async def test_nothing_but_the_choice_to_approve_approves(protected: Path, reply: str | None) -> None:
    person = Person(reply)
    async with editor(person, protected, *scripted(protected, CHEAT)) as at:
        assert await at.prompt("say right") == "end_turn"
        assert "**waiting**" in person.text
        assert "`/approve` or `/deny`" in person.text
        assert git(protected, "branch", "--list", "donewhen/*") == ""
        assert await at.prompt("/approve") == "end_turn"
    assert "**verified**" in person.text
    assert len(person.asked) == 1


@in_a_loop
async def test_a_gate_that_is_decided_in_a_terminal_needs_no_answer_in_the_editor(protected: Path) -> None:
    person = Person("never")
    stopped: list[str] = []
    async with editor(person, protected, *scripted(protected, CHEAT)) as at, anyio.create_task_group() as tasks:

        async def prompt() -> None:
            stopped.append(await at.prompt("say right"))

        tasks.start_soon(prompt)
        await person.is_asked()
        (session,) = sessions(protected)
        decided = await anyio.to_thread.run_sync(lambda: run_verb(protected, "deny", session["id"]))
        assert decided.code == 1, decided.err
        await until(lambda: stopped)
    assert stopped == ["end_turn"]
    assert "**rejected**" in person.text


@in_a_loop
async def test_a_proposed_contract_is_decided_in_the_editor(tmp_path: Path) -> None:
    bare = scene(tmp_path / "repo", {**FILES, "Makefile": "test:\n\tgrep -qx right answer.txt\n", "donewhen.toml": ""})
    person = Person("approve")
    async with editor(person, bare, *scripted(bare, RIGHT)) as at:
        assert await at.prompt("say right") == "end_turn"
        assert "Decide on the contract" in person.asked[0]["title"]
        assert "make test" in person.asked[0]["text"]
        assert "**verified**" in person.text
        person.decision = "deny"
        git(bare, "commit", "--quiet", "--allow-empty", "-m", "another")
        assert await at.prompt("say right") == "end_turn"
    assert "**rejected**" in person.text


# -- questions --


@in_a_loop
async def test_without_forms_the_next_prompt_is_the_answer(repo: Path) -> None:
    person = Person()
    async with editor(person, repo, *scripted(repo, ASKING)) as at:
        assert await at.prompt("say right") == "end_turn"
        assert "**Question:** which one?" in person.text
        assert "your next message is the answer" in person.text
        assert await at.prompt("this one") == "end_turn"
    assert "Answered: this one" in person.text
    assert "**verified**" in person.text
    assert len(sessions(repo)) == 1


@in_a_loop
async def test_an_editor_with_forms_asks_at_once(repo: Path) -> None:
    person = Person(answer="that one")
    async with editor(person, repo, *scripted(repo, ASKING), capabilities=FORMS) as at:
        assert await at.prompt("say right") == "end_turn"
    assert person.asked[0]["question"] == "which one?"
    assert "Answered: that one" in person.text
    assert "**verified**" in person.text


@in_a_loop
async def test_a_form_that_is_declined_leaves_the_question_to_the_next_prompt(repo: Path) -> None:
    person = Person(answer=None)
    async with editor(person, repo, *scripted(repo, ASKING), capabilities=FORMS) as at:
        assert await at.prompt("say right") == "end_turn"
        assert "your next message is the answer" in person.text
        assert await at.prompt("the third") == "end_turn"
    assert "**verified**" in person.text


# -- cancel --


async def cancelled_at_work(at: Editor, person: Person, mark: str) -> str:
    """Cancel a prompt whose command runs, and return why the prompt stopped."""
    stopped: list[str] = []
    async with anyio.create_task_group() as tasks:

        async def prompt() -> None:
            stopped.append(await at.prompt("say right"))

        tasks.start_soon(prompt)
        await until(lambda: processes(mark))
        await at.cancel()
    return stopped[0]


@in_a_loop
async def test_cancel_stops_everything_and_the_work_can_go_on(repo: Path) -> None:
    mark = new_mark()
    steps = [shell(f"test -e /tmp/none || sleep {mark}"), *RIGHT]
    person = Person()
    async with editor(person, repo, *scripted(repo, steps)) as at:
        assert await cancelled_at_work(at, person, mark) == "cancelled"
        assert processes(mark) == []
        assert "**cancelled**" in person.text
        assert await at.prompt("/resume") == "end_turn"
    assert "**verified**" in person.text
    assert len(sessions(repo)) == 1


@in_a_loop
async def test_cancel_at_a_permission_request_ends_the_prompt(protected: Path) -> None:
    person = Person("never")
    stopped: list[str] = []
    async with editor(person, protected, *scripted(protected, CHEAT)) as at, anyio.create_task_group() as tasks:

        async def prompt() -> None:
            stopped.append(await at.prompt("say right"))

        tasks.start_soon(prompt)
        await person.is_asked()
        await at.cancel()
        await until(lambda: stopped)
    assert stopped == ["cancelled"]
    assert sessions(protected)[0]["outcome"] == "cancelled"


@in_a_loop
async def test_cancel_right_after_the_prompt_is_not_lost(repo: Path) -> None:
    person = Person()
    mark = new_mark()
    steps = [shell(f"sleep {mark}"), *RIGHT]
    stopped: list[str] = []
    async with editor(person, repo, *scripted(repo, steps)) as at, anyio.create_task_group() as tasks:

        async def prompt() -> None:
            stopped.append(await at.prompt("say right"))

        tasks.start_soon(prompt)
        await anyio.lowlevel.checkpoint()
        await at.cancel()
        await until(lambda: stopped)
    assert stopped == ["cancelled"]
    assert processes(mark) == []


@in_a_loop
async def test_a_second_prompt_at_the_same_time_is_refused(repo: Path) -> None:
    mark = new_mark()
    person = Person()
    async with editor(person, repo, *scripted(repo, [shell(f"sleep {mark}"), *RIGHT])) as at:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(at.prompt, "say right")
            await until(lambda: processes(mark))
            with pytest.raises(RequestError, match="is being worked on"):
                await at.prompt("another")
            await at.cancel()


# -- prompts that follow --


@in_a_loop
async def test_a_prompt_after_verified_work_builds_on_it(repo: Path) -> None:
    person = Person()
    steps = [write("answer.txt", "right\n"), write("more.txt", "more\n"), say("done")]
    async with editor(person, repo, *scripted(repo, steps)) as at:
        assert await at.prompt("say right") == "end_turn"
        (first,) = sessions(repo)
        assert await at.prompt("say more") == "end_turn"
        second = sessions(repo)[0]
        known = shown(repo, second["id"])
        assert known["base"] == git(repo, "rev-parse", f"donewhen/{first['id']}")
        assert "Done before in this conversation, and part of this tree: say right" in known["intent"]
        git(repo, "commit", "--quiet", "--allow-empty", "-m", "HEAD moves")
        await at.prompt("and more")
    assert shown(repo, sessions(repo)[0]["id"])["base"] == git(repo, "rev-parse", "HEAD")


@in_a_loop
async def test_a_prompt_after_failed_work_starts_from_head_and_names_it(repo: Path) -> None:
    person = Person()
    async with editor(person, repo, *scripted(repo, WRONG)) as at:
        await at.prompt("say right")
        await at.prompt("try again")
    known = shown(repo, sessions(repo)[0]["id"])
    assert known["base"] == git(repo, "rev-parse", "HEAD")
    assert known["intent"].startswith("try again\n\nTried before in this conversation")
    assert "say right\nIt ended as" in known["intent"]


@in_a_loop
async def test_verified_work_is_landed_from_the_conversation(repo: Path) -> None:
    person = Person()
    async with editor(person, repo, *scripted(repo, RIGHT)) as at:
        await at.prompt("say right")
        git(repo, "branch", "release")
        assert await at.prompt("/land release") == "end_turn"
        assert "Landed on `release`" in person.text
        await at.prompt("/land nowhere")
        assert "nowhere is not a branch" in person.text
        before = person.text
        assert await at.prompt("/resume") == "end_turn"  # there is nothing to resume
        assert person.text.removeprefix(before).startswith("**verified**")
        await at.prompt("/approve")
        assert "nothing waits for a decision" in person.text
    assert git(repo, "show", "release:answer.txt") == "right"
    assert len(sessions(repo)) == 1


@in_a_loop
async def test_commands_without_a_session_say_so(repo: Path) -> None:
    person = Person()
    async with editor(person, repo) as at:
        assert await at.prompt("/resume") == "end_turn"
    assert person.text == "/resume: there is no session in this conversation yet\n\n"
    (commands,) = person.of("available_commands_update")
    assert [one["name"] for one in commands["availableCommands"]] == ["approve", "deny", "resume", "land"]


# -- places and prompts that cannot be used --


@in_a_loop
async def test_a_directory_that_is_no_repository_is_said_in_one_message(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    person = Person()
    async with editor(person, place) as at:
        assert await at.prompt("say right") == "end_turn"
    assert person.text == f"{place} is not in a git repository\n\n"


@in_a_loop
async def test_uncommitted_changes_are_named_and_can_be_included(repo: Path) -> None:
    person = Person()
    write_files(repo, {"note.txt": "a note\n"})
    async with editor(person, repo, *scripted(repo, RIGHT)) as at:
        await at.prompt("say right")
        assert "uncommitted changes are left out (note.txt)" in person.text
        await at.choose("uncommitted", "include")
        git(repo, "commit", "--quiet", "--allow-empty", "-m", "HEAD moves")
        await at.prompt("say right")
    session = sessions(repo)[0]["id"]
    assert git(repo, "show", f"donewhen/{session}:note.txt") == "a note"
