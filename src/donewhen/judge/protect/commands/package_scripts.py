"""Scripts inside of a manifest (package.json, composer.json): which of them the checks run. Pure text and data.

A script is used if its name is a word of a command that was read, or of another used script. The scripts that run
before and after it by their names are used too.
"""

import json
from collections.abc import Iterable, Mapping
from typing import cast

from donewhen.judge.protect.commands.commands import all_words
from donewhen.judge.protect.names.word_set import listed

ON_INSTALLATION = listed(
    "preinstall install postinstall prepare preprepare postprepare prepublish dependencies pre-install-cmd"
    " post-install-cmd pre-update-cmd post-update-cmd post-autoload-dump pre-autoload-dump"
)
"""These run when dependencies are installed, and could change installed tools."""
SHORT = {"t": "test", "tst": "test"}
RUN_SCRIPTS = listed(
    "npm yarn pnpm bun node npx npm-run-all npm-run-all2 run-s run-p turbo nx lerna rush wireit composer deno corepack"
    " ni nr concurrently"
)
"""Programs that run scripts of a manifest by name."""


def used_scripts(manifest: str, words: Iterable[str]) -> dict[str, str]:
    """Return the used scripts of a manifest, name → text; empty if there are none or it cannot be read."""
    scripts = scripts_in(manifest)
    return {name: scripts[name] for name in closure(scripts, words_that_run(words))}


def words_that_run(words: Iterable[str]) -> frozenset[str]:
    """Return the words that may be names of scripts; empty if no word is a program that runs scripts."""
    found = frozenset(words)
    return frozenset() if found.isdisjoint(RUN_SCRIPTS) else found


def scripts_in(manifest: str) -> dict[str, str]:
    if '"scripts"' not in manifest:
        return {}
    try:
        read = json.loads(manifest)
    except (ValueError, RecursionError):
        return {}
    found = cast("dict[str, object]", read).get("scripts") if isinstance(read, dict) else None
    if not isinstance(found, dict):
        return {}
    pairs = cast("dict[str, object]", found).items()
    return {name: text if isinstance(text, str) else json.dumps(text) for name, text in pairs}


def closure(scripts: Mapping[str, str], words: Iterable[str]) -> set[str]:
    """Return the names of the scripts that commands with these words run, directly or through other scripts."""
    reached = set(words)
    used: set[str] = set()
    while True:
        more = {name for name in scripts if name not in used and is_used(name, reached)}
        if not more:
            return used
        used |= more
        for name in more:
            reached |= all_words(scripts[name])


def is_used(name: str, words: set[str]) -> bool:
    """Return True if commands with these words run a script of this name."""
    if name in words or name in ON_INSTALLATION or f"npm:{name}" in words:
        return True
    if any(long == name and short in words for short, long in SHORT.items()):
        return True
    for before in ("pre", "post"):
        if name.startswith(before) and is_used(name.removeprefix(before), words):
            return True
    return any(_covers(word, name) for word in words if "*" in word)


def _covers(word: str, name: str) -> bool:
    """Return True if a pattern like `test:*` of `npm-run-all` matches the name."""
    plain = word.removeprefix("npm:").removeprefix("yarn:").removeprefix("pnpm:")
    first, *others = plain.split("*")
    at = len(first)
    for part in others[:-1]:
        found = name.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return len(plain) > 1 and name.startswith(first) and name.endswith(others[-1]) and len(name) - len(others[-1]) >= at
