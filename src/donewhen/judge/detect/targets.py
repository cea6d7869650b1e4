"""Make and just targets, tox and nox: what they run, read as text. Nothing is expanded.

A target that only calls a tool we know is a way to spell that tool, not a check of its own. Only a target whose
commands are not understood is one, and only where nothing more direct was found.
"""

import configparser
import re
import shlex
from collections.abc import Iterator

from donewhen.judge.detect.package import Package
from donewhen.judge.detect.proposal import Found, Hint, Kind
from donewhen.judge.detect.recognise import recognise
from donewhen.judge.detect.said import Said, plain_commands
from donewhen.judge.detect.survey import Survey, joined
from donewhen.records import frozen

TARGET = re.compile(r"^(?P<names>[A-Za-z0-9_.-]+(?:\s+[A-Za-z0-9_.-]+)*)\s*::?(?!=)(?P<needs>[^=]*)$")
RECIPE = re.compile(r"^@?(?P<names>[A-Za-z0-9_-]+)(?:\s+[^:]*)?:(?!=)(?P<needs>.*)$")
SESSION_RUN = re.compile(r"session\.run\(\s*((?:[\"'][^\"']*[\"']\s*,?\s*)+)")
KIND_OF: dict[str, Kind] = {
    "test": "tests",
    "tests": "tests",
    "unittest": "tests",
    "check": "tests",
    "typecheck": "types",
    "types": "types",
    "lint": "lint",
}
MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
JUSTFILES = ("justfile", "Justfile", ".justfile")


@frozen
class Target:
    name: str
    file: str
    line: int
    needs: tuple[str, ...]
    recipe: tuple[tuple[int, str], ...]
    runner: str
    """make or just."""


def targets(survey: Survey, directory: str) -> dict[str, Target]:
    """The targets of a directory's make and just files, the first of a name."""
    found: dict[str, Target] = {}
    for names, pattern, runner in ((MAKEFILES, TARGET, "make"), (JUSTFILES, RECIPE, "just")):
        for name in names:
            path = joined(directory, name)
            for target in read_targets(path, survey.text(path), pattern, runner):
                found.setdefault(target.name, target)
    return found


def read_targets(file: str, text: str, pattern: re.Pattern[str], runner: str) -> Iterator[Target]:
    lines = text.splitlines()
    for number, line in enumerate(lines):
        match = pattern.match(line.partition("#")[0].rstrip())
        if match is None:
            continue
        inline = match["needs"].partition(";")
        recipe = [(number + 1, inline[2].strip())] if inline[2].strip() else []
        recipe += _recipe(lines, number + 1)
        for name in match["names"].split():
            yield Target(name, file, number + 1, tuple(inline[0].split()), tuple(recipe), runner)


def _recipe(lines: list[str], start: int) -> Iterator[tuple[int, str]]:
    """The indented lines from here on, with continued ones put together."""
    held, held_at = "", 0
    for at in range(start, len(lines)):
        line = lines[at]
        if line.strip() and not line[0].isspace():
            break
        held_at = held_at or at + 1
        held = f"{held} {line.strip()}".strip()
        if held.endswith("\\"):
            held = held[:-1].rstrip()
            continue
        if held:
            yield held_at, held.lstrip("@-+")
        held, held_at = "", 0
    if held:
        yield held_at, held.lstrip("@-+")


def said_by_targets(survey: Survey, directory: str) -> Iterator[Said]:
    """Plain commands of the targets that check something."""
    known = targets(survey, directory)
    for name in KIND_OF:
        if name in known:
            for line, command in known[name].recipe:
                for words in plain_commands(command):
                    yield Said(known[name].file, line, words, directory)


def said_by_environments(survey: Survey, directory: str) -> Iterator[Said]:
    """What tox and nox would run, were their environments here."""
    tox, nox = joined(directory, "tox.ini"), joined(directory, "noxfile.py")
    for line in _tox_commands(survey.text(tox)):
        plain = re.sub(r"\{posargs[^}]*\}", "", line).replace("{envpython}", "python").strip()
        for words in plain_commands(plain):
            yield Said(tox, survey.line_of(tox, line), words, directory)
    for match in SESSION_RUN.finditer(survey.text(nox)):
        words = tuple(re.findall(r"[\"']([^\"']+)[\"']", match[1]))
        if words:
            yield Said(nox, survey.text(nox).count("\n", 0, match.start()) + 1, words, directory)


def _tox_commands(text: str) -> Iterator[str]:
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(text)
    except configparser.Error:
        return
    for section in parser.sections():
        if section == "testenv" or section.startswith("testenv:"):
            commands = parser.get(section, "commands", fallback="") or ""
            yield from (line.strip() for line in commands.splitlines() if line.strip())


def find(package: Package) -> Iterator[Found | Hint]:
    """Targets that are checks of their own: what they run is not recognised."""
    known = targets(package.survey, package.dir)
    for name, target in known.items():
        kind = KIND_OF.get(name)
        if kind is None or not package.programs(target.runner) or _is_understood(target, known, frozenset()):
            continue
        why = f"{target.file}:{target.line} has the target '{name}'"
        command = shlex.join([target.runner, name])
        yield Found(kind=kind, runner=target.runner, command=command, dir=package.dir, why=why, timeout_secs=300)


def _is_understood(target: Target, known: dict[str, Target], seen: frozenset[str]) -> bool:
    """Whether everything that a target runs is a tool that is found by itself; an empty target checks nothing."""
    if target.name in seen:
        return True
    seen |= {target.name}
    commands = [words for _, line in target.recipe for words in plain_commands(line.replace("$(MAKE)", "make"))]
    needed = [known[name] for name in target.needs if name in known]
    for words in commands:
        if words[0] in ("make", "just") and len(words) == 2 and words[1] in known:
            needed.append(known[words[1]])
        elif recognise(words) is None and words[0] not in ("echo", "rm", "mkdir", "printf", "@echo"):
            return False
    plain = all(any(True for _ in plain_commands(line.replace("$(MAKE)", "make"))) for _, line in target.recipe)
    return plain and all(_is_understood(other, known, seen) for other in needed)
