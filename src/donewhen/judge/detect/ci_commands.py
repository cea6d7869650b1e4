"""Commands with which a project itself calls its tools, read from workflow files, with file and line.

Workflow files are read line by line and tolerantly, not as YAML. Text that cannot be read is skipped. A command
with variables, pipes or redirections is not used either, because it has its meaning only in its context.
"""

import re
import shlex
from collections.abc import Iterable, Iterator

from donewhen.judge.detect.survey import Survey
from donewhen.records import frozen
from donewhen.short_lines import LONGEST_LINE

RUN = re.compile(r"^(?P<indent>\s*(?:-\s+)?)run:\s*+(?P<rest>.*)$")
SCRIPT = re.compile(r"^(?P<indent>\s*)(?:before_script|script|after_script):\s*+(?P<rest>.*)$")
WORKING_DIRECTORY = re.compile(r"^\s*(?:-\s+)?working-directory:\s*(\S+)\s*$")
KEY = re.compile(r"^\s*(?:-\s+)?")
BLOCK = re.compile(r"^[|>][+-]?\d*\s*(?:#.*)?$")
NEEDS_CONTEXT = re.compile(r"[`|<>*?!~#\\\"']|\$|&(?!&)|\{\{")


@frozen
class CiCommand:
    file: str
    line: int
    words: tuple[str, ...]
    dir: str = "."

    @property
    def where(self) -> str:
        return f"{self.file}:{self.line}"


def all_ci_commands(survey: Survey) -> tuple[CiCommand, ...]:
    """Return the commands that the workflows of a repository run, in the order of files and lines."""
    found: list[CiCommand] = []
    for path in survey.named(".github/workflows", "*.yml", "*.yaml"):
        found += _plain(path, workflow_commands(survey.text(path)))
    for path in survey.named(".", ".gitlab-ci.yml"):
        found += _plain(path, pipeline_commands(survey.text(path)))
    return tuple(found)


def _plain(path: str, commands: Iterable[tuple[int, str, str]]) -> Iterator[CiCommand]:
    for line, text, directory in commands:
        for words in plain_commands(text):
            yield CiCommand(path, line, words, directory)


def plain_commands(text: str) -> Iterator[tuple[str, ...]]:
    """Yield the simple commands of one line: commands with the same meaning in any context."""
    for part in re.split(r"&&|;", text):
        quoted = re.sub(r"'[^'$`]*'|\"[^\"$`\\]*\"", "q", part)
        if not part.strip() or NEEDS_CONTEXT.search(quoted) or not part.expandtabs().isprintable():
            continue
        if len(part) > LONGEST_LINE:  # continued lines can be long, and shlex takes quadratic time for a long word
            continue
        try:
            words = tuple(shlex.split(part))
        except ValueError:
            continue
        if words and words[0] not in ("cd", "exit", "set", "if", "then", "fi", "for", "do", "done", "export"):
            yield words


def workflow_commands(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield (line, command, directory) for each `run:` of a workflow."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        match = RUN.match(line)
        if match is None:
            continue
        indent, rest = len(match["indent"]), match["rest"].strip()
        directory = _working_directory(lines, number, indent)
        if BLOCK.match(rest):
            yield from ((at, command, directory) for at, command in _block(lines, number + 1, indent))
        elif rest:
            yield number + 1, _unquoted(rest), directory


def pipeline_commands(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield (line, command, directory) for each `script:` list of a pipeline."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        match = SCRIPT.match(line)
        if match is None:
            continue
        if match["rest"].strip() and not match["rest"].startswith(("[", "|", ">", "#")):
            yield number + 1, _unquoted(match["rest"].strip()), "."
        for at, command in _block(lines, number + 1, len(match["indent"]) - 1):
            if not command.startswith("- "):
                break
            yield at, _unquoted(command.removeprefix("- ").strip()), "."


def _block(lines: list[str], start: int, indent: int) -> Iterator[tuple[int, str]]:
    """Yield the lines with deeper indentation, with continued lines joined."""
    joined_line, first_number = "", 0
    for number in range(start, len(lines)):
        line = lines[number]
        if line.strip() and len(line) - len(line.lstrip()) <= indent:
            break
        first_number = first_number or number + 1
        joined_line += line.strip().removesuffix("\\") if line.rstrip().endswith("\\") else line.strip()
        if line.rstrip().endswith("\\"):
            joined_line += " "
            continue
        if joined_line and not joined_line.startswith("#"):
            yield first_number, joined_line
        joined_line, first_number = "", 0


def _working_directory(lines: list[str], at: int, indent: int) -> str:
    """Return the working directory of the step that contains a `run:`, from the other keys of that step."""
    for step in (1, -1):
        number = at
        while 0 <= number < len(lines):
            line = lines[number]
            depth = len(line) - len(KEY.sub("", line)) if line.strip() else indent
            if depth < indent or (step == 1 and number > at and line.lstrip().startswith("- ") and depth <= indent):
                break
            if depth == indent and (found := WORKING_DIRECTORY.match(line)):
                return _unquoted(found[1]).removeprefix("./").rstrip("/") or "."
            if step == -1 and depth == indent and line.lstrip().startswith("- "):
                break
            number += step
    return "."


def _unquoted(text: str) -> str:
    plain = re.sub(r"(?<!\s)\s++#.*", "", text)
    if len(plain) > 1 and plain[0] == plain[-1] and plain[0] in "'\"":
        return plain[1:-1]
    return plain
