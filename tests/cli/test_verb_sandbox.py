"""`donewhen sandbox`: a person's command in a throw-away tree, with its exit code and live output."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from needs import needs
from program import PROGRAM, Answer, donewhen
from repositories import commit, digest, git, repository, write


@pytest.fixture
def root(tmp_path: Path) -> Path:
    needs("bwrap")
    return repository(tmp_path / "repository", {"file.txt": "committed\n", "sub/inner.txt": "inner\n"})


def sandbox(root: Path, *words: str, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> Answer:
    return donewhen("sandbox", *words, cwd=cwd or root, env=env)


@pytest.mark.parametrize("code", [0, 1, 2, 3, 77, 126, 127, 255])
@pytest.mark.promise("command.sandbox.exit-code")
def test_the_exit_code_is_that_of_the_command(root: Path, code: int) -> None:
    assert sandbox(root, "--", f"exit {code}").code == code


def test_a_command_killed_by_a_signal_exits_as_in_a_shell(root: Path) -> None:
    assert sandbox(root, "--", "kill -TERM $$").code == 128 + signal.SIGTERM


@pytest.mark.promise("command.sandbox")
def test_the_command_sees_the_tree_at_the_repositorys_own_path_and_changes_nothing(root: Path) -> None:
    before = digest(root)
    script = "pwd; cat file.txt; echo changed > file.txt; cat file.txt; touch new; git status -s"
    answer = sandbox(root, "--", script)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out == f"{root}\ncommitted\nchanged\n M file.txt\n?? new\n"
    assert digest(root) == before


def test_several_words_are_a_command_with_exact_arguments(root: Path) -> None:
    answer = sandbox(root, "--", "printf", "%s|", "a b", "$HOME", "'", "")
    assert answer.out == "a b|$HOME|'||"


def test_options_after_the_command_belong_to_the_command(root: Path) -> None:
    assert sandbox(root, "ls", "-a", "sub").out == ".\n..\ninner.txt\n"


def test_stdout_and_stderr_stay_apart(root: Path) -> None:
    answer = sandbox(root, "--", "echo to-out; echo to-err >&2")
    assert (answer.out, answer.err) == ("to-out\n", "to-err\n")


def test_output_is_live(root: Path) -> None:
    """The first line arrives while the command still waits for a file that only this test makes."""
    running = subprocess.Popen(
        [PROGRAM, "sandbox", "--timeout", "60", "--", "echo first; sleep 600"],
        cwd=root,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert running.stdout is not None and running.stderr is not None
    assert running.stdout.readline() == b"first\n"
    running.send_signal(signal.SIGINT)
    assert running.wait(30) == 130
    assert b"Traceback" not in running.stderr.read()
    running.stdout.close()
    running.stderr.close()


def test_it_works_from_a_subdirectory_and_with_repo(root: Path, tmp_path: Path) -> None:
    inside = sandbox(root, "--", "cat sub/inner.txt", cwd=root / "sub")
    elsewhere = sandbox(root, "--repo", str(root), "--", "cat sub/inner.txt", cwd=tmp_path)
    assert inside.out == elsewhere.out == "inner\n"


def test_uncommitted_changes_are_left_out_with_one_line_and_dirty_includes_them(root: Path) -> None:
    (root / "file.txt").write_text("edited\n")
    (root / "untracked.txt").write_text("new\n")
    before = digest(root)
    plain = sandbox(root, "--", "cat file.txt; ls")
    assert plain.out == "committed\nfile.txt\nsub\n"
    assert "file.txt and 1 more" in plain.one_line and "--dirty" in plain.one_line
    dirty = sandbox(root, "--dirty", "--", "cat file.txt untracked.txt")
    assert (dirty.out, dirty.err) == ("edited\nnew\n", "")
    assert digest(root) == before


def test_base_chooses_the_commit_of_the_tree(root: Path) -> None:
    write(root, {"file.txt": "second\n"})
    commit(root, "second")
    assert sandbox(root, "--base", "HEAD~1", "--", "cat file.txt").out == "committed\n"
    assert sandbox(root, "--", "cat file.txt").out == "second\n"


def test_the_time_limit_ends_it_with_124_and_a_reason(root: Path) -> None:
    answer = sandbox(root, "--timeout", "0.3", "--", "sleep 600")
    assert answer.code == 124 and "time limit reached" in answer.one_line


def test_variables_of_the_tree_are_unique_and_ports_are_its_own(root: Path) -> None:
    seen = [sandbox(root, "--", "echo $DONEWHEN_TREE $DONEWHEN_PORT_BASE").out.split() for _ in range(2)]
    assert seen[0][0] != seen[1][0]
    assert all(1024 < int(port) < 32768 for _, port in seen)


@pytest.mark.promise("trust.exit-code")
@pytest.mark.promise("config.nothing-started")
def test_an_untrusted_widening_key_waits_with_exit_3_and_starts_nothing(root: Path) -> None:
    write(root, {"donewhen.toml": '[workspace]\nenv = ["MY_TOKEN"]\n'})
    commit(root, "ask for more")
    refused = sandbox(root, "--", "echo ran", env={"MY_TOKEN": "secret"})
    assert (refused.code, refused.out) == (3, "")
    assert "workspace.env" in refused.one_line


@pytest.mark.promise("command.trust")
@pytest.mark.promise("workspace.env")
def test_after_trust_the_named_variable_is_passed_and_no_other(root: Path) -> None:
    write(root, {"donewhen.toml": '[workspace]\nenv = ["MY_TOKEN"]\n'})
    commit(root, "ask for more")
    trusted = donewhen("trust", cwd=root)
    assert trusted.code == 0 and "workspace.env" in trusted.out
    answer = sandbox(root, "--", "echo $MY_TOKEN $OTHER_TOKEN", env={"MY_TOKEN": "one", "OTHER_TOKEN": "two"})
    assert (answer.code, answer.out) == (0, "one\n")


def test_trust_without_a_file_is_one_line_and_exit_2(root: Path) -> None:
    answer = donewhen("trust", cwd=root)
    assert answer.code == 2 and "donewhen.toml" in answer.one_line


@pytest.mark.promise("workspace.share")
def test_a_shared_directory_is_seen_and_written_under_a_throw_away_layer(root: Path) -> None:
    write(root, {".gitignore": ".venv/\n"})
    commit(root, "ignore")
    venv = root / ".venv"
    venv.mkdir()
    (venv / "tool").write_text("#!/bin/sh\necho shared\n")
    (venv / "tool").chmod(0o755)
    settings = {"DONEWHEN__WORKSPACE__SHARE": ".venv"}
    answer = sandbox(root, "--", ".venv/tool; echo new > .venv/new; rm .venv/tool; ls .venv", env=settings)
    assert (answer.code, answer.out) == (0, "shared\nnew\n")
    assert os.listdir(venv) == ["tool"]
    assert sandbox(root, "--", "ls -A").out.split() == [".git", ".gitignore", "file.txt", "sub"]


@pytest.mark.promise("workspace.setup")
def test_setup_runs_once_per_content_of_its_inputs_and_its_result_is_in_every_tree(root: Path) -> None:
    write(root, {"requirements.txt": "one\n", ".gitignore": "made/\n"})
    commit(root, "inputs")
    setup = "mkdir -p made && date +%s%N > made/stamp && echo touched >> file.txt"
    settings = {"DONEWHEN__WORKSPACE__SETUP": f'["{setup}"]'}
    look = ("--", "cat made/stamp; cat file.txt; git status -s")
    first, second = sandbox(root, *look, env=settings), sandbox(root, *look, env=settings)
    assert first.code == 0 and first.out == second.out and first.out.endswith("committed\n")
    write(root, {"requirements.txt": "two\n"})
    commit(root, "another input")
    assert sandbox(root, *look, env=settings).out.splitlines()[0] != first.out.splitlines()[0]


def test_a_failing_setup_is_exit_4_and_names_its_command(root: Path) -> None:
    answer = sandbox(root, "--", "echo ran", env={"DONEWHEN__WORKSPACE__SETUP": '["echo why; exit 3"]'})
    assert (answer.code, answer.out) == (4, "")
    assert "workspace.setup" in answer.one_line and "why" in answer.one_line


@pytest.mark.promise("workspace.history.base")
def test_the_history_in_a_tree_holds_only_commits_reachable_from_the_base(root: Path) -> None:
    write(root, {"file.txt": "second\n"})
    commit(root, "second")
    git(root, "branch", "secret")
    git(root, "reset", "--hard", "-q", "HEAD~1")
    answer = sandbox(root, "--", "git log --all --oneline | wc -l; git remote; git status -s")
    assert answer.code == 0
    assert answer.out.splitlines()[0].strip() == "1"


@pytest.mark.promise("workspace.history.none")
def test_without_history_a_tree_has_a_single_commit(root: Path) -> None:
    write(root, {"file.txt": "second\n"})
    commit(root, "second")
    answer = sandbox(
        root, "--", "git log --oneline | wc -l; git status -s", env={"DONEWHEN__WORKSPACE__HISTORY": "none"}
    )
    assert answer.out.strip() == "1"


@pytest.mark.promise("workspace.isolation.none")
def test_running_without_isolation_prints_a_warning(root: Path) -> None:
    answer = sandbox(root, "--", "cat file.txt", env={"DONEWHEN__WORKSPACE__ISOLATION": "none"})
    assert answer.out == "committed\n" and "'none'" in answer.one_line


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ([], "COMMAND"),
        (["--", ""], "empty"),
        (["--base", "nowhere", "--", "true"], "nowhere"),
        (["--base", "HEAD", "--dirty", "--", "true"], "--dirty"),
        (["--timeout", "soon", "--", "true"], "soon"),
        (["--timeout", "0", "--", "true"], "timeout"),
        (["--timeout", "inf", "--", "true"], "--timeout must be a finite number above 0, not inf"),
        (["--timeout", "nan", "--", "true"], "--timeout must be a finite number above 0, not nan"),
        (["--repo", "/nowhere", "--", "true"], "/nowhere"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(root: Path, words: list[str], names: str) -> None:
    answer = sandbox(root, *words)
    assert (answer.code, answer.out) == (2, "")
    assert names in answer.one_line


@pytest.mark.parametrize(
    ("key", "value", "names"),
    [
        ("REACH", "nonsense", "workspace.reach"),
        ("REACH", "localhost:0", "workspace.reach"),
        ("REACH", "localhost:99999", "workspace.reach"),
        ("SHARE", "missing", "workspace.share"),
        ("SHARE", "../up", "workspace.share"),
        ("SHARE", "/etc", "workspace.share"),
        ("SHARE", ".git", "workspace.share"),
        ("SHARE", "file.txt", "workspace.share"),
        ("SOCKETS", "/nowhere.sock", "workspace.sockets"),
        ("ENV", "A=B", "workspace.env"),
        ("NETWORK", "some", "workspace.network"),
    ],
)
def test_a_bad_workspace_value_is_one_line_and_exit_2(root: Path, key: str, value: str, names: str) -> None:
    answer = sandbox(root, "--", "echo ran", env={f"DONEWHEN__WORKSPACE__{key}": value})
    assert (answer.code, answer.out) == (2, "")
    assert names in answer.one_line


def test_outside_a_repository_is_one_line_and_exit_2(tmp_path: Path) -> None:
    answer = donewhen("sandbox", "--", "true", cwd=tmp_path)
    assert answer.code == 2 and "repository" in answer.one_line


def test_nothing_is_left_behind_in_the_state_directory(root: Path) -> None:
    sandbox(root, "--", "echo x > y")
    repos = Path(os.environ["XDG_STATE_HOME"], "donewhen", "repos")
    assert list(repos.glob("*/trees/*")) == []
    assert list(repos.glob("*/ports/*")) == []


def test_a_killed_run_is_cleaned_up_by_the_next_one(root: Path) -> None:
    running = subprocess.Popen(
        [sys.executable, "-m", "donewhen", "sandbox", "--", "echo up; sleep 600"],
        cwd=root,
        stdout=subprocess.PIPE,
    )
    assert running.stdout is not None
    assert running.stdout.readline() == b"up\n"
    running.kill()
    running.wait()
    running.stdout.close()
    repos = Path(os.environ["XDG_STATE_HOME"], "donewhen", "repos")
    assert len(list(repos.glob("*/trees/*"))) == 1
    assert sandbox(root, "--", "true").code == 0
    assert list(repos.glob("*/trees/*")) == []


@pytest.mark.promise("workspace.history.held-out")
def test_nothing_of_a_held_out_check_is_visible_in_the_sandbox(tmp_path: Path) -> None:
    shown = "[[check]]\nname = 'shown'\ncommand = 'true'\n"
    held = f"{shown}# the riddle\n[[check]]\nname = 'riddle'\ncommand = 'false'\nheld_out = true\n"
    repo = repository(tmp_path / "repo", {"donewhen.toml": "# one\n", "a": ""})
    write(repo, {"donewhen.toml": held})
    commit(repo)
    answer = donewhen("sandbox", "--", "cat donewhen.toml; git log --format=%h; git grep -c riddle HEAD", cwd=repo)
    assert "shown" in answer.out
    assert "riddle" not in answer.out
    assert len([line for line in answer.out.splitlines() if len(line) == 7]) == 1
    inside = donewhen("sandbox", "--", "git status --porcelain; git cat-file --batch-all-objects --batch", cwd=repo)
    assert "riddle" not in inside.out
