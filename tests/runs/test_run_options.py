"""The options of `run`, each tested through the program."""

import json
from pathlib import Path

import pytest

from repositories import commit, git
from repositories import write as put
from runs.scenes import CHECK, EXPECTED, RIGHT, WRONG, call, run, run_json, run_verb, say, scene, script, shell, write


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return scene(tmp_path / "repo")


@pytest.mark.promise("run.repo")
def test_repo_names_the_repository_from_anywhere(repo: Path, tmp_path: Path) -> None:
    model = script(tmp_path / "s.json", RIGHT)
    ran = run_json(tmp_path, "run", "x", "--repo", str(repo), "--model", model, "--json")
    assert (ran.code, ran.events[0]["repo"]) == (0, str(repo))


@pytest.mark.promise("run.base")
def test_base_chooses_the_commit_to_start_from(repo: Path) -> None:
    first = git(repo, "rev-parse", "HEAD")
    put(repo, {"later.txt": "later\n"})
    commit(repo)
    ran = run(repo, RIGHT, "--base", first)
    assert ran.events[0]["base"] == first
    assert git(repo, "rev-parse", f"donewhen/{ran.session}^") == first
    assert "later.txt" not in git(repo, "ls-tree", "--name-only", f"donewhen/{ran.session}")


@pytest.mark.promise("run.uncommitted")
def test_uncommitted_changes_are_left_out_and_one_line_says_so(repo: Path) -> None:
    put(repo, {"mine.txt": "mine\n"})
    ran = run(repo, RIGHT)
    (line,) = [line for line in ran.err.splitlines() if "uncommitted" in line]
    assert "mine.txt" in line
    assert "--dirty" in line
    assert "mine.txt" not in git(repo, "ls-tree", "--name-only", f"donewhen/{ran.session}")
    assert (repo / "mine.txt").read_text() == "mine\n"


@pytest.mark.promise("run.dirty")
def test_with_dirty_uncommitted_changes_are_in_the_base_and_the_work_lands_on_head(repo: Path) -> None:
    put(repo, {"mine.txt": "mine\n"})
    ran = run(repo, [shell("cat mine.txt >> answer.txt"), *RIGHT], "--dirty")
    assert ran.code == 0
    assert ran.of("tool_result")[0]["ok"]
    branch = f"donewhen/{ran.session}"
    assert git(repo, "show", f"{branch}:mine.txt") == "mine"
    assert git(repo, "rev-parse", f"{branch}^") == git(repo, "rev-parse", "main")
    assert ran.one("diff_ready")["files"] == 1


@pytest.mark.promise("run.check")
def test_checks_of_the_command_line_are_added_and_replace_checks_of_the_same_name(repo: Path) -> None:
    steps = [write("answer.txt", "up\n"), write("more.txt", "more\n"), say("done")]
    ran = run(repo, steps, "--check", "done=grep -qx up answer.txt", "--check", "more=test -f more.txt")
    assert ran.code == 0
    assert [one["name"] for one in ran.last["results"]] == ["done", "more"]


@pytest.mark.promise("run.contract")
def test_a_contract_file_replaces_the_contract_of_the_repository(repo: Path, tmp_path: Path) -> None:
    file = tmp_path / "other.toml"
    file.write_text('[contract]\ndescription = "go up"\n[[check]]\nname = "up"\ncommand = "grep -qx up answer.txt"\n')
    ran = run(repo, [write("answer.txt", "up\n"), say("done")], "--contract", str(file))
    assert ran.code == 0
    assert ran.events[0]["contract"]["description"] == "go up"
    assert [one["name"] for one in ran.last["results"]] == ["up"]


@pytest.mark.promise("run.engine")
@pytest.mark.promise("run.model")
def test_the_named_engine_and_model_are_used(repo: Path) -> None:
    ran = run(repo, RIGHT, "--engine", "native")
    assert ran.one("engine_selected")["reason"] == "you asked for it"
    assert ran.one("model_selected")["model"].startswith("scripted:")


@pytest.mark.promise("run.editable")
def test_editable_makes_a_protected_path_editable(tmp_path: Path) -> None:
    repo = scene(tmp_path / "repo", {"donewhen.toml": EXPECTED, "expected.txt": "right\n"})
    steps = [write("expected.txt", "wrong\n"), say("done")]
    assert run(repo, steps, "--max-iterations", "1").code == 3
    assert run(repo, steps, "--max-iterations", "1", "--editable", "expected.txt").code == 0


@pytest.mark.promise("run.land.none")
def test_with_land_none_no_branch_is_made_and_the_tree_can_be_landed_later(repo: Path) -> None:
    ran = run(repo, RIGHT, "--land", "none")
    assert ran.code == 0
    assert git(repo, "branch", "--list", "donewhen/*") == ""
    assert run_verb(repo, "land", ran.session).code == 0
    assert git(repo, "rev-parse", f"donewhen/{ran.session}^{{tree}}") == ran.last["tree"]


@pytest.mark.promise("run.land.apply")
@pytest.mark.promise("engine.land")
@pytest.mark.promise("run.options-have-keys")
def test_land_apply_also_changes_the_files_of_a_clean_checkout(repo: Path) -> None:
    ran = run(repo, RIGHT, env={"DONEWHEN__ENGINE__LAND": "apply"})
    assert ran.code == 0
    assert (repo / "answer.txt").read_text() == "right\n"
    assert git(repo, "rev-parse", f"donewhen/{ran.session}^{{tree}}") == ran.last["tree"]
    assert git(repo, "status", "--porcelain") == "M  answer.txt"
    assert "note:" not in ran.err
    assert "note" not in run_verb(repo, "show", ran.session).out


def test_land_apply_does_not_touch_a_dirty_checkout_and_makes_the_branch(repo: Path) -> None:
    put(repo, {"answer.txt": "mine\n"})
    ran = run(repo, RIGHT, "--land", "apply")
    assert ran.code == 0
    assert (repo / "answer.txt").read_text() == "mine\n"
    note = (
        "the files of the checkout were not changed (the checkout has uncommitted changes: answer.txt); "
        f"the work is on donewhen/{ran.session}"
    )
    assert ran.one("landed")["note"] == note
    assert f"  note: {note}" in ran.err.splitlines()
    assert f"note      {note}" in run_verb(repo, "show", ran.session).out.splitlines()
    assert f"; {note}\n" in run_verb(repo, "log", ran.session).out
    assert git(repo, "show", f"donewhen/{ran.session}:answer.txt") == "right"


def test_land_apply_of_a_dirty_base_says_that_it_did_not_change_the_files(
    repo: Path,
) -> None:
    put(repo, {"new.txt": "mine\n"})
    model = script(repo.parent / "script.json", RIGHT)
    ran = run_verb(repo, "run", "say right", "--model", model, "--dirty", "--land", "apply")
    assert ran.code == 0
    assert ran.out.count("  note: the files of the checkout were not changed (") == 1
    assert (repo / "answer.txt").read_text() == "wrong\n"


@pytest.mark.promise("run.config-from-working-tree")
def test_the_contract_is_read_from_the_working_tree(repo: Path) -> None:
    put(repo, {"donewhen.toml": CHECK.replace("right", "up")})
    ran = run(repo, [write("answer.txt", "up\n"), say("done")])
    assert ran.code == 0
    assert "uncommitted" not in ran.err


@pytest.mark.promise("subdirectory.nearest-config")
@pytest.mark.promise("subdirectory.paths-from-root")
def test_a_run_from_a_subdirectory_uses_the_nearest_file_with_paths_from_the_root(tmp_path: Path) -> None:
    nearer = '[[check]]\nname = "inner"\ncommand = "grep -qx right inner.txt"\ndir = "sub"\n'
    repo = scene(tmp_path / "repo", {"sub/donewhen.toml": nearer, "sub/inner.txt": "wrong\n", "sub/deep/x": ""})
    model = script(tmp_path / "s.json", [write("sub/inner.txt", "right\n"), say("done")])
    ran = run_json(repo / "sub" / "deep", "run", "x", "--model", model, "--json")
    assert (ran.code, [one["name"] for one in ran.last["results"]]) == (0, ["inner"])


@pytest.mark.promise("trees.maker-and-judge-apart")
def test_files_left_in_the_maker_tree_are_not_seen_by_the_judge(repo: Path) -> None:
    check = "judge=test ! -e secret.log && test ! -e /tmp/left"
    ran = run(repo, [shell("touch secret.log /tmp/left"), *RIGHT], "--check", check)
    assert ran.code == 0


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--max-turns", "0"], "--max-turns"),
        (["--max-usd", "-1"], "--max-usd"),
        (["--max-usd", "nan"], "--max-usd must be a finite number above 0, not nan"),
        (["--max-minutes", "inf"], "--max-minutes must be a finite number above 0, not inf"),
        (["--contract", "endless.toml"], "endless.toml: 'check[0].timeout_secs' must be a finite number"),
        (["--check", "nocommand"], "--check"),
        (["--check", "bad name=true"], "--check"),
        (["--check", "a="], "--check"),
        (["--land", "somewhere"], "--land"),
        (["--engine", "steam"], "--engine"),
        (["--model", "nowhere"], "nowhere"),
        (["--model", "scripted:missing.json"], "missing.json"),
        (["--base", "no-such-ref"], "no-such-ref"),
        (["--contract", "missing.toml"], "missing.toml"),
        (["--repo", "/nowhere"], "/nowhere"),
        (["--dirty", "--base", "HEAD"], "--dirty"),
        (["--yes", "--ask"], "--yes"),
        (["--editable", "../*"], "--editable"),
    ],
)
def test_bad_options_are_one_line_and_nothing_is_started(repo: Path, options: list[str], named: str) -> None:
    (repo / "endless.toml").write_text('[[check]]\nname = "a"\ncommand = "test -e a"\ntimeout_secs = inf\n')
    model = [] if "--model" in options else ["--model", script(repo.parent / "s.json", RIGHT)]
    answer = run_verb(repo, "run", "x", *model, *options)
    assert answer.code == 2
    assert named in answer.one_line
    assert answer.out in ("", "preparing\n")  # the second only on a slow machine
    assert run_verb(repo, "list").out == ""


def test_an_intent_that_is_not_valid_text_is_refused_in_one_line(repo: Path) -> None:
    model = script(repo.parent / "s.json", RIGHT)
    answer = run_verb(repo, "run", "say \udcff", "--model", model)
    assert (answer.code, answer.one_line) == (2, "donewhen: the intent is not UTF-8 at character 5")


def test_limits_that_would_allow_nothing_are_refused_with_their_source(repo: Path) -> None:
    model = script(repo.parent / "s.json", RIGHT)
    answer = run_verb(repo, "run", "x", "--model", model, env={"DONEWHEN__NATIVE__MAX_ITERATIONS": "0"})
    assert answer.code == 2
    assert answer.one_line == "donewhen: DONEWHEN__NATIVE__MAX_ITERATIONS: 'native.max_iterations' must be 1 or more"


@pytest.mark.promise("trust.rounds")
def test_a_repository_that_allows_itself_more_rounds_waits_for_trust(repo: Path) -> None:
    put(repo, {"donewhen.toml": f"[native]\nmax_iterations = 1000\n\n{CHECK}"})
    commit(repo)
    model = script(repo.parent / "s.json", RIGHT)
    answer = run_verb(repo, "run", "x", "--model", model)
    assert (answer.code, "'native.max_iterations'" in answer.one_line) == (3, True)
    assert run_verb(repo, "list").out == "", "nothing was started"
    assert "native.max_iterations = 1000" in run_verb(repo, "trust").out
    assert run_json(repo, "run", "x", "--model", model, "--json").code == 0
    put(repo, {"donewhen.toml": f"[native]\nmax_iterations = 1\n\n{CHECK}"})
    assert run_json(repo, "run", "x", "--model", model, "--json").code == 0, "less needs no trust"


@pytest.mark.promise("config.empty-command")
def test_an_empty_command_in_the_file_is_one_line_with_file_and_key(repo: Path) -> None:
    put(repo, {"donewhen.toml": '[[check]]\nname = "done"\ncommand = ""\n'})
    answer = run_verb(repo, "run", "x", "--model", script(repo.parent / "s.json", RIGHT))
    assert answer.code == 2
    assert "donewhen.toml:3" in answer.one_line
    assert "command" in answer.one_line


@pytest.mark.promise("model.none-ready")
def test_without_a_model_one_line_says_what_would_help(repo: Path) -> None:
    keys = dict.fromkeys(("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY"), "")
    answer = run_verb(repo, "run", "x", env={**keys, "OLLAMA_HOST": "", "OLLAMA_BASE_URL": ""})
    assert answer.code == 2
    assert "ANTHROPIC_API_KEY" in answer.one_line
    assert "donewhen demo" in answer.one_line


@pytest.mark.promise("scripted.steps")
@pytest.mark.promise("scripted.roles")
def test_a_script_may_be_a_list_or_have_one_list_per_role(repo: Path) -> None:
    assert run(repo, {"maker": RIGHT, "planner": WRONG}).code == 0
    answer = run_verb(repo, "run", "x", "--model", script(repo.parent / "bad.json", [{"tool": 3}]))
    assert (answer.code, "bad.json" in answer.one_line) == (2, True)


@pytest.mark.promise("check.held-out")
def test_a_held_out_check_is_not_in_the_maker_tree_and_feedback_says_only_that_it_failed(tmp_path: Path) -> None:
    hidden = '[[check]]\nname = "hidden"\ncommand = "test -f surprise.txt"\nheld_out = true\n'
    repo = scene(tmp_path / "repo", {"donewhen.toml": CHECK + hidden})
    ran = run(
        repo,
        [shell("cat donewhen.toml; git log -p | cat; grep -r surprise . ; true"), *RIGHT, *RIGHT],
        "--max-iterations",
        "1",
    )
    assert ran.code == 1
    assert "surprise" not in json.dumps(ran.of("tool_result"))
    assert {one["name"]: one["status"] for one in ran.last["results"]} == {"done": "pass", "hidden": "fail"}
    assert "protected_edit" not in ran.types


@pytest.mark.promise("policy.ask-without-person")
@pytest.mark.promise("events.policy-denied")
def test_denied_commands_are_reported_and_ask_without_a_person_is_a_deny(repo: Path) -> None:
    steps = [shell("git push origin main"), shell("printf x > marked.log"), *RIGHT]
    ran = run(repo, steps, env={"DONEWHEN__POLICY__ASK": "printf *"})
    assert ran.code == 0
    denied = ran.of("policy_denied")
    assert [event["command"].split()[0] for event in denied] == ["git", "printf"]
    assert [event["rule"] for event in denied][1] == "policy.ask[0]"
    assert all(event["rule"] and event["reason"] for event in denied)
    assert [event["ok"] for event in ran.of("tool_result")][:2] == [False, False]


def test_an_unknown_tool_is_a_recoverable_tool_result(repo: Path) -> None:
    ran = run(repo, [call("fly"), *RIGHT])
    assert ran.code == 0
    assert ran.of("tool_result")[0]["preview"].startswith("ERROR: ")
