"""The ready-made loops by name, in the order of the list."""

import difflib
from collections.abc import Mapping

from donewhen.errors import BadInput
from donewhen.loops.catalogue.draft import ReadyLoop
from donewhen.loops.catalogue.reading_loops import READING_LOOPS
from donewhen.loops.catalogue.working_loops import WORKING_LOOPS
from donewhen.printable import shortened

ORDER = (
    "daily-triage", "pr-babysitter", "ci-sweeper", "dependency-sweeper", "changelog-drafter", "post-merge-cleanup",
    "issue-triage", "flaky-test-hunter",
)  # fmt: skip
READY_LOOPS: Mapping[str, ReadyLoop] = {
    one.name: one for one in sorted((*READING_LOOPS, *WORKING_LOOPS), key=lambda one: ORDER.index(one.name))
}


def ready_loop(name: str) -> ReadyLoop:
    if name in READY_LOOPS:
        return READY_LOOPS[name]
    near = difflib.get_close_matches(name, READY_LOOPS, n=1)
    hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(READY_LOOPS)}"
    raise BadInput(f"there is no ready-made loop {shortened(name)!r}; {hint}")
