"""A maker, its checker, a check and an input try to get the token of the user, the inbox and the gate of their loop."""

import os
import subprocess
import sys
from pathlib import Path

from loop_probe import PLACES, PROBE, TOKEN
from loop_scene import DONE, FIX, LoopScene, Step, loop, opinion

from forge_server import ForgeServer
from program import PROGRAM
from repositories import git, write

WHO = ("input", "maker", "check", "checker")


def hidden_tokens(home: Path) -> None:
    """Put the token where programs of a user keep theirs."""
    write(
        home,
        {
            ".netrc": f"machine github.com password {TOKEN}\n",
            ".git-credentials": f"https://x:{TOKEN}@github.com\n",
            ".config/gh/hosts.yml": f"github.com:\n  oauth_token: {TOKEN}\n",
            ".config/donewhen/config.toml": f"# {TOKEN}\n",
        },
    )


def probing_scene(server: ForgeServer, place: Path, home: Path, isolation: str) -> tuple[LoopScene, str]:
    """Return a scene with a round that waits, and with a loop whose every command probes. Return that round, too."""
    hidden_tokens(home)
    waiting = loop("waiting", action="branch")
    more = f'[forge]\nurl = "{server.url}"\ntoken_env = "FORGE_TOKEN"\n[workspace]\nisolation = "{isolation}"\n'
    scene = LoopScene.made(place, waiting, more=more, files={"probe.py": PROBE})
    scene.env["FORGE_TOKEN"] = TOKEN
    git(scene.root, "remote", "add", "origin", server.git_url)
    assert scene.run("waiting")[1]["outcome"] == "escalated"
    session = scene.session()
    for_waiting = probe_of("maker", home, session)
    fixer = loop("fixer", action="open-pr", inputs=[{"name": "issues", "command": probe_of("input", home)}])
    own = f"""[[loop.check]]\nname = "probes"\ncommand = 'sh check.sh; {probe_of("check", home)}'\nmin_tests = 0\n"""
    scene.state(waiting, fixer + own, more=more)
    scene.script([FIX, shell(for_waiting), DONE], [shell(probe_of("checker", home)), opinion()])
    return scene, session


def probe_of(who: str, home: Path, session: str = "-") -> str:
    words = [str(home / ".local/state/donewhen"), str(home), session, sys.executable, who]
    return f"python3 probe.py {' '.join(words)}"


def shell(command: str) -> Step:
    return {"tool": {"name": "shell", "input": {"command": command}}}


def run_as_a_person(scene: LoopScene) -> int:
    """Run a round in a process of its own: the kernel shows the variables with which a process was started."""
    command = [PROGRAM, "loop", "run", "fixer"]
    env = {**os.environ, **scene.env}
    return subprocess.run(command, cwd=scene.root, env=env, capture_output=True, check=False).returncode


def test_no_command_of_a_round_reaches_the_token_the_inbox_or_the_gate(
    server: ForgeServer, tmp_path: Path, home: Path
) -> None:
    scene, waiting = probing_scene(server, tmp_path, home, "required")
    assert run_as_a_person(scene) == 3
    kept = kept_text(home)
    assert all(f"{who} looked." in kept for who in WHO)
    assert not [place for place in PLACES for who in WHO if f"{who} reached {place}." in kept]
    assert "approval ended with" in kept and "approval ended with 0" not in kept
    assert {one["session"] for one in scene.inbox()} == {waiting, scene.session()}
    assert TOKEN not in kept


def test_control_without_isolation_a_round_reaches_all_of_it(server: ForgeServer, tmp_path: Path, home: Path) -> None:
    scene, waiting = probing_scene(server, tmp_path, home, "none")
    run_as_a_person(scene)
    kept = kept_text(home)
    assert {place for place in PLACES if f"maker reached {place}." in kept} == set(PLACES)
    assert all(f"{who} reached environment of a process." in kept for who in WHO)
    assert "approval ended with 0" in kept and waiting not in {one["session"] for one in scene.inbox()}


def test_without_isolation_no_loop_works_unattended(tmp_path: Path) -> None:
    stated = loop(level="unattended", allow=["branch"])
    scene = LoopScene.made(tmp_path, stated, more='[workspace]\nisolation = "none"\n')
    answer = scene("loop", "run", "fixer")
    assert answer.code == 2 and "needs isolation" in answer.one_line
    scene.state(stated)
    assert scene.run()[1]["outcome"] == "proceeded"  # the control


def kept_text(home: Path) -> str:
    """Return everything that the runtime has written: the log with every prompt and output, and its databases."""
    found = [Path(above, name) for above, _, names in os.walk(home / ".local/state") for name in names]
    return "".join(file.read_bytes().decode("latin-1") for file in found if file.is_file())
