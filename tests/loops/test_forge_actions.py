"""`open-pr` and `comment`: from the round over the approval to what other people see on the forge."""

import json
import os
import signal
import subprocess
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from loop_scene import FIX, LOOK, LoopScene, loop, opinion

from donewhen.loops.forge.marker import Marker
from forge_server import BOT, ME, ForgeServer, Received, User, running_forge
from forge_server.faults import Answers, Drops
from program import PROGRAM
from repositories import commit, git, write

ALONE: dict[str, Any] = {"level": "unattended", "allow": ["open-pr"], "action": "open-pr"}
COMMENT = {"text": "COMMENT ON #{number}\nThe cause is the sign in add(), @octocat.\n<!-- donewhen loop=x -->\n"}


@pytest.fixture
def server(tmp_path: Path) -> Generator[ForgeServer]:
    with running_forge(tmp_path / "forge") as server:
        yield server


def scene_on(server: ForgeServer, place: Path, *loops: str, more: str = "") -> LoopScene:
    """Return a repository whose remote is the forge, with a token in the environment."""
    forge = f'[forge]\nurl = "{server.url}"\ntoken_env = "FORGE_TOKEN"\n'
    scene = LoopScene.made(place, *loops, more=forge + more)
    scene.env["FORGE_TOKEN"] = server.token
    git(scene.root, "remote", "add", "origin", server.git_url)
    git(server.bare, "fetch", "--quiet", str(scene.root), "+HEAD:refs/heads/main")
    return scene


def branches(server: ForgeServer) -> list[str]:
    return git(server.bare, "for-each-ref", "--format=%(refname:short)", "refs/heads").split()


def pulls(server: ForgeServer) -> list[int]:
    return [number for number, item in server.world.items.items() if item.branch]


def test_an_approved_round_opens_one_draft_pull_request_with_exactly_the_judged_tree(
    server: ForgeServer, tmp_path: Path
) -> None:
    scene = scene_on(server, tmp_path, loop(action="open-pr", signoff=True))
    git(scene.root, "config", "user.name", "Ada")
    git(scene.root, "config", "user.email", "ada@example.org")
    code, finished, _ = scene.run()
    assert (code, finished["outcome"], pulls(server)) == (3, "escalated", [])
    session = scene.session()
    judged = git(scene.root, "rev-parse", f"donewhen/{session}^{{tree}}")
    approved = scene("approve", session)
    assert approved.code == 0, approved.err
    (number,) = pulls(server)
    item = server.item(number)
    url = json.loads(scene("show", session, "--json").out)["action"]["url"]
    line = f"open-pr — draft pull request #{number} of "
    for shown in (approved, scene("show", session), scene("log", session)):
        assert any(line in one and one.endswith(f": {url}") for one in shown.out.splitlines()), shown.out
    assert "donewhen land" not in approved.out and f"donewhen receipt {session}" in approved.out
    assert item.draft and f"loop=fixer session={session} finding={finished['finding']}" in item.body
    assert git(server.bare, "rev-parse", f"donewhen/{session}^{{tree}}") == judged
    assert "Signed-off-by: Ada <ada@example.org>" in git(server.bare, "log", "-1", "--format=%B", f"donewhen/{session}")
    assert f"donewhen/{session}" not in scene.branches()
    scene("approve", session)
    assert pulls(server) == [number] and server.count("pulls/create") == 1


def test_the_name_of_a_loop_may_have_dashes_that_an_html_comment_may_not(server: ForgeServer, tmp_path: Path) -> None:
    scene = scene_on(server, tmp_path, loop("fix--it", action="open-pr"))
    scene.run("fix--it")
    assert scene("approve", scene.session()).code == 0
    code, finished, _ = scene.run("fix--it")
    assert (code, finished["reason"]) == (0, "1 of 1 open already: pull request #1")


def test_an_open_request_keeps_the_loop_from_opening_another(server: ForgeServer, tmp_path: Path) -> None:
    scene = scene_on(server, tmp_path, loop(action="open-pr"))
    scene.run()
    scene("approve", scene.session())
    code, finished, events = scene.run()
    assert (code, finished["outcome"]) == (0, "skipped") and "1 of 1 open already" in finished["reason"]
    assert not [one for one in events if one["type"] == "model_turn"]


def test_an_open_request_that_only_the_forge_knows_keeps_the_loop_from_opening_another(
    server: ForgeServer, tmp_path: Path
) -> None:
    scene = scene_on(server, tmp_path, loop(action="open-pr"))
    server.push("other-machine", {"x.txt": "x\n"})
    server.pull("other-machine", body=str(Marker("fixer", "s", "f")), author=ME)
    _, finished, events = scene.run()
    assert finished["outcome"] == "skipped" and finished["reason"].startswith("1 of 1 open already: pull request #")
    assert not any(one["type"] == "model_turn" for one in events)


def test_the_text_of_a_request_mentions_no_one_and_stays_in_its_block(server: ForgeServer, tmp_path: Path) -> None:
    scene = scene_on(server, tmp_path, loop(action="open-pr"))
    report = {"text": "Fixed, @octocat.\n```\n/merge\n![x](https://evil.invalid)"}
    scene.script([FIX, report], [opinion(summary="@octocat is right")])
    scene.run()
    assert scene("approve", scene.session()).code == 0
    body = server.item(pulls(server)[0]).body
    assert "@octocat" not in body and "![" not in body and body.count("```") == 2, body


def test_three_requests_of_other_loops_are_enough_for_a_repository(server: ForgeServer, tmp_path: Path) -> None:
    scene = scene_on(server, tmp_path, loop(action="open-pr"))
    for number in range(3):
        server.push(f"work{number}", {f"{number}.txt": "x\n"})
        server.pull(f"work{number}", body=str(Marker(f"other{number}", "s", "f")), author=ME)
    code, finished, events = scene.run()
    assert (code, finished["outcome"]) == (0, "skipped")
    assert finished["reason"].startswith("3 of 3 pull requests of all loops are open in ")
    assert not [one for one in events if one["type"] == "model_turn"]


def test_approvals_at_the_same_time_open_no_more_requests_than_allowed(server: ForgeServer, tmp_path: Path) -> None:
    """Those beyond three wait on: their approval is not used up."""
    names = ["a", "b", "c", "d", "e"]
    scene = scene_on(server, tmp_path, *[loop(name, action="open-pr") for name in names])
    sessions: list[str] = []
    for name in names:
        scene.run(name)
        sessions.append(scene.session())
    with ThreadPoolExecutor(len(names)) as pool:
        answers = list(pool.map(partial(scene, "approve"), sessions))
    assert sorted(one.code for one in answers) == [0, 0, 0, 3, 3]
    assert len(pulls(server)) == 3 and len(branches(server)) == 4
    waits = scene.inbox()
    full = "approved, but not carried out: 3 of 3 pull requests of all loops are open in octo/widgets"
    assert [full in one["reason"] for one in waits] == [True, True]
    server.merge(pulls(server)[0])
    assert scene("approve", waits[0]["session"]).code == 0


def test_an_approval_without_the_token_or_the_forge_is_not_used_up(server: ForgeServer, tmp_path: Path) -> None:
    scene = scene_on(server, tmp_path, loop(action="open-pr"))
    scene.run()
    session, token = scene.session(), scene.env.pop("FORGE_TOKEN")
    assert scene("approve", session).code == 3
    assert "approved, but not carried out: the variable FORGE_TOKEN is not set" in scene.inbox()[0]["reason"]
    scene.env["FORGE_TOKEN"] = token
    git(scene.root, "remote", "rename", "origin", "upstream")
    git(scene.root, "remote", "add", "mirror", str(server.bare))
    assert scene("approve", session).code == 3
    assert "the repository has several remotes" in scene.inbox()[0]["reason"]
    git(scene.root, "remote", "rename", "upstream", "origin")
    server.fail("pulls/list", Answers(403, "Resource not accessible by personal access token"))
    assert scene("approve", session).code == 3
    assert "has no right to do this in octo/widgets" in scene.inbox()[0]["reason"]
    assert scene("approve", session).code == 0
    assert (len(pulls(server)), scene.inbox()) == (1, [])


def test_work_that_may_proceed_waits_for_a_person_if_other_requests_were_opened_meanwhile(
    server: ForgeServer, tmp_path: Path
) -> None:
    scene = scene_on(server, tmp_path, loop("alone", **ALONE))
    lists: list[str] = []

    def open_others(received: Received) -> None:
        lists.extend([received.operation] if received.operation == "pulls/list" else [])
        if received.operation == "pulls/list" and len(lists) == 2:  # the first is before the work
            for number in range(3):
                server.pull(f"work{number}", body=str(Marker(f"other{number}", "s", "f")), author=ME)

    server.on_request = open_others
    code, finished, _ = scene.run("alone")
    assert (code, finished["outcome"]) == (3, "escalated")
    assert finished["reason"].startswith("not carried out: 3 of 3 pull requests")
    assert branches(server) == ["main"]


@pytest.mark.parametrize("is_checked_out", [False, True])
def test_a_request_that_a_person_closed_is_a_no_and_is_not_opened_again(
    server: ForgeServer, tmp_path: Path, is_checked_out: bool
) -> None:
    scene = scene_on(server, tmp_path, loop(action="open-pr"))
    scene.run()
    scene("approve", scene.session())
    (number,) = pulls(server)
    if is_checked_out:  # as `gh pr checkout` does
        branch = f"donewhen/{scene.session()}"
        git(scene.root, "fetch", "--quiet", str(server.bare), f"{branch}:{branch}")
    server.close(number)
    code, finished, _ = scene.run()
    assert (code, finished["outcome"]) == (0, "skipped") and "a person said no" in finished["reason"]
    assert pulls(server) == [number]


@pytest.mark.parametrize(
    ("closed", "reason"),
    [
        (False, "the same finding waits already (pull request #1)"),
        (True, "a person said no to the same finding (pull request #1)"),
    ],
)
def test_another_machine_sees_on_the_forge_what_was_found_before(
    server: ForgeServer, tmp_path: Path, closed: bool, reason: str
) -> None:
    """The work is not checked and not opened again, and the next round there does not even make it."""
    scene = scene_on(server, tmp_path, loop(action="open-pr", max_open=2))
    scene.run()
    assert scene("approve", scene.session()).code == 0
    if closed:
        server.close(1)
    scene.env["XDG_STATE_HOME"] = str(tmp_path / "another")
    assert scene("trust").code == 0
    _, finished, events = scene.run()
    assert (finished["outcome"], finished["reason"], finished["checker"]) == ("skipped", reason, None)
    assert [one for one in events if one["type"] == "model_turn"]  # the control: it was made to find that out
    _, finished, events = scene.run()
    assert finished["outcome"] == "skipped" and not [one for one in events if one["type"] == "model_turn"]


def test_a_request_that_a_bot_closed_is_no_answer(server: ForgeServer, tmp_path: Path) -> None:
    scene = scene_on(server, tmp_path, loop(action="open-pr"))
    scene.run()
    assert scene("approve", scene.session()).code == 0
    server.close(1, BOT)
    assert scene.run()[1]["outcome"] == "escalated"


def test_a_merged_request_is_evidence_and_one_that_a_person_closed_demotes_a_loop_that_acts_alone(
    server: ForgeServer, tmp_path: Path
) -> None:
    scene = scene_on(server, tmp_path, loop(action="open-pr"), loop("alone", **ALONE, max_open=0))
    scene.run()
    scene("approve", scene.session())
    (number,) = pulls(server)
    server.merge(number)
    scene.run()
    assert json.loads(scene("loop", "show", "fixer", "--json").out)["evidence"]["sessions"] != []
    assert scene.run("alone")[1]["outcome"] == "proceeded"
    server.close(max(pulls(server)))
    _, finished, _ = scene.run("alone")
    assert finished["level"] == "assisted"
    assert "a person denied the work of session" in scene("loop", "show", "alone").out


def test_a_branch_that_somebody_else_pushed_is_left_alone_and_the_work_is_kept(
    server: ForgeServer, tmp_path: Path
) -> None:
    scene = scene_on(server, tmp_path, loop(action="open-pr"))
    scene.run()
    session = scene.session()
    foreign = server.push(f"donewhen/{session}", {"foreign.txt": "x\n"})
    answer = scene("approve", session)
    assert answer.code == 4 and "is not ours" in answer.out + answer.err
    assert git(server.bare, "rev-parse", f"donewhen/{session}").strip() == foreign
    assert f"donewhen/{session}" in scene.branches() and pulls(server) == []


def test_a_refused_token_fails_and_the_approval_can_be_tried_again(server: ForgeServer, tmp_path: Path) -> None:
    scene = scene_on(server, tmp_path, loop(action="open-pr"))
    scene.run()
    session = scene.session()
    server.fail("pulls/create", Answers(403, "Resource not accessible by personal access token"))
    failed = scene("approve", session)
    assert failed.code == 4 and pulls(server) == []
    again = scene("resume", session)
    assert again.code == 0, again.err
    assert len(pulls(server)) == 1


def test_commits_that_a_person_did_not_push_are_named_before_they_are_published(
    server: ForgeServer, tmp_path: Path
) -> None:
    """An approval may publish them; a loop that acts alone does not."""
    scene = scene_on(server, tmp_path, loop(action="open-pr"), loop("alone", **ALONE))
    server.push("main", {"theirs.txt": "what only the forge has\n"})
    for number in range(2):
        write(scene.root, {f"{number}.txt": "private\n"})
        commit(scene.root, "not pushed")
    names = ", and with it 2 commits of main that are not there yet"
    assert names in scene.run("fixer", "--dry-run")[1]["action"]["summary"]
    _, finished, _ = scene.run("alone")
    assert (finished["outcome"], finished["reason"]) == ("escalated", f"a pull request would be opened{names}")
    session = scene.session()
    assert names in json.loads(scene("show", session, "--json").out)["gate"]["detail"]
    assert scene("approve", session).code == 0
    assert git(server.bare, "rev-list", "--count", f"main..donewhen/{session}") == "3"


def test_a_branch_that_the_forge_does_not_have_is_named(server: ForgeServer, tmp_path: Path) -> None:
    scene = scene_on(server, tmp_path, loop("alone", **ALONE))
    git(scene.root, "checkout", "--quiet", "-b", "local-only")
    _, finished, _ = scene.run("alone")
    reason = "a pull request would be opened, but there is no branch local-only there yet"
    assert (finished["outcome"], finished["reason"]) == ("escalated", reason)


def test_a_forge_that_cannot_say_which_commits_it_has_does_not_end_a_round(server: ForgeServer, tmp_path: Path) -> None:
    scene = scene_on(server, tmp_path, loop(action="open-pr"))
    server.fail("git/refs", Answers(500))
    summary = scene.run("fixer", "--dry-run")[1]["action"]["summary"]
    assert "(whether it brings other commits with it is not known: " in summary and server.token not in summary


@pytest.mark.parametrize("end", ["open", "merged", "closed"])
def test_a_repetition_pushes_nothing_for_a_request_that_was_opened(
    server: ForgeServer, tmp_path: Path, end: str
) -> None:
    """A forge removes the branch of a request that was merged or closed: it must not come back."""
    scene = scene_on(server, tmp_path, loop(action="open-pr"))
    scene.run()
    session = scene.session()
    server.fail("pulls/create", Drops(after_effect=True))
    approve = subprocess.Popen([PROGRAM, "approve", session], cwd=scene.root, env={**os.environ, **scene.env})

    def kill_after_the_effect(received: Received) -> None:
        if received.operation == "pulls/list" and pulls(server):
            approve.kill()

    server.on_request = kill_after_the_effect
    assert (approve.wait(), pulls(server)) == (-signal.SIGKILL, [1])
    server.on_request = None
    if end != "open":
        (server.merge if end == "merged" else server.close)(1)
        git(server.bare, "update-ref", "-d", f"refs/heads/donewhen/{session}")
    before = branches(server)
    answer = scene("resume", session)
    assert answer.code == (4 if end == "closed" else 0), answer.err
    assert (pulls(server), branches(server), server.count("git/push")) == ([1], before, 1)


def test_a_refused_request_leaves_no_branch_and_its_work_is_not_made_again(server: ForgeServer, tmp_path: Path) -> None:
    scene = scene_on(server, tmp_path, loop("alone", **ALONE))
    server.fail("pulls/create", Answers(422, "Draft pull requests are not supported in this repository."))
    code, finished, _ = scene.run("alone")
    session = scene.session()
    assert (code, finished["outcome"], branches(server)) == (4, "failed", ["main"])
    for words in ("set draft = false", "was removed from octo/widgets again", f"the work is on donewhen/{session}"):
        assert words in finished["reason"]
    assert finished["reason"].endswith(f"try again: donewhen resume {session}")
    _, skipped, events = scene.run("alone")
    assert skipped["reason"] == f"1 of 1 open already: merge or remove donewhen/{session}"
    assert not [one for one in events if one["type"] == "model_turn"]
    assert scene("resume", session).code == 0
    assert (len(pulls(server)), branches(server)) == (1, [f"donewhen/{session}", "main"])


def test_a_branch_that_somebody_else_pushed_to_stays_after_a_refused_request(
    server: ForgeServer, tmp_path: Path
) -> None:
    scene = scene_on(server, tmp_path, loop(action="open-pr"))
    scene.run()
    branch, theirs = f"donewhen/{scene.session()}", list[str]()

    def push(received: Received) -> None:
        if received.operation == "pulls/create":
            theirs.append(server.push(branch, {"theirs.txt": "x\n"}))

    server.on_request = push
    server.fail("pulls/create", Answers(403, "Resource not accessible by personal access token"))
    answer = scene("approve", scene.session())
    assert answer.code == 4 and f"the branch {branch} stays in octo/widgets" in answer.out
    assert server.world.commit_of(branch) == theirs[0]


def test_a_request_without_an_answer_keeps_its_branch(server: ForgeServer, tmp_path: Path) -> None:
    """It may be there: only a refusal is certain."""
    scene = scene_on(server, tmp_path, loop(action="open-pr"))
    scene.run()
    server.fail("pulls/create", Answers(429, "slow down", {"Retry-After": "3600"}))
    assert scene("approve", scene.session()).code == 4
    assert branches(server) == [f"donewhen/{scene.session()}", "main"]


@pytest.mark.parametrize("action", ["open-pr", "apply-patch"])
def test_without_a_branch_to_act_on_nothing_is_started(server: ForgeServer, tmp_path: Path, action: str) -> None:
    scene = scene_on(server, tmp_path, loop(action=action))
    git(scene.root, "checkout", "--quiet", "--detach")
    answer = scene("loop", "run", "fixer")
    assert answer.code == 2
    assert answer.one_line.endswith(f"donewhen.toml: loop 'fixer': {action} needs a branch, and none is checked out")
    assert scene("list", "--json").out == ""


def test_a_lost_answer_makes_no_second_request(server: ForgeServer, tmp_path: Path) -> None:
    scene = scene_on(server, tmp_path, loop(action="open-pr"))
    scene.run()
    server.fail("pulls/create", Drops(after_effect=True))
    assert scene("approve", scene.session()).code == 0
    assert len(pulls(server)) == 1


def test_without_a_token_nothing_is_started(server: ForgeServer, tmp_path: Path) -> None:
    scene = scene_on(server, tmp_path, loop(action="open-pr"))
    del scene.env["FORGE_TOKEN"]
    answer = scene("loop", "run", "fixer")
    assert answer.code == 2 and "the variable FORGE_TOKEN is not set" in answer.one_line
    assert scene("list", "--json").out == ""


@pytest.mark.parametrize(
    "keys", [{"action": "open-pr"}, {"level": "report", "inputs": [{"name": "i", "read": "open-issues"}]}]
)
def test_a_token_that_agents_would_see_is_refused(server: ForgeServer, tmp_path: Path, keys: dict[str, Any]) -> None:
    more = '[workspace]\nenv = ["FORGE_TOKEN"]\n'
    scene = scene_on(server, tmp_path, loop(**keys), loop("local", level="report", action="report"), more=more)
    answer = scene("loop", "run", "fixer")
    assert answer.code == 2 and "'workspace.env' names FORGE_TOKEN, which 'forge.token_env' names" in answer.one_line
    assert scene.run("local")[0] == 0


def test_values_of_variables_that_agents_had_are_not_published(server: ForgeServer, tmp_path: Path) -> None:
    number = server.issue("add() is wrong")
    secret, keys = "postgres://u:hunter2@h/db", "workspace.env, inputs.env and the token"
    read = [{"name": "issues", "command": "echo $INPUT_SECRET", "env": ["INPUT_SECRET"]}]
    loops = (loop(action="open-pr", inputs=read), loop("helper", action="comment", inputs=read))
    scene = scene_on(server, tmp_path, *loops, more='[workspace]\nenv = ["DB_SECRET"]\n')
    scene.env |= {"DB_SECRET": secret, "INPUT_SECRET": "input-value-1234"}
    said = f"{keys}: {secret} input-value-1234 {server.token}"
    scene.script([FIX, {"text": said}], [LOOK, opinion()])
    scene.run()
    assert scene("approve", scene.session()).code == 0
    scene.script([{"text": f"COMMENT ON #{number}\n{said}"}], [opinion()])
    scene.run("helper")
    assert scene("approve", scene.session()).code == 0
    for text in (server.item(pulls(server)[0]).body, server.item(number).comments[0]["body"]):
        assert f"{keys}: [DB_SECRET] [INPUT_SECRET] [FORGE_TOKEN]" in text


def test_without_a_name_nothing_is_signed_off(server: ForgeServer, tmp_path: Path) -> None:
    signed, plain = loop("signed", action="open-pr", signoff=True), loop("plain", action="open-pr")
    scene = scene_on(server, tmp_path, signed, plain)
    answer = scene("loop", "run", "signed")
    assert answer.code == 2 and "set git config user.name and git config user.email" in answer.one_line
    assert scene("list", "--json").out == ""
    assert scene.run("plain")[1]["outcome"] == "escalated"


def test_a_loop_comments_after_approval_and_mentions_no_one(server: ForgeServer, tmp_path: Path) -> None:
    number = server.issue("add() is wrong")
    told = loop("helper", action="comment", inputs=[{"name": "issues", "command": "echo an issue"}])
    scene = scene_on(server, tmp_path, told)
    scene.script([{"text": COMMENT["text"].format(number=number)}], [opinion()])
    code, finished, _ = scene.run("helper")
    assert (code, finished["outcome"]) == (3, "escalated") and scene.branches() == ["main"]
    (waits,) = [json.loads(line) for line in scene("inbox", "--json").out.splitlines()]
    assert (waits["loop"], waits["session"]) == ("helper", scene.session())
    assert scene("approve", scene.session()).code == 0
    (comment,) = server.item(number).comments
    assert "@\u200boctocat" in comment["body"] and "<!-- donewhen loop=x" not in comment["body"]


def test_comments_that_wait_keep_the_loop_from_proposing_more(server: ForgeServer, tmp_path: Path) -> None:
    number = server.issue("add() is wrong")
    inputs = [{"name": "issues", "command": "cat state.txt"}]
    scene = scene_on(server, tmp_path, loop("helper", action="comment", inputs=inputs))

    def run(state: str) -> tuple[str, str, bool]:
        write(scene.root, {"state.txt": state})
        commit(scene.root, state)
        scene.script([{"text": COMMENT["text"].format(number=number)}], [LOOK, opinion()])
        _, finished, events = scene.run("helper")
        return finished["outcome"], finished["reason"], any(one["type"] == "model_turn" for one in events)

    assert run("one issue")[0] == "escalated"
    first = scene.session()
    assert run("another issue") == ("skipped", f"1 of 1 open already: session {first} waits", False)
    assert scene("deny", first).code == 1
    assert run("a third issue")[0] == "escalated"


def commented(scene: LoopScene, name: str, text: str) -> str:
    """Run a round that proposes this text, on something new, and approve it. Return what became of it."""
    write(scene.root, {"state.txt": "x" * int(git(scene.root, "rev-list", "--count", "HEAD"))})
    commit(scene.root, "another state")
    scene.script([{"text": text}], [LOOK, opinion()])
    assert scene.run(name)[1]["outcome"] == "escalated"
    events = [json.loads(line) for line in scene("approve", scene.session(), "--json").out.splitlines()]
    finished = next(one for one in reversed(events) if one["type"] == "round_finished")
    return finished["action"]["summary"] if finished["outcome"] == "proceeded" else finished["reason"]


def helpers(server: ForgeServer, tmp_path: Path, *loops: str) -> LoopScene:
    """Return a scene with two loops that comment."""
    keys: dict[str, Any] = {"action": "comment", "inputs": [{"name": "issues", "command": "cat state.txt"}]}
    scene = scene_on(server, tmp_path, *loops, loop("helper", **keys), loop("second", **keys))
    write(scene.root, {"state.txt": "first"})
    return scene


def test_our_own_comment_is_never_answered(server: ForgeServer, tmp_path: Path) -> None:
    """Whichever loop wrote it, and whatever bots say then. People let us speak again, three times in all."""
    number = server.issue("add() is wrong")
    text = COMMENT["text"].format(number=number)
    scene = helpers(server, tmp_path)
    assert commented(scene, "helper", text).startswith("1 comment in octo/widgets: https://")
    for name in ("second", "helper"):
        left_out = f"0 comments in octo/widgets; left out: #{number} (our own comment is the last one)"
        assert commented(scene, name, text) == left_out
        server.comment(number, "I am a bot and answer.", author=BOT)
    for _ in range(2):
        server.comment(number, "Thank you. And now?")
        assert commented(scene, "helper", text).startswith("1 comment")
    server.comment(number, "And now?")
    assert "3 comments of loops are there already" in commented(scene, "helper", text)
    assert sum(one["user"]["login"] == ME.login for one in server.item(number).comments) == 3


def test_a_loop_stays_out_of_a_talk_of_other_people_and_of_its_own_requests(
    server: ForgeServer, tmp_path: Path
) -> None:
    talk, closed, asked = server.issue("talk"), server.issue("closed"), server.issue("asked")
    server.close(closed)
    for number, words in ((talk, "I have it, too."), (asked, "What do you think, @donewhen-app?")):
        server.comment(number, words, User("grace"))
    scene = helpers(server, tmp_path, loop(action="open-pr"))
    scene.run()
    assert scene("approve", scene.session()).code == 0
    (own,) = pulls(server)
    text = "".join(f"COMMENT ON #{number}\nThe cause is the sign.\n" for number in (talk, closed, own, asked))
    said = commented(scene, "helper", text)
    left_out = f"left out: #{talk} (other people discuss it), #{closed} (it is closed), #{own} (a loop opened it)"
    assert said.startswith("1 comment in octo/widgets: https://") and said.endswith(left_out)
    written = {number: server.item(number).comments[-1]["user"]["login"] for number in (talk, asked)}
    assert written == {talk: "grace", asked: ME.login} and not server.item(own).comments


def test_a_comment_that_is_refused_does_not_undo_the_others(server: ForgeServer, tmp_path: Path) -> None:
    first, second = server.issue("one"), server.issue("two")
    scene = helpers(server, tmp_path)
    text = "".join(f"COMMENT ON #{number}\nThe cause is the sign.\n" for number in (first, 999, second))
    said = commented(scene, "helper", text)
    urls = [server.item(number).comments[0]["html_url"] for number in (first, second)]
    assert said == f"2 comments in octo/widgets: {', '.join(urls)}; left out: #999 (it is not there)"
    server.fail("issues/create-comment", Answers(403, "Resource not accessible by personal access token"))
    third = server.issue("three")
    said = commented(scene, "helper", f"COMMENT ON #{third}\nThe cause is the sign.\n")
    assert f"no comment was written: #{third} (the token in FORGE_TOKEN has no right to do this" in said


def test_a_dry_run_says_what_would_happen_and_does_nothing(server: ForgeServer, tmp_path: Path) -> None:
    scene = scene_on(server, tmp_path, loop(action="open-pr"))
    code, finished, _ = scene.run("fixer", "--dry-run")
    assert (code, finished["outcome"], pulls(server), scene.branches()) == (0, "reported", [], ["main"])
    assert "open a draft pull request" in finished["action"]["summary"]
    assert scene.run()[1]["outcome"] == "escalated"
