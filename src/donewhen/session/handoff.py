"""What helps a person to go on after an ending that is no success: what was tried, what is red, what to type next.

A file for people, made from the story; nothing reads it back.
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from donewhen.errors import BadInput
from donewhen.printable import visible
from donewhen.session.story import Round, Story
from donewhen.workspace.files import write_atomically
from donewhen.workspace.state import private_directory, state_root

SAID_CHARACTERS = 600


def place(session: str) -> Path:
    """Where the file of a session is, whether it exists or not."""
    return state_root(os.environ) / "handoffs" / f"{session}.md"


def write(session: str, story: Story) -> None:
    """Where there is no room for it, the session has ended all the same, and its log says the same."""
    file = place(session)
    text = "\n".join(_lines(session, story)) + "\n"
    with contextlib.suppress(OSError, BadInput):
        private_directory(file.parent)
        write_atomically(file, visible(text))  # a model may say what no file can hold, and what a terminal obeys


def remove(session: str) -> None:
    with contextlib.suppress(OSError):
        place(session).unlink()


def _lines(session: str, story: Story) -> Iterator[str]:
    finished = story.finished or {}
    yield f"# {session}: {finished.get('outcome')}"
    yield ""
    yield str(story.started.get("intent", ""))
    yield ""
    yield f"Why it ended: {finished.get('reason')}"
    yield f"Spent: {story.tokens} tokens, {'unknown' if story.usd is None else f'{story.usd:.4f}'} USD."
    yield ""
    yield "## What was tried"
    yield ""
    if not story.rounds:
        yield "Nothing: it ended before the first round."
    for one in story.rounds:
        yield from _round(one)
    judged = story.last_judged or {}
    words = str(judged.get("feedback", ""))
    if judged.get("refused"):
        yield from (
            "",
            "## What was refused",
            "",
            "The last work was not judged. These paths cannot be part of it:",
            "",
        )
        yield from (f"- {one['path']} {one['reason']}" for one in judged.get("refused_paths", ()))
        yield from ("", f"In short: {judged['refused']}")
    elif words:
        yield from ("", "## What is red", "", words)
    yield from _evaluation(session, story)
    yield from ("", "## How to go on", "")
    yield f"- `donewhen diff {session}`: what was made so far"
    yield f"- `donewhen resume {session}`: another allowance of rounds, on top of it"
    yield f"- `donewhen discard {session}`: remove its trees and its branch"


def _evaluation(session: str, story: Story) -> Iterator[str]:
    """What an evaluator has sent back, how far the plan is, and the files that have all of it."""
    opinions = [one.opinion for one in story.rounds if one.opinion is not None]
    if opinions:
        yield from ("", "## What was said about green work", "")
        yield from (f"{number}. {one['status']}: {one['summary']}" for number, one in enumerate(opinions, 1))
    if story.proposals:
        from donewhen.session import artifacts  # only what was planned has any

        tracker = artifacts.tracker_in(story)
        if tracker is not None:
            yield from ("", "## How far the plan is, by the builder's word", "", *tracker.rendered().splitlines())
        artifacts.write(session, story)
        yield from ("", "## Files", "", *(f"- {path}" for path in artifacts.found(session).values()))


def _round(one: Round) -> Iterator[str]:
    attempted, judged = one.attempted or {}, one.judged or {}
    failing = ", ".join(f"{name} {status}" for name, status in judged.get("failing", []))
    judgement = "green" if judged.get("green") else failing or "not judged"
    yield f"{one.n}. {one.rung}: ended as {attempted.get('stop', 'interrupted')}; {judgement}"
    said = " ".join(str(attempted.get("said", "")).split())
    if said:
        yield f"   > {said[:SAID_CHARACTERS]}"
