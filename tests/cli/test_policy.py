"""`donewhen policy` as a person calls it: the answer on stdout, the decision as exit code, and nothing runs."""

import json
import os
from pathlib import Path

import pytest

from program import Answer, donewhen


def policy(*words: str | bytes, cwd: Path) -> Answer:
    return donewhen("policy", *map(os.fsdecode, words), cwd=cwd, timeout=60)


@pytest.mark.promise("command.policy")
@pytest.mark.promise("command.policy.exit-codes")
@pytest.mark.parametrize(
    ("command", "code", "answer"),
    [
        ("pytest -q", 0, "allow  none  no rule matches: pytest -q\n"),
        ("git push origin main", 1, "deny  git-push  changes a remote: git push origin main\n"),
        ("make && git push", 1, "deny  git-push  changes a remote: git push\n"),
        ("curl https://example.com", 3, "ask  network  connects to another machine: curl https://example.com\n"),
        ("echo 'unfinished", 3, "ask  unparsed  could not be parsed: echo 'unfinished\n"),
    ],
)
def test_policy_prints_decision_rule_and_reason(tmp_path: Path, command: str, code: int, answer: str) -> None:
    result = policy(command, cwd=tmp_path)
    assert (result.code, result.out, result.err) == (code, answer, "")


@pytest.mark.promise("command.policy.runs-nothing")
def test_policy_never_starts_the_command(tmp_path: Path) -> None:
    for command in ("touch made", "echo x > made", "echo $(touch made)", "sh -c 'touch made'"):
        assert policy(command, cwd=tmp_path).code == 0
    assert list(tmp_path.iterdir()) == []


def test_json_is_one_object_with_four_fields(tmp_path: Path) -> None:
    result = policy("--json", "ls; git push", cwd=tmp_path)
    assert result.code == 1
    assert json.loads(result.out) == {
        "decision": "deny",
        "rule": "git-push",
        "reason": "changes a remote",
        "command": "git push",
    }
    assert result.out.count("\n") == 1


def test_several_arguments_are_one_command(tmp_path: Path) -> None:
    assert policy("git", "push", "a b", cwd=tmp_path).out.endswith(": git push 'a b'\n")
    assert policy("rm", "-rf", "/", cwd=tmp_path).code == 1
    assert policy("--", "rm", "-rf", "build", cwd=tmp_path).code == 0
    assert policy("echo", "git push; rm -rf /", cwd=tmp_path).code == 0


@pytest.mark.parametrize("words", [[""], [" \n"], []])
def test_an_empty_command_is_one_line_and_exit_2(tmp_path: Path, words: list[str]) -> None:
    result = policy(*words, cwd=tmp_path)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("donewhen: ") and result.err.count("\n") == 1


def test_policy_uses_the_repository_of_the_working_directory(tmp_path: Path) -> None:
    (tmp_path / "tree" / ".git").mkdir(parents=True)
    (tmp_path / "tree" / "src").mkdir()
    here = tmp_path / "tree" / "src"
    assert policy(f"rm -rf {tmp_path}/tree/build", cwd=here).code == 0
    assert policy(f"rm -rf {tmp_path}/tree", cwd=here).code == 1
    assert policy(f"rm -rf {tmp_path}", cwd=here).code == 1


def test_control_characters_and_broken_text_do_not_reach_the_terminal(tmp_path: Path) -> None:
    shown = policy("echo \x1b[2J", cwd=tmp_path)
    assert shown.code == 3 and "\x1b" not in shown.out and shown.out.count("\n") == 1
    assert policy(b"echo \xff\xfe", cwd=tmp_path).code == 3
    assert json.loads(policy("--json", b"echo \xff", cwd=tmp_path).out)["decision"] == "ask"


def test_rules_of_the_repository_count_without_trust_because_they_only_narrow(tmp_path: Path) -> None:
    rules = '[policy]\ndeny = ["frobnicate"]\nask = ["make deploy"]\n[workspace]\nnetwork = "full"\n'
    (tmp_path / "donewhen.toml").write_text(rules)
    assert policy("cd x && frobnicate --all", cwd=tmp_path).code == 1
    assert policy("make deploy", cwd=tmp_path).code == 3
    assert policy("make test", cwd=tmp_path).code == 0


@pytest.mark.parametrize("key", ["deny", "ask"])
def test_a_bad_rule_is_one_line_with_file_and_key_and_exit_2(tmp_path: Path, key: str) -> None:
    (tmp_path / "donewhen.toml").write_text(f'[policy]\n{key} = ["fine", "re:("]\n')
    answer = policy("ls", cwd=tmp_path)
    assert (answer.code, answer.out) == (2, "")
    assert f"donewhen.toml: policy.{key}[1]" in answer.err and answer.err.count("\n") == 1
