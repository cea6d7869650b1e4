"""A page of the documentation, followed by somebody who types what it says and compares what they see with it.

What a fenced block means is told by the words behind its fence:

    sh                   commands, one a line, in order; `# exit 3` behind one is its exit code, else it is 0
    sh first-terminal    one command that is left running while the page goes on in another terminal
    text                 all that the commands of the block before printed
    text first-terminal  what the running command has printed since
    LANGUAGE FILE        a file to write, with this content
    anything else        to be read only

In printed text `…` stands for anything, and a line of it for any lines. Ids, times and dates are never the same twice,
so each is taken for any other one; `ID` in a command is the newest session. Lines that only say that something takes
long depend on the machine and are passed over. What the words around a block claim is not looked at.
"""

import contextlib
import os
import re
import shlex
import signal
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from donewhen.server.methods.call_context import SILENT
from donewhen.server.methods.sessions import session_list
from needs import needs

FENCE = re.compile(r"^```(?P<words>[^\n]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
EXIT = re.compile(r"#.*\bexit (\d+)\b")
PATIENCE = re.compile(r"^(preparing|  … .*)\n", re.MULTILINE)
NEVER_THE_SAME = (
    (re.compile(r"\b[0-9a-f]{40}\b|\b[0-9a-f]{12}\b"), "COMMIT"),
    (re.compile(r"\b[0-9a-f]{8}\b"), "ID"),
    (re.compile(r"\b\d+\.\d s\b"), "TIME"),
    (re.compile(r"\b\d{4}-\d\d-\d\d \d\d:\d\d\b"), "DATE"),
)
LONGEST_SECS = 120
OTHER_HOME = "/home/you"
"""The directory of the pages. Printed text names the home of the test instead."""


@dataclass(frozen=True, slots=True)
class Block:
    line: int
    language: str
    word: str
    text: str

    @property
    def commands(self) -> list[str]:
        whole = self.text.replace("\\\n", "")
        return [line for line in whole.splitlines() if line.strip() and not line.startswith("#")]


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text()
    for found in FENCE.finditer(text):
        language, _, word = found["words"].partition(" ")
        yield Block(text.count("\n", 0, found.start()) + 1, language, word.strip(), found["text"])


@dataclass(slots=True)
class Running:
    """The command in the first terminal."""

    command: str
    process: "subprocess.Popen[str]"
    printed: str = ""


@dataclass(slots=True)
class Reader:
    """A person who follows a page."""

    home: Path
    directory: Path
    variables: dict[str, str]
    aside: Mapping[str, str] = field(default_factory=dict[str, str])
    """Commands that are replaced, and their replacements."""
    printed: str = ""
    running: Running | None = None
    ran: list[str] = field(default_factory=list[str])

    def follow(self, page: Path) -> None:
        for block in blocks(page):
            try:
                self._do(block)
            except AssertionError as error:
                raise AssertionError(f"{page.name}, line {block.line}: {error}") from error
        self._leave_first_terminal()

    def _do(self, block: Block) -> None:
        match block.language, block.word:
            case "sh", "":
                self.printed = "".join([self._run(command) for command in block.commands])
            case "sh", "first-terminal":
                self._leave_first_terminal()
                (command,) = block.commands
                self.running = Running(command, self._start(command))
            case "text", "":
                require_shown(block.text, self._as_on_the_page(self.printed))
            case "text", "first-terminal":
                self._read_first_terminal(block.text)
            case _, "":
                pass
            case _, name:
                (self.directory / name).write_text(block.text)

    def _run(self, command: str) -> str:
        process = self._start(command, remember=True)
        require_exit(command, process, printed := end_of(process))
        self._remember()
        return printed

    def _start(self, command: str, remember: bool = False) -> "subprocess.Popen[str]":
        self.ran.append(command)
        line = self.aside.get(command.split("#")[0].strip(), re.sub(r"\bID\b", newest_session, command))
        lines = [line, "code=$?", *([f"{{ pwd; env -0; }} >{self._memory}"] if remember else []), "exit $code"]
        return subprocess.Popen(
            [needs("bash"), "-c", "\n".join(lines)],
            cwd=self.directory,
            env=self.variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    @property
    def _memory(self) -> str:
        return shlex.quote(str(self.home / "terminal"))

    def _remember(self) -> None:
        """A terminal keeps its directory and variables between commands."""
        where, _, variables = (self.home / "terminal").read_text().partition("\n")
        self.directory = Path(where)
        self.variables = dict(pair.split("=", 1) for pair in variables.split("\0") if "=" in pair)

    # -- the first terminal --

    def _read_first_terminal(self, shown: str) -> None:
        assert self.running is not None, "nothing runs in the first terminal"
        for line in lines_of(self.running.process.stdout):
            self.running.printed += line
            if is_shown(shown, self._as_on_the_page(self.running.printed)):
                self.running.printed = ""
                return
        require_shown(shown, self._as_on_the_page(self.running.printed))

    def close(self) -> None:
        """Call this at the end, even if the page was not followed to its end."""
        if self.running is not None:
            kill(self.running.process)

    def _leave_first_terminal(self) -> None:
        left, self.running = self.running, None
        if left is not None:
            require_exit(left.command, left.process, end_of(left.process))

    def _as_on_the_page(self, printed: str) -> str:
        return PATIENCE.sub("", printed).replace(str(self.home), OTHER_HOME)


def lines_of(stream: IO[str] | None) -> Iterator[str]:
    assert stream is not None
    return iter(stream.readline, "")


def newest_session(_: re.Match[str]) -> str:
    return session_list(SILENT, limit=1)[0]["id"]


def end_of(process: "subprocess.Popen[str]") -> str:
    """Output until a command ends."""
    try:
        return process.communicate(timeout=LONGEST_SECS)[0]
    finally:
        kill(process)


def kill(process: "subprocess.Popen[str]") -> None:
    """The command and all its processes."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    with process:
        pass


def require_exit(command: str, process: "subprocess.Popen[str]", printed: str) -> None:
    said = EXIT.search(command)
    wanted = int(said.group(1)) if said else 0
    assert process.returncode == wanted, f"{command!r} ended with {process.returncode}, not {wanted}:\n{printed}"


def require_shown(shown: str, printed: str) -> None:
    assert is_shown(shown, printed), f"the page shows\n{shown}\nand this was printed\n{printed}"


def is_shown(shown: str, printed: str) -> bool:
    return re.fullmatch(pattern(shown), same_for_all(printed)) is not None


def pattern(shown: str) -> str:
    lines = [
        r"(?:[^\n]*\n)*?" if line == "…" else re.escape(line).replace("…", r"[^\n]*") + r"\n"
        for line in same_for_all(shown).splitlines()
    ]
    return "".join(lines)


def same_for_all(text: str) -> str:
    for changing, name in NEVER_THE_SAME:
        text = changing.sub(name, text)
    return text


def plain_variables(home: Path, programs: Path) -> dict[str, str]:
    """The environment of a person's shell: a home, a PATH with their own programs, and nothing that changes git."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "DONEWHEN_"))}
    kept = {name: value for name, value in kept.items() if not name.endswith(("_API_KEY", "_BASE_URL"))}
    return {**kept, "HOME": str(home), "PATH": f"{home}/.local/bin:{programs}:{os.environ['PATH']}"}
