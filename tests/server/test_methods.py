"""The methods called in process, as a server calls them: parameters checked, results as their schemas say."""

import base64
import inspect
import json
import subprocess
from pathlib import Path
from typing import Any

import anyio
import pytest

from donewhen.errors import BadInput, DonewhenError, NeedsPerson
from donewhen.server.error_kinds import error_data
from donewhen.server.methods.call_context import CallContext
from donewhen.server.methods.table import TABLE
from donewhen.server.parameters import parameters_of, validators
from program import PROGRAM
from repositories import git, write
from runs.scenes import EXPECTED, RIGHT, call, say, scene, script
from runs.scenes import write as step_write
from server.openrpc.described import misfits

CHECKS = validators(TABLE)
CHEAT = [step_write("expected.txt", "wrong\n"), say("the expectation was wrong")]
LOOP = "\n[[loop]]\nname = 'triage'\nintent = 'report'\nnever = ['src/**']\n"


def called(method: str, /, context: CallContext | None = None, **params: Any) -> Any:
    """Call a method of the table as a server does, and check its result."""
    entry, arguments = TABLE[method], CHECKS[method](params)
    given = [context or CallContext()] if entry.takes_context else []

    async def result() -> Any:
        found = entry.function(*given, **arguments)
        return await found if inspect.isawaitable(found) else found

    found = anyio.run(result)
    if not entry.begins:
        assert misfits(method, found) == []
    return found


def refusal(method: str, /, **params: Any) -> DonewhenError:
    with pytest.raises(DonewhenError) as refused:
        called(method, **params)
    return refused.value


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository elsewhere: the current directory is none."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    return scene(tmp_path / "repo")


def started(repo: Path, steps: object, **params: Any) -> dict[str, Any]:
    model = script(repo.parent / "script.json", steps)
    return called("session.start", intent="say right", repo=str(repo), model=model, **params)


def test_a_session_that_is_started_by_its_parameters_can_be_read_by_every_reading_method(repo: Path) -> None:
    ended = started(repo, RIGHT, checks={"more": "true", "table": {"command": "test -f answer.txt", "min_tests": 1}})
    assert ended["outcome"] == "verified" and ended["exit_code"] == 0
    id = ended["id"]
    (row,) = called("session.list", repo=str(repo))
    assert (row["id"], row["live"], row["outcome"]) == (id, False, "verified")
    known = called("session.get", id=id)
    assert [one["name"] for one in known["contract"]["checks"]] == ["done", "more", "table"]
    assert {one["key"]: one["source"] for one in called("session.config", id=id)}["use"]
    assert "+right" in called("session.diff", id=id)["patch"]
    receipt = called("receipt.get", id=id)
    assert called("receipt.verify", receipt=receipt, repo=str(repo))["same"]
    assert called("receipt.verify", receipt=f"donewhen/{id}", repo=str(repo))["same"]
    assert called("inbox.list") == []


def test_the_methods_about_this_machine_and_a_repository_return_what_they_describe(repo: Path) -> None:
    write(repo, {"donewhen.toml": (repo / "donewhen.toml").read_text() + LOOP})
    here = str(repo)
    assert {one["provider"] for one in called("models.list")} >= {"anthropic", "openai"}
    assert called("agents.list") and called("doctor.run")
    assert called("policy.decide", command="rm -rf /", repo=here)["decision"] == "deny"
    assert called("trust.accept", repo=here)[0]["file"] == f"{here}/donewhen.toml"
    assert [one["name"] for one in called("loop.list", repo=here)["loops"]] == ["triage"]
    assert called("loop.show", name="triage", repo=here)["only_reads"]
    assert called("loop.history", repo=here) == []
    assert called("loop.pause", name="triage", repo=here)
    assert called("loop.resume", name="triage", repo=here) is None
    names = [one["name"] for one in called("loop.catalogue", repo=here)["loops"]]
    assert called("loop.add", name="daily-triage" if "daily-triage" in names else names[0], repo=here)["file"]


def test_the_methods_about_the_memory_return_what_they_describe(repo: Path) -> None:
    assert called("memory.list") == [] and called("memory.export") == []
    assert called("memory.texts", tag="loop-state") == []
    assert called("memory.forget_texts", tag="loop-state") == 0
    assert called("memory.recall", log="Error: no", check="build") is None
    assert called("memory.signature", log="E   AssertionError: no\n")["v"]
    assert called("memory.import", content="") == {"repairs": 0, "new": 0}
    assert called("memory.forget", ids=[], every=True) == 0


def test_a_check_judges_the_repository_that_is_named(repo: Path) -> None:
    judged = called("contract.check", repo=str(repo))
    assert (judged["green"], [one["status"] for one in judged["results"]]) == (False, ["fail"])
    write(repo, {"answer.txt": "right\n"})
    assert called("contract.check", repo=str(repo))["green"]
    assert not called("contract.check", repo=str(repo), subject="head")["green"]


def test_a_proposed_contract_is_shown_and_nothing_is_written(repo: Path) -> None:
    (repo / "donewhen.toml").unlink()
    write(
        repo, {"test_it.py": "import unittest\n\n\nclass T(unittest.TestCase):\n    def test_it(self):\n        pass\n"}
    )
    proposed = called("contract.propose", repo=str(repo))
    assert proposed["is_new"] and [one["command"] for one in proposed["checks"]]
    assert not (repo / "donewhen.toml").exists()
    assert isinstance(refusal("contract.check", repo=str(repo)), NeedsPerson)
    (repo / "test_it.py").unlink()
    nothing = refusal("contract.propose", repo=str(repo))
    assert error_data(nothing)["kind"] == "nothing_to_propose"


def test_a_union_names_its_parts_and_the_branch(repo: Path) -> None:
    git(repo, "checkout", "-q", "-b", "part")
    write(repo, {"answer.txt": "right\n"})
    git(repo, "commit", "-qam", "say right")
    git(repo, "checkout", "-q", "main")
    united = called("union.run", parts=["part"], repo=str(repo))
    assert united["is_complete"] and united["branch"].startswith("donewhen/union-")
    assert [(one["id"], one["status"], one["title"]) for one in united["parts"]] == [("part", "in", "say right")]


def test_events_come_in_pages_and_the_first_number_is_included(repo: Path) -> None:
    id = started(repo, RIGHT)["id"]
    whole = called("session.events", id=id)["events"]
    assert [event["seq"] for event in whole] == list(range(1, len(whole) + 1))
    pages, next_seq = list[dict[str, Any]](), 1
    while (page := called("session.events", id=id, from_seq=next_seq, limit=3))["events"]:
        assert len(page["events"]) <= 3
        pages += page["events"]
        next_seq = page["next_seq"]
    assert pages == whole
    assert called("session.events", id=id, from_seq=5, limit=1)["events"] == [whole[4]]
    beyond = called("session.events", id=id, from_seq=len(whole) + 1)
    assert beyond == {"events": [], "next_seq": len(whole) + 1}
    assert called("session.events", id=id, limit=0)["events"] == whole


def test_a_patch_can_be_cut_and_one_that_is_no_text_is_base64(repo: Path) -> None:
    steps = [call("shell", command="printf 'right\\n' > answer.txt; printf 'caf\\351\\n' > latin.txt"), say("done")]
    id = started(repo, steps)["id"]
    patch = called("session.diff", id=id)
    content = base64.b64decode(patch["patch"])
    assert patch["encoding"] == "base64" and b"caf\xe9" in content
    assert (patch["size"], patch["truncated"]) == (len(content), False)
    part = called("session.diff", id=id, limit=10)
    assert (part["patch"], part["encoding"], part["truncated"]) == (content[:10].decode(), "utf-8", True)


def test_a_second_decision_says_what_was_decided_and_by_whom(repo: Path) -> None:
    write(repo, {"donewhen.toml": EXPECTED, "expected.txt": "right\n"})
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "expect")
    waiting = started(repo, CHEAT, max_iterations=1)
    id = waiting["id"]
    assert waiting["outcome"] == "waiting"
    (item,) = called("inbox.list")
    assert (item["kind"], item["session"]) == ("amendment", id)
    denied = called("session.deny", id=id)
    assert (denied["live"], denied["is_optional"]) == (False, False)
    late = error_data(refusal("session.approve", id=id))
    assert late == {
        "kind": "already_decided",
        "exit_code": 2,
        "gate": "amendment",
        "decision": "denied",
        "by": "a person",
    }
    assert called("session.resume", id=id)["outcome"] == "rejected"


def test_a_second_answer_says_that_the_question_was_answered(repo: Path) -> None:
    model = script(repo.parent / "script.json", [call("ask_user", prompt="which one?"), *RIGHT])
    command = [PROGRAM, "run", "x", "--model", model, "--json", "--ask"]
    with subprocess.Popen(command, cwd=repo, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        asked = next(event for event in map(json.loads, program.stdout) if event["type"] == "question_asked")
        program.kill()
    id = asked["session"]
    assert called("session.answer", id=id, text="the left one") == {"id": id, "live": False}
    late = error_data(refusal("session.answer", id=id, text="the right one"))
    assert (late["kind"], late["gate"], late["decision"]) == ("already_decided", "question", "answered")


def test_nothing_was_decided_where_nothing_was_ever_asked(repo: Path) -> None:
    id = started(repo, RIGHT)["id"]
    for method, params in (("session.approve", {}), ("session.deny", {}), ("session.answer", {"text": "hello"})):
        assert error_data(refusal(method, id=id, **params))["kind"] == "bad_input"


@pytest.mark.parametrize("id", ["nobody", "../../etc/passwd", "a/b", "a\0b", "%", "_", "*", ".", "x" * 300])
def test_an_unknown_or_odd_id_is_refused_with_the_same_words(repo: Path, id: str) -> None:
    started(repo, RIGHT)
    for name, method in TABLE.items():
        if name.startswith("session.") and name not in ("session.start", "session.list"):
            needed = [one.name for one in parameters_of(method.function) if one.is_required and one.name != "id"]
            refused = refusal(name, id=id, **dict.fromkeys(needed, "x"))
            assert str(refused) == f"there is no session {id!r}", method


@pytest.mark.parametrize("method", ["contract.check", "contract.propose", "loop.list", "trust.accept", "session.start"])
def test_a_repository_is_named_by_an_absolute_path(repo: Path, method: str) -> None:
    params = {"intent": "x"} if method == "session.start" else {}
    assert str(refusal(method, repo="repo", **params)) == "repo must be an absolute path, not 'repo'"
    assert isinstance(refusal(method, repo=str(repo / "missing"), **params), BadInput)


def test_a_wrong_check_of_a_caller_is_named(repo: Path) -> None:
    for checks, words in (
        ({"a b": "true"}, "--check 'a b=true': 'name' must be"),
        ({"t": ""}, "--check 't=': 'command' is missing or empty"),
        ({"t": {"command": "true", "timeout_secs": -1.0}}, "checks: 't': 'timeout_secs' must be"),
        ({"t": {"command": "true", "dir": "../x"}}, "checks: 't': 'dir' must be"),
    ):
        with pytest.raises(BadInput) as refused:
            started(repo, RIGHT, checks=checks)
        assert str(refused.value).startswith(words), json.dumps(checks)
