"""Approvals of left-out edits that crash at chosen moments and are repeated: `python amend_driver.py REPO MODEL FIRST
STEP`, one line of JSON for each.

The moments are the barriers around every write, as in `driver`. Each approval is of a session of its own, and each is a
process of its own.
"""

import sys
from functools import partial
from pathlib import Path

import anyio

from donewhen.errors import BadInput
from donewhen.session.log.writer import ignore_record
from donewhen.session.outcome import Outcome, SessionResult
from donewhen.session.person.watch import SessionWatcher
from donewhen.session.settings.run_options import RunOptions
from donewhen.session.verbs.amend import amend
from donewhen.session.verbs.start import start
from runs.driver import DIED_AGAIN, NEVER, in_a_process, rehearse, session_of, tell


async def approve(session: str, watch: SessionWatcher) -> SessionResult:
    """Approve; the outcome is red if there is a problem, or if it was decided already."""
    try:
        problem = (await amend(session, watch)).problem
    except BadInput as error:
        problem = str(error)
    return SessionResult(session, Outcome.RED if problem else Outcome.VERIFIED, problem)


def main() -> None:
    repo, model, first, step = sys.argv[1:]
    values = {"--model": model}
    rehearse(RunOptions(intent=f"rehearsal {first}", repo=Path(repo), values=values))
    anyio.run(partial(approve, session_of(f"rehearsal {first}")), SessionWatcher(on_record=ignore_record))
    point = int(first)
    while True:
        intent = f"say right, number {point} of {first}"
        in_a_process(partial(start, RunOptions(intent=intent, repo=Path(repo), values=values)), NEVER)
        go_on = partial(approve, session_of(intent))
        died = {**in_a_process(go_on, point), "session": session_of(intent)}
        if not died["killed"]:
            tell(died)
            return
        again = [in_a_process(go_on, 1 + point % 5)] if point % DIED_AGAIN == 0 else []
        tell({**died, "recovered": [*again, in_a_process(go_on, NEVER)]})
        point += int(step)


if __name__ == "__main__":
    main()
