"""Make and just targets, tox and nox: what they run, read as text. Nothing is expanded.

A target that only calls known tools shows how the project calls those tools. It does not become a check. A target
becomes a check only if its commands are not recognised, and only if nothing more direct was found.
"""

import configparser
import re
import shlex
from collections.abc import Iterator

from donewhen.judge.detect.ci_commands import CiCommand, plain_commands
from donewhen.judge.detect.package import Package
from donewhen.judge.detect.proposal import FoundCheck, Hint, Kind
from donewhen.judge.detect.recognise import recognise
from donewhen.judge.detect.survey import Survey, joined
from donewhen.records import frozen

TARGET = re.compile(r"^(?P<names>[A-Za-z0-9_.-]+(?:\s+[A-Za-z0-9_.-]+)*)\s*::?(?!=)(?P<needs>[^=]*)$")
RECIPE = re.compile(r"^@?(?P<names>[A-Za-z0-9_-]+)(?:\s[^:]*)?:(?!=)(?P<needs>.*)$")
SESSION_RUN = re.compile(r"session\.run\(\s*((?:[\"'][^\"']*[\"']\s*,?\s*)+)")
POSARGS = re.compile(r"\{posargs[^}]*(\}?)")
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
    """Return the targets of the make and just files of a directory. The first target of a name wins."""
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
    """Yield the following indented lines, with continued lines joined."""
    joined_line, first_number = "", 0
    for at in range(start, len(lines)):
        line = lines[at]
        if line.strip() and not line[0].isspace():
            break
        first_number = first_number or at + 1
        joined_line = f"{joined_line} {line.strip()}".strip()
        if joined_line.endswith("\\"):
            joined_line = joined_line[:-1].rstrip()
            continue
        if joined_line:
            yield first_number, joined_line.lstrip("@-+")
        joined_line, first_number = "", 0
    if joined_line:
        yield first_number, joined_line.lstrip("@-+")


def target_commands(survey: Survey, directory: str) -> Iterator[CiCommand]:
    """Yield the plain commands of the targets that check something."""
    known = targets(survey, directory)
    for name in KIND_OF:
        if name in known:
            for line, command in known[name].recipe:
                for words in plain_commands(command):
                    yield CiCommand(known[name].file, line, words, directory)


def environment_commands(survey: Survey, directory: str) -> Iterator[CiCommand]:
    """Yield the commands that tox and nox would run in their environments."""
    tox, nox = joined(directory, "tox.ini"), joined(directory, "noxfile.py")
    for line in _tox_commands(survey.text(tox)):
        plain = POSARGS.sub(_drop_posargs, line).replace("{envpython}", "python").strip()
        for words in plain_commands(plain):
            yield CiCommand(tox, survey.line_of(tox, line), words, directory)
    for match in SESSION_RUN.finditer(survey.text(nox)):
        words = tuple(re.findall(r"[\"']([^\"']+)[\"']", match[1]))
        if words:
            yield CiCommand(nox, survey.text(nox).count("\n", 0, match.start()) + 1, words, directory)


def _drop_posargs(posargs: re.Match[str]) -> str:
    return "" if posargs[1] else posargs[0]


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


def find(package: Package) -> Iterator[FoundCheck | Hint]:
    """Yield the targets that become checks because their commands are not recognised."""
    known = targets(package.survey, package.dir)
    for name, target in known.items():
        kind = KIND_OF.get(name)
        if kind is None or not package.programs(target.runner) or _is_understood(target, known, frozenset()):
            continue
        why = f"{target.file}:{target.line} has the target '{name}'"
        command = shlex.join([target.runner, name])
        yield FoundCheck(kind=kind, runner=target.runner, command=command, dir=package.dir, why=why, timeout_secs=300)


def _is_understood(target: Target, known: dict[str, Target], seen: frozenset[str]) -> bool:
    """Return True if a target runs only known tools, which other finders propose. An empty target checks nothing."""
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
