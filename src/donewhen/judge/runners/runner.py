"""The record of a test runner: everything that the judge knows about it. Each runner has a module with its `RUNNER`.

Words in one text are separated by white space. Names of files may contain `*`; `name/**` is a directory with its
content.
"""

import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from importlib import import_module

from donewhen.judge.runners.call import RunnerCall
from donewhen.readers.result import RunnerReport
from donewhen.records import frozen
from donewhen.workspace.beneath import Root

ReadReport = Callable[[bytes], RunnerReport | None]


@frozen
class CanaryFile:
    """A file of the base, or a new one, and tests that must fail in it."""

    path: str
    """Relative to the directory of the check."""
    before: str
    """The text before the added tests: for a file of the base, its own."""
    tests: tuple[str, ...]
    """One for each kind of assertion. `$name` stands for its name, `$left` and `$right` for two different numbers."""
    after: str = ""


MakeCanary = Callable[[Root, RunnerCall, str], Iterator[CanaryFile]]


@frozen(kw_only=True)
class Instrumentation:
    """What makes a runner write a report: variables for the environment, and another command unless it is empty."""

    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    command: str = ""


@frozen(kw_only=True)
class RunnerContext:
    """The command of a check, as a runner sees it that is asked to write a report."""

    command: str
    calls: tuple[RunnerCall, ...]
    """The calls of this runner."""
    all_calls: tuple[RunnerCall, ...]
    directory: Root
    """The directory of the check in a checkout of the base."""
    sidecar: str
    """An empty directory outside of the tree, for reports."""
    keep_going: bool = False
    """True if the runner should run all test programs, also after one that failed."""

    @property
    def can_append(self) -> bool:
        """True if the command is one call of this runner, and arguments added at its end reach the runner."""
        return len(self.all_calls) == 1 and bool(self.calls) and self.calls[0].joint is not None

    @property
    def arguments(self) -> str:
        return " ".join(word for call in self.calls for word in call.arguments)

    def append(self, *words: str) -> Instrumentation:
        return Instrumentation(command=f"{self.command.rstrip()}{self.calls[0].joint} {shlex.join(words)}")


def unchanged(_context: RunnerContext) -> Instrumentation:
    """The instrumentation of a runner whose printed text is the evidence."""
    return Instrumentation()


def lazy(module: str, function: str) -> ReadReport:
    """Return a reader that is imported on the first use: most checks need only one."""

    def read(content: bytes) -> RunnerReport | None:
        return getattr(import_module(f"donewhen.readers.{module}"), function)(content)

    return read


@frozen(kw_only=True)
class Runner:
    name: str
    """The name in results, which are stored: it never changes."""

    programs: tuple[str, ...] = ()
    """Programs that are this runner, whatever arguments follow."""
    aliases: tuple[str, ...] = ()
    """Other names of these programs, which only decide whether a command calls the runner."""
    is_python_module: bool = False
    """`python -m` starts it. Another program with that name is something else."""
    subcommands: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    """Program → its subcommands that run tests."""
    mentioned: str = ""
    """A pattern: a script that contains it starts tests."""
    started_by_tox: str = ""
    """The command that counts as called if a file of tox or nox contains `mentioned`."""

    instrument: Callable[[RunnerContext], Instrumentation] = unchanged
    report: str = ""
    """The name of its report in the directory for reports."""
    reports_in_tree: str = ""
    """A pattern: directories of the tree into which it writes JUnit reports."""
    read_report: ReadReport | None = None
    read_text: ReadReport | None = None
    """Reads the printed text. A runner without it is protected, but its tests are not counted."""
    make_canary: MakeCanary | None = None
    """Yields files with tests that must fail. The last argument is a part of their names."""

    config_files: str = ""
    """Files that configure it. They are protected even if the base does not have them."""
    files_when_used: Mapping[str, str] = field(default_factory=dict[str, str])
    """Words of a command → files that are protected if a check contains one of the words."""
    naming_files: str = ""
    """Settings files that may name other files."""
    config_options: tuple[str, ...] = ()
    """Short options whose value is a file that configures it."""
    arguments_are_paths: bool = True
    """False if its arguments are not the locations of tests."""
    finds_tests_by_name: bool = False
    """It selects the files in a directory by name, so a directory among its arguments may also hold the product."""
    packages: str = ""
    """Programs and packages that may not be replaced by a dependency or a file."""
    plugin_groups: str = ""
    """Prefixes of entry point groups that load code into it."""
    modules: str = ""
    """Python modules that no file of the tree may hide."""

    is_detected: bool = True
    """False if its commands are unknown to the detection of checks."""
    detected_as: str = ""
    """The name in proposed contracts, if it is not `name`."""
    proposed: tuple[str, ...] = ()
    """The words with which a check is proposed for a JavaScript package that names this runner."""
    proposed_as_called: bool = False
    """A call in the workflows of a project is proposed as written there, if nothing else was found."""
