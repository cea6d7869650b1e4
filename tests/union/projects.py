"""Generated unions as real repositories: branches of a Python or a TypeScript project, and checks that really run.

Each patch adds a definition to every file that it touches, so that patches with a common file change the same place.
The checks are one protected script of the base: it knows the conflicts and searches the files for them.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path

from repositories import git, repository
from toolbox import quick_interpreter
from union.unions import CHECKS, Union

DEFINITIONS = {
    ".py": "\n\ndef {name}():\n    return 1\n",
    ".ts": "\nexport function {name}(): number {{\n    return 1;\n}}\n",
}
FIRST = {
    ".py": "VALUE = 0\n\n\ndef first():\n    return 1\n",
    ".ts": "export const VALUE = 0;\n\nexport function first(): number {\n    return 1;\n}\n",
}
CHECK = '[[check]]\nname = "{name}"\ncommand = "{python} -S -E judge.script {name}"\n'
JUDGE = """import json, pathlib, re, sys

texts = {str(path): path.read_text() for top in ("src", "own") for path in sorted(pathlib.Path(top).rglob("*.*"))}
there = {name for text in texts.values() for name in re.findall(r"(p[0-9]+)_in_", text)}
order = re.findall(r"(p[0-9]+)_in_ordered", "".join(texts.values()))
for clash in json.loads(pathlib.Path("clashes.json").read_text()):
    if clash["check"] == sys.argv[1] and set(clash["members"]) <= there:
        if not clash["ordered"] or [one for one in order if one in clash["members"]] == clash["members"]:
            sys.exit(f"{clash['members']} do not go together")
"""


def project(root: Path, union: Union, ending: str) -> Path:
    """The repository, with a branch for each patch; the checkout stays on main."""
    clashes = [{"members": c.members, "check": c.check, "ordered": c.ordered} for c in union.clashes]
    paths = {path for item in union.items for path in _paths(union, item.id, item.files, ending)}
    files = dict.fromkeys(paths, FIRST[ending])
    contract = "".join(CHECK.format(name=name, python=quick_interpreter()) for name in CHECKS)
    fixed = {"judge.script": JUDGE, "clashes.json": json.dumps(clashes), "donewhen.toml": contract}
    repository(root, {**files, **fixed, "own/first.txt": "", "src/first.txt": ""})
    stream = _branches(root, union, ending)
    git(root, "fast-import", "--quiet", given=stream)
    return root


def _paths(union: Union, id: str, files: frozenset[str], ending: str) -> list[str]:
    own = [re.sub(r"\.py$", ending, path) for path in sorted(files)]
    return own + [f"src/ordered{ending}" for clash in union.clashes if clash.ordered and id in clash.members][:1]


def _branches(root: Path, union: Union, ending: str) -> bytes:
    """All branches by one process of git."""
    base = git(root, "rev-parse", "main")
    unmerged = {id for clash in union.clashes if not clash.check for id in clash.members}
    lines: list[bytes] = []
    for item in union.items:
        message = f"the work of {item.id}".encode()
        lines += [b"commit refs/heads/%s" % item.id.encode(), b"committer T <t@example.invalid> 1700000000 +0000"]
        lines += [b"data %d" % len(message), message, b"from %s" % base.encode()]
        for path, text in _changed(union, item.id, item.files, ending, item.id in unmerged).items():
            lines += [b"M 100644 inline %s" % path.encode(), b"data %d" % len(text), text]
    return b"\n".join(lines) + b"\n"


def _changed(union: Union, id: str, files: frozenset[str], ending: str, unmerged: bool) -> Mapping[str, bytes]:
    found: dict[str, bytes] = {}
    for path in _paths(union, id, files, ending):
        text = FIRST[ending] + DEFINITIONS[ending].format(name=f"{id}_in_{Path(path).stem}")
        if unmerged and "/both" in path:
            text = text.replace("VALUE = 0", f"VALUE = 1{id[1:]}")
        found[path] = text.encode()
    return found
