"""Writes the scripted agent and its script as one executable file, which works wherever that file is visible."""

import json
import os
import sys
from pathlib import Path
from zipfile import ZipFile

PACKED = ("__init__", "agent", "actions", "outputs", "acp")
MAIN = """
import os, sys
from fake_agent.agent import main
if "--version" in sys.argv:
    sys.exit(print("9.9.9"))
os.environ.setdefault("DONEWHEN_FAKE_STATE", os.environ["HOME"] + "/.donewhen-agent/invocations")
sys.exit(main([*{words!r}, "--script", {script!r}, *sys.argv[-1:]]))
"""


def pack(program: Path, invocations: object, *words: str) -> None:
    """Write an agent that is called with these words, and with the last of the words that its caller gives it."""
    program.parent.mkdir(exist_ok=True)
    # Not the path in the virtual environment, which may have a space. The agent needs the standard library alone.
    program.write_bytes(f"#!{os.path.realpath(sys.executable)}\n".encode())
    with ZipFile(program, "a") as packed:
        for name in PACKED:
            packed.write(Path(__file__).with_name(f"{name}.py"), f"fake_agent/{name}.py")
        packed.writestr("__main__.py", MAIN.format(words=words, script=json.dumps({"invocations": invocations})))
    program.chmod(0o755)
