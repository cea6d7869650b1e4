"""Collected findings of tools in files: each once, with its place, and at most `MOST`.

Shared by the readers of compilers, type checkers and linters. A tool that builds something, or stands for one that does
(tsc), has the phase `build`; one that only checks the source (eslint, ruff, mypy, pyright) has `lint`. If a reader
finds nothing, it does not know whether the log is a green run of its tool or another tool's output.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from donewhen.readers.failures import logs
from donewhen.readers.failures.failure import Failure, FailureReport, Phase
from donewhen.readers.failures.project_paths import in_project, is_absolute, roots

MOST = 500
LONGEST_MESSAGE = 500
MOST_WORDS = 6
IN_FRONT = re.compile(
    r"(?:\[[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]{1,9})?\] ?)?"  # only the time of day
    r"(?:Error: (?=[^\s:(]+[:(][0-9])"  # GitHub, for a line that it recognised as an error
    r"|(?:@[\w.-]{1,80}/)?[\w.-]{1,80}:(?:build|compile|lint|type-?check|check(?:-types)?|test)(?::\w{1,40})?: )?"
)
"""The prefix of a tool's own line, including the package and the task as Turborepo writes them."""
QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`']*[`']|‘[^’]*’|\([^()]*\)|<[^<>]*>|\[[^\[\]]*\]")
PLAIN_WORD = re.compile(r"([A-Z]?[a-z]+(?:['-][a-z]+)?)[,;.:!?]?")


@dataclass(slots=True)
class Findings:
    """Errors, and warnings that count only if the tool says that it failed because of them."""

    reader: str
    phase: Phase
    printed: list[str]
    errors: dict[Failure, None] = field(default_factory=dict[Failure, None])
    warnings: dict[Failure, None] = field(default_factory=dict[Failure, None])
    roots: tuple[str, ...] | None = None

    @property
    def is_full(self) -> bool:
        return len(self.errors) >= MOST

    def error(self, file: str, line: str | int | None, kind: str, message: str, name: str = "") -> None:
        """Add an error. `name` says what failed if there is no file: a library, a symbol, a target."""
        if not self.is_full:
            self.errors[self._failure(file, line, kind, message, name)] = None

    def warning(self, file: str, line: str | int | None, kind: str, message: str) -> None:
        if len(self.warnings) < MOST:
            self.warnings[self._failure(file, line, kind, message, "")] = None

    def report(self, *, with_warnings: bool = False) -> FailureReport | None:
        found = self.errors | self.warnings if with_warnings else self.errors
        return FailureReport(self.reader, self.phase, tuple(found)[:MOST]) if found else None

    def _failure(self, file: str, line: str | int | None, kind: str, message: str, name: str) -> Failure:
        place = self._in_project(file) if file else ""
        subject = place or name
        return Failure(
            id=f"{subject}:{kind}" if subject else kind,
            kind=kind,
            message=" ".join(message[:LONGEST_MESSAGE].split()),
            file=place,
            line=int(line) if line else None,
        )

    def _in_project(self, file: str) -> str:
        if self.roots is None and is_absolute(file):
            self.roots = roots(self.printed)
        return in_project(file, self.roots or ())


@lru_cache(maxsize=1)
def lines(log: str) -> list[str]:
    """Return the lines of a log as the tools printed them. All readers share the cached list: do not change it."""
    return [without_front(line) for line in logs.lines(log)]


def without_front(line: str) -> str:
    front = IN_FRONT.match(line)
    return line[front.end() :] if front else line


def phrase(message: str, known: Mapping[str, str] | None = None) -> str:
    """Return a short stable name for a message without a code: a known one, or its first words, no names or values."""
    for part, word in (known or {}).items():
        if part in message:
            return word
    opening = QUOTED.sub(" ", message[:LONGEST_MESSAGE]).partition(": ")[0]
    words = [plain[1].lower() for word in opening.split() if (plain := PLAIN_WORD.fullmatch(word))]
    return "-".join(words[:MOST_WORDS]) or "error"
