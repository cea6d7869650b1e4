"""A cloned repository states loops and plants files: nothing runs before trust, and nothing leads out of it."""

import contextlib
import json
import os
import subprocess
from collections.abc import Callable, Generator
from pathlib import Path

import pytest
from loop_scene import FILES, LoopScene, loop

from program import PROGRAM
from repositories import repository, write

MOST_LINES = 50
OWN = ".donewhen/loops/own.toml"


def cloned(place: Path, home: Path, files: dict[str, str]) -> LoopScene:
    """Return a repository that no one has trusted. The user has a model."""
    scene = LoopScene(repository(place / "clone", {**FILES, **files}))
    scene.script()
    write(home, {".config/donewhen/config.toml": f'[model]\nuse = "scripted:{scene.script_file}"\n'})
    return scene


def hostile_loop(name: str, out: Path, schedule: str = "daily 09:00") -> str:
    """Return a loop that leaves a file in `out` for everything of it that runs."""
    return loop(
        name,
        level="unattended",
        schedule=schedule,
        action=f"command:touch {out}/action; true",
        gate=f"command:touch {out}/gate; echo proceed",
        deliver=[f"file:{out}/delivered"],
        inputs=[{"name": "i", "command": "echo the input has run; exit 3"}] if name == "failing" else [],
        on=["file:../../../../etc/passwd", "file:/etc/passwd", "file:linked"],
    )


def test_nothing_of_a_cloned_repository_runs_before_trust(tmp_path: Path, home: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    check = '[[check]]\nname = "works"\ncommand = "sh check.sh"\n'
    stated = hostile_loop("second", out, "every 1s").removeprefix("[[loop]]\n")
    first, failing = hostile_loop("first", out, "every 1s"), hostile_loop("failing", out)
    scene = cloned(tmp_path, home, {"donewhen.toml": check + first + failing, ".donewhen/loops/second.toml": stated})
    (scene.root / "linked").symlink_to("/etc/passwd")
    for verb in (["list"], ["show", "first"], ["show", "second"], ["history"]):
        answer = scene("loop", *verb)
        assert answer.code == 0 and "root:" not in answer.out
    for name in ("first", "second", "failing"):
        answer = scene("loop", "run", name)
        assert answer.code == 3 and "donewhen trust" in answer.one_line
    assert scene("inbox").code == 0
    with started_loops(scene) as process:
        assert not [
            line for line in lines_until(process, "loop second: waits for: donewhen trust") if "started" in line
        ]
        process.terminate()
        assert process.wait() == 0
    assert list(out.iterdir()) == [] and scene("list", "--json").out == ""
    # The control: after trust all of it runs.
    assert scene("trust").code == 0
    assert scene.run("first")[1]["outcome"] == "proceeded"
    assert scene.run("failing")[1]["reason"].endswith("the input has run")
    assert {one.name for one in out.iterdir()} == {"action", "gate", "delivered"}


def test_a_file_that_changes_while_the_scheduler_runs_needs_trust_again(tmp_path: Path, home: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    often = 'intent = "look"\nschedule = "every 1s"\nlevel = "report"\n'
    delivering = f'{often}deliver = ["file:{out}/{{}}"]\n'
    scene = cloned(tmp_path, home, {OWN: delivering.format("honest"), ".donewhen/loops/free.toml": often})
    scene.script([{"text": "a report"}], [])
    assert scene("trust").code == 0
    with started_loops(scene) as process:
        while not (out / "honest").exists():
            lines_until(process, "reported")
        write(scene.root, {OWN: delivering.format("other")})
        lines_until(process, "loop own: changed; waits for: donewhen trust")
        for _ in range(2):
            assert not [
                line for line in lines_until(process, "loop free: round") if "loop own" in line and "started" in line
            ]
        assert not (out / "other").exists()
        scene("trust")  # the control
        while not (out / "other").exists():
            lines_until(process, "reported")
        process.terminate()
        assert process.wait() == 0


@contextlib.contextmanager
def started_loops(scene: LoopScene) -> Generator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [PROGRAM, "loop", "start"],
        cwd=scene.root,
        env={**os.environ, **scene.env},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def lines_until(process: subprocess.Popen[str], text: str) -> list[str]:
    """Return the lines of the scheduler up to one that contains a text. Fail if it ends before."""
    assert process.stderr is not None
    found: list[str] = []
    for line in process.stderr:
        found.append(line)
        if text in line:
            return found
        if len(found) == MOST_LINES:
            break
    raise AssertionError(f"the scheduler did not say {text!r}: {found}")


def pipe(top: Path) -> None:
    write(top, {".donewhen/loops/x": ""})
    os.mkfifo(top / OWN)


def linked(target: str) -> Callable[[Path], None]:
    def plant(top: Path) -> None:
        write(top, {".donewhen/loops/x": ""})
        (top / OWN).symlink_to(target)

    return plant


def linked_directory(top: Path) -> None:
    write(top.parent, {"elsewhere/loops/own.toml": "intent = 'x'\n"})
    (top / ".donewhen").symlink_to("../elsewhere")


def written(name: str, content: str) -> Callable[[Path], None]:
    return lambda top: write(top, {f".donewhen/loops/{name}": content})


def many(top: Path) -> None:
    write(top, {f".donewhen/loops/l{number}.toml": "intent = 'x'\n" for number in range(1000)})


PLANTED: dict[str, Callable[[Path], None]] = {
    "a pipe": pipe,
    "a device": linked("/dev/zero"),
    "a file outside": linked("/etc/passwd"),
    "a link to itself": linked("own.toml"),
    "the directory is elsewhere": linked_directory,
    "a huge file": written("own.toml", f"intent = 'x' #{'x' * (9 << 20)}"),
    "deep values": written("own.toml", f"intent = {'[' * 100_000}"),
    "deep keys": written("own.toml", f"{'a.' * 50_000}a = 1"),
    "bytes that are no text": written("own.toml", "intent = '\0\x1b[2J'"),
    "a thousand files": many,
    "a name that leads elsewhere": written("own.toml", "intent = 'x'\nname = '../../x'\n"),
    "a name that acts": written("\x1b[2J\u202ex.toml", "intent = 'x'\n"),
    "a directory": written("own.toml/x", ""),
}


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_file_is_refused_in_one_safe_line(tmp_path: Path, home: Path, name: str) -> None:
    scene = cloned(tmp_path, home, {})
    PLANTED[name](scene.root)
    answer = scene("loop", "list")
    assert answer.code == 2, answer.out
    assert answer.one_line.isprintable() and len(answer.one_line) < 1000 and "root:" not in answer.one_line


def test_control_the_same_places_with_sound_files_are_read(tmp_path: Path, home: Path) -> None:
    scene = cloned(tmp_path, home, {".donewhen/loops/inner.toml": "intent = 'x'\nname = 'own'\n"})
    linked("inner.toml.txt")(scene.root)
    write(scene.root, {".donewhen/loops/inner.toml.txt": "intent = 'y'\nname = 'by-a-link'\n"})
    assert [json.loads(line)["name"] for line in scene("loop", "list", "--json").out.splitlines()] == [
        "by-a-link",
        "own",
    ]


def test_rules_and_reports_lead_neither_out_of_the_repository_nor_into_a_pipe(tmp_path: Path) -> None:
    keys = {"level": "report", "action": "report"}
    gated = loop("gated", **keys, gate="rules:rules.toml")
    told = loop("told", **keys, deliver=["file:reports/daily.md"])
    scene = LoopScene.made(tmp_path, gated, told)
    scene.script([{"text": "a report"}], [])
    outside = tmp_path / "private" / "daily.md"
    write(tmp_path, {"private/daily.md": "secret = 1\n"})
    for is_link in (True, False):
        rules = scene.root / "rules.toml"
        rules.symlink_to(outside) if is_link else os.mkfifo(rules)
        answer = scene("loop", "run", "gated")
        assert answer.code == 2 and "secret" not in answer.one_line
        (scene.root / "rules.toml").unlink()
    (scene.root / "reports").symlink_to(outside.parent)
    assert "could not be delivered" in scene("loop", "run", "told").err
    assert outside.read_text() == "secret = 1\n"
    (scene.root / "reports").unlink()
    (scene.root / "reports").mkdir()
    os.mkfifo(scene.root / "reports/daily.md")
    assert "could not be delivered" in scene("loop", "run", "told").err
    (scene.root / "reports/daily.md").unlink()
    assert scene("loop", "run", "told").code == 0  # the control
    assert "a report" in (scene.root / "reports/daily.md").read_text()
