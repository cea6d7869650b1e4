"""The `shell` tool, and its variant that runs on a copy for roles that may not change the tree.

The policy is consulted first. The sandbox confines every command that the policy allows.
"""

from donewhen.engines.native.tools.clip import clipped, printed
from donewhen.engines.native.tools.tool import ERROR, Parameter, Tool, ToolFailed, ToolOutput, ToolUse
from donewhen.engines.permission import refusal
from donewhen.workspace.process.command import End, Finished
from donewhen.workspace.sandbox.sandbox import ShellCommand

DEFAULT_SECS = 120
MOST_SECS = 600
MOST_OUTPUT = 15 * 1024
"""Leaves space for the lines that describe the result."""


async def shell(use: ToolUse) -> ToolOutput:
    command = use.text("command")
    if "\0" in command:
        raise ToolFailed("shell: the command contains a NUL byte")
    context = use.context
    refused = await refusal(context.maker.trees.store.bare.launcher, context.policy, command, context.asker, use.id)
    if refused is not None:
        return ToolOutput(f"{ERROR}{refused.why}", ok=False, failed=True, events=(refused.event,))
    wanted = use.number("timeout_secs") or DEFAULT_SECS
    limit = min(wanted, MOST_SECS)
    if context.run_on_copy is not None:
        return _output_of(await context.run_on_copy(command, limit), limit)
    return _output_of(await context.maker.sandbox.run(ShellCommand(text=command, timeout_secs=limit)), limit)


def _output_of(finished: Finished, limit: float) -> ToolOutput:
    kept = finished.stdout
    head, tail = (printed(kept.head), printed(kept.tail)) if kept.cut else (printed(kept.head + kept.tail), "")
    output = clipped(head + tail, MOST_OUTPUT, lost=kept.cut, lost_at=len(head))
    output += "\n" if output and not output.endswith("\n") else ""
    if finished.end is End.EXITED:
        return ToolOutput(f"{output}[exit code {finished.exit_code}]", failed=finished.exit_code != 0)
    how = {
        End.TIMED_OUT: f"the command was killed after {limit:g} s; it had not ended",
        End.SIGNALLED: f"the command was killed by signal {finished.signal}",
        End.LIMIT: f"the command was killed because it exceeded a limit: {finished.reason}",
        End.COULD_NOT_START: f"the command could not start: {finished.reason}",
    }[finished.end]
    return ToolOutput(f"{ERROR}{how}\n{output}[{_last_line(finished, limit)}]", ok=False, failed=True)


def _last_line(finished: Finished, limit: float) -> str:
    """Return the last line of the answer. It never invents an exit code."""
    if finished.end is End.TIMED_OUT:
        return f"timed out after {limit:g} s, no exit code"
    return "no exit code" if finished.exit_code is None else f"exit code {finished.exit_code}"


PARAMETERS = (
    Parameter("command", "string", "The command.", not_blank=True),
    Parameter("timeout_secs", "integer", f"Default {DEFAULT_SECS}, at most {MOST_SECS}.", required=False, least=1),
)
SHELL = Tool(
    "shell",
    "Run a command with /bin/sh at the root, in a sandbox. Output and errors come together, with the exit code in the"
    " last line. Every command is a fresh shell; nothing keeps running after it.",
    PARAMETERS,
    "changes",
    shell,
)
PROBING_SHELL = Tool(
    "shell",
    "Run a command with /bin/sh at the root, in a sandbox, on a copy that is thrown away afterwards: whatever it writes"
    " is gone. Output and errors come together, with the exit code in the last line.",
    PARAMETERS,
    "talks",
    shell,
)
