"""Planned sessions that crash and resume: `python planned_driver.py REPO MODEL POINT…`, one line of JSON for each.

A session is planned, its contract changed by a change request, approved, and built. Where it waits, a person decides
from another process. A point is a moment of all that, counted as in `driver`; 0 is an undisturbed session.
"""

import sys
from functools import partial
from pathlib import Path
from typing import Any

import anyio

import warm_program
from donewhen.server.methods.call_context import SILENT
from donewhen.server.methods.session_decisions import session_answer, session_approve
from donewhen.session.log.writer import ignore_record
from donewhen.session.person.watch import SessionWatcher
from donewhen.session.settings.run_options import RunOptions
from donewhen.session.verbs.start import resume, start
from runs.driver import NEVER, in_a_process, session_of, tell

WORDS = "the word may not be followed by others"
WAITS = 3
"""The exit code of a session that waits for a person."""


def main() -> None:
    repo, model, *points = sys.argv[1:]
    options = RunOptions(
        intent="let answer.txt say right, as a rehearsal",
        repo=Path(repo),
        values={"--model": model, "--engine": "planned"},
    )
    anyio.run(start, options, SessionWatcher(on_record=ignore_record))
    for point in points:
        tell(lived(Path(repo), model, int(point)))


def lived(repo: Path, model: str, point: int) -> dict[str, Any]:
    """A whole session that crashes once, at this moment."""
    intent = f"let answer.txt say right, number {point}"
    options = RunOptions(intent=intent, repo=repo, values={"--model": model, "--engine": "planned"}, plan=True)
    moments: list[str] = []
    died = False
    session = ""
    job = partial(start, options)
    for verb in (answered, approved, None):
        ran = in_a_process(job, point - len(moments) if point > len(moments) else NEVER)
        moments += ran["moments"]
        session = session_of(intent)
        if ran["killed"]:
            died = True
            if not session:
                break
            ran = in_a_process(partial(resume, session), NEVER)
        job = partial(resume, session)
        if verb is not None:
            assert ran["code"] == WAITS, ran
            verb(session)
    return {"session": session, "moments": moments, "killed": died, "point": point}


def answered(session: str) -> None:
    session_answer(session, WORDS)


def approved(session: str) -> None:
    anyio.run(session_approve, SILENT, session)


if __name__ == "__main__":
    warm_program.load()
    main()
