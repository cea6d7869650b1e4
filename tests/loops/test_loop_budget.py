"""Budgets of a loop: which limit ends a round, how far beyond it a round can come, and what is shown of it."""

import contextlib
import datetime
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from loop_scene import FIX, LOOK, LoopScene, Step, loop, on_wire, opinion

from donewhen.loops.loop_records import Claim, RoundEnd
from donewhen.loops.loop_store import LoopStore
from donewhen.workspace.state_dir import state_root
from runs.agents import claude
from wire_server import Answer, SaidCall, Says, serving

YESTERDAY = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=1)
READ: Step = {"tool": {"name": "read_file", "input": {"path": "calc.py"}}}
REPORT: Step = {"text": "calc.py:2 subtracts."}
CHECKS_BETWEEN_AGENTS = """\
import sys
from donewhen.session.loop.budget import Budget
Budget.require = lambda self: None
from donewhen.cli.app import main
sys.argv[0] = "donewhen"
sys.exit(main())
"""


def using(step: Step, input: int, output: int = 0) -> Step:
    return {**step, "usage": {"input": input, "output": output}}


def looker(**budget: float) -> str:
    return loop("looker", level="report", action="report", budget=budget)


def models(events: Sequence[Mapping[str, Any]]) -> list[str]:
    return [one["role"] for one in events if one["type"] == "model_turn"]


def said(text: object, **used: int) -> Says:
    return Says(Answer(text=str(text), **used))  # pyright: ignore[reportArgumentType] - numbers of tokens


def reads(**used: int) -> Says:
    return Says(Answer(calls=(SaidCall("call_1", "read_file", '{"path": "calc.py"}'),), **used))  # pyright: ignore[reportArgumentType] - numbers of tokens


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("budget", "limit", "reason"),
    [
        ({"input_tokens": 99, "output_tokens": 9, "tokens": 108}, "input", "input tokens: used 100, allowed 99"),
        ({"input_tokens": 200, "output_tokens": 9, "tokens": 108}, "output", "output tokens: used 10, allowed 9"),
        ({"output_tokens": 20, "tokens": 109}, "total", "tokens: used 110, allowed 109"),
    ],
)
def test_after_the_maker_the_first_exceeded_limit_ends_the_round_without_a_checker(
    tmp_path: Path, budget: dict[str, float], limit: str, reason: str
) -> None:
    scene = LoopScene.made(tmp_path, looker(**budget))
    scene.script([using(REPORT, 100, 10)], [opinion()])
    code, finished, events = scene.run("looker")
    assert (code, finished["outcome"], finished["limit"], finished["reason"]) == (5, "budget", limit, reason)
    assert finished["maker"]["text"] == "calc.py:2 subtracts." and finished["checker"] is None
    assert models(events) == ["maker"]


def test_after_the_checker_a_limit_ends_the_round_and_its_verdict_is_kept(tmp_path: Path) -> None:
    scene = LoopScene.made(tmp_path, loop(level="unattended", allow=["branch"], budget={"tokens": 250}))
    scene.script(checker=[using(LOOK, 200), using(opinion(), 60, 1)])
    code, finished, _ = scene.run()
    assert (code, finished["outcome"], finished["limit"]) == (5, "budget", "total")
    assert (finished["input_tokens"], finished["output_tokens"]) == (260, 1)
    assert finished["checker"]["status"] == "confirmed" and scene.branches() == ["main"]


def test_a_round_goes_beyond_a_limit_by_at_most_one_model_call(tmp_path: Path) -> None:
    scene = LoopScene.made(tmp_path, looker(tokens=250))
    scene.script([using(READ, 100)] * 5 + [using(REPORT, 100)], [opinion()])
    code, finished, events = scene.run("looker")
    assert (code, finished["outcome"], finished["input_tokens"]) == (5, "budget", 300)
    assert models(events) == ["maker"] * 3
    # The control: a check between the agents alone lets the maker use all that it asks for.
    command = [sys.executable, "-c", CHECKS_BETWEEN_AGENTS, "loop", "run", "looker", "--json"]
    unchecked = subprocess.run(command, cwd=scene.root, capture_output=True, check=False, text=True)
    assert '"input_tokens": 600' in unchecked.stdout, unchecked.stderr


def test_calls_that_fail_count_with_what_they_used(tmp_path: Path) -> None:
    scene = LoopScene.made(tmp_path, looker(tokens=250))
    failed = {"error": "overloaded", "usage": {"input": 200, "output": 1}}
    scene.script([failed, using(REPORT, 100)], [opinion()])
    code, finished, _ = scene.run("looker")
    assert (code, finished["outcome"], finished["input_tokens"], finished["output_tokens"]) == (5, "budget", 300, 1)


def split_work(place: Path, tokens: int, worker: int) -> LoopScene:
    """Return a scene whose foreman splits the work for two workers. The first call of each uses so many tokens."""
    files = {"a.txt": "zero\n", "b.txt": "zero\n", "name.txt": "shop\n"}
    goal = {"name": "goal", "command": "! grep -qx zero a.txt b.txt"}
    steady = {"name": "steady", "command": "grep -qx shop name.txt"}
    keys: dict[str, Any] = {"engine": "foreman", "check": [goal, steady], "budget": {"tokens": tokens}}
    scene = LoopScene.made(place, loop(**keys), files=files)
    parts = [
        {"id": one, "prompt": f"do {one}", "files": [f"{one}.txt"], "writes": [{"file": f"{one}.txt", "symbol": "*"}]}
        for one in "ab"
    ]
    makes = {
        f"worker:{one}": [
            using({"tool": {"name": "write_file", "input": {"path": f"{one}.txt", "content": "one\n"}}}, worker),
            using({"text": "done"}, 1),
        ]
        for one in "ab"
    }
    plan = using({"text": json.dumps({"subtasks": [{**part, "reads": []} for part in parts]})}, 1000)
    scene.script_file.write_text(json.dumps({"planner": [plan], **makes, "checker": [using(opinion(), 100)]}))
    return scene


@pytest.mark.sample(0)
def test_what_several_workers_use_counts_together(tmp_path: Path) -> None:
    code, finished, _ = split_work(tmp_path, tokens=100_000, worker=10).run()
    assert (code, finished["outcome"], finished["input_tokens"]) == (3, "escalated", 1122), finished["reason"]


def test_workers_side_by_side_go_beyond_a_limit_by_one_call(tmp_path: Path) -> None:
    scene = split_work(tmp_path, tokens=5000, worker=7000)
    code, finished, events = scene.run()
    assert (code, finished["limit"], finished["input_tokens"]) == (5, "total", 8000)
    assert [role.partition(":")[0] for role in models(events)] == ["planner", "worker"]


PLAN = {
    "spec_markdown": "add() adds",
    "items": [{"description": "fix the sign", "files": ["calc.py"], "outcome": "it adds", "verify": ["sh check.sh"]}],
}
PASS: dict[str, Any] = {
    "verdict": "pass",
    "summary": "right",
    "high_severity_findings": 0,
    "scorecard": dict.fromkeys(("contract_fidelity", "functionality", "code_quality", "verification_integrity"), 5),
    "findings": [],
    "unmet_contract_items": [],
    "residual_risks": [],
    "required_tracker_updates": [],
}


def test_a_maker_that_needs_all_its_turns_leaves_the_evaluator_its_own(tmp_path: Path) -> None:
    scene = LoopScene.made(tmp_path, loop(engine="planned", budget={"turns": 3}))
    done = {"tool": {"name": "update_tracker", "input": {"item": "1", "state": "completed"}}}
    script = {"planner": [{"text": json.dumps(PLAN)}], "maker": [FIX, done, {"text": "Fixed."}]}
    checked = {"evaluator": [{"text": json.dumps(PASS)}], "checker": [opinion()]}
    scene.script_file.write_text(json.dumps({**script, **checked}))
    _, finished, events = scene.run()
    assert (finished["reason"], finished["maker"]["turns"]) == ("the level is assisted: a person decides", 3)
    assert models(events).count("evaluator") == 1


@pytest.mark.parametrize(
    ("budget", "maker", "limit"),
    [
        ({"turns": 2}, [READ, READ, READ], "turns: used 2"),
        ({"minutes": 0.01}, [READ, {**REPORT, "delay": 600}], "minutes: used"),
    ],
)
def test_turns_and_minutes_end_the_maker(
    tmp_path: Path, budget: dict[str, float], maker: list[Step], limit: str
) -> None:
    scene = LoopScene.made(tmp_path, looker(**budget))
    scene.script(maker, [opinion()])
    code, finished, _ = scene.run("looker")
    assert (code, finished["outcome"], finished["limit"]) == (5, "budget", limit.partition(":")[0])
    assert finished["reason"].startswith(limit) and finished["checker"] is None


def test_a_maker_that_needs_all_its_turns_leaves_the_checker_its_own(tmp_path: Path) -> None:
    scene = LoopScene.made(tmp_path, looker(turns=2))
    scene.script([READ, REPORT], [READ, opinion()])
    code, finished, _ = scene.run("looker")
    assert (code, finished["outcome"], finished["maker"]["turns"], finished["checker"]["turns"]) == (
        0,
        "reported",
        2,
        2,
    )


def test_minutes_bound_the_inputs_too(tmp_path: Path) -> None:
    inputs = [{"name": "slow", "command": "sleep 600"}]
    scene = LoopScene.made(tmp_path, loop("looker", level="report", inputs=inputs, budget={"minutes": 0.01}))
    code, finished, events = scene.run("looker")
    assert (code, finished["limit"], models(events)) == (5, "minutes", [])


@pytest.mark.sample(0)
def test_minutes_that_the_checker_uses_up_are_named(tmp_path: Path) -> None:
    scene = LoopScene.made(tmp_path, looker(minutes=0.1))
    scene.script([REPORT], [{**opinion(), "delay": 600}])
    code, finished, _ = scene.run("looker")
    assert (code, finished["limit"], finished["maker"]["text"]) == (5, "minutes", REPORT["text"])


def test_a_loop_ends_at_its_limit_of_money(tmp_path: Path) -> None:
    scene = LoopScene.made(tmp_path, looker(usd=0.004), loop("later", level="report", budget={"usd": 0.0075}))
    acts = (said("Wrong.", input=1000, output=100), said(opinion()["text"], input=1000, output=100))
    with serving(acts[0], *acts) as server:  # one call costs 0.0045 dollars
        on_wire(scene, server)
        first, second = scene.run("looker"), scene.run("later")
    for code, finished, _ in (first, second):
        assert (code, finished["outcome"], finished["limit"]) == (5, "budget", "money")
    assert first[1]["reason"] == "usd: used 0.0045, allowed 0.004" and first[1]["checker"] is None
    assert second[1]["usd"] == pytest.approx(0.009) and second[1]["checker"]["status"] == "confirmed"


def test_an_unknown_price_is_shown_as_unknown_and_the_limit_of_tokens_holds(tmp_path: Path) -> None:
    scene = LoopScene.made(tmp_path, looker(tokens=250, usd=1), loop("blind", level="report", budget={"tokens": 0}))
    with serving(reads(input=100), again=True) as server:
        on_wire(scene, server, "openai-chat:nobody-knows-this-model")
        code, finished, events = scene.run("looker")
        assert (code, finished["limit"], finished["usd"], len(models(events))) == (5, "total", None, 3)
        # Without a limit of tokens nothing would bound it, so it ends after the call that has no price.
        code, finished, events = scene.run("blind")
        assert (code, finished["limit"], finished["usd"], len(models(events))) == (5, "money", None, 1)
        assert "the price of this model is unknown" in finished["reason"]
    assert "330, $?" in scene("loop", "list").out
    assert [json.loads(line)["usd_today"] for line in scene("loop", "list", "--json").out.splitlines()] == [None, None]


@pytest.mark.promise("loop.budget")
def test_a_spent_budget_is_delivered_pauses_the_loop_and_waits_in_the_inbox(tmp_path: Path) -> None:
    scene = LoopScene.made(tmp_path, looker(tokens_per_day=250, tokens=0))
    scene.script([using(REPORT, 200)], [opinion()])
    assert scene.run("looker")[1]["outcome"] == "reported"
    scene.script([using(READ, 30)] * 9, [opinion()])
    answer = scene("loop", "run", "looker")
    report = answer.out[answer.out.index("[report]") :].splitlines()
    assert answer.code == 5 and report[0] == "[report] loop looker (budget)"
    assert "reason: tokens: used 60, allowed 50" in report and "tokens: 60 in / 0 out" in report
    (waits,) = [json.loads(line) for line in scene("inbox", "--json").out.splitlines()]
    assert (waits["kind"], waits["loop"], waits["commands"]) == ("paused", "looker", ["donewhen loop resume looker"])
    assert waits["reason"] == "the loop is paused: tokens: used 60, allowed 50"
    assert "donewhen loop resume looker" in scene("inbox").out
    # A person may run it all the same, and no model is asked.
    code, finished, events = scene.run("looker")
    assert (code, finished["reason"], models(events)) == (5, "tokens: used 260 today, allowed 250", [])
    assert scene("loop", "resume", "looker").code == 0 and scene("inbox", "--json").out == ""


def earlier_round(scene: LoopScene, loop: str, at: datetime.datetime, key: str = "earlier", **used: Any) -> None:
    """Record that a loop had a round at some time, and what it used."""
    with contextlib.closing(LoopStore(state_root(os.environ))) as store:
        claim = store.claim(str(scene.root), loop, key, f"s-{key}", "schedule", at, at)
        assert isinstance(claim, Claim)
        store.finish(claim, RoundEnd(outcome="reported", **used), at)


def test_a_day_forgets_the_rounds_before_midnight_and_a_lifetime_does_not(tmp_path: Path) -> None:
    scene = LoopScene.made(
        tmp_path, looker(tokens_per_day=250, usd_per_day=2), loop("old", level="report", budget={"usd_lifetime": 2})
    )
    scene.script([using(REPORT, 10)], [opinion()])
    for name in ("looker", "old"):
        earlier_round(scene, name, YESTERDAY, "known", input_tokens=400, usd=3.0)
        earlier_round(scene, name, YESTERDAY, "unknown", input_tokens=400)
    assert scene.run("looker")[1]["outcome"] == "reported"
    code, finished, events = scene.run("old")
    assert (code, finished["limit"], models(events)) == (5, "money", [])
    assert finished["reason"] == "usd: used 3.0000 in all rounds, allowed 2"


@pytest.mark.parametrize(
    ("limit", "at", "words"),
    [
        ("usd_per_day", datetime.datetime.now(datetime.UTC), "usd: used 0.0125 today, allowed 0.01"),
        ("usd_lifetime", YESTERDAY, "usd: used 0.0125 in all rounds, allowed 0.01"),
    ],
)
def test_money_of_a_day_and_of_all_rounds_bounds_the_next_round(
    tmp_path: Path, limit: str, at: datetime.datetime, words: str
) -> None:
    scene = LoopScene.made(tmp_path, looker(**{limit: 0.01}))
    earlier_round(scene, "looker", at, usd=0.008)
    with serving(said("Wrong.", input=1000, output=100)) as server:  # it costs 0.0045 dollars
        on_wire(scene, server)
        code, finished, events = scene.run("looker")
        assert (code, finished["limit"], finished["reason"]) == (5, "money", "usd: used 0.0045, allowed 0.002")
        assert models(events) == ["maker"]
        code, finished, events = scene.run("looker")
    assert (code, finished["reason"], models(events)) == (5, words, [])


def test_tokens_of_all_rounds_bound_the_next_round(tmp_path: Path) -> None:
    scene = LoopScene.made(tmp_path, looker(tokens=0, tokens_lifetime=250))
    earlier_round(scene, "looker", YESTERDAY, input_tokens=200)
    scene.script([using(REPORT, 100)], [opinion()])
    code, finished, events = scene.run("looker")
    assert (code, finished["reason"], models(events)) == (5, "tokens: used 100, allowed 50", ["maker"])
    code, finished, events = scene.run("looker")
    assert (code, finished["reason"], models(events)) == (5, "tokens: used 300 in all rounds, allowed 250", [])


def test_an_agent_goes_beyond_a_limit_by_at_most_one_invocation(tmp_path: Path) -> None:
    works = [{"usage": {"input": 5000, "output": 100}}, {"say": "I changed nothing."}]
    engine = claude(tmp_path / "agents", works, works)
    scene = LoopScene.made(tmp_path, loop(engine=engine, budget={"tokens": 1000}))
    scene.env["ANTHROPIC_API_KEY"] = "sk-x"
    code, finished, events = scene.run()
    assert (code, finished["outcome"], finished["limit"]) == (5, "budget", "total"), finished
    assert (finished["input_tokens"], finished["maker"]["turns"], finished["checker"]) == (5000, 1, None)
    assert sum(one["type"] == "iteration_started" for one in events) == 1
