"""Handoff file for a person after an outcome that is not a success: what was tried, what is red, what to type next.

It is written from the session state. Nothing reads it back.
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from donewhen.errors import BadInput
from donewhen.printable import visible
from donewhen.session.log.state import Round, SessionState
from donewhen.workspace.files import write_atomically
from donewhen.workspace.state_dir import private_directory, state_root

LONGEST_REPORT = 600
AS_TEXT = "    "
"""Prefix of every line that others wrote. It makes a code block, in which nothing is a heading, a list or a command."""


def path(session: str) -> Path:
    """Return the path of a session's file, whether it exists or not."""
    return state_root(os.environ) / "handoffs" / f"{session}.md"


def write(session: str, state: SessionState) -> None:
    """Write the file. If it cannot be written, the session has ended all the same, and its log holds the same facts."""
    file = path(session)
    text = "\n".join(_lines(session, state)) + "\n"
    with contextlib.suppress(OSError, BadInput):
        private_directory(file.parent)
        write_atomically(file, visible(text))  # model text may hold what no file can store or what controls a terminal


def remove(session: str) -> None:
    with contextlib.suppress(OSError):
        path(session).unlink()


def _lines(session: str, state: SessionState) -> Iterator[str]:
    finished = state.finished
    yield f"# {session}: {finished.outcome if finished is not None else None}"
    yield ""
    yield from _quote(state.started.intent if state.started is not None else "")
    yield ""
    yield f"Why it ended: {_in_a_line(finished.reason if finished is not None else None)}"
    yield f"Spent: {state.tokens} tokens, {'unknown' if state.usd is None else f'{state.usd:.4f}'} USD."
    yield ""
    yield "## What was tried"
    yield ""
    if not state.rounds:
        yield "Nothing: it ended before the first round."
    for one in state.rounds:
        yield from _round(one)
    judged = state.last_judged
    if judged is not None and judged.refused:
        yield from (
            "",
            "## What was refused",
            "",
            "The last work was not judged. These paths cannot be part of it:",
            "",
        )
        yield from (f"- {_in_a_line(one.path)} {one.reason}" for one in judged.refused_paths or ())
        yield from ("", f"In short: {_in_a_line(judged.refused)}")
    elif judged is not None and judged.feedback:
        yield from ("", "## What is red", "", *_quote(judged.feedback))
    yield from _evaluation(session, state)
    yield from ("", "## How to continue", "")
    yield f"- `donewhen diff {session}`: what was made so far"
    yield f"- `donewhen resume {session}`: another allowance of rounds, on top of it"
    yield f"- `donewhen discard {session}`: remove its trees and its branch"


def _evaluation(session: str, state: SessionState) -> Iterator[str]:
    """Yield the evaluations, the states of the plan items, and the paths of the complete files."""
    opinions = [one.opinion for one in state.rounds if one.opinion is not None]
    if opinions:
        yield from ("", "## What evaluators wrote about green work", "")
        yield from (f"{number}. {one.status}: {_in_a_line(one.summary)}" for number, one in enumerate(opinions, 1))
    if state.proposals:
        from donewhen.session.log import plan_files  # loaded on use: only planned sessions have these files

        tracker = plan_files.tracker_in(state)
        if tracker is not None:
            items = tracker.rendered().splitlines()[2:]  # without the title, which is the planner's heading
            yield from ("", "## Progress of the plan, as the builder reports it", "", *items)
        plan_files.write(session, state)
        yield from ("", "## Files", "", *(f"- {path}" for path in plan_files.existing_files(session).values()))


def _round(one: Round) -> Iterator[str]:
    attempted, judged = one.attempted, one.judged
    failing = ", ".join(f"{check.name} {check.status}" for check in (judged.failing if judged is not None else ()))
    judgement = "green" if judged is not None and judged.green else failing or "not judged"
    yield f"{one.n}. {one.step}: ended as {attempted.stop if attempted is not None else 'interrupted'}; {judgement}"
    report = _in_a_line(attempted.last_text if attempted is not None else "")
    if report:
        yield f"   > {report[:LONGEST_REPORT]}"


def _quote(text: str) -> Iterator[str]:
    """Yield text of others so that it cannot be taken for a part of this file. `visible` escapes other line ends."""
    yield from (f"{AS_TEXT}{line}" if line.strip() else "" for line in text.split("\n"))


def _in_a_line(text: object) -> str:
    return " ".join(str(text).split())
