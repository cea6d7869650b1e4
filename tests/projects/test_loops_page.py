"""docs/loops.md shows three ready-made loops at work on a real project. This test makes that part of the page.

It runs them on a copy of the project with a bug, with a scripted model, and compares what a person sees with the page.
`DONEWHEN_WRITE_PAGES=1` writes the part again. Ids, times and directories are those of the page.
"""

import json
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import real_projects as real

from program import donewhen
from repositories import commit, write
from terminal import on_a_terminal

PAGE = Path(__file__).parents[2] / "docs" / "loops.md"
PART = re.compile(
    r"(?<=<!-- made by tests/projects/test_loops_page\.py -->\n).*?(?=<!-- end of what it made -->\n)", re.DOTALL
)
WRITE = "DONEWHEN_WRITE_PAGES" in os.environ
"""Looked up here: a test does not see the variables of its caller."""
COLUMNS = 100
DASHERIZE = "return word.replace('_', '-')"
BUG = "return word.replace('-', '_')"
CONTRACT = """\
[model]
use = "scripted:{script}"

[workspace]
share = [".venv"]

[[check]]
name = "tests"
command = ".venv/bin/python -m pytest -q"
"""
CHANGELOG = "# Changelog\n\n## Not released\n\n## 0.5.1\n\n- Python 2 is not supported any more\n"
ENTRY = "## Not released\n\n- `dasherize()` works on one pass\n"
Step = dict[str, Any]
IDS = ("7d3c91f0", "a51be822", "c90f4d6e")
VARIES = (
    (re.compile(r"^(?:preparing|  … .*)\n", re.MULTILINE), ""),  # what takes long is announced
    (re.compile(r"\b\d+\.\d s\b"), "1.2 s"),
    (re.compile(r"\b\d{4}-\d\d-\d\d \d\d:\d\d\b"), "2026-11-18 09:00"),
    (re.compile(r"\bNEXT +(?=LAST)"), f"{'NEXT':<21}"),
    (
        re.compile(r"(?<=^changelog-drafter  assisted  )in .*?\d\d:\d\d +", re.MULTILINE),
        f"{'in 9 h, Wed 18:00':<21}",
    ),
    (re.compile(r"(?<=^ci-sweeper         assisted  )in .*?\d\d:\d\d +", re.MULTILINE), f"{'in 9 min, Wed 09:10':<21}"),
    (re.compile(r"(?<=^daily-triage       report    )in .*?\d\d:\d\d +", re.MULTILINE), f"{'in 23 h, Thu 09:00':<21}"),
    (re.compile(r"\bin \d+ days\b"), "in 13 days"),
    (re.compile(r"\b[0-9a-f]{12}\b"), "52c1e07b9d34"),
)


def edit(path: str, old: str, new: str) -> Step:
    return {"tool": {"name": "edit_file", "input": {"path": path, "old": old, "new": new}}}


def used(step: Step, tokens: int) -> Step:
    return {**step, "usage": {"input": tokens, "output": tokens // 20}}


def opinion(evidence: str, summary: str) -> Step:
    return {"text": json.dumps({"verdict": "confirmed", "evidence": evidence, "summary": summary})}


PROBE: Step = {"tool": {"name": "shell", "input": {"command": ".venv/bin/python -m pytest -q 2>&1 | tail -n 1"}}}
AGENTS: dict[str, tuple[Sequence[Step], Sequence[Step]]] = {
    "daily-triage": (
        [{"text": "1. `tests` is red since the newest commit: dasherize() swaps two characters.\n2. Nothing else."}],
        [opinion("inflection/__init__.py, dasherize()", "dasherize() replaces the wrong character")],
    ),
    "ci-sweeper": (
        [edit("inflection/__init__.py", BUG, DASHERIZE), {"text": "dasherize() had its characters swapped."}],
        [PROBE, opinion("all tests pass; without the change 4 fail", "the fix is right and complete")],
    ),
    "changelog-drafter": (
        [edit("CHANGELOG.md", "## Not released\n", ENTRY), {"text": "One entry for the commit about dasherize()."}],
        [opinion("git log since the last entry has one commit of this kind", "the entry names what was changed")],
    ),
}


class Followed:
    """Commands on the copy, and what the page shows of them."""

    def __init__(self, root: Path, script: Path) -> None:
        self.root = root
        self._script = script
        self._sessions: list[str] = []

    def run(self, name: str) -> Iterator[str]:
        """Run a round of a loop with the agents that belong to it."""
        maker, checker = AGENTS[name]
        roles = {"maker": [used(step, 4200) for step in maker], "checker": [used(step, 2600) for step in checker]}
        self._script.write_text(json.dumps(roles))
        yield from self.typed("loop", "run", name)

    def typed(self, *words: str) -> Iterator[str]:
        answer = donewhen(*words, cwd=self.root)
        self._note_sessions()
        yield from self._shown(words, answer.err + answer.out)

    def on_terminal(self, *words: str) -> Iterator[str]:
        yield from self._shown(words, on_a_terminal(*words, cwd=self.root, COLUMNS=str(COLUMNS)).replace("\r", ""))

    def newest(self) -> str:
        return self._sessions[-1]

    def _note_sessions(self) -> None:
        listed = [json.loads(line)["id"] for line in donewhen("list", "--json", cwd=self.root).out.splitlines()]
        self._sessions += [id for id in reversed(listed) if id not in self._sessions]

    def _shown(self, words: Sequence[str], text: str) -> Iterator[str]:
        text = f"$ donewhen {' '.join(words)}\n{text}"
        text = text.replace(str(self.root), "/home/you/inflection").replace(str(self._script), "/home/you/script.json")
        for session, id in zip(self._sessions, IDS, strict=False):
            text = text.replace(session, id)
        for pattern, words_of_page in VARIES:
            text = pattern.sub(words_of_page, text)
        yield "\n".join(["```text", *(line.rstrip() for line in text.rstrip().splitlines()), "```"])


def made_part(followed: Followed) -> Iterator[str]:
    yield "A project has a bug in its newest commit, and three loops. They were added like this one:"
    yield from followed.typed("loop", "add", "ci-sweeper")
    for name in ("daily-triage", "changelog-drafter"):
        list(followed.typed("loop", "add", name))
    commit(followed.root, "Add loops")
    yield "A report is printed, and that is all:"
    yield from followed.run("daily-triage")
    yield "Work that a second agent confirmed waits for a person:"
    yield from followed.run("ci-sweeper")
    sweeper = followed.newest()
    list(followed.run("changelog-drafter"))
    yield "The inbox shows what waits, with the commands to type:"
    yield from followed.on_terminal("inbox")
    yield "An approval carries out the action on exactly the tree that was shown:"
    yield from followed.typed("approve", sweeper)
    yield from followed.on_terminal("loop", "history")
    yield from followed.on_terminal("loop", "list")


def test_three_ready_made_loops_on_a_real_project_look_as_the_page_shows(tmp_path: Path) -> None:
    root, script = real.new_repository(tmp_path / "inflection"), tmp_path / "script.json"
    real.unpack("inflection-0.5.1.tar.gz", root)
    real.install_python(root)
    real.ignoring(root, ".venv/")
    write(root, {"donewhen.toml": CONTRACT.format(script=script), "CHANGELOG.md": CHANGELOG})
    real.committed(root)
    module = root / "inflection" / "__init__.py"
    module.write_text(module.read_text().replace(DASHERIZE, BUG))
    commit(root, "Let dasherize() work in one pass")
    script.write_text("{}")
    assert donewhen("trust", cwd=root).code == 0
    part = "\n" + "\n\n".join(made_part(Followed(root, script))) + "\n\n"
    page = PAGE.read_text()
    if WRITE:
        PAGE.write_text(PART.sub(lambda _: part, page))
        return
    (shown,) = PART.findall(page)
    assert part.splitlines() == shown.splitlines()
