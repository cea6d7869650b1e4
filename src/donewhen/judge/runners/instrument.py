"""Changes the command of a check so that its runner writes a report outside of the tree.

If a runner has an environment variable for options, that is set: it also works through make, npm and scripts. Otherwise
arguments are added, but only to a single simple command that passes them on. The normal output of the runner is not
changed, because people and `output_contains` read it. If a report were only possible instead of the normal output, the
printed text is the evidence.
"""

from collections.abc import Mapping

from donewhen.judge.runners.calls import calls
from donewhen.judge.runners.registry import runners
from donewhen.judge.runners.runner import RunnerContext
from donewhen.records import frozen
from donewhen.workspace.beneath import Root


@frozen
class InstrumentedCommand:
    command: str
    """The command of the check, with arguments added if its runner has no variable for options."""
    variables: Mapping[str, str]
    """Variables for the environment of the check."""
    expected: tuple[str, ...]
    """Runners that the command calls, as far as they can be recognised."""


def instrument_command(command: str, directory: Root, sidecar: str, *, keep_going: bool = False) -> InstrumentedCommand:
    """Return the command to run and its variables.

    `directory` is the directory of the check in a checkout of the base. `sidecar` is an empty directory outside of the
    tree. With `keep_going`, the runner should run all test programs, also after one that failed.
    """
    found = calls(command, directory)
    changed, variables = command, dict[str, str]()
    for runner in runners():
        own = tuple(call for call in found if call.runner == runner.name)
        made = runner.instrument(
            RunnerContext(
                command=command,
                calls=own,
                all_calls=found,
                directory=directory,
                sidecar=sidecar,
                keep_going=keep_going,
            )
        )
        changed, variables = made.command or changed, {**variables, **made.variables}
    return InstrumentedCommand(changed, variables, tuple(dict.fromkeys(call.runner for call in found)))
