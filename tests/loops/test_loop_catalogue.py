"""The ready-made loops: what `loop add` lists and writes, and one round of each with a forge and without a remote."""

import json
import os
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from catalogue_scene import NAMES, CatalogueScene, catalogue_scene, scene_for
from loop_scene import DONE, FIX, Step, loop, opinion

from program import donewhen
from repositories import git, repository

REPORT: Sequence[Step] = ({"text": "1. works is red: add() subtracts."},)
COMMENT: Sequence[Step] = ({"text": "COMMENT ON #1\nadd() in calc.py subtracts: that is why it fails."},)
FIND_TOKEN = "(env; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n') | grep -a -o 'ghp_[a-z0-9]*'; echo looked"
ENVIRONMENT: Step = {"tool": {"name": "shell", "input": {"command": FIND_TOKEN}}}


def edit(path: str, old: str, new: str) -> Step:
    return {"tool": {"name": "edit_file", "input": {"path": path, "old": old, "new": new}}}


ENTRY = edit("CHANGELOG.md", "## Not released", "## Not released\n\n- add() adds")
UPDATE = edit("package.json", '"left-pad": "1.0.0"', '"left-pad": "1.3.0"')
WITH_FORGE = dict(
    zip(NAMES, ("report", "comment", "open-pr", "open-pr", "open-pr", "report", "comment", "report"), strict=True)
)
LOCALLY = dict(
    zip(NAMES, ("report", "report", "apply-patch", "branch", "branch", "report", "report", "report"), strict=True)
)
BOUNDS = ("turns", "tokens", "minutes", "tokens_per_day", "usd_per_day", "usd_lifetime")


@dataclass(frozen=True)
class Case:
    maker: Sequence[Step]
    says: dict[str, str]
    """Input → what it must say."""
    ends: Callable[[CatalogueScene], None]
    """Asserts what is there after the round, and after its approval."""


def is_reported(made: CatalogueScene) -> None:
    assert made.scene.branches() == ["done", "main", "stuck"]


def is_commented(made: CatalogueScene) -> None:
    """The comment is written after approval, and then the item is left alone: our own comment is the last one."""
    assert made.server is not None
    assert made.server.item(1).comments == []
    made.approve()
    (comment,) = made.server.item(1).comments
    assert "add() in calc.py subtracts" in comment["body"]
    added = json.loads(made.scene("loop", "list", "--json").out)
    code, finished, events = made.scene.run(added["name"])
    assert (code, finished["outcome"], finished["reason"]) == (0, "skipped", "nothing to do: the inputs are empty")
    assert not [one for one in events if one["type"] == "model_turn"]


def opens_a_request(path: str, content: str) -> Callable[[CatalogueScene], None]:
    def ends(made: CatalogueScene) -> None:
        assert made.server is not None
        made.approve()
        (item,) = [one for one in made.server.world.items.values() if one.branch.startswith("donewhen/")]
        assert item.draft and item.is_open
        assert content in git(made.server.bare, "show", f"{item.branch}:{path}")

    return ends


def makes_a_branch(path: str, content: str) -> Callable[[CatalogueScene], None]:
    def ends(made: CatalogueScene) -> None:
        made.approve()
        (branch,) = [one for one in made.scene.branches() if one.startswith("donewhen/")]
        assert content in git(made.scene.root, "show", f"{branch}:{path}")

    return ends


def commits_the_fix(made: CatalogueScene) -> None:
    assert "a - b" in git(made.scene.root, "show", "main:calc.py")
    made.approve()
    assert "a + b" in git(made.scene.root, "show", "main:calc.py")
    assert made.scene.branches() == ["done", "main", "stuck"]


DONE_ITEMS = {"issues": "add() is wrong", "pulls": "a change", "ci": "tests / linux (failure)"}
CLEANUP = {"branches": "done: merged", "notes": "notes.py:1:# TODO"}
CASES = {
    ("daily-triage", "forge"): Case(REPORT, {"commits": "the first commit", **DONE_ITEMS}, is_reported),
    ("daily-triage", "local"): Case(REPORT, {"commits": "the first commit"}, is_reported),
    ("pr-babysitter", "forge"): Case(COMMENT, {"pulls": "failed: tests / linux (failure)"}, is_commented),
    ("pr-babysitter", "local"): Case(REPORT, {"branches": "stuck: 1 of its own"}, is_reported),
    ("ci-sweeper", "forge"): Case((FIX, DONE), {"ci": "tests / linux (failure)"}, opens_a_request("calc.py", "a + b")),
    ("ci-sweeper", "local"): Case((FIX, DONE), {}, commits_the_fix),
    ("dependency-sweeper", "forge"): Case(
        (UPDATE, FIX, DONE), {"outdated-npm": "1.3.0"}, opens_a_request("package.json", "1.3.0")
    ),
    ("dependency-sweeper", "local"): Case(
        (UPDATE, FIX, DONE), {"outdated-npm": "1.3.0"}, makes_a_branch("package.json", "1.3.0")
    ),
    ("changelog-drafter", "forge"): Case(
        (ENTRY, DONE), {"commits": "state the loops"}, opens_a_request("CHANGELOG.md", "add() adds")
    ),
    ("changelog-drafter", "local"): Case(
        (ENTRY, DONE), {"commits": "state the loops"}, makes_a_branch("CHANGELOG.md", "add() adds")
    ),
    ("post-merge-cleanup", "forge"): Case(REPORT, CLEANUP, is_reported),
    ("post-merge-cleanup", "local"): Case(REPORT, CLEANUP, is_reported),
    ("issue-triage", "forge"): Case(COMMENT, {"issues": "#1 add() is wrong (by ada"}, is_commented),
    ("issue-triage", "local"): Case(REPORT, {"notes": "notes.py:1:# TODO"}, is_reported),
    ("flaky-test-hunter", "forge"): Case(REPORT, {"runs": "run 3: exit code 1\ntest_add"}, is_reported),
    ("flaky-test-hunter", "local"): Case(REPORT, {"runs": "run 2: passed\nrun 3: exit code 1"}, is_reported),
}


@pytest.mark.promise("command.loop.add")
@pytest.mark.sample(4)
@pytest.mark.parametrize(("name", "where"), CASES)
def test_each_ready_made_loop_runs_as_it_was_added(name: str, where: str, tmp_path: Path) -> None:
    case = CASES[name, where]
    with scene_for(name, where, tmp_path) as made:
        added = made.add(name)
        changes_files = added["level"] == "assisted" and added["action"] != "comment"
        made.scene.script((ENVIRONMENT, *case.maker) if changes_files else case.maker, [opinion()])
        code, finished, events = made.scene.run(name)
        expected = (0, "reported") if added["level"] == "report" else (3, "escalated")
        assert (code, finished["outcome"]) == expected, finished["reason"]
        assert finished["checker"]["status"] == "confirmed"
        said = made.inputs()
        for one, text in case.says.items():
            assert text in said[one], said
        if made.server is not None:
            assert made.server.token not in json.dumps([said, events])
        case.ends(made)


def test_what_the_makers_above_ran_finds_a_token_where_there_is_one(tmp_path: Path) -> None:
    token = f"ghp_{'a1' * 12}"
    command = ["sh", "-c", FIND_TOKEN]
    found = subprocess.run(command, env={**os.environ, "FORGE_TOKEN": token}, capture_output=True, check=True)
    assert token in found.stdout.decode()


# -- what is listed and written --


@pytest.mark.sample(1)
@pytest.mark.parametrize("where", ["forge", "local"])
def test_what_is_written_is_known_trusted_bounded_and_leaves_every_decision_to_a_person(
    where: str, tmp_path: Path
) -> None:
    with scene_for("dependency-sweeper", where, tmp_path) as made:
        scene = made.scene
        offered = [json.loads(line) for line in scene("loop", "add", "--json").out.splitlines()]
        assert tuple(one["name"] for one in offered) == NAMES
        assert [one["missing"] for one in offered] == [""] * len(NAMES)
        for name in NAMES:
            made.add(name)
        listed = [json.loads(line) for line in scene("loop", "list", "--json").out.splitlines()]
        assert {one["name"] for one in listed} == set(NAMES) and all(one["trusted"] for one in listed)
        for row in offered:
            shown = json.loads(scene("loop", "show", row["name"], "--json").out)
            assert (shown["level"], shown["action"]) == (row["level"], row["action"])
            assert shown["level"] in ("report", "assisted") and shown["gate"] == "ask" and shown["allow"] == []
            assert shown["action"] != "comment" or shown["level"] == "assisted"
            assert all(shown["budget"][key] for key in BOUNDS), shown["budget"]
            assert shown["maker"].strip() and shown["checker"].strip()
        actions = {one["name"]: one["action"] for one in offered}
        assert actions == (WITH_FORGE if where == "forge" else LOCALLY)
        assert all(json.loads(line)["is_added"] for line in scene("loop", "add", "--json").out.splitlines())


def test_a_written_file_that_is_changed_needs_trust_again(tmp_path: Path) -> None:
    made = catalogue_scene(tmp_path)
    file = Path(made.add("post-merge-cleanup")["file"])
    assert json.loads(made.scene("loop", "list", "--json").out)["trusted"]
    file.write_text(file.read_text().replace("git grep", "cat secrets.txt; git grep"))
    assert not json.loads(made.scene("loop", "list", "--json").out)["trusted"]
    answer = made.scene("loop", "run", "post-merge-cleanup")
    assert answer.code == 3 and "donewhen trust" in answer.one_line


@pytest.mark.sample(1)
@pytest.mark.parametrize("columns", [80, 140])
def test_the_list_fits_the_width_of_the_terminal(columns: int, tmp_path: Path) -> None:
    made = catalogue_scene(tmp_path)
    made.scene.env["COLUMNS"] = str(columns)
    answer = made.scene("loop", "add")
    assert answer.code == 0 and all(name in answer.out for name in NAMES)
    assert max(map(len, answer.out.splitlines())) <= columns
    assert "needs a manifest" in answer.out and "here they work locally: the repository has no remote" in answer.err
    added = made.scene("loop", "add", "ci-sweeper")
    assert added.out.splitlines()[0] == f"wrote {made.scene.root}/.donewhen/loops/ci-sweeper.toml"
    for words in (
        "works: these are all checks of donewhen.toml, which",
        "trusted   action, budget",
        "loop run ci-sweeper --dry-run",
    ):
        assert words in added.out


def test_nothing_is_written_for_bad_input(tmp_path: Path) -> None:
    made = catalogue_scene(tmp_path)
    scene, directory = made.scene, made.scene.root / ".donewhen" / "loops"
    for arguments, words in (
        (["ci-swepper"], "did you mean ci-sweeper?"),
        (["paint-the-fence"], "there are: daily-triage"),
        (["ci-sweeper", "--as", "Not A Name"], "small letters"),
        (["ci-sweeper", "--as", "../../x"], "small letters"),
        (["dependency-sweeper"], "dependency-sweeper needs a manifest"),
    ):
        answer = scene("loop", "add", *arguments)
        assert answer.code == 2 and words in answer.one_line, answer.err
        assert not directory.exists()
    file = Path(made.add("ci-sweeper", "--as", "red")["file"])
    assert file.name == "red.toml" and json.loads(scene("loop", "show", "red", "--json").out)["name"] == "red"
    before = file.read_bytes()
    for name in ("daily-triage", "ci-sweeper"):
        answer = scene("loop", "add", name, "--as", "red")
        assert answer.code == 2 and "is there already" in answer.one_line
    assert file.read_bytes() == before and [one.name for one in directory.iterdir()] == ["red.toml"]
    scene.state(loop("daily-triage"))
    answer = scene("loop", "add", "daily-triage")
    assert answer.code == 2 and "has a loop 'daily-triage' already" in answer.one_line


def test_a_repository_without_checks_or_no_repository_is_named(tmp_path: Path) -> None:
    root = repository(tmp_path / "bare", {"a.txt": "a\n"})
    for name in ("ci-sweeper", "dependency-sweeper", "flaky-test-hunter"):
        answer = donewhen("loop", "add", name, cwd=root)
        assert answer.code == 2 and f"{name} needs" in answer.one_line and "donewhen init" in answer.one_line
    assert donewhen("loop", "add", "daily-triage", cwd=root).code == 0
    for arguments in ([], ["daily-triage"]):
        answer = donewhen("loop", "add", *arguments, cwd=tmp_path)
        assert answer.code == 2 and "is not in a git repository" in answer.one_line


def test_no_file_is_written_through_a_link(tmp_path: Path) -> None:
    made = catalogue_scene(tmp_path)
    outside = tmp_path / "outside"
    outside.mkdir()
    (made.scene.root / ".donewhen").symlink_to(outside)
    answer = made.scene("loop", "add", "daily-triage")
    assert answer.code == 2 and "link" in answer.one_line
    assert list(outside.iterdir()) == []


def test_a_remote_without_its_token_is_worked_on_locally_and_the_reason_is_named(tmp_path: Path) -> None:
    with scene_for("issue-triage", "forge", tmp_path) as made:
        del made.scene.env["FORGE_TOKEN"]
        added = made.add("issue-triage")
        assert (added["level"], added["action"]) == ("report", "report")
        assert "FORGE_TOKEN is not set" in json.dumps(added["filled"])


def test_a_command_with_every_kind_of_quote_is_written_as_it_is(tmp_path: Path) -> None:
    command = """printf '%s\\n' "it's '''quoted'''" 'and "so"'; false"""
    made = catalogue_scene(tmp_path)
    made.scene.state(f'[[check]]\nname = "tests"\ncommand = {json.dumps(command)}\n')
    made.add("flaky-test-hunter")
    made.scene.script(REPORT, [opinion()])
    assert made.scene.run("flaky-test-hunter")[1]["outcome"] == "reported"
    assert """it's '''quoted'''\nand "so"\n""" in made.inputs()["runs"]
