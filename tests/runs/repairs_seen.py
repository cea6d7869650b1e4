"""Scenes of the memory for whole runs: a check that prints its failure like a compiler, and the stored repairs.

The answer decides the output: `wrong` is one failure, as on the base, `left` is another one, `right` has none.
"""

import json
import os
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from donewhen.session.log.open_archive import any_archive
from runs.scenes import Step, run_verb, say, scene, write

TAX = "shop.c:4:12: error: 'tax' undeclared (first use in this function)"
VAT = "till.c:9:3: error: 'vat' undeclared (first use in this function)"
CHECK = f"""[[check]]
name = "build"
command = '''
grep -qx right answer.txt && exit 0
grep -qx left answer.txt && echo "{VAT}"
echo "{TAX}"
exit 1'''
"""
SAID = "Declared the tax in answer.txt."
RIGHT: list[Step] = [write("answer.txt", "right\n"), say(SAID)]
LEFT: list[Step] = [write("answer.txt", "left\n"), say("tried left")]
UP: list[Step] = [write("answer.txt", "up\n"), say("tried up")]
LEAD = "A hint from memory"


def shop(root: Path, check: str = CHECK, **files: str) -> Path:
    return scene(root, {"donewhen.toml": check, **files})


def database() -> Path:
    return Path(os.environ["XDG_STATE_HOME"], "donewhen", "memory.db")


def rows(statement: str) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(database())
    try:
        return connection.execute(statement).fetchall()
    finally:
        connection.close()


def offers() -> list[tuple[Any, ...]]:
    return rows("SELECT session, round, withheld, ending FROM donewhen_repair_offers ORDER BY at, session, round")


def repairs(repo: Path, *words: str, env: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    answer = run_verb(repo, "memory", "list", *words, "--json", env=env)
    assert answer.code == 0, answer.err
    return [json.loads(line) for line in answer.out.splitlines()]


def shown(repo: Path, id: str) -> dict[str, Any]:
    return json.loads(run_verb(repo, "memory", "show", id, "--json").out)


def prompts(repo: Path, session: str, monkeypatch: Any) -> dict[str, list[str]]:
    """The first message of each round of a conversation with a model, by role."""
    monkeypatch.chdir(repo)
    found: dict[str, list[str]] = {}
    with any_archive() as archive:
        for record in archive.records(session):
            step, _, kind = record.kind.rpartition(".")
            if kind == "round" and step and "text" in record.body:
                found.setdefault(step, []).append(record.body["text"])
    return found
