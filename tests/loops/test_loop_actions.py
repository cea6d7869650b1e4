"""Actions without a forge: what each does with verified work, its receipt, and what happens if it cannot be done."""

import json
from pathlib import Path
from typing import Any

import pytest
from loop_scene import CALC, FIX, LOOK, LoopScene, loop, opinion

from repositories import git

FIXED = CALC.replace("a - b", "a + b")
WRITES = 'command:{ cat; cat c*.py; } > "$OUT"; printf "%s\\n" >> "$OUT"'
HOSTILE = "$(touch spliced)`touch spliced`'\"; touch spliced #\ntouch spliced"


def alone(name: str, action: str, **keys: Any) -> str:
    kind = action.partition(":")[0]
    return loop(name, level="unattended", action=action, allow=[kind], **keys)


@pytest.mark.promise("loop.action")
def test_every_action_carries_verified_work_out_and_says_what_it_did(tmp_path: Path) -> None:
    scene = LoopScene.made(
        tmp_path,
        alone("nothing", "none"),
        alone("reporter", "report", deliver=["file:out/report.md"]),
        alone("brancher", "branch"),
        alone("runner", WRITES),
        alone("patcher", "apply-patch"),
    )
    scene.env["OUT"] = str(tmp_path / "out")
    main = git(scene.root, "rev-parse", "main")

    def proceeds(name: str) -> str:
        code, finished, _ = scene.run(name)
        assert (code, finished["outcome"]) == (0, "proceeded"), finished
        assert scene.run(name)[1]["outcome"] == "skipped"  # it is done once
        return f"{finished['action']['kind']} — {finished['action']['summary']}"

    assert proceeds("nothing") == "none — nothing was carried out"
    assert proceeds("reporter") == "report — reported to file:out/report.md"
    report = (scene.root / "out" / "report.md").read_text()
    assert report.count("[unattended] loop reporter (proceeded)") == 1
    assert scene.branches() == ["main"]

    summary = proceeds("brancher")
    (branch,) = set(scene.branches()) - {"main"}
    assert summary == f"branch — the work is on the branch {branch}"
    assert git(scene.root, "show", f"{branch}:calc.py") == FIXED.strip()

    assert proceeds("runner").startswith("command — ran '{ cat; cat c*.py; }")
    given, *rest = (tmp_path / "out").read_text().splitlines()
    told = json.loads(given)
    assert rest == [*FIXED.splitlines(), told["session"], "runner"]
    assert (told["report"]["loop"], told["report"]["checker"]["status"]) == ("runner", "confirmed")
    assert told["base"] == main and git(scene.root, "rev-parse", "main") == main

    assert proceeds("patcher").startswith("apply-patch — the work is on main as ")
    assert git(scene.root, "rev-parse", "main~1") == main
    assert (scene.root / "calc.py").read_text() == FIXED


@pytest.mark.sample(0)
def test_a_dry_run_says_what_would_be_done_and_leaves_no_trace(tmp_path: Path) -> None:
    would = {
        "none": "do nothing",
        "report": "deliver the report to file:report.md",
        "branch": "make the branch donewhen/",
        "apply-patch": "add the work as a commit to main",
        WRITES: "run '{ cat; cat c*.py; }",
    }
    names = [f"loop{number}" for number in range(len(would))]
    loops = [alone(name, action, deliver=["file:report.md"]) for name, action in zip(names, would, strict=True)]
    scene = LoopScene.made(tmp_path, *loops, loop("asks"))
    scene.env["OUT"] = str(tmp_path / "out")
    main = git(scene.root, "rev-parse", "main")
    for name, words in zip(names, would.values(), strict=True):
        code, finished, _ = scene.run(name, "--dry-run")
        assert (code, finished["outcome"], finished["reason"]) == (0, "reported", "it would proceed")
        assert f"not carried out (dry run): {words}" in finished["action"]["summary"]
    answer = scene("loop", "run", "asks", "--dry-run")
    assert (answer.code, "it would wait for a person: the level is assisted" in answer.out) == (0, True)
    assert "action: branch — not carried out (dry run): make the branch donewhen/" in answer.out
    assert (scene.branches(), git(scene.root, "rev-parse", "main")) == (["main"], main)
    assert not (tmp_path / "out").exists() and scene("inbox").err == "nothing waits for you\n"
    assert scene.run("asks")[1]["outcome"] == "escalated"  # nothing was remembered as dealt with


ARGUMENTS = {
    "printf '%s '": "ID fixer ",
    'printf "%s<%s> " "$2" "$1"': "fixer<ID> ",
    "for one in a b; do printf '%s ' $one; done": "a b ",
    "{ printf x; }": "x",
    "(printf y)": "y",
    "find calc.py -exec printf %s {} \\;": "calc.py",
    "printf '%s ' $(echo z)": "z ID fixer ",
    "make publish SESSION=$1": "published ID",
}


@pytest.mark.sample(0)
def test_a_command_gets_its_arguments_at_its_end_or_where_it_says(tmp_path: Path) -> None:
    files = {"Makefile": "publish:\n\t@printf 'published %s' $(SESSION)\n"}
    names = {f"loop{number}": command for number, command in enumerate(ARGUMENTS)}
    loops = [loop(name, action=f"command:{command}", max_open=0) for name, command in names.items()]
    scene = LoopScene.made(tmp_path, *loops, files=files)
    for name, command in names.items():
        assert scene.run(name)[0] == 3
        session = scene.session()
        approved = scene("approve", session, "--json")
        assert approved.code == 0, (command, approved.out)
        (ended,) = [one for one in map(json.loads, approved.out.splitlines()) if one["type"] == "round_finished"]
        expected = ARGUMENTS[command].replace("ID", session).replace("fixer", name)
        assert ended["action"]["output"] == expected, command


def test_a_command_that_fails_is_a_failed_round_whose_work_is_kept(tmp_path: Path) -> None:
    report = tmp_path / "report.md"
    scene = LoopScene.made(
        tmp_path,
        alone("runner", "command:echo no way; false", deliver=[f"file:{report}"]),
        loop("asks", action="command:exit 7 #"),
    )
    code, finished, events = scene.run("runner")
    branch = f"donewhen/{scene.session()}"
    kept = f"the work is on {branch}; try again: donewhen resume {scene.session()}"
    reason = f"command failed: 'echo no way; false' exited with 1; {kept}"
    assert (code, finished["outcome"], finished["reason"]) == (4, "failed", reason)
    assert f"reason: {reason}" in report.read_text() and branch in scene.branches()
    (printed,) = [one["message"] for one in events if one["type"] == "error"]
    assert printed == "the last line of its output: no way"
    assert git(scene.root, "show", f"{branch}:calc.py") == FIXED.strip()

    assert scene.run("asks")[0] == 3
    session = scene.session()
    failed = scene("approve", session)
    assert failed.code == 4 and f"'exit 7 #' exited with 7; the work is on donewhen/{session}" in failed.out
    assert "[assisted] loop asks (failed)" in failed.err  # the report, as it was asked for
    again = scene("resume", session)
    assert again.code == 3 and "the action was begun and its result is unknown; approval repeats it" in again.out


def test_a_checkout_that_cannot_take_the_work_keeps_what_it_has(tmp_path: Path) -> None:
    scene = LoopScene.made(tmp_path, loop(action="apply-patch"))
    assert scene.run()[0] == 3
    session = scene.session()
    (scene.root / "calc.py").write_text("# mine\n")
    dirty = scene("approve", session)
    assert dirty.code == 4 and "the checkout has uncommitted changes: calc.py; the work is on donewhen/" in dirty.out
    assert f"try again: donewhen resume {session}" in dirty.out
    assert (scene.root / "calc.py").read_text() == "# mine\n" and f"donewhen/{session}" in scene.branches()
    git(scene.root, "checkout", "--quiet", "calc.py")
    assert scene("resume", session).code == 0
    assert (scene.root / "calc.py").read_text() == FIXED and scene.branches() == ["main"]


def test_what_agents_wrote_is_never_a_part_of_a_shell_line(tmp_path: Path) -> None:
    name = "a $(touch spliced) `touch spliced` '; touch spliced; '.py"
    named = {"tool": {"name": "write_file", "input": {"path": name, "content": "x = 1\n"}}}
    look = 'command:cat > "$OUT"; touch ran; find . -name "*spliced*" -o -name ran >> "$OUT"; true'
    scene = LoopScene.made(tmp_path, loop("runner", action=look, intent=HOSTILE))
    scene.script([FIX, named, {"text": HOSTILE}], [LOOK, opinion(evidence=HOSTILE, summary=HOSTILE)])
    scene.env["OUT"] = str(tmp_path / "out")
    scene.run("runner")
    assert scene("approve", scene.session()).code == 0
    given, *files = (tmp_path / "out").read_text().splitlines()
    told = json.loads(given)["report"]
    assert (told["intent"], told["checker"]["text"], told["maker"]["text"]) == (HOSTILE, HOSTILE, HOSTILE)
    assert sorted(files) == [f"./{name}", "./ran"]  # the control: what the command itself touches is found
    assert not list(tmp_path.rglob("spliced"))
