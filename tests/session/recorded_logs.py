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
from donewhen.server.methods.session_details import plain_state
from donewhen.session.log import handoff, plan_files
from donewhen.session.log.state import SessionState, replay_log
from donewhen.session.outcome import Outcome, SessionResult
from donewhen.session.recall.check_history import failed_hints, judged_trees
from donewhen.session.verbs.replay import segments
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
    state = replay_log(records)
    events = [record for record in records if record.seq is not None]
    seen: dict[str, Any] = {
        "about": plain_state(state),
        "show": list(show_lines(state, events)),
        "lines": [line for record in events for line in lines_of(record)],
        "live": live_lines(events),
        "waiting": while_waiting(records),
        "ending": ending(state, events),
        "replay": replay_of(records),
        "history": [[one.tree, one.statuses, one.signatures] for one in judged_trees(state)],
        "spent": list(failed_hints(state)),
        "files": files_of(state),
    }
    return json.loads(json.dumps(seen))


def show_lines(state: SessionState, events: list[Record]) -> Iterator[str]:
    facts: dict[str, Any] = {"id": SESSION, "live": False, "artifacts": {}, "action": None, **plain_state(state)}
    return show._lines(facts, events)  # pyright: ignore[reportPrivateUsage] # the printed lines, without a process


def live_lines(events: list[Record]) -> list[str]:
    live = LiveState(0.0)
    kept: list[str] = []
    for record in events:
        kept += live.add(record, float(record.position))
        if record.position % ROWS_EVERY == 0:
            kept += [row.plain for row in rows(live, 100, 30, float(record.position))]
    return kept


def while_waiting(records: list[Record]) -> dict[str, Any]:
    """Return the gate at which a session first waited, and the commands it then named; nothing if it did not wait."""
    waits = (at for at, one in enumerate(records) if one.kind == "state_changed" and one.body["to"] == "waiting")
    records = records[: next(waits, -1) + 1]
    events = [record for record in records if record.seq is not None]
    waiting = SessionResult(SESSION, Outcome.WAITING, "")
    return (
        {"gate": plain_state(replay_log(records))["gate"], "next": next_commands(waiting, EndingFacts(events))}
        if records
        else {}
    )


def ending(state: SessionState, events: list[Record]) -> list[str]:
    ended = EndingFacts(events)
    outcome = SessionResult(SESSION, Outcome(plain_state(state)["outcome"] or "waiting"), "")
    return [*facts_of(ended), *next_commands(outcome, ended)]


def replay_of(records: list[Record]) -> list[list[Any]]:
    """Return what a replay would answer and decide in each segment of a log."""
    return [
        [one.answers, one.prompts, one.decisions, one.kinds, one.is_stopped, len(one.entries), one.approves_edits]
        for one in segments(records)
    ]


def files_of(state: SessionState) -> dict[str, str]:
    """Return the hand-off file and the files about a plan, as they would be written."""
    plan_files.remove(SESSION)
    handoff.write(SESSION, state)
    plan_files.write(SESSION, state)
    paths = [handoff.path(SESSION), *map(Path, plan_files.existing_files(SESSION).values())]
    return {path.name: path.read_text().replace(os.environ["XDG_STATE_HOME"], "STATE") for path in paths}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as state:
        os.environ["XDG_STATE_HOME"] = state
        for name in NAMES:
            text = json.dumps(seen_in(log(name)), indent=1, ensure_ascii=False)
            (HERE / f"{name}.json").write_text(text + "\n")
