"""Paths of a repository that decide what its loops do: a person decides about every change of one of them.

The runtime uses these files with the rights of the user: the files of the loops, the rules and the program of a gate,
the scripts that an action or an input runs, and the files that reports are added to. A maker that changed one of them
would decide about its own later rounds.
"""

import os
import re
from collections.abc import Iterable, Iterator
from itertools import takewhile
from pathlib import Path

from donewhen.judge import globs
from donewhen.judge.contract import Check
from donewhen.judge.protect.base_files import BaseFiles
from donewhen.judge.protect.commands.commands import named_files
from donewhen.judge.protect.commands.scripts_run import RUN_FILES, find_scripts_run
from donewhen.loops.spec import FILE, ActionKind, LoopGateKind, LoopSpec
from donewhen.workspace.beneath import Root

ALWAYS = ("**/donewhen.toml", ".donewhen")
"""Files that state loops and contracts."""
RUN_BY_A_FORGE = (
    ".github/workflows", ".github/actions", ".forgejo", ".gitea", ".gitlab-ci.yml", ".gitlab", ".circleci",
    ".woodpecker", ".woodpecker.yml", ".woodpecker.yaml", ".buildkite", ".travis.yml", "azure-pipelines.yml",
    "Jenkinsfile",
)  # fmt: skip
"""A forge runs these with its own secrets as soon as a branch is pushed, before a person has seen it."""
WORD = re.compile(r"[^\s\"'`;|&<>(){}$=]+")
LISTED = re.compile(r"&&|\|\||[;\n]")
ONLY_SHOW = frozenset({"cat", "head", "tail", "wc", "grep", "diff", "cmp", "ls", "stat"})
"""Programs for which a file is data."""
PASSED_ON = frozenset("|<>&`$")
"""A part of a command with one of these may hand what it shows to another program."""
PACKAGE_MANAGERS = ("npm", "npx", "yarn", "pnpm", "bun", "composer")
MANIFESTS = ("package.json", "composer.json")


def changes_guarded_path(spec: LoopSpec, top: Path, changed: tuple[str, ...]) -> str:
    """Return the first changed path that decides what the loop does; empty if none does."""
    patterns = (*ALWAYS, *(RUN_BY_A_FORGE if spec.action.kind is ActionKind.OPEN_PR else ()))
    guarded = set(_guarded(spec, top))
    hits = (path for path in changed if is_covered(patterns, path) or any(touches(path, one) for one in guarded))
    return next(hits, "")


def is_covered(patterns: Iterable[str], path: str) -> bool:
    """Return True if a pattern covers a changed path, or what is below it.

    A link or a file in the place of a directory above a pattern decides what is below it.
    """
    patterns = tuple(patterns)
    return bool(globs.first_match(patterns, path)) or any(_leads_to(path, pattern) for pattern in patterns)


def _leads_to(path: str, pattern: str) -> bool:
    segments = [segment for segment in pattern.split("/") if segment not in ("", ".")]
    plain = list(takewhile(lambda segment: not globs.WILD.search(segment), segments[:-1]))
    return any("/".join(plain[:number]) == path for number in range(1, len(plain) + 1))


def touches(changed: str, guarded: str) -> bool:
    """Return True for the path itself, what is below it, and a directory above it that became something else."""
    return changed == guarded or changed.startswith(f"{guarded}/") or guarded.startswith(f"{changed}/")


def _guarded(spec: LoopSpec, top: Path) -> Iterator[str]:
    files = BaseFiles(Root(top))
    commands = [spec.action.command]
    if spec.gate.kind is LoopGateKind.COMMAND:
        commands.append(spec.gate.argument)
    for command in filter(None, commands):
        yield from (path for path in _named_in(command, top) if not files.is_directory(path))
        yield from _run_by(command, files)
    for one in spec.inputs:  # a file that it only reads is data for the maker
        yield from _run_by(one.command, files)
    named = [place.removeprefix(FILE) for place in spec.deliver if place.startswith(FILE)]
    if spec.gate.kind is LoopGateKind.RULES:
        named.append(spec.gate.argument)
    for name in named:
        yield from inside(name, top)


def _named_in(command: str, top: Path) -> Iterator[str]:
    """Yield the paths that the words of a command name, but for those of commands that only show them."""
    for part in LISTED.split(command):
        for word in () if is_shown(part) else WORD.findall(part):
            yield from inside(word, top)


def is_shown(part: str) -> bool:
    """Return True for a part of a command for which files are data."""
    words = WORD.findall(part)
    return bool(words) and words[0] in ONLY_SHOW and not set(part) & PASSED_ON


def _run_by(command: str, files: BaseFiles) -> Iterator[str]:
    """Yield the scripts that a command runs, those that these run, and the files that its tools read."""
    for one in named_files(command):
        if one.how == "module":
            dotted = one.word.replace(".", "/")
            yield from (f"{start}{dotted}{end}" for start in ("", "src/") for end in (".py", ""))
    found = find_scripts_run([Check(name="loop", command=command)], files)
    yield from found.scripts
    read = [name for name, tool in RUN_FILES.items() if tool in found.words]
    read += MANIFESTS if not found.words.isdisjoint(PACKAGE_MANAGERS) else ()
    yield from (os.path.join(directory, name) for directory in found.directories for name in read)


def inside(name: str, top: Path) -> Iterator[str]:
    """Yield the path below the repository that a name stands for, and where it leads to if it is a link."""
    place = os.path.normpath(top / name)
    for path in dict.fromkeys((place, os.path.realpath(place))):
        for start in dict.fromkeys((str(top), os.path.realpath(top))):
            if path.startswith(f"{start}{os.sep}"):
                yield path[len(start) + 1 :]
