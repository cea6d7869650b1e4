"""The key of a finding: what a round is about, independent of when it ran and of how the fix is written."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from donewhen.loops.notes import InputOutput
from donewhen.memory.signature import from_json
from donewhen.readers.runner_names import RUNNERS
from donewhen.session.log.state import SessionState
from donewhen.session.workplace import Workplace

LENGTH = 16
MOST_FILES = 200
LARGEST_FILE = 1 << 20
FILE_MODES = (0o100644, 0o100755)
VARIES = re.compile(r"\b[0-9a-f]{7,64}\b|\d+")
"""What differs between two outputs about the same thing: numbers, times and ids of commits."""


def finding_key(loop: str, inputs: Sequence[InputOutput], failing: Iterable[str], symbols: Iterable[str]) -> str:
    """Return the key of a finding. It is empty if nothing tells this round from any other round of the loop."""
    ids = sorted({*failing, *(id for one in inputs for id in one.failing)})
    touched = sorted(set(symbols))
    told = [] if ids or touched else [VARIES.sub("#", one.text) for one in inputs]
    if not ids and not touched and not any(text.strip() for text in told):
        return ""
    facts = [loop, sorted(one.name for one in inputs), ids, touched, told]
    return hashlib.sha256(json.dumps(facts).encode("utf-8", "replace")).hexdigest()[:LENGTH]


def occasion_key(loop: str, base: str, inputs: Sequence[InputOutput]) -> str:
    """Return the key of what a round starts from: the same commit and the same inputs hold nothing new."""
    facts = [loop, base, [(one.name, one.text) for one in inputs]]
    return "at-" + hashlib.sha256(json.dumps(facts).encode("utf-8", "replace")).hexdigest()[:LENGTH]


def problem_key(loop: str, inputs: Sequence[InputOutput], state: SessionState) -> str:
    """Return the key of what is red before any work: the failed tests, and why they failed. It is empty if nothing is
    red, or if a red check runs no tests by name: then it may be about another fault the next time.
    """
    signatures: Mapping[str, Any] = state.baseline_note.signatures if state.baseline_note is not None else {}
    red = [one.name for one in state.baseline_results if one.status != "pass"]
    known = {name: from_json(signatures[name]) for name in red if name in signatures}
    if not all(name in known and known[name].reader in RUNNERS for name in red) or not (
        red or any(one.failing for one in inputs)
    ):
        return ""
    read = [(one.name, one.failing or VARIES.sub("#", one.text)) for one in inputs]
    facts = [loop, sorted(read), [(name, known[name].ids, known[name].cause_digest()) for name in sorted(red)]]
    return "for-" + hashlib.sha256(json.dumps(facts).encode("utf-8", "replace")).hexdigest()[:LENGTH]


def failing_ids(state: SessionState) -> list[str]:
    """Return what is red on the base: the failed tests of a check where they are known, else the check itself."""
    signatures: Mapping[str, Any] = state.baseline_note.signatures if state.baseline_note is not None else {}
    found: list[str] = []
    for one in state.baseline_results:
        if one.status != "pass":
            ids = from_json(signatures[one.name]).ids if one.name in signatures else ()
            found += [f"{one.name}: {id}" for id in ids] or [one.name]
    return found


async def touched_symbols(workplace: Workplace, base: str, tree: str) -> list[str]:
    """Return the symbols that a change touches, each with its file. A file without known symbols stands for itself."""
    from donewhen.union.parser_client import ParserClient, ParserRequest  # loaded on use: it loads the parsers

    store = workplace.store
    changes = await store.diff(await store.tree_of(base), tree)
    requests: list[ParserRequest] = []
    found = [change.path for change in changes[MOST_FILES:]]
    for change in changes[:MOST_FILES]:
        ids = [entry.id for entry in (change.old, change.new) if entry is not None and entry.mode in FILE_MODES]
        texts = dict(zip(ids, await store.bare.contents(ids), strict=True)) if ids else {}
        if any(len(text) > LARGEST_FILE for text in texts.values()) or not texts:
            found.append(change.path)
            continue
        before, after = (texts.get(entry.id) if entry is not None else None for entry in (change.old, change.new))
        requests.append(ParserRequest("change", change.path, {"before": before, "after": after}))
    answers = await ParserClient(workplace.launcher, workplace.probe).ask(requests) if requests else []
    for request, answer in zip(requests, answers, strict=True):
        symbols: Mapping[str, list[str]] = answer.get("symbols") or {}
        names = [name for key in ("added", "removed", "modified") for name in symbols.get(key, ())]
        found += [f"{request.path}:{name}" for name in names] or [request.path]
    return found
