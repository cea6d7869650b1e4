"""The exceptions of donewhen: one class tree, so that every user interface can map an error to a line and an exit code.

    DonewhenError
    ├── BadInput        2   arguments, configuration, contract or repository; nothing was started
    ├── NeedsPerson     3   trust, a question, a gate: a person must decide first
    └── MachineryBroke  4   model, agent, disk or sandbox failed; the work is not the cause

A message is one line that names what is wrong and where. It is shown unchanged.
This module does not depend on other packages. A package that needs a more specific error derives it from these classes.
"""


class DonewhenError(Exception):
    """Base of all errors that end a command with a known exit code and a one-line message."""

    exit_code = 1


class BadInput(DonewhenError):
    exit_code = 2


class NeedsPerson(DonewhenError):
    exit_code = 3


class MachineryBroke(DonewhenError):
    exit_code = 4
