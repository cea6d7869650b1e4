"""docs/acp.md: what it tells editors to start is started, and what it names exists."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from donewhen.server.acp.choices import Choices, Defaults
from donewhen.server.acp.talk import COMMANDS
from program import PROGRAM

PAGE = (Path(__file__).parents[3] / "docs" / "acp.md").read_text()
FENCED = re.compile(r"^```(?P<language>\w+) (?P<editor>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
SETTINGS = {found["editor"]: found["text"] for found in FENCED.finditer(PAGE)}


def command_of(editor: str) -> list[str]:
    """Return the command that an editor starts with the settings of the page."""
    text = SETTINGS[editor]
    if editor in ("zed", "jetbrains"):
        server = json.loads(text)["agent_servers"]["donewhen"]
        return [server["command"], *server["args"]]
    if editor == "codecompanion":
        (listed,) = re.findall(r"default = \{ (.*?) \}", text)
        return re.findall(r'"(.*?)"', listed)
    (command, arguments) = re.findall(r'command = "(.*?)", args = \{ (.*?) \}', text)[0]
    return [command, *re.findall(r'"(.*?)"', arguments)]


@pytest.mark.parametrize("editor", ["zed", "jetbrains", "codecompanion", "avante"])
def test_what_an_editor_is_told_to_start_speaks_version_1(editor: str) -> None:
    hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1}}
    ran = subprocess.run(
        command_of(editor),
        input=json.dumps(hello).encode() + b"\n",
        capture_output=True,
        check=True,
        timeout=120,
        env={**os.environ, "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}"},
    )
    assert json.loads(ran.stdout)["result"]["protocolVersion"] == 1


def test_the_page_names_what_exists() -> None:
    assert set(SETTINGS) == {"zed", "jetbrains", "codecompanion", "avante"}
    assert set(re.findall(r"`/(\w+)", PAGE)) == set(COMMANDS)
    names = {one.name for one in Choices(Defaults()).shown({})}
    assert {"Uncommitted changes", "If the checks are green already"} <= names
    for name in ("Uncommitted changes", "If the checks are green already"):
        assert f"*{name}*" in PAGE.replace("\n", " ")
