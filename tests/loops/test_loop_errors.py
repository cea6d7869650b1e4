"""Loops that cannot run: one line names what is wrong and where, nothing is started, and other commands go on."""

from pathlib import Path

import pytest
from loop_scene import LoopScene, loop

from repositories import git, write

OWN = ".donewhen/loops/own.toml"
WRONG = {
    "unknown key 'loop[1].colour'": loop("bad") + "colour = 'red'\n",
    "'loop[1].schedule' must be": loop("bad", schedule="61 * * * *"),
    "'loop[1].deliver' must name a webhook": loop("bad", deliver=["webhook:room"]),
    "the loop 'fixer' is also in": loop("fixer"),
    "loop 'bad': 'checks' names 'nope'; there are: works": loop("bad", checks=["nope"]),
    "'loop[1].engine': unknown engine 'nothing'": loop("bad", engine="nothing"),
    "unknown agent 'nothing'": loop("bad", checker_engine="external:nothing"),
    "not a model: 'nothing'": loop("bad", model="nothing"),
    "gate.toml: No such file": loop("bad", gate="rules:gate.toml"),
    "open-pr cannot be carried out: the variable FORGE_TOKEN is not set": loop("bad", action="open-pr"),
    "a loop that only reads needs the engine native or external": loop("bad", level="report", engine="foreman"),
    "there is no loop 'bad'; there are: fixer": "",
}


def test_a_loop_that_cannot_run_is_refused_in_one_line_before_anything_starts(tmp_path: Path) -> None:
    forge = '[forge]\nurl = "http://127.0.0.1:1"\ntoken_env = "FORGE_TOKEN"\n'
    scene = LoopScene.made(tmp_path, loop(), more=forge)
    git(scene.root, "remote", "add", "origin", "http://127.0.0.1:1/a/b.git")
    file = scene.root / "donewhen.toml"
    good = file.read_text()
    for problem, table in WRONG.items():
        file.write_text(good + table)
        scene("trust")
        refused = scene("loop", "run", "fixer" if "fixer' is" in problem else "bad")
        assert refused.code == 2 and problem in refused.one_line, (problem, refused)
        assert str(file) in refused.one_line or not table, refused
    file.write_text(good)
    assert scene("list", "--json").out == "" and scene.branches() == ["main"]
    assert scene("loop", "history").err == "no round was run yet\n"


@pytest.mark.parametrize("content", ["intent = 1\n", "intent =", "name = 'fixer'\nintent = 'again'\n"])
def test_an_invalid_file_of_a_loop_stops_only_what_is_about_it(tmp_path: Path, content: str) -> None:
    scene = LoopScene.made(tmp_path, loop(), loop("other", level="report", action="report"))
    write(scene.root, {OWN: content})
    listed = scene("loop", "list")
    assert listed.code == 2 and "\nother " in listed.out and str(scene.root / OWN) in listed.err.splitlines()[-1]
    assert scene("loop", "history").code == 0
    unclear = scene("loop", "run", "fixer" if "fixer" in content else "own")
    assert unclear.code == 2 and str(scene.root / OWN) in unclear.one_line
    for command in (
        ("loop", "pause", "other"),
        ("loop", "resume", "other"),
        ("loop", "show", "other"),
        ("inbox",),
        ("list",),
    ):
        assert scene(*command).code == 0
    scene.script([{"text": "Fine."}], [{"text": "no"}] * 2)
    assert scene.run("other")[1]["outcome"] == "reported"
    scene.script()
    assert scene("run", "fix add").code == 0
