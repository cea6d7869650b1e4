"""The exceptions of donewhen: one tree, so that every surface can turn them into one line and an exit code.

    DonewhenError
    ├── BadInput        2   arguments, configuration, contract or repository; nothing was started
    ├── NeedsPerson     3   trust, a question, a gate: a person has to decide first
    └── MachineryBroke  4   model, agent, disk, sandbox: not the work's fault

A message is one line that names what is wrong and where; it is shown as it stands.
This module knows nothing about rooms: a room that needs a finer kind derives its own from these.
"""


class DonewhenError(Exception):
    """Anything that ends a command with a known exit code and one line."""

    exit_code = 1


class BadInput(DonewhenError):
    exit_code = 2


class NeedsPerson(DonewhenError):
    exit_code = 3


class MachineryBroke(DonewhenError):
    exit_code = 4
