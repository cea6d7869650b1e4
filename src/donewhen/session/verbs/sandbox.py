"""The verb `sandbox`: run one command in a throw-away tree, exactly as an engine's command would run."""

import math
import signal
from collections.abc import Callable
from pathlib import Path

from donewhen.errors import BadInput, MachineryBroke
from donewhen.records import frozen
from donewhen.session.check import judge_tree
from donewhen.session.check.engine_sandbox import engine_sandbox
from donewhen.session.log.open_archive import Say
from donewhen.session.workplace import Workplace, open_workplace
from donewhen.workspace.process.command import End, Finished
from donewhen.workspace.sandbox.level import Level
from donewhen.workspace.sandbox.sandbox import ShellCommand

TIMED_OUT = 124
"""The exit code that timeout(1) uses."""

Write = Callable[[bytes], None]


@frozen(kw_only=True)
class SandboxOptions:
    command: str
    repo: Path
    base: str = ""
    dirty: bool = False
    timeout_secs: float | None = None


async def run(options: SandboxOptions, say: Say, stdout: Write, stderr: Write) -> int:
    """Run the command and return its exit code."""
    _require_valid(options)
    line = ShellCommand(text=options.command, timeout_secs=options.timeout_secs, merge_stderr=False)
    async with open_workplace(options.repo.absolute()) as workplace:
        for note in workplace.repo.notes:
            say(f"note: {note}")
        if workplace.probe.level is not Level.BUBBLEWRAP:
            name = workplace.probe.level.value
            say(f"note: the isolation level is '{name}'; `donewhen doctor` explains what that costs")
        commit = await _base(workplace, options, say)
        hidden = await judge_tree.held_out_files(workplace, workplace.repo.head if options.dirty else commit)
        async with workplace.tree("throwaway", commit, hidden=hidden) as tree:
            sandbox = await engine_sandbox(workplace, tree)
            finished = await sandbox.run(line, stdout=stdout, stderr=stderr)
        return _exit_code(finished, say)


def _require_valid(options: SandboxOptions) -> None:
    if options.base and options.dirty:
        raise BadInput("--dirty and --base exclude each other: --dirty always starts from HEAD")
    if options.timeout_secs is not None and not math.isfinite(options.timeout_secs):
        raise BadInput(f"--timeout must be a finite number above 0, not {options.timeout_secs:g}")
    if not options.command.strip():
        raise BadInput("sandbox: the command is empty")
    if "\0" in options.command:
        raise BadInput("sandbox: the command contains a NUL byte")


async def _base(workplace: Workplace, options: SandboxOptions, say: Say) -> str:
    if options.dirty:
        return await workplace.store.snapshot()
    commit = await workplace.store.resolve(options.base or "HEAD")
    left_out = await workplace.store.uncommitted()
    if left_out:
        first = left_out[0].path
        more = f" and {len(left_out) - 1} more" if len(left_out) > 1 else ""
        say(f"note: uncommitted changes are left out ({first}{more}); --dirty includes them")
    return commit


def _exit_code(finished: Finished, say: Say) -> int:
    if finished.end is End.TIMED_OUT:
        say("donewhen: the command was stopped: time limit reached")
        return TIMED_OUT
    if finished.end is End.LIMIT:
        say(f"donewhen: the command was stopped: {finished.reason}")
        return 128 + signal.SIGKILL
    if finished.end is End.COULD_NOT_START or finished.exit_code is None:
        raise MachineryBroke(f"the sandbox could not start the command: {finished.reason}")
    return finished.exit_code
