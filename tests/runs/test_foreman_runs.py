"""Whole runs of the foreman: what lands, what is left out and why, and which engine continues."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from program import PROGRAM
from repositories import git
from runs.agents import configure_agent, run_with_engine
from runs.scenes import Step, call, run_json, run_verb, say, script, shell, write
from runs.subtasks import (
    INTENT,
    Script,
    applied,
    attempts,
    crew,
    decomposition,
    ended,
    foreman,
    gated,
    hangs,
    landed,
    makes,
    planned,
    puts,
    subtask,
    subtask_repository,
    turns,
)
from wire_server import Act, Answer, Decides, Received, Refuses, SaidCall, Says, serving

DONE = (0, "verified")
STORY = (
    "planning_started", "planning_completed", "subtask_started", "subtask_verifying", "subtask_gated",
    "subtasks_farmed", "subtask_applied", "union_verified", "union_rejected", "engine_declined", "landed",
)  # fmt: skip


# -- landed work --


@pytest.mark.promise("events.planning")
@pytest.mark.promise("events.subtasks")
@pytest.mark.promise("replies.decomposition")
def test_independent_subtasks_land_together_after_one_round(tmp_path: Path) -> None:
    repo = subtask_repository(tmp_path / "repo", "abcd")
    ran = foreman(repo, crew(planned(*"abcd"), **{id: puts(id, f"{id} is one") for id in "abcd"}))
    assert (*ended(ran), ran.last["iterations"]) == (*DONE, 1)
    told = [event["type"] for event in ran.events if event["type"] in STORY]
    assert [type for type in told if type not in ("subtask_verifying", "subtask_started", "subtask_gated")] == [
        "planning_started", "planning_completed", "subtasks_farmed", *["subtask_applied"] * 4, "union_verified",
        "landed",
    ]  # fmt: skip
    completed = ran.one("planning_completed")
    assert [one["id"] for one in completed["subtasks"]] == list("abcd")
    assert completed["subtasks"][0]["writes"] == [{"file": "a.txt", "symbol": "*"}]
    assert (completed["levels"], completed["prefer_single_session"]) == ([list("abcd")], False)
    for id in "abcd":
        of_it = [event["type"] for event in ran.events if event.get("id") == id and event["type"] in STORY]
        assert of_it == ["subtask_started", "subtask_verifying", "subtask_gated", "subtask_applied"]
        assert landed(repo, ran.session, f"{id}.txt") == f"{id} is one"
    first = ran.of("subtask_started")[0]
    assert (first["level"], first["total"], first["attempt"]) == (0, 4, 1)
    assert (ran.one("subtasks_farmed")["accepted"], ran.one("subtasks_farmed")["total"]) == (4, 4)
    assert ran.one("union_verified")["applied"] == list("abcd")
    judged = {event["name"] for event in ran.of("check_completed") if event["phase"] == "union"}
    assert judged == {"goal", "steady"}
    assert git(repo, "status", "--porcelain") == ""


@pytest.mark.promise("foreman.keys")
def test_with_one_worker_subtasks_never_overlap(tmp_path: Path) -> None:
    repo = subtask_repository(tmp_path / "repo", "abc", more="[foreman]\nworkers = 1\n")
    ran = foreman(repo, crew(planned(*"abc"), **{id: puts(id) for id in "abc"}))
    assert ended(ran) == DONE
    worked = [event for event in ran.events if event.get("role", "").startswith("worker:")]
    begun = [event for event in ran.events if event["type"] == "subtask_started"]
    order = [event.get("id") or event["role"] for event in sorted([*worked, *begun], key=lambda event: event["seq"])]
    first, second, third = (event["id"] for event in begun)
    assert order == [part for id in (first, second, third) for part in (id, f"worker:{id}", f"worker:{id}")]


SHOP = "import os\n\n\ndef total():\n    return len(os.sep)\n"


def test_functions_that_two_subtasks_add_at_the_same_line_are_both_kept(tmp_path: Path) -> None:
    tells = "python3 -c 'import shop; assert shop.alpha() + shop.beta() == 3'"
    repo = subtask_repository(tmp_path / "repo", "", files={"shop.py": SHOP}, goal=tells)
    plan = planned(subtask("a", "shop.py:alpha"), subtask("b", "shop.py:beta"))
    adds = {id: makes(write("shop.py", SHOP + f"\n\ndef {name}():\n    return {number}\n")) for id, name, number in
            (("a", "alpha", 1), ("b", "beta", 2))}  # fmt: skip
    ran = foreman(repo, crew(plan, **adds))
    assert ended(ran) == DONE
    settled = [["shop.py", "sibling definitions after total"]]
    assert (applied(ran), ran.one("union_verified")["reconciled"]) == (["a", "b"], settled)
    assert {"def alpha():", "def beta():"} < set(landed(repo, ran.session, "shop.py").splitlines())


def test_a_patch_that_cannot_be_merged_is_retried_on_top_of_the_others(tmp_path: Path) -> None:
    both = "grep -qx alpha notes.txt && grep -qx beta notes.txt"
    repo = subtask_repository(tmp_path / "repo", "", files={"notes.txt": "zero\n"}, goal=both)
    plan = planned(subtask("a", "notes.txt:alpha"), subtask("b", "notes.txt:beta"))
    again = makes(shell("echo beta >> notes.txt"))
    ran = foreman(repo, crew(plan, a=makes(write("notes.txt", "alpha\n")), b=[*puts("notes", "beta"), *again]))
    assert ended(ran) == DONE
    rejected = ran.one("union_rejected")
    assert (rejected["culprits"], rejected["partner"], rejected["reason"]) == (["b"], "a", "patch_conflict")
    assert "notes.txt" in rejected["detail"]
    assert (attempts(ran, "a"), attempts(ran, "b")) == ([1], [1, 3])
    assert [event["applied"] for event in ran.of("union_verified")] == [["a"], ["a", "b"]]
    assert landed(repo, ran.session, "notes.txt") == "alpha\nbeta"


def test_a_subtask_that_reads_what_another_writes_starts_after_it_from_its_result(tmp_path: Path) -> None:
    repo = subtask_repository(tmp_path / "repo", "abc")
    plan = planned("a", "c", subtask("b", reads=["a.txt"]))
    ran = foreman(repo, crew(plan, a=puts("a", "seven"), c=puts("c"), b=makes(shell("cp a.txt b.txt"))))
    assert ended(ran) == DONE
    assert ran.one("planning_completed")["levels"] == [["a", "c"], ["b"]]
    order = [(event["type"], event.get("id")) for event in ran.events if event["type"] in STORY]
    assert order.index(("subtask_applied", "a")) < order.index(("subtask_started", "b"))
    assert [event["applied"] for event in ran.of("union_verified")] == [["a", "c"], ["a", "c", "b"]]
    assert [event["accepted"] for event in ran.of("subtasks_farmed")] == [2, 3]
    assert landed(repo, ran.session, "b.txt") == "seven"


def test_a_subtask_that_depends_on_one_left_out_is_not_started_and_is_reported_missing(tmp_path: Path) -> None:
    repo = subtask_repository(tmp_path / "repo", "abc")
    plan, idle = planned("a", "c", subtask("b", reads=["a.txt"])), makes(shell("true"))
    mends = makes(write("a.txt", "one\n"), write("b.txt", "one\n"))
    ran = foreman(repo, crew(plan, a=[*idle, *idle], c=puts("c", "mine"), b=puts("b"), maker=mends))
    assert (ended(ran), gated(ran)) == (DONE, {"c": ["accepted"], "a": ["empty", "empty"], "b": ["need_missing"]})
    assert attempts(ran, "b") == []
    declined = ran.one("engine_declined")
    assert (declined["engine"], declined["reason"], declined["next"]) == ("foreman", "red", "native")
    assert ran.of("subtask_gated")[-1]["reasons"][0]["words"] == "it needs a, which is left out"
    assert landed(repo, ran.session, "c.txt") == "mine"


def test_workers_may_be_external_agents(tmp_path: Path) -> None:
    repo = subtask_repository(tmp_path / "repo", "ab")
    configure_agent("case {task} in *'do a now'*) echo by hand > a.txt;; *'do b now'*) echo by hand > b.txt;; esac")
    ran = foreman(repo, crew(planned("a", "b")), engine="foreman:hand")
    assert (ended(ran), applied(ran)) == (DONE, ["a", "b"])
    assert ran.one("engine_selected") == ran.one("engine_selected") | {"engine": "foreman", "agent": "hand"}
    assert turns(ran) == {"planner": 1}
    assert {landed(repo, ran.session, f"{id}.txt") for id in "ab"} == {"by hand"}


def test_files_left_by_tools_do_not_count_against_a_worker(tmp_path: Path) -> None:
    repo = subtask_repository(tmp_path / "repo", "ab")
    tests = shell("mkdir __pycache__ .pytest_cache; touch __pycache__/a.cpython-311.pyc .pytest_cache/x")
    ran = foreman(repo, crew(planned("a", "b"), a=[tests, *puts("a")], b=puts("b")))
    assert (ended(ran), gated(ran)) == (DONE, {"a": ["accepted"], "b": ["accepted"]})
    assert git(repo, "diff", "--name-only", "main", f"donewhen/{ran.session}").split() == ["a.txt", "b.txt"]


def test_workers_ask_one_at_a_time_and_name_their_subtask(tmp_path: Path) -> None:
    repo = subtask_repository(tmp_path / "repo", "ab")
    asks = {id: [call("ask_user", prompt="which word?"), *puts(id)] for id in "ab"}
    model = script(tmp_path / "script.json", crew(planned("a", "b"), **asks))
    command = [PROGRAM, "run", INTENT, "--engine", "foreman", "--model", model, "--json", "--ask"]
    asked: list[str] = []
    with subprocess.Popen(command, cwd=repo, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        for event in map(json.loads, running.stdout):
            if event["type"] == "question_asked":
                asked.append(event["prompt"])
                assert run_verb(repo, "answer", event["session"], "this one").code == 0
    assert (running.returncode, sorted(asked)) == (0, ["[a] which word?", "[b] which word?"])


# -- left out patches --

NOT_BOTH = "! (grep -qx one a.txt && grep -qx one b.txt)"
"""Green on the base and with each of two patches, and red with both."""


def test_a_patch_that_breaks_another_only_in_the_union_is_named_and_retried_with_the_evidence(
    tmp_path: Path,
) -> None:
    repo = subtask_repository(tmp_path / "repo", "ab", apart=NOT_BOTH)
    again = "*'was left out'*) printf %s {task} > told.txt; cat a.txt > seen.txt; echo two > b.txt;;"
    configure_agent(f"case {{task}} in *'do a now'*) echo one > a.txt;; {again} *) echo one > b.txt;; esac")
    plan = planned("a", subtask("b", "b.txt", "told.txt", "seen.txt"))
    ran = foreman(repo, crew(plan), engine="foreman:hand")
    assert (ended(ran), attempts(ran, "b"), gated(ran)["b"]) == (DONE, [1, 3], ["accepted", "accepted"])
    rejected = ran.one("union_rejected")
    assert (rejected["culprits"], rejected["partner"], rejected["reason"]) == (["b"], "a", "build_test_failed")
    (cause,) = rejected["causes"]
    assert (cause["culprit"], cause["partner"], cause["check"]) == ("b", "a", "apart")
    assert landed(repo, ran.session, "seen.txt") == "one"  # it started from the work of the other
    task = landed(repo, ran.session, "told.txt")
    for words in ("do b now", "apart turns red together with a", "+one", "- b.txt", INTENT):
        assert words in task


def test_a_patch_that_breaks_the_union_twice_is_left_out_and_native_continues_from_the_rest(tmp_path: Path) -> None:
    repo = subtask_repository(tmp_path / "repo", "ab", apart=NOT_BOTH)
    script = crew(planned("a", "b"), a=puts("a"), b=[*puts("b"), *puts("b")], maker=puts("b", "three"))
    ran = foreman(repo, script)
    assert (*ended(ran), ran.last["iterations"]) == (*DONE, 2)
    assert (applied(ran), attempts(ran, "b")) == (["a"], [1, 3])
    declined = ran.one("engine_declined")
    assert (declined["engine"], declined["reason"], declined["next"]) == ("foreman", "red", "native")
    assert gated(ran)["b"] == ["accepted", "check_turned"]  # the second one was judged on top of the other's work
    assert (landed(repo, ran.session, "a.txt"), landed(repo, ran.session, "b.txt")) == ("one", "three")


def test_a_patch_that_destroys_another_s_success_is_named_as_the_culprit(tmp_path: Path) -> None:
    repo = subtask_repository(tmp_path / "repo", "ab", reached="grep -qx one a.txt && ! grep -qx one b.txt")
    ran = foreman(repo, crew(planned("a", "b"), a=puts("a"), b=[*puts("b"), *puts("b", "two")]))
    assert ended(ran) == DONE
    (cause,) = ran.one("union_rejected")["causes"]
    assert (cause["culprit"], cause["partner"], cause["check"]) == ("b", "a", "reached")


TWICE = "def total():\n    return 1\n\n\ndef total():\n    return 2\n"


def test_each_patch_that_the_gate_refuses_has_a_coded_reason_and_the_others_land(tmp_path: Path) -> None:
    files = {"shop.py": SHOP, "till.py": SHOP}
    repo = subtask_repository(tmp_path / "repo", "ad", files=files)
    plan = planned("a", "d", subtask("stray"), subtask("twice", "shop.py"), subtask("broken", "till.py"))
    script = crew(
        plan,
        a=puts("a"),
        stray=makes(write("elsewhere.txt", "x\n")),
        twice=makes(write("shop.py", TWICE)),
        broken=makes(write("till.py", "def total(:\n")),
        d=[*makes(shell("true")), *puts("d", "at last")],
    )
    ran = foreman(repo, script)
    assert (ended(ran), applied(ran)) == (DONE, ["a", "d"])
    assert gated(ran) == {
        "a": ["accepted"],
        "d": ["empty", "accepted"],
        "stray": ["outside_footprint", "worker_failed"],
        "twice": ["duplicate_declaration", "worker_failed"],
        "broken": ["does_not_parse", "worker_failed"],
    }
    statuses = {(event["id"], event["status"]) for event in ran.of("subtask_gated")}
    assert {("stray", "rejected"), ("stray", "error"), ("d", "rejected"), ("d", "accepted")} < statuses
    reasons = {event["id"]: event["reasons"][0] for event in reversed(ran.of("subtask_gated")) if event["reasons"]}
    assert reasons["stray"]["path"] == "elsewhere.txt"
    assert (reasons["twice"]["path"], reasons["twice"]["symbol"]) == ("shop.py", "total")
    assert git(repo, "diff", "--name-only", "main", f"donewhen/{ran.session}").split() == ["a.txt", "d.txt"]


def test_a_hanging_worker_is_stopped_retried_and_left_out(tmp_path: Path) -> None:
    repo = subtask_repository(tmp_path / "repo", "ab", goal="! grep -qx zero a.txt")
    script = crew(planned("a", "b"), a=puts("a"), b=[hangs(say("never"))])
    ran = foreman(repo, script, env={"DONEWHEN__LIMITS__SILENCE_SECS": "5"})
    assert (ended(ran), applied(ran)) == (DONE, ["a"])
    assert attempts(ran, "b") == [1, 2, 3]
    assert gated(ran)["b"] == ["worker_failed", "worker_failed"]
    problems = [event["message"] for event in ran.of("error") if event["subtask"] == "b"]
    assert problems == ["no activity for 5 s"] * 3


FAILS: list[Step] = [{"error": "the server is down"}] * 3


def test_a_worker_with_a_failed_model_is_retried_from_a_clean_copy(tmp_path: Path) -> None:
    repo = subtask_repository(tmp_path / "repo", "ab")
    plan = planned("a", subtask("b", "b.txt", "b2.txt"))
    ran = foreman(repo, crew(plan, a=puts("a"), b=[write("b2.txt", "half\n"), *FAILS, *puts("b")]))
    assert (ended(ran), attempts(ran, "b")) == (DONE, [1, 2])
    assert [(event["subtask"], event["message"]) for event in ran.of("error") if event["kind"] == "worker"] == [
        ("b", "the server is down")
    ]
    assert git(repo, "diff", "--name-only", "main", f"donewhen/{ran.session}").split() == ["a.txt", "b.txt"]


HELD_OUT = """[[check]]
name = "sesame"
command = "cat b.txt"
output_contains = "open"
held_out = true

[[check]]
name = "barley"
command = "! (grep -qx one a.txt && grep -qx 'open one' b.txt)"
held_out = true
"""


@pytest.mark.parametrize("first", ["shut", "open one"], ids=["at the gate", "in union"])
def test_a_broken_held_out_check_is_not_shown_to_a_retried_worker(tmp_path: Path, first: str) -> None:
    repo = subtask_repository(
        tmp_path / "repo", "ab", files={"b.txt": "open\n"}, goal="grep -qx one a.txt", more=HELD_OUT
    )
    again = "*'was left out'*) printf %s {task} > told.txt; echo open two > b.txt;;"
    configure_agent(f"case {{task}} in *'do a now'*) echo one > a.txt;; {again} *) echo {first} > b.txt;; esac")
    plan = planned("a", subtask("b", "b.txt", "told.txt"))
    ran = foreman(repo, crew(plan), engine="foreman:hand")
    assert (ended(ran), attempts(ran, "b")) == (DONE, [1, 3])
    why, _, _ = landed(repo, ran.session, "told.txt").partition("The patch of that attempt")
    assert [word for word in ("sesame", "barley", "open", "cat b.txt") if word in why] == []


INNER_NAME = """[[check]]
name = "barley"
command = "grep -q open b.txt"

[[check]]
name = "bar"
command = "test -f b.txt"
held_out = true
"""


def test_a_check_whose_name_contains_a_held_out_name_is_shown_to_a_retried_worker(
    tmp_path: Path,
) -> None:
    repo = subtask_repository(
        tmp_path / "repo", "ab", files={"b.txt": "open\n"}, goal="grep -qx one a.txt", more=INNER_NAME
    )
    again = "*'was left out'*) printf %s {task} > told.txt; echo open two > b.txt;;"
    configure_agent(f"case {{task}} in *'do a now'*) echo one > a.txt;; {again} *) echo shut > b.txt;; esac")
    plan = planned("a", subtask("b", "b.txt", "told.txt"))
    ran = foreman(repo, crew(plan), engine="foreman:hand")
    assert (ended(ran), attempts(ran, "b")) == (DONE, [1, 3])
    why, _, _ = landed(repo, ran.session, "told.txt").partition("The patch of that attempt")
    assert "barley" in why
    assert "held-out" not in why


# -- no plan, or no parallel work --

CLASH = planned(subtask("a", "shop.py:total"), subtask("b", "shop.py:total"))


@pytest.mark.promise("replies.tolerated-wrapping")
def test_a_plan_with_conflicting_writes_is_sent_back_and_the_next_one_is_used(tmp_path: Path) -> None:
    repo = subtask_repository(tmp_path / "repo", "ab", files={"shop.py": SHOP})
    fenced = say(f"Now it is right:\n\n```json\n{decomposition('a', 'b')}\n```\n")
    ran = foreman(repo, crew(CLASH, fenced, a=puts("a"), b=puts("b")))
    assert (ended(ran), turns(ran)["planner"]) == (DONE, 2)
    assert [len(ran.of(f"planning_{what}")) for what in ("started", "completed")] == [1, 1]


MENDS = makes(write("a.txt", "one\n"), write("b.txt", "one\n"))
INVENTED = planned("b", subtask("a", reads=["shop.py:discount", "cart.py"]))
INVENTIONS = (
    "'a' reads cart.py, which does not exist and which no subtask writes; "
    "'a' reads shop.py: discount, but there is no such symbol"
)


@pytest.mark.parametrize(
    ("replies", "detail"),
    [
        pytest.param([say("let me think")] * 3, "contains no readable JSON object", id="words"),
        pytest.param([say("")] * 3, "the reply is empty", id="empty", marks=pytest.mark.promise("replies.empty")),
        pytest.param([say('{"steps": []}')] * 3, "has no 'subtasks'", id="another-object"),
        pytest.param([CLASH] * 3, "'a' and 'b' both write shop.py: total", id="clash"),
        pytest.param([INVENTED] * 3, INVENTIONS, id="invented"),
    ],
)
def test_without_a_valid_plan_the_foreman_declines_and_says_why(
    tmp_path: Path, replies: list[Step], detail: str
) -> None:
    repo = subtask_repository(tmp_path / "repo", "ab", files={"shop.py": SHOP})
    ran = foreman(repo, crew(*replies, maker=MENDS))
    assert (*ended(ran), turns(ran)["planner"], ran.last["iterations"]) == (*DONE, 3, 1)
    declined = ran.one("engine_declined")
    assert (declined["engine"], declined["reason"], declined["next"]) == ("foreman", "plan_invalid", "native")
    assert detail in declined["detail"]
    assert ran.of("subtask_started") == []


@pytest.mark.parametrize(
    ("plan", "detail"),
    [(["a"], "there is one subtask"), (["a", subtask("b", reads=["a.txt"])], "each of the 2 subtasks waits")],
    ids=["one", "chain"],
)
def test_a_plan_without_parallel_work_is_done_by_one_engine(tmp_path: Path, plan: list[str], detail: str) -> None:
    repo = subtask_repository(tmp_path / "repo", "ab")
    ran = foreman(repo, crew(planned(*plan), maker=MENDS))
    assert (ended(ran), ran.one("planning_completed")["prefer_single_session"]) == (DONE, True)
    declined = ran.one("engine_declined")
    assert (declined["reason"], declined["next"], ran.of("subtask_started")) == ("single_preferred", "native", [])
    assert detail in declined["detail"]


def test_if_no_patch_is_accepted_the_next_engine_starts_from_the_base(tmp_path: Path) -> None:
    repo = subtask_repository(tmp_path / "repo", "ab", more="[foreman]\nworkers = 1\n")
    maker = makes(shell("cat a.txt b.txt elsewhere.txt > seen.txt"), *MENDS[:-1])
    stray = makes(write("elsewhere.txt", "x\n"), write("a.txt", "one\n"))
    ran = foreman(repo, crew(planned("a", "b"), a=stray, b=makes(shell("true")), maker=maker))
    assert (ended(ran), applied(ran)) == (DONE, [])
    declined = ran.one("engine_declined")
    assert (declined["reason"], declined["next"]) == ("nothing_accepted", "native")
    assert "a: elsewhere.txt is not among the declared files" in declined["detail"]
    assert "b: changes nothing" in declined["detail"]
    assert landed(repo, ran.session, "seen.txt") == "zero\nzero"


def test_without_a_model_for_planning_the_named_agent_works_alone(tmp_path: Path) -> None:
    repo = subtask_repository(tmp_path / "repo", "ab")
    configure_agent("echo one > a.txt; echo one > b.txt # {task}")
    ran = run_with_engine(repo, "foreman:hand")
    declined = ran.one("engine_declined")
    assert (ended(ran), declined["engine"], declined["next"]) == (DONE, "foreman", "external")
    assert "a planner needs a model" in declined["detail"]


# -- limits and settings --


def test_a_worker_cannot_spend_the_budget_share_of_the_others(tmp_path: Path) -> None:
    repo = subtask_repository(tmp_path / "repo", "ab", more="[foreman]\nworkers = 1\n")
    costs = {"usage": {"input": 400, "output": 0}}
    greedy = [{**write("a.txt", f"{number}\n"), **costs} for number in range(8)]
    ran = foreman(
        repo, crew(planned("a", "b"), a=greedy, b=[{**puts("b")[0], **costs}, say("done")]), "--max-tokens", "1500"
    )
    assert applied(ran) == ["a", "b"]
    assert turns(ran)["worker:a"] == 2
    assert ended(ran) == DONE


def test_workers_stopped_by_a_limit_continue_with_a_larger_budget(tmp_path: Path) -> None:
    repo = subtask_repository(tmp_path / "repo", "ab")
    costly = {**planned("a", "b"), "usage": {"input": 2000, "output": 0}}
    ran = foreman(repo, crew(costly, a=puts("a"), b=puts("b")), "--max-tokens", "1500")
    assert (ended(ran), ran.last["reason"]) == ((5, "budget"), "tokens: used 2000, allowed 1500")
    went_on = run_json(repo, "resume", ran.session, "--json")
    assert (ended(went_on), applied(went_on)) == (DONE, ["a", "b"])


def test_patches_accepted_before_the_time_limit_are_still_combined_and_judged(tmp_path: Path) -> None:
    repo = subtask_repository(tmp_path / "repo", "abc")
    script = crew(planned(*"abc"), a=puts("a"), b=puts("b"), c=[hangs(say("never"))], maker=[hangs(say("never"))])
    ran = foreman(repo, script, "--max-minutes", "0.25")
    assert (ended(ran), applied(ran)) == ((5, "budget"), ["a", "b"])
    assert "minutes" in ran.last["reason"]
    assert "+one" in run_verb(repo, "diff", ran.session).out


@pytest.mark.promise("foreman.keys")
def test_the_keys_of_the_foreman_come_from_the_settings(tmp_path: Path) -> None:
    configure_agent("case {task} in *'do a now'*) echo x > a.txt;; *) echo x > b.txt;; esac")
    keys = '[foreman]\nworkers = 2\nplan_attempts = 1\nworker = "hand"\n'
    repo = subtask_repository(tmp_path / "repo", "ab", more=keys)
    assert run_verb(repo, "trust").code == 0, "an agent works by the account of the user"
    ran = foreman(repo, crew(CLASH, planned("a", "b"), maker=MENDS))
    assert (turns(ran)["planner"], ran.of("engine_selected")[0]["agent"]) == (1, "hand")


@pytest.mark.parametrize(
    ("engine", "key", "said"),
    [
        ("foreman", "WORKERS", "'foreman.workers' must be 1 or more"),
        ("foreman", "PLAN_ATTEMPTS", "'foreman.plan_attempts' must be 1 or more"),
        ("foreman:nobody", "", "unknown agent 'nobody'; use claude-code"),
        ("foreman:native:x", "", "unknown worker 'native:x'; use native, external or an agent"),
    ],
)
def test_invalid_foreman_settings_are_refused_in_one_line(tmp_path: Path, engine: str, key: str, said: str) -> None:
    repo = subtask_repository(tmp_path / "repo", "ab")
    env = {f"DONEWHEN__FOREMAN__{key}": "0"} if key else {}
    answer = run_verb(repo, "run", "x", "--engine", engine, env=env)
    assert (answer.code, answer.out, said in answer.one_line) == (2, "", True), answer.err
    assert run_verb(repo, "list").out == ""


# -- stopping --


def alive(mark: str) -> list[str]:
    return subprocess.run(["pgrep", "-f", mark], capture_output=True, text=True, check=False).stdout.split()


def begun(repo: Path, steps: Script, engine: str, wanted: set[tuple[str, str]]) -> tuple["subprocess.Popen[str]", str]:
    """A run that has emitted all of these, as (type, subtask), and continues; and its session."""
    model = script(repo.parent / "script.json", steps)
    command = [PROGRAM, "run", INTENT, "--engine", engine, "--model", model, "--json"]
    running = subprocess.Popen(command, cwd=repo, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    assert running.stdout is not None
    missing, session = set(wanted), ""
    for line in running.stdout:
        event = json.loads(line)
        session = event["session"]
        missing.discard((event["type"], event.get("subtask") or event.get("id", "")))
        if not missing:
            break
    assert not missing
    return running, session


@pytest.mark.promise("foreman.keys")
def test_four_workers_run_in_parallel_and_no_work_is_repeated_after_a_cancel(tmp_path: Path) -> None:
    repo = subtask_repository(tmp_path / "repo", "abcde")
    plan = planned("a", subtask("b", "b.txt", "half.txt"), *"cde")
    slow = {id: [hangs(puts(id)[0]), say("done")] for id in "cde"}
    steps = crew(plan, a=puts("a"), b=[write("half.txt", "half\n"), hangs(puts("b")[0]), say("done")], **slow)
    reached = {*((("subtask_started", id)) for id in "bcde"), ("subtask_gated", "a"), ("tool_result", "b")}
    running, session = begun(repo, steps, "foreman", reached)
    assert run_verb(repo, "cancel", session).code == 0
    rest, _ = running.communicate(timeout=60)
    last = json.loads(rest.splitlines()[-1])
    assert (running.returncode, last["type"], last["outcome"]) == (130, "session_finished", "cancelled")
    assert git(repo, "branch", "--list", "donewhen/*") == ""
    hurried = {role: [{**step, "delay": 0} for step in some] for role, some in steps.items()}
    script(repo.parent / "script.json", hurried)
    assert run_verb(repo, "resume", session).code == 0
    whole = run_json(repo, "log", session, "--json")
    assert turns(whole) == {"planner": 1, "worker:a": 2, "worker:b": 3, "worker:c": 2, "worker:d": 2, "worker:e": 2}
    assert (applied(whole), set(gated(whole)["a"])) == (list("abcde"), {"accepted"})
    assert landed(repo, session, "half.txt") == "half"
    settings = run_verb(repo, "show", session, "--config").out
    for key in ("workers = 4", "plan_attempts = 3", 'worker = "native"'):
        assert f"foreman.{key}  (default)" in settings


def test_a_discarded_session_leaves_no_worker_tree(tmp_path: Path) -> None:
    repo = subtask_repository(tmp_path / "repo", "ab")
    steps = crew(planned("a", "b"), a=[write("a.txt", "half\n"), hangs(say("x"))], b=[hangs(say("x"))])
    running, session = begun(repo, steps, "foreman", {("tool_result", "a"), ("subtask_started", "b")})
    assert run_verb(repo, "cancel", session).code == 0
    running.communicate(timeout=60)
    (trees,) = Path(os.environ["XDG_STATE_HOME"]).glob("donewhen/repos/*/trees")
    assert len(list(trees.iterdir())) == 3
    assert run_verb(repo, "discard", session).code == 0
    assert list(trees.iterdir()) == []


def test_an_interrupt_ends_every_agent_and_its_processes(tmp_path: Path) -> None:
    repo, mark = subtask_repository(tmp_path / "repo", "abc"), f"86397.{os.getpid()}"
    name = "f=a; case {task} in *'do b now'*) f=b;; *'do c now'*) f=c;; esac"
    count = 'n=$HOME/.donewhen-agent/n; echo . >> $n; set -- $(wc -l < $n); echo "call $1" > $f.txt'
    hang = f"setsid sh -c 'trap \"\" TERM HUP; sleep {mark}' >&- 2>&- & trap '' TERM INT HUP; echo up; sleep {mark}"
    configure_agent(f"{name}; {count}; test $f = a || test $1 != 1 || {{ {hang}; }}")
    reached = {("subtask_gated", "a"), ("external_event", "b"), ("external_event", "c")}
    running, session = begun(repo, crew(planned(*"abc")), "foreman:hand", reached)
    assert alive(mark)
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=60)
    assert (running.returncode, alive(mark)) == (130, [])
    assert run_verb(repo, "resume", session).code == 0
    assert [landed(repo, session, f"{id}.txt") for id in "abc"] == ["call 1", "call 2", "call 2"]


def test_an_exhausted_quota_of_one_worker_does_not_lose_the_work_of_the_others(tmp_path: Path) -> None:
    repo, asked, is_empty = subtask_repository(tmp_path / "repo", "ab"), list[str](), True
    quota = json.dumps({"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}})

    def act(received: Received) -> Act:
        messages = json.loads(received.body)["messages"]
        who = next((id for id in "ab" if f"do {id} now" in str(messages)), "planner")
        asked.append(who)
        if who == "planner":
            return Says(Answer(text=decomposition("a", "b")))
        if who == "b" and is_empty:
            return Refuses(429, quota.encode())
        words = json.dumps({"path": f"{who}.txt", "content": "one\n"})
        begins = messages[-1]["role"] != "tool"
        return Says(Answer(calls=(SaidCall("call_1", "write_file", words),)) if begins else Answer(text="done"))

    with serving(Decides(act), again=True) as server:
        env = {"OPENAI_API_KEY": "sk-of-the-scene", "DONEWHEN__MODEL__BASE_URL": f"{server.url}/v1"}
        env["DONEWHEN__FOREMAN__WORKERS"] = "1"
        ran = run_json(repo, "run", INTENT, "--engine", "foreman", "--model", "openai-chat:m", "--json", env=env)
        assert (ran.code, ran.of("engine_declined")) == (3, [])
        is_empty = False
        went_on = run_json(repo, "resume", ran.session, "--json", env=env)
    assert (ended(went_on), applied(went_on), asked.count("planner")) == (DONE, ["a", "b"], 1)
    assert asked.count("a") == 2


def test_a_replayed_foreman_session_gives_the_same_tree(tmp_path: Path) -> None:
    repo = subtask_repository(tmp_path / "repo", "ab", apart=NOT_BOTH)
    ran = foreman(repo, crew(CLASH, planned("a", "b"), a=puts("a"), b=[*puts("b"), *puts("b", "two")]))
    replayed = run_json(repo, "replay", ran.session, "--json")
    assert (ended(ran), ended(replayed)) == (DONE, DONE)
    assert replayed.last["tree"] == ran.last["tree"]
    assert (turns(replayed), gated(replayed)) == (turns(ran), gated(ran))
    assert sorted(type for type in replayed.types if type in STORY) == sorted(
        type for type in ran.types if type in STORY
    )
