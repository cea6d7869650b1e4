"""Whole runs with a server that is configured for one provider while another one is used: which key arrives where."""

import base64
import json
import os
from pathlib import Path

import pytest

from runs.agents import NO_KEYS, claude, configure, run_with_engine
from runs.scenes import CHECK, Run, run_json, run_verb, scene, script
from runs.test_runs_over_wires import RIGHT
from wire_server import Answer, Refuses, Says, WireServer, serving

KEYS = {**NO_KEYS, "OPENAI_API_KEY": "sk-of-openai", "ANTHROPIC_API_KEY": "sk-of-anthropic"}
LINE = "'model.base_url' applies to the provider of 'model.use' in the same file, and that is missing; "


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return scene(tmp_path / "repo")


def local(server: WireServer, more: str = "") -> str:
    return f'[model]\nuse = "openai-chat:local"\nbase_url = "{server.url}/v1"\n{more}'


def keys_at(server: WireServer) -> set[str]:
    fields = ("authorization", "x-api-key", "x-goog-api-key")
    heard = (*server.received, *server.asides)
    return {one.headers[name].removeprefix("Bearer ") for one in heard for name in fields if name in one.headers}


def run_at(home: WireServer, repo: Path, *options: str, **more: str) -> Run:
    """A run of a user with both keys; this server is Anthropic's own."""
    env = {**KEYS, "ANTHROPIC_BASE_URL": home.url, **more}
    return run_json(repo, "run", "say right", "--json", *options, env=env)


@pytest.mark.promise("model.base-url-provider")
def test_a_model_of_another_provider_is_called_at_its_own_server(repo: Path) -> None:
    with serving(*RIGHT) as server, serving(*RIGHT) as home:
        configure(local(server))
        ran = run_at(home, repo, "--model", "anthropic:claude-sonnet-4-5")
    assert ran.code == 0, ran.err
    assert (keys_at(server), keys_at(home)) == (set(), {"sk-of-anthropic"})


def test_another_model_of_the_same_provider_is_called_at_the_configured_server(repo: Path) -> None:
    with serving(*RIGHT) as server, serving() as home:
        configure(local(server))
        ran = run_at(home, repo, "--model", "openai-chat:gpt-5")
    assert ran.code == 0, ran.err
    assert (keys_at(server), keys_at(home)) == ({"sk-of-openai"}, set())


def test_a_repository_that_chooses_another_provider_redirects_no_key(repo: Path) -> None:
    with serving(*RIGHT) as server, serving(*RIGHT) as home:
        configure(local(server))
        (repo / "donewhen.toml").write_text(f'[model]\nuse = "anthropic:claude-sonnet-4-5"\n{CHECK}')
        assert run_verb(repo, "trust").code == 0
        ran = run_at(home, repo)
    assert ran.code == 0, ran.err
    assert (keys_at(server), keys_at(home)) == (set(), {"sk-of-anthropic"})


def test_a_fallback_of_another_provider_is_called_at_its_own_server(repo: Path) -> None:
    with serving(Refuses(404), again=True) as server, serving(*RIGHT) as home:
        configure(local(server, 'fallback = ["anthropic:claude-sonnet-4-5"]\n'))
        ran = run_at(home, repo)
    assert ran.code == 0, ran.err
    assert (keys_at(server), keys_at(home)) == ({"sk-of-openai"}, {"sk-of-anthropic"})


def test_an_automatically_chosen_model_is_called_at_its_own_server(repo: Path) -> None:
    with serving(*RIGHT) as server, serving(*RIGHT) as home:
        configure(local(server))
        ran = run_at(home, repo, "--model", "auto", OPENAI_API_KEY="")
    assert ran.code == 0, ran.err
    assert (keys_at(server), keys_at(home)) == (set(), {"sk-of-anthropic"})


def test_an_evaluator_of_another_provider_is_called_at_its_own_server(repo: Path, tmp_path: Path) -> None:
    plan = '{"spec_markdown": "x", "items": [{"description": "say it", "verify": ["true"]}]}'
    maker = [{"tool": {"name": "write_file", "input": {"path": "answer.txt", "content": "right\n"}}}, {"text": "done"}]
    model = script(tmp_path / "script.json", {"planner": [{"text": plan}], "maker": maker})
    evaluator = {"DONEWHEN__PLANNED__EVALUATOR_MODEL": "anthropic:claude-sonnet-4-5"}
    with serving(Says(Answer(text="no opinion")), again=True) as server, serving(Refuses(401), again=True) as home:
        configure(local(server))
        ran = run_at(home, repo, "--engine", "planned", "--model", model, **evaluator)
    assert ran.code == 3, (ran.code, ran.err)
    assert (keys_at(server), keys_at(home)) == (set(), {"sk-of-anthropic"})


def test_an_agent_of_another_provider_reaches_its_own_server(repo: Path, tmp_path: Path) -> None:
    ask = "curl -s -X POST -H 'x-api-key: '$ANTHROPIC_API_KEY $ANTHROPIC_BASE_URL/v1/messages -d '{\"messages\": []}'"
    steps = [{"shell": ask}, {"shell": "echo right > answer.txt"}]
    with serving(Says(Answer(text="hello"))) as server, serving(Says(Answer(text="hello"))) as home:
        engine = claude(tmp_path / "claude", steps, more=local(server))
        home_url = {"ANTHROPIC_BASE_URL": f"{home.url}/v1", "ANTHROPIC_API_KEY": "sk-of-anthropic"}
        ran = run_with_engine(repo, engine, "--model", "anthropic:claude-sonnet-4-5", env=home_url)
    assert ran.code == 0, ran.err
    assert (keys_at(server), keys_at(home)) == (set(), {"sk-of-anthropic"})
    assert [one.path for one in home.received] == ["/v1/messages"]


def test_an_agent_can_use_the_key_only_for_its_model(repo: Path, tmp_path: Path) -> None:
    steal = "curl -s $ANTHROPIC_BASE_URL/v1/files; curl -s --path-as-is $ANTHROPIC_BASE_URL/v1/messages/../files"
    ask = "curl -s -X POST $ANTHROPIC_BASE_URL/v1/messages -d '{\"messages\": []}'"
    steps = [{"shell": steal}, {"shell": ask}, {"shell": "echo right > answer.txt"}]
    with serving(Says(Answer(text="hello"))) as home:
        env = {"ANTHROPIC_BASE_URL": home.url, "ANTHROPIC_API_KEY": "sk-of-anthropic"}
        ran = run_with_engine(repo, claude(tmp_path / "claude", steps), env=env)
    assert ran.code == 0, ran.err
    assert [one.path for one in (*home.received, *home.asides)] == ["/v1/messages"]
    (denied,) = ran.of("policy_denied")
    assert (denied["command"], denied["rule"]) == ("GET /v1/files", "gateway")
    assert denied["reason"] == "GET /v1/files is not a request to the model"


def test_a_server_without_a_provider_in_the_user_s_file_is_refused_and_nothing_is_sent(repo: Path) -> None:
    with serving(*RIGHT) as server, serving(*RIGHT) as home:
        configure(f'[model]\nbase_url = "{server.url}/v1"\n')
        env = {**KEYS, "ANTHROPIC_BASE_URL": home.url}
        for options in ((), ("--model", "anthropic:x"), ("--engine", "external")):
            answer = run_verb(repo, "run", "say right", *options, env=env)
            file = f"{os.environ['XDG_CONFIG_HOME']}/donewhen/config.toml"
            assert (answer.code, f"{file}: {LINE}" in answer.one_line) == (2, True), answer.one_line
    assert server.received == home.received == []


def test_a_server_in_the_environment_needs_a_provider_of_the_same_call(repo: Path) -> None:
    with serving(*RIGHT) as server, serving(*RIGHT) as home:
        configure('[model]\nuse = "anthropic:claude-sonnet-4-5"\n')
        url = {"DONEWHEN__MODEL__BASE_URL": f"{server.url}/v1"}
        answer = run_verb(repo, "run", "say right", env={**KEYS, "ANTHROPIC_BASE_URL": home.url, **url})
        assert (answer.code, answer.one_line.startswith(f"donewhen: DONEWHEN__MODEL__BASE_URL: {LINE}")) == (2, True)
        assert server.received == home.received == []
        ran = run_at(home, repo, **url, DONEWHEN__MODEL__USE="openai-chat:local")
    assert ran.code == 0, ran.err
    assert (keys_at(server), keys_at(home)) == ({"sk-of-openai"}, set())


def test_a_resumed_session_still_knows_the_provider_of_its_server(repo: Path) -> None:
    with serving(Refuses(401), *RIGHT) as server, serving(*RIGHT) as home:
        configure(local(server))
        ran = run_at(home, repo, "--model", "openai-chat:gpt-5")
        assert ran.code == 3
        configure("")
        resumed = run_json(repo, "resume", ran.session, "--json", env={**KEYS, "ANTHROPIC_BASE_URL": home.url})
    assert (resumed.code, resumed.last["outcome"]) == (0, "verified")
    assert (keys_at(server), keys_at(home)) == ({"sk-of-openai"}, set())


# -- a password in the address --


PASSWORD = "PaSsW0rd-of-the-proxy"
BASIC = "Basic " + base64.b64encode(f"me:{PASSWORD}".encode()).decode()


def with_password(server: WireServer, password: str = PASSWORD) -> str:
    url = server.url.replace("http://", f"HTTP://me:{password}@")
    return f'[model]\nuse = "openai-chat:local"\nbase_url = "{url}/v1"\n'


def kept() -> bytes:
    """Everything in the state directory."""
    return b"".join(file.read_bytes() for file in Path(os.environ["XDG_STATE_HOME"]).rglob("*") if file.is_file())


@pytest.mark.parametrize("where", ["user", "repository"])
def test_resume_uses_the_password_of_the_address_again_without_storing_or_showing_it(repo: Path, where: str) -> None:
    with serving(Refuses(401), *RIGHT) as server:
        if where == "user":
            configure(with_password(server))
        else:
            (repo / "donewhen.toml").write_text(with_password(server) + CHECK)
            assert run_verb(repo, "trust").code == 0
        waits = run_json(repo, "run", "say right", "--json", env=NO_KEYS)
        assert waits.code == 3, waits.events[-1]
        assert PASSWORD.encode() not in kept() and PASSWORD not in json.dumps(waits.events) + waits.err
        for options in ([], ["--json"]):
            shown = run_verb(repo, "show", waits.session, "--config", *options).out
            assert PASSWORD not in shown and f"HTTP://***@127.0.0.1:{server.port}/v1" in shown
        ran = run_json(repo, "resume", waits.session, "--json", env=NO_KEYS)
    assert ran.code == 0, ran.events[-3:]
    assert {one.headers["authorization"] for one in server.received} == {BASIC}
    assert PASSWORD.encode() not in kept()


def test_resume_uses_a_password_only_for_the_same_address(repo: Path) -> None:
    with serving(Refuses(401), again=True) as server, serving(Refuses(401), again=True) as other:
        configure(with_password(server))
        waits = run_json(repo, "run", "say right", "--json", env=NO_KEYS)
        configure(with_password(other))
        assert run_json(repo, "resume", waits.session, "--json", env=NO_KEYS).code == 3
        configure(with_password(server, "a-new-one"))
        assert run_json(repo, "resume", waits.session, "--json", env=NO_KEYS).code == 3
    changed = "Basic " + base64.b64encode(b"me:a-new-one").decode()
    assert [one.headers.get("authorization") for one in server.received] == [BASIC, None, changed]
    assert not other.received
