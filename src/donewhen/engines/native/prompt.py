"""Prompt of the native engine: the role, the rules and the contract as the system text; the task as the first message.

The system text is built once in a session and then kept, so that the provider's cache stays valid from turn to turn.
Instruction files of the repository enter as data, fenced and limited in size; they cannot change the rules.
"""

from donewhen.engines.interface import Job
from donewhen.engines.native.repo_instructions import instructions
from donewhen.workspace.trees.overlay import Files

RULES = """\
You are a software engineer who works alone in a git repository until a task is done. You work through tools.

- The root of the repository is {root}. It is the working directory of every command, and paths are relative to it.
- Look before you edit: read the files that matter, search for what uses them, then change as little as the task needs.
- Build and test with the shell tool. Run the checks of the contract yourself before you say that you are finished.
- Commands run in a sandbox. Pushing, publishing, sudo, reading credentials and destroying anything outside the
  repository are denied. When a command is denied, find another way; do not try to get around it.
- Never commit, stash, rebase or change branches. What is in the files at the end is what counts.
- Not you but the runtime decides whether the work is done: it runs the checks on a copy of your files. Tests,
  check scripts and their settings are taken from the starting commit there, so editing them does not help.
- When a tool answers with a line that starts with "ERROR: ", nothing is broken: read it, and try again another way.
- When you are finished, answer in plain text what you did, in a few sentences, and stop calling tools.
"""
CONTRACT = "# The contract: the work is done when all of this holds\n\n"
TASK = "# Task\n\n"
FAILING = "# What the checks found after your last attempt\n\n"
HINT = "# A hint from an earlier repair; it may or may not apply\n\n"
CUT_OFF = (
    "Your reply was cut off because it was too long, and nothing was carried out. Continue "
    "in smaller steps: call a tool, or say in a few sentences that you are finished."
)
NO_TEXT = "(no text)"
"""Replaces an empty reply, which some providers reject when it is sent back."""


def system_text(job: Job, files: Files) -> str:
    rules = job.rules or RULES.format(root=job.maker.root)
    contract = job.contract.strip()
    parts = [rules, CONTRACT + contract if contract else "", instructions(files)]
    return "\n".join(f"{part.rstrip()}\n" for part in parts if part)


def first_message(job: Job) -> str:
    """Return the first message of a conversation: the task, what failed, at most one hint."""
    return "\n\n".join([TASK + job.intent.strip(), *_feedback_and_hint(job)])


def next_message(job: Job) -> str:
    """Return the next message of a conversation that continues."""
    return "\n\n".join(_feedback_and_hint(job)) or "The work is not done yet. Continue."


def _feedback_and_hint(job: Job) -> list[str]:
    heading = "" if job.rules else FAILING  # with other rules, the feedback does not come from the checks
    failing = [heading + job.feedback.strip()] if job.feedback.strip() else []
    hint = [HINT + job.hint.strip()] if job.hint.strip() else []
    return failing + hint
