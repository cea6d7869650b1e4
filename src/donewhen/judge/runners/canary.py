"""Canary: a test that must fail, added to the tests that a command runs.

A runner that does not report the canary can no longer fail. The place for it is guessed from names and contents of
files of the base. The guess is proven on the base first, so a wrong guess costs only the canary.
"""

import posixpath
import re
from collections.abc import Mapping

from donewhen.judge.runners.calls import calls
from donewhen.judge.runners.instrument import InstrumentedCommand
from donewhen.judge.runners.registry import runners
from donewhen.records import frozen
from donewhen.workspace.beneath import Root

BY_RUNNER = {runner.name: runner.make_canary for runner in runners() if runner.make_canary}


@frozen
class Canary:
    files: Mapping[str, bytes]
    """Path from the root of the repository → its whole content, written over the tree for one run."""
    name: str
    """Part of the name with which the runner reports the failure."""


def canary(instrumented: InstrumentedCommand, root: Root, dir: str, token: str) -> Canary | None:
    """Return a canary for a command; None if no sensible one can be added.

    `root` is a checkout of the base. `token` must be unguessable.
    """
    directory, mark = root.below(dir), re.sub(r"\W", "_", token)
    for call in calls(instrumented.command, directory):
        add = BY_RUNNER.get(call.runner)
        added = next(add(directory, call, mark), None) if add else None
        if added is not None:
            path, content = added
            return Canary({posixpath.normpath(posixpath.join(dir, path)): content.encode()}, mark)
    return None
