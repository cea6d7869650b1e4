"""`donewhen union` as a person calls it: finished branches and patches in, a branch that passes out, no model."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from needs import needs
from program import PROGRAM, donewhen
from repositories import commit, digest, git, repository, write
from runs.scenes import Run, run_json

MODULE = """\
import os


def total(items):
    return sum(items)


def count(items):
    return len(items)
"""
TWO = "import shop; assert shop.total([1, 2]) == 3; assert shop.count([1]) == 1"
CONTRACT = f"[[check]]\nname = \"works\"\ncommand = '''python3 -c \"{TWO}\"'''\n"
FILES = {"shop.py": MODULE, "notes.txt": "a\n", "donewhen.toml": CONTRACT}


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    needs("bwrap")
    return repository(tmp_path / "repo", FILES)


def branch(repo: Path, name: str, files: Mapping[str, str], at: str = "main") -> str:
    """Make a branch with one commit; the checkout is on main afterwards."""
    git(repo, "checkout", "--quiet", "-b", name, at)
    write(repo, files)
    made = commit(repo, f"the work of {name}")
    git(repo, "checkout", "--quiet", "main")
    return made


def patched(old: str, new: str) -> dict[str, str]:
    assert old in MODULE
    return {"shop.py": MODULE.replace(old, new)}


def added(text: str) -> dict[str, str]:
    return {"shop.py": MODULE + text}


def union(repo: Path, *words: str) -> Run:
    return run_json(repo, "union", "--json", *words)


def gates(run: Run) -> dict[str, str]:
    return {event["id"]: event["status"] for event in run.of("subtask_gated")}


def codes(run: Run, id: str) -> list[str]:
    (event,) = [event for event in run.of("subtask_gated") if event["id"] == id]
    return [reason["code"] for reason in event["reasons"]]


def kept(run: Run) -> list[str]:
    return [event["id"] for event in run.of("subtask_applied")]


def cause(run: Run) -> dict[str, Any]:
    (one,) = run.one("union_rejected")["causes"]
    return one


# -- compatible patches --


@pytest.mark.promise("command.union")
@pytest.mark.promise("command.union.json")
@pytest.mark.promise("events.union")
def test_compatible_branches_become_one_branch_with_a_commit_each(repo: Path) -> None:
    branch(repo, "one", {"one.py": "ONE = 1\n"})
    branch(repo, "two", {"two.py": "TWO = 2\n"})
    ran = union(repo, "one", "two")
    assert (ran.code, ran.last["outcome"]) == (0, "verified")
    landed = ran.one("landed")
    subjects = git(repo, "log", "--format=%s", f"main..{landed['branch']}").splitlines()
    assert subjects == ["the work of two", "the work of one"]
    assert git(repo, "rev-parse", f"{landed['branch']}^{{tree}}") == ran.last["tree"]
    assert git(repo, "show", f"{landed['branch']}:one.py") == "ONE = 1"
    assert ran.one("union_verified")["applied"] == ["one", "two"]
    assert git(repo, "status", "--porcelain") == ""


def test_the_same_union_again_gives_the_same_branch(repo: Path) -> None:
    branch(repo, "one", {"one.py": "ONE = 1\n"})
    first, second = union(repo, "one"), union(repo, "one")
    assert second.code == 0
    assert first.one("landed")["branch"] == second.one("landed")["branch"]


def test_a_patch_file_and_a_branch_are_combined(repo: Path, tmp_path: Path) -> None:
    branch(repo, "one", {"one.py": "ONE = 1\n"})
    made = branch(repo, "two", patched("len(items)", "len(list(items))"))
    (tmp_path / "two.patch").write_text(git(repo, "format-patch", "-1", "--stdout", made) + "\n")
    ran = union(repo, "one", str(tmp_path / "two.patch"))
    assert ran.code == 0
    assert git(repo, "log", "-1", "--format=%s", ran.one("landed")["branch"]) == "the work of two"


def test_a_branch_behind_the_base_is_rebased_onto_it(repo: Path) -> None:
    branch(repo, "old", {"old.py": "OLD = 1\n"})
    write(repo, {"new.py": "NEW = 1\n"})
    commit(repo, "main goes on")
    ran = union(repo, "old")
    assert ran.code == 0
    assert git(repo, "ls-tree", "--name-only", ran.one("landed")["branch"], "new.py", "old.py").split() == [
        "new.py",
        "old.py",
    ]


@pytest.mark.promise("command.union.base")
def test_the_base_can_be_chosen(repo: Path) -> None:
    first = git(repo, "rev-parse", "main")
    write(repo, {"new.py": "NEW = 1\n"})
    commit(repo, "main goes on")
    branch(repo, "one", {"one.py": "ONE = 1\n"}, at=first)
    ran = union(repo, "--base", first, "one")
    assert ran.code == 0
    assert git(repo, "rev-parse", f"{ran.one('landed')['branch']}^") == first


def test_changes_at_the_same_place_are_merged_by_syntax(repo: Path) -> None:
    both = ("def left(items):\n    return sys.argv\n", "def right(items):\n    return re.compile('x')\n")
    branch(repo, "left", {"shop.py": MODULE.replace("import os\n", "import os\nimport sys\n") + "\n\n" + both[0]})
    branch(repo, "right", {"shop.py": MODULE.replace("import os\n", "import os\nimport re\n") + "\n\n" + both[1]})
    ran = union(repo, "left", "right")
    assert (ran.code, kept(ran)) == (0, ["left", "right"])
    assert [path for path, _ in ran.one("union_verified")["reconciled"]] == ["shop.py"]
    text = git(repo, "show", f"{ran.one('landed')['branch']}:shop.py")
    assert "import re\n" in text
    assert "import sys\n" in text
    assert text.index("def left") < text.index("def right")


# -- the gate --


@pytest.mark.promise("command.union.exit-codes")
def test_a_patch_that_breaks_a_check_alone_is_rejected_and_the_rest_is_included(repo: Path) -> None:
    branch(repo, "fine", {"one.py": "ONE = 1\n"})
    branch(repo, "wrong", patched("len(items)", "2"))
    ran = union(repo, "fine", "wrong")
    assert ran.code == 1
    assert gates(ran) == {"fine": "accepted", "wrong": "rejected"}
    assert codes(ran, "wrong") == ["check_turned"]
    assert kept(ran) == ["fine"]


@pytest.mark.parametrize(
    ("files", "code"),
    [
        (added("def (:\n"), "does_not_parse"),
        (added("\n\ndef count(items):\n    return len(items)\n"), "duplicate_declaration"),
        ({"key.py": "KEY = 'AKIA" + "ABCDEFGHIJKLMNOP'\n"}, "secret"),
        ({".github/workflows/ci.yml": "on: push\n"}, "control_file"),
        ({".vscode/tasks.json": "{}\n"}, "control_file"),
        ({"AGENTS.md": "do as I say\n"}, "control_file"),
    ],
)
def test_the_gate_refuses_these_patches_without_running_anything(
    repo: Path, files: Mapping[str, str], code: str
) -> None:
    branch(repo, "bad", files)
    ran = union(repo, "bad")
    assert (ran.code, codes(ran, "bad")) == (1, [code])
    assert [event["phase"] for event in ran.of("check_started")].count("gate") == 0
    assert ran.of("landed") == []


def test_a_link_out_of_the_tree_is_refused(repo: Path) -> None:
    git(repo, "checkout", "--quiet", "-b", "link")
    (repo / "out").symlink_to("/etc/passwd")
    commit(repo, "a way out")
    git(repo, "checkout", "--quiet", "main")
    assert codes(union(repo, "link"), "link") == ["link"]


def test_editable_paths_of_the_contract_may_be_changed(repo: Path) -> None:
    write(repo, {"donewhen.toml": CONTRACT + '[contract]\neditable = ["AGENTS.md"]\n'})
    commit(repo, "agents may be told")
    branch(repo, "told", {"AGENTS.md": "be careful\n"})
    assert union(repo, "told").code == 0


def test_a_change_of_a_protected_path_is_refused(repo: Path) -> None:
    write(repo, {"donewhen.toml": CONTRACT + '[contract]\nprotect = ["notes.txt"]\n'})
    commit(repo, "notes are protected")
    branch(repo, "notes", {"notes.txt": "b\n"})
    assert codes(union(repo, "notes"), "notes") == ["protected"]


def test_without_a_green_check_on_the_base_nothing_is_accepted(tmp_path: Path) -> None:
    needs("bwrap")
    red = '[[check]]\nname = "never"\ncommand = "false"\n'
    repo = repository(tmp_path / "repo", {"donewhen.toml": red, "a.txt": "a\n"})
    branch(repo, "one", {"a.txt": "b\n"})
    ran = union(repo, "one")
    assert (ran.code, gates(ran), codes(ran, "one")) == (1, {"one": "inconclusive"}, ["no_evidence"])


def test_a_check_that_is_red_on_the_base_is_reported_and_does_not_decide(repo: Path) -> None:
    write(repo, {"donewhen.toml": CONTRACT + '[[check]]\nname = "goal"\ncommand = "test -e goal"\n'})
    commit(repo, "there is a goal")
    branch(repo, "one", {"one.py": "ONE = 1\n"})
    answer = donewhen("union", "one", cwd=repo)
    assert answer.code == 0
    assert "does not decide: goal" in answer.out
    ran = union(repo, "one")
    assert (ran.code, ran.last["outcome"]) == (0, "red")  # all are included, and the contract is not met
    assert {one["name"]: one["exit_code"] for one in ran.last["results"]} == {"works": 0, "goal": 1, "build-python": 0}


def test_in_a_check_that_is_red_on_the_base_every_test_counts_separately(tmp_path: Path) -> None:
    needs("bwrap")
    tests = (
        "import shop\n\ndef test_total():\n    assert shop.total([1]) == 1\n\ndef test_goal():\n    assert shop.goal\n"
    )
    contract = '[[check]]\nname = "tests"\ncommand = "python3 -m pytest -q test_shop.py"\n'
    files = {"shop.py": MODULE, "test_shop.py": tests, "donewhen.toml": contract}
    repo = repository(tmp_path / "repo", files)
    branch(repo, "part", patched("len(items)", "len(list(items))"))
    branch(repo, "breaks", patched("sum(items)", "0"))
    ran = union(repo, "part", "breaks")
    assert gates(ran) == {"part": "accepted", "breaks": "rejected"}
    (reason,) = next(event for event in ran.of("subtask_gated") if event["id"] == "breaks")["reasons"]
    assert "test_total" in reason["words"]


# -- red only together --


@pytest.mark.promise("command.union.blame")
def test_a_pair_that_breaks_only_together_is_named_with_its_check_and_the_rest_is_included(repo: Path) -> None:
    branch(repo, "uses", patched("sum(items)", "sum(int(one) for one in items)"))
    branch(repo, "hides", added("\n\nint = None\n"))
    branch(repo, "other", {"one.py": "ONE = 1\n"})
    ran = union(repo, "uses", "hides", "other")
    assert ran.code == 1
    assert set(gates(ran).values()) == {"accepted"}
    blamed = cause(ran)
    assert {blamed["culprit"], blamed["partner"]} == {"uses", "hides"}
    assert (blamed["reason"], blamed["check"], blamed["common"]) == ("build_test_failed", "works", ["shop.py"])
    assert len(kept(ran)) == 2
    assert "other" in kept(ran)
    shown = donewhen("union", "uses", "hides", "other", cwd=repo).out
    assert f"works turns red together with {blamed['partner']}" in shown
    assert "2 of 3 are in" in shown


def test_duplicate_declarations_in_two_patches_are_found_before_anything_runs(repo: Path) -> None:
    branch(repo, "above", patched("def total", "def helper():\n    return 1\n\n\ndef total"))
    branch(repo, "below", added("\n\ndef helper():\n    return 1\n"))
    ran = union(repo, "above", "below")
    assert (ran.code, cause(ran)["reason"]) == (1, "duplicate_declaration")
    assert "helper" in cause(ran)["detail"]


def test_two_patches_that_change_the_same_line_cannot_be_merged(repo: Path) -> None:
    branch(repo, "one", patched("len(items)", "len(list(items))"))
    branch(repo, "two", patched("len(items)", "len(tuple(items))"))
    ran = union(repo, "one", "two")
    assert (ran.code, cause(ran)["reason"], len(kept(ran))) == (1, "patch_conflict", 1)
    assert "shop.py:" in cause(ran)["detail"]


def test_a_branch_that_moves_during_the_judgement_is_reported_and_the_judged_commit_lands(repo: Path) -> None:
    branch(repo, "one", {"one.py": "ONE = 1\n"})
    command = [PROGRAM, "union", "--json", "one"]
    with subprocess.Popen(command, cwd=repo, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        events: list[dict[str, Any]] = []
        for line in running.stdout:
            events.append(json.loads(line))
            if events[-1]["type"] == "baseline_completed":
                git(repo, "branch", "--force", "one", "main")
    landed = next(event for event in events if event["type"] == "landed")
    assert running.wait() == 0
    assert landed["note"] == "moved during the run; judged at their earlier commits: one"
    assert git(repo, "show", f"{landed['branch']}:one.py") == "ONE = 1"


# -- bad input --


def test_a_patch_that_does_not_apply_to_the_base_is_left_out(repo: Path, tmp_path: Path) -> None:
    made = branch(repo, "one", patched("len(items)", "len(list(items))"))
    text = git(repo, "format-patch", "-1", "--stdout", made).replace("return len(items)", "return nothing")
    (tmp_path / "bad.patch").write_text(text + "\n")
    ran = union(repo, str(tmp_path / "bad.patch"))
    assert (ran.code, codes(ran, str(tmp_path / "bad.patch"))) == (1, ["does_not_apply"])


def test_a_branch_without_a_change_is_left_out(repo: Path) -> None:
    git(repo, "branch", "same")
    ran = union(repo, "same")
    assert (ran.code, codes(ran, "same")) == (1, ["empty"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "name the branches or patch files"),
        (("nothing-like-it",), "neither a commit of"),
        (("one", "one"), "named twice"),
        (("stranger",), "no history in common"),
        (("empty.patch",), "it is empty"),
        (("noise.patch",), "it is not a patch"),
        (("half.patch",), "it is not a patch"),
        (("folder",), "is a directory"),
        (("--base", "nowhere", "one"), "is not a commit of"),
    ],
)
def test_bad_input_is_one_line_and_the_repository_stays_as_it_was(
    repo: Path, words: tuple[str, ...], said: str
) -> None:
    made = branch(repo, "one", {"one.py": "ONE = 1\n"})
    git(repo, "checkout", "--quiet", "--orphan", "stranger")
    commit(repo, "from elsewhere")
    git(repo, "checkout", "--quiet", "main")
    text = git(repo, "format-patch", "-1", "--stdout", made)
    patches = {"empty.patch": "", "noise.patch": "hello\n", "half.patch": text[: text.index("+ONE")]}
    write(repo, {**patches, "folder/x": "x"})
    before = digest(repo)
    answer = donewhen("union", "--json", *words, cwd=repo)
    assert (answer.code, answer.out, said in answer.one_line) == (2, "", True)
    assert digest(repo) == before
