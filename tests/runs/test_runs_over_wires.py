"""Whole runs on every wire, against a server that speaks it: streaming, retries, broken replies, keys, prices."""

import json
from pathlib import Path

import pytest

from repositories import git
from runs.scenes import CHECK, Run, run_json, scene
from wire_server import Act, Answer, Cuts, Refuses, SaidCall, Says, WireServer, serving

KEYS = {"OPENAI_API_KEY": "sk-run-secret", "ANTHROPIC_API_KEY": "sk-run-secret", "GEMINI_API_KEY": "sk-run-secret"}
NAMES = {
    "openai-chat": "openai-chat:gpt-4o",
    "openai-responses": "openai-responses:gpt-4o",
    "anthropic": "anthropic:claude-sonnet-4-5",
    "google": "google:gemini-2.5-flash",
}


def calls(tool: str, id: str = "call_1", **given: str) -> Answer:
    return Answer(calls=(SaidCall(id, tool, json.dumps(given)),), input=1000, output=100)


RIGHT: list[Act] = [
    Says(calls("read_file", path="answer.txt")),
    Says(calls("write_file", "call_2", path="answer.txt", content="right\n")),
    Says(Answer(text="it is right now", input=1000, output=10)),
]


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return scene(tmp_path / "repo")


def run_on(repo: Path, server: WireServer, model: str, *options: str, **more: str) -> Run:
    url = f"{server.url}/v1" if model.startswith("openai") else server.url
    env = {**KEYS, "DONEWHEN__MODEL__BASE_URL": url, **more}
    return run_json(repo, "run", "say right", "--model", model, "--json", *options, env=env)


@pytest.mark.promise("model.providers")
@pytest.mark.promise("model.base-url")
@pytest.mark.parametrize("wire", NAMES)
def test_a_run_over_each_wire_survives_refusals_and_partial_replies_and_is_verified(repo: Path, wire: str) -> None:
    trouble: list[Act] = [
        Refuses(429, headers={"Retry-After": "0"}),
        RIGHT[0],
        Refuses(500),
        Cuts(calls("shell", command="touch never"), events=2),
        *RIGHT[1:],
    ]
    with serving(*trouble) as server:
        ran = run_on(repo, server, NAMES[wire])
    assert ran.code == 0, (ran.err, ran.events[-3:])
    assert len(server.received) == len(trouble)
    assert [event["tool"] for event in ran.of("tool_call")] == ["read_file", "write_file"]
    assert "never" not in git(repo, "ls-tree", "--name-only", f"donewhen/{ran.session}")
    assert ran.of("model_turn")[0]["usage"] | {"input": 1000, "output": 100} == ran.of("model_turn")[0]["usage"]
    assert ran.of("spend")[-1]["usd"] > 0
    assert "sk-run-secret" not in json.dumps(ran.events) + ran.err


@pytest.mark.parametrize("wire", NAMES)
def test_a_refused_key_makes_the_session_wait_and_resume_continues_with_a_valid_one(repo: Path, wire: str) -> None:
    with serving(Refuses(401, b'{"error": {"message": "invalid key"}}'), *RIGHT) as server:
        ran = run_on(repo, server, NAMES[wire])
        assert ran.code == 3
        assert ran.one("error")["kind"] == "sign_in"
        assert ran.types[-1] == "state_changed"
        resumed = run_json(repo, "resume", ran.session, "--json", env=KEYS)
    assert (resumed.code, resumed.last["outcome"]) == (0, "verified")


def test_an_exhausted_quota_waits(repo: Path) -> None:
    body = json.dumps({"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}).encode()
    with serving(Refuses(429, body)) as server:
        ran = run_on(repo, server, NAMES["openai-chat"])
    assert (ran.code, ran.one("error")["kind"]) == (3, "quota")


@pytest.mark.promise("run.max-usd")
def test_an_exhausted_money_limit_ends_the_work(repo: Path) -> None:
    with serving(Says(calls("write_file", path="answer.txt", content="left\n")), *RIGHT) as server:
        ran = run_on(repo, server, NAMES["anthropic"], "--max-usd", "0.001")
    assert (ran.code, ran.last["outcome"]) == (5, "budget")
    assert ran.last["reason"].startswith("usd: used 0.00")


@pytest.mark.promise("model.fallback")
def test_a_failing_model_is_replaced_by_its_fallback_and_an_event_says_so(repo: Path) -> None:
    with serving(Refuses(500), *RIGHT) as server:
        fallback = {"DONEWHEN__MODEL__FALLBACK": "openai-chat:gpt-4o-mini"}
        ran = run_on(repo, server, NAMES["openai-chat"], **fallback)
    assert ran.code == 0
    assert ran.one("model_fallback")["model"] == "openai-chat:gpt-4o-mini"
    assert ran.one("model_fallback")["reason"]


@pytest.mark.promise("model.auto")
def test_auto_chooses_a_model_with_a_configured_key(repo: Path) -> None:
    nothing = dict.fromkeys(("ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "OLLAMA_HOST"), "")
    with serving(*RIGHT) as server:
        env = {**nothing, "OPENAI_API_KEY": "sk-run-secret", "OPENAI_BASE_URL": f"{server.url}/v1"}
        ran = run_json(repo, "run", "say right", "--json", env=env)
    assert ran.code == 0
    assert ran.one("model_selected")["model"].startswith("openai:")
    assert ran.one("model_selected")["reason"]


@pytest.mark.promise("engine.context")
def test_a_fresh_context_restarts_each_round_and_a_carried_one_continues(repo: Path) -> None:
    wrong: list[Act] = [
        Says(calls("write_file", path="answer.txt", content="left\n")),
        Says(Answer(text="done", input=10, output=1)),
    ]
    lengths: dict[str, int] = {}
    for context in ("fresh", "carry"):
        with serving(*wrong, *RIGHT) as server:
            ran = run_on(repo, server, NAMES["openai-chat"], DONEWHEN__ENGINE__CONTEXT=context)
        assert ran.code == 0
        second_round = json.loads(server.received[2].body)["messages"]
        assert "## done: fail (exit code 1)" in json.dumps(second_round)
        lengths[context] = len(second_round)
    assert lengths["fresh"] == 2
    assert lengths["carry"] > lengths["fresh"]


@pytest.mark.promise("contract.description")
def test_the_prompt_holds_the_contract_with_its_description_and_the_task(tmp_path: Path) -> None:
    repo = scene(tmp_path / "repo", {"donewhen.toml": f'[contract]\ndescription = "say it right"\n{CHECK}'})
    with serving(*RIGHT) as server:
        run_on(repo, server, NAMES["openai-chat"])
    system, user = json.loads(server.received[0].body)["messages"]
    assert "say it right" in system["content"]
    assert "grep -qx right answer.txt" in system["content"]
    assert "say right" in user["content"]


@pytest.mark.promise("planned.keys")
def test_planner_builder_and_evaluator_have_their_own_models_and_a_refused_key_waits(
    repo: Path,
) -> None:
    plan = {
        "spec_markdown": "The file says right.",
        "items": [{"description": "say it", "verify": ["grep -q right answer.txt"]}],
    }
    scores = dict.fromkeys(("contract_fidelity", "functionality", "code_quality", "verification_integrity"), 4)
    opinion = {"verdict": "pass", "summary": "fine", "high_severity_findings": 0, "scorecard": scores}
    opinion |= {"findings": [], "unmet_contract_items": []}
    acts: list[Act] = [
        Says(Answer(text=json.dumps(plan), input=10, output=10)),
        *RIGHT[1:],
        Refuses(401, b'{"error": {"message": "invalid key"}}'),
        Says(Answer(text=json.dumps(opinion), input=10, output=10)),
    ]
    evaluator = {"DONEWHEN__PLANNED__EVALUATOR_MODEL": "openai-chat:gpt-4.1"}
    with serving(*acts) as server:
        ran = run_on(repo, server, NAMES["openai-chat"], "--engine", "planned", **evaluator)
        assert (ran.code, ran.one("error")["kind"], ran.of("landed")) == (3, "sign_in", [])
        resumed = run_json(repo, "resume", ran.session, "--json", env=KEYS)
    assert (resumed.code, resumed.last["outcome"], resumed.last["iterations"]) == (0, "verified", 1)
    asked = [json.loads(request.body) for request in server.received]
    assert [one["temperature"] for one in asked] == [0.2, 0, 0, 0.1, 0.1]
    assert [one["model"] for one in asked] == ["gpt-4o"] * 3 + ["gpt-4.1"] * 2
    assert resumed.one("evaluation_completed")["status"] == "passed"
