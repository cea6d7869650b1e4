"""One question to the policy that is answered whatever the command's text does to the parser.

Nearly every command is plain and is decided on the spot. The others cost a process each, which has two seconds of CPU
time; when it hangs, dies or swells, the command is one that could not be parsed.
"""

import tree_sitter
import tree_sitter_bash

import donewhen
from donewhen.errors import MachineryBroke
from donewhen.workspace.command import Command, Confinement, End
from donewhen.workspace.consulting.answering import last_answer, question
from donewhen.workspace.interpreter import BOOT, interpreter
from donewhen.workspace.policy import Policy, Ruling
from donewhen.workspace.process import Launcher

CPU_SECS = 2
WALL_SECS = 30.0
MEMORY = 512 << 20
MOST_SAID = 1 << 20
"""An answer quotes the rule that speaks, which may be long."""

BOOTED = BOOT.format(module="donewhen.workspace.consulting.answering")
PACKAGES = (donewhen, tree_sitter, tree_sitter_bash)


async def consult(launcher: Launcher, policy: Policy, command: str) -> Ruling:
    """What `policy.decide` says about a command; within the bounds, and never at the cost of this process."""
    ruling = policy.at_once(command)
    if ruling is not None:
        return ruling
    finished = await launcher.run(reader(question(policy, command)))
    if finished.end is End.COULD_NOT_START:
        raise MachineryBroke(f"the policy could not be asked: {finished.reason}")
    return last_answer(finished.stdout.whole()) or policy.unread(command)


def reader(asked: bytes) -> Command:
    """The process that reads a command, with its bounds."""
    limits = Confinement(rlimits={"CPU": CPU_SECS, "DATA": MEMORY, "CORE": 0})
    return interpreter(BOOTED, PACKAGES, asked, wall_secs=WALL_SECS, most_said=MOST_SAID, confinement=limits)
