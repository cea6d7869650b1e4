"""Logs of whole sessions from earlier versions, and their views: state, lines, replay, hand-off.

`recorded/NAME.jsonl` is a log, one record per line. `recorded/NAME.json` holds its views. Run as a program, this
module writes the views again: `python recorded_logs.py`. Do so only for a change that people should see.
"""

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from donewhen.cli.verbs import show
from donewhen.cli.views.ending import EndingFacts, facts_of, next_commands
from donewhen.cli.views.event_lines import lines_of
from donewhen.cli.views.live_rows import rows
from donewhen.cli.views.live_state import LiveState
from donewhen.server.methods import about
from donewhen.session.log import handoff, plan_files
from donewhen.session.log.state import SessionState, told
from donewhen.session.outcome import Outcome, SessionResult
from donewhen.session.recall.check_history import judgements, spent
from donewhen.session.verbs.replay import Segment, legs
from donewhen.storage.record import Record

HERE = Path(__file__).parent / "recorded"
NAMES = sorted(file.stem for file in HERE.glob("*.jsonl"))
SESSION = "5e551011"
ROWS_EVERY = 8


def log(name: str) -> list[Record]:
    lines = (HERE / f"{name}.jsonl").read_text().splitlines()
    return [Record(session=SESSION, **json.loads(line)) for line in lines]


def expected(name: str) -> dict[str, Any]:
    return json.loads((HERE / f"{name}.json").read_text())


def seen_in(records: list[Record]) -> dict[str, Any]:
    """Return everything that people and programs see in a log, as plain JSON."""
    story = told(records)
    events = [record for record in records if record.seq is not None]
    seen: dict[str, Any] = {
        "about": about(story),
        "show": list(show_lines(story, events)),
        "lines": [line for record in events for line in lines_of(record)],
        "live": live_lines(events),
        "ending": ending(story, events),
        "replay": [segment(one) for one in legs(records)],
        "history": [[one.tree, one.statuses, one.signatures] for one in judgements(story)],
        "spent": list(spent(story)),
        "files": files_of(story),
    }
    return json.loads(json.dumps(seen))


def show_lines(story: SessionState, events: list[Record]) -> Iterator[str]:
    facts: dict[str, Any] = {"id": SESSION, "live": False, "artifacts": {}, **about(story)}
    return show._lines(facts, events)  # pyright: ignore[reportPrivateUsage] # the printed lines, without a process


def live_lines(events: list[Record]) -> list[str]:
    live = LiveState(0.0)
    kept: list[str] = []
    for record in events:
        kept += live.take(record, float(record.position))
        if record.position % ROWS_EVERY == 0:
            kept += [row.plain for row in rows(live, 100, 30, float(record.position))]
    return kept


def ending(story: SessionState, events: list[Record]) -> list[str]:
    ended = EndingFacts(events)
    outcome = SessionResult(SESSION, Outcome(about(story)["outcome"] or "waiting"), "")
    return [*facts_of(ended), *next_commands(outcome, ended)]


def segment(one: Segment) -> list[Any]:
    return [one.answers, one.prompts, one.decisions, one.kinds, one.is_stopped, len(one.entries), one.takes_edits]


def files_of(story: SessionState) -> dict[str, str]:
    """Return the hand-off file and the files about a plan, as they would be written."""
    plan_files.remove(SESSION)
    handoff.write(SESSION, story)
    plan_files.write(SESSION, story)
    paths = [handoff.place(SESSION), *map(Path, plan_files.found(SESSION).values())]
    return {path.name: path.read_text().replace(os.environ["XDG_STATE_HOME"], "STATE") for path in paths}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as state:
        os.environ["XDG_STATE_HOME"] = state
        for name in NAMES:
            text = json.dumps(seen_in(log(name)), indent=1, ensure_ascii=False)
            (HERE / f"{name}.json").write_text(text + "\n")
