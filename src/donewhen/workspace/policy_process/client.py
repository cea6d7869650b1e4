"""Client of the policy process: returns a ruling, whatever the command's text does to the parser.

Nearly every command is plain and is decided in this process. Each of the others costs a process with two seconds of CPU
time. If it hangs, crashes or uses too much memory, the command counts as one that could not be parsed.
"""

import tree_sitter
import tree_sitter_bash

import donewhen
from donewhen.errors import MachineryBroke
from donewhen.workspace.policy import Policy, Ruling
from donewhen.workspace.policy_process.server import encode_request, last_ruling
from donewhen.workspace.process.command import Command, Confinement, End
from donewhen.workspace.process.interpreter import BOOT, interpreter
from donewhen.workspace.process.launch import Launcher

CPU_SECS = 2
WALL_SECS = 30.0
MEMORY = 512 << 20
MOST_OUTPUT = 1 << 20
"""The answer quotes the rule that decided, which may be long."""

BOOTED = BOOT.format(module="donewhen.workspace.policy_process.server")
PACKAGES = (donewhen, tree_sitter, tree_sitter_bash)


async def consult(launcher: Launcher, policy: Policy, command: str) -> Ruling:
    """Return what `policy.decide` says about a command, within the limits, and without risk to this process."""
    ruling = policy.decide_plain(command)
    if ruling is not None:
        return ruling
    finished = await launcher.run(parser_command(encode_request(policy, command)))
    if finished.end is End.COULD_NOT_START:
        raise MachineryBroke(f"the policy process failed: {finished.reason}")
    return last_ruling(finished.stdout.whole()) or policy.decide_unread(command)


def parser_command(request: bytes) -> Command:
    """Return the process that parses a command, with its limits."""
    limits = Confinement(rlimits={"CPU": CPU_SECS, "DATA": MEMORY, "CORE": 0})
    return interpreter(BOOTED, PACKAGES, request, wall_secs=WALL_SECS, most_output=MOST_OUTPUT, confinement=limits)
