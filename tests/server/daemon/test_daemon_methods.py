"""The methods of interface.md 7 over the unix socket of a real daemon, each with its effect."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from loops.loop_scene import LoopScene, loop
from repositories import git, write
from runs.repairs_seen import RIGHT as REPAIR
from runs.repairs_seen import shop
from runs.scenes import scene
from server.daemon_program import Client, Daemon, eventually, has_ended, rests
from server.daemon_scenes import ASKS, CHEAT, STUCK, bare, guarded, rested, start, types, wait_for_event


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return scene(tmp_path / "repo")


@pytest.mark.promise("command.serve")
@pytest.mark.promise("serve.unix-socket")
@pytest.mark.promise("rpc.session.start")
@pytest.mark.promise("rpc.session.subscribe")
@pytest.mark.promise("rpc.session.get")
@pytest.mark.promise("rpc.session.events")
@pytest.mark.promise("rpc.session.list")
def test_a_session_is_started_followed_and_read(client: Client, daemon: Daemon, repo: Path) -> None:
    id, events, status = rested(client, repo)
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert {event["session"] for event in events} == {id}
    assert (types(events)[0], types(events)[-1]) == ("session_started", "session_finished")
    assert status["outcome"] == events[-1]["outcome"] == "verified"
    assert status["next_seq"] == len(events) + 1
    assert git(repo, "show", f"donewhen/{id}:answer.txt") == "right"
    known = client.ask("session.get", id=id)
    assert (known["state"], known["outcome"], known["live"]) == ("finished", "verified", False)
    assert client.ask("session.events", id=id, from_seq=1)["events"] == events
    assert client.ask("session.events", id=id, from_seq=5, limit=3) == {"events": events[4:7], "next_seq": 8}
    (row,) = client.ask("session.list", repo=str(repo))
    assert (row["id"], row["outcome"], row["events"]) == (id, "verified", len(events))
    with daemon.client() as late:
        assert late.follow(id, from_seq=6) == (events[5:], {**status, "subscription": "s1"})
    assert json.loads(client.ask("receipt.get", id=id))["digest"].startswith("sha256:")


def test_what_a_session_made_is_shown_landed_and_thrown_away(client: Client, repo: Path) -> None:
    id, _, _ = rested(client, repo, land="none")
    patch = client.ask("session.diff", id=id)
    assert "+right" in patch["patch"]
    assert (patch["encoding"], patch["truncated"]) == ("utf-8", False)
    assert git(repo, "branch", "--list", "donewhen/*") == ""


@pytest.mark.promise("rpc.session.land")
@pytest.mark.promise("rpc.session.discard")
def test_a_verified_session_is_landed_on_a_branch_and_discarded(client: Client, repo: Path) -> None:
    id, _, _ = rested(client, repo, land="none")
    git(repo, "branch", "there")
    landed = client.ask("session.land", id=id, onto="there")["landed"]
    assert (landed["branch"], landed["commit"]) == ("there", git(repo, "rev-parse", "there"))
    assert git(repo, "show", "there:answer.txt") == "right"
    other, _, _ = rested(client, repo)
    assert git(repo, "branch", "--list", "donewhen/*") != ""
    client.ask("session.discard", id=other)
    assert git(repo, "branch", "--list", f"donewhen/{other}") == ""


@pytest.mark.promise("rpc.session.answer")
def test_a_question_is_answered_and_the_session_goes_on(client: Client, daemon: Daemon, repo: Path) -> None:
    id = start(client, repo, ASKS)
    client.ask("session.subscribe", id=id, from_seq=1)
    assert wait_for_event(client, "question_asked")["prompt"] == "which one?"
    _, status = client.until_status(lambda one: one["needs_you"]["kind"] == "question")
    assert (status["live"], status["needs_you"]["detail"]) == (True, "which one?")
    with daemon.client() as person:
        assert person.ask("session.answer", id=id, text="the left one") == {"id": id, "live": True}
    assert wait_for_event(client, "question_answered")["answer"] == "the left one"
    _, status = client.until_status(has_ended)
    assert status["outcome"] == "verified"


@pytest.mark.promise("rpc.session.approve")
@pytest.mark.promise("rpc.inbox.list")
def test_an_approved_gate_lets_the_session_go_on_by_itself(client: Client, tmp_path: Path) -> None:
    repo = guarded(tmp_path / "repo")
    id, events, status = rested(client, repo, CHEAT, max_iterations=1)
    assert (events[-1]["to"], status["needs_you"]["kind"]) == ("waiting", "amendment")
    (item,) = [one for one in client.ask("inbox.list") if one["session"] == id]
    assert item["kind"] == "amendment"
    decided = client.ask("session.approve", id=id)
    assert (decided["id"], decided["live"], decided["is_optional"]) == (id, False, False)
    more, status = client.until_status(has_ended)
    assert (status["outcome"], more[0]["seq"]) == ("verified", len(events) + 1)
    assert git(repo, "show", f"donewhen/{id}:expected.txt") == "wrong"
    assert [one for one in client.ask("inbox.list") if one["session"] == id] == []


@pytest.mark.promise("rpc.session.deny")
def test_a_denied_gate_ends_the_session(client: Client, tmp_path: Path) -> None:
    id, _, _ = rested(client, guarded(tmp_path / "repo"), CHEAT, max_iterations=1)
    client.ask("session.deny", id=id)
    _, status = client.until_status(has_ended)
    assert status["outcome"] == "rejected"


@pytest.mark.promise("rpc.session.cancel")
def test_a_cancelled_session_ends_and_nothing_of_it_is_left(client: Client, daemon: Daemon, repo: Path) -> None:
    id = start(client, repo, STUCK)
    client.ask("session.subscribe", id=id, from_seq=1)
    wait_for_event(client, "iteration_started")
    assert client.ask("session.cancel", id=id) == {"id": id, "line": "cancelled"}
    _, status = client.until_status(has_ended)
    assert status["outcome"] == "cancelled"
    eventually(lambda: not daemon.call_processes())


@pytest.mark.promise("rpc.session.resume")
def test_a_session_that_stopped_is_resumed_where_it_was(client: Client, repo: Path) -> None:
    git(repo, "branch", "donewhen")  # a branch of this name blocks donewhen/ID
    id, events, status = rested(client, repo)
    assert (status["state"], status["needs_you"]["kind"]) == ("waiting", "landing")
    git(repo, "branch", "-D", "donewhen")
    assert client.ask("session.resume", id=id) == {"id": id}
    more, status = client.until_status(lambda one: rests(one) and one["next_seq"] > len(events) + 1)
    assert (status["outcome"], more[0]["seq"]) == ("verified", len(events) + 1)
    assert "model_turn" not in types(more)


@pytest.mark.promise("rpc.contract.propose")
@pytest.mark.promise("rpc.contract.revise")
def test_a_contract_is_proposed_changed_and_approved(client: Client, tmp_path: Path) -> None:
    repo = bare(tmp_path / "repo")
    proposed = client.ask("contract.propose", repo=str(repo))
    assert [check["command"] for check in proposed["checks"]] == ["make test"]
    assert (repo / "donewhen.toml").read_text() == ""
    id, events, status = rested(client, repo)
    assert (types(events).count("contract_proposed"), status["needs_you"]["kind"]) == (1, "contract")
    client.ask("contract.revise", id=id, text="only check the tests, please")
    more, status = client.until_status(lambda one: rests(one) and one["next_seq"] > len(events) + 1)
    assert any("only check the tests" in json.dumps(event) for event in more)
    assert status["state"] in ("waiting", "finished")


@pytest.mark.promise("rpc.contract.check")
def test_a_tree_is_judged_by_its_contract(client: Client, repo: Path) -> None:
    red = client.ask("contract.check", repo=str(repo))
    assert (red["green"], red["results"][0]["status"]) == (False, "fail")
    write(repo, {"answer.txt": "right\n"})
    assert client.ask("contract.check", repo=str(repo))["green"]
    assert not client.ask("contract.check", repo=str(repo), subject="head")["green"]


def test_branches_are_combined(client: Client, repo: Path) -> None:
    base = git(repo, "rev-parse", "HEAD")
    for name, files in {"good": {"answer.txt": "right\n"}, "bad": {"answer.txt": "worse\n"}}.items():
        git(repo, "checkout", "--quiet", "-b", name, base)
        write(repo, files)
        git(repo, "commit", "--quiet", "-am", name)
    git(repo, "checkout", "--quiet", "main")
    united = client.ask("union.run", repo=str(repo), parts=["good", "bad"])
    assert {part["title"]: part["status"] for part in united["parts"]}["good"] == "in"
    assert not united["is_complete"]
    assert git(repo, "show", f"{united['branch']}:answer.txt") == "right"


def test_a_receipt_is_judged_again(client: Client, repo: Path) -> None:
    id, _, _ = rested(client, repo)
    receipt = client.ask("receipt.get", id=id)
    verified = client.ask("receipt.verify", repo=str(repo), receipt=receipt)
    assert (verified["same"], verified["verdict"]["green"]) == (True, True)
    changed = json.dumps({**json.loads(receipt), "intent": "something else"})
    assert client.refused("receipt.verify", repo=str(repo), receipt=changed).kind == "bad_input"


@pytest.mark.promise("rpc.agents.list")
@pytest.mark.promise("rpc.models.list")
def test_what_this_machine_offers_is_that_of_the_caller(daemon: Daemon, own_home: dict[str, str]) -> None:
    with daemon.client() as plain, daemon.client() as with_key:
        variables = {**os.environ, "ANTHROPIC_API_KEY": "k"}
        with_key.ask("connection.enter", directory="/", variables=variables)
        found = {one["provider"]: one for one in with_key.ask("models.list")}
        assert (found["anthropic"]["ready"], found["anthropic"]["why"]) == (True, "ANTHROPIC_API_KEY is set")
        assert not {one["provider"]: one for one in plain.ask("models.list")}["anthropic"]["ready"]
        assert {"claude-code", "codex"} <= {one["name"] for one in plain.ask("agents.list")}
        names = {one["name"] for one in plain.ask("doctor.run")}
        assert len(names) > 3


@pytest.mark.promise("rpc.loop.list")
@pytest.mark.promise("rpc.loop.run")
@pytest.mark.promise("rpc.loop.pause-resume")
@pytest.mark.promise("rpc.loop.history")
def test_a_loop_is_listed_run_paused_and_resumed(client: Client, tmp_path: Path) -> None:
    there = LoopScene.made(tmp_path, loop())
    where = {"repo": str(there.root)}
    (row,) = client.ask("loop.list", **where)["loops"]
    assert (row["name"], row["trusted"], row["paused"]) == ("fixer", True, "")
    assert client.ask("loop.show", name="fixer", **where)["intent"] == "keep main green"
    id = client.ask("loop.run", name="fixer", **where)["id"]
    events, status = client.follow(id)
    assert types(events).count("round_finished") == 1
    assert (status["state"], status["needs_you"]["kind"]) == ("waiting", "loop_action")
    (round_,) = client.ask("loop.history", **where)
    assert (round_["loop"], round_["session"], round_["outcome"]) == ("fixer", id, "escalated")
    assert client.ask("loop.pause", name="fixer", **where)
    assert client.ask("loop.list", **where)["loops"][0]["paused"]
    assert client.ask("loop.resume", name="fixer", **where) is None
    assert client.ask("loop.list", **where)["loops"][0]["paused"] == ""
    client.ask("session.approve", id=id)
    _, status = client.until_status(has_ended)
    assert git(there.root, "branch", "--list", "donewhen/*") != ""


def test_a_ready_made_loop_is_added(client: Client, repo: Path) -> None:
    added = client.ask("loop.add", repo=str(repo), name="daily-triage")
    assert Path(added["file"]).exists()
    assert [row["name"] for row in client.ask("loop.list", repo=str(repo))["loops"]] == ["daily-triage"]


@pytest.mark.promise("rpc.memory.list")
@pytest.mark.promise("rpc.memory.recall")
def test_a_repair_is_listed_and_recalled(client: Client, tmp_path: Path) -> None:
    repo = shop(tmp_path / "repo")
    _, events, status = rested(client, repo, REPAIR)
    assert status["outcome"] == "verified"
    (known,) = client.ask("memory.list", repo=str(repo))
    failed = next(one for one in events if one["type"] == "check_completed" and one["status"] == "fail")
    hint = client.ask("memory.recall", log=failed["output_tail"], check=failed["name"], repo=str(repo))
    assert (hint["repair"], hint["times_helped"]) == (known["id"], 0)
    assert client.ask("memory.recall", log="nothing like it") is None


def test_the_board_has_every_session_from_its_beginning_or_from_now(daemon: Daemon, client: Client, repo: Path) -> None:
    with daemon.client() as board, daemon.client() as whole:
        known = board.ask("board.subscribe", **{"from": None})
        assert all(row["state"] != "" for row in known["sessions"])
        id, events, _ = rested(client, repo)
        seen: list[dict[str, Any]] = []
        while not seen or seen[-1]["seq"] < len(events):
            message = board.notification()
            if message["method"] == "board.event" and message["params"]["event"]["session"] == id:
                seen.append(message["params"]["event"])
        assert seen == events
        positions = {row["id"]: row["next_seq"] for row in client.ask("board.subscribe", **{"from": None})["sessions"]}
        whole.ask("board.subscribe", **{"from": {**positions, id: 4}})
        again, _ = whole.until_status(lambda one: one["id"] == id)
        assert again == events[3:]
