"""The verb `donewhen watch`: follow a session that runs in another process, from its beginning to its end.

It ends when no process works on the session any more: with the exit code of the outcome, with 3 if the session waits
for a person, with 4 if it was interrupted. An open question is not the end: the session is alive and continues without
an answer after the question's time limit.
"""

import contextlib
import json
import sys

import anyio
import click

from donewhen.cli.group import one_line, say
from donewhen.cli.session_argument import session_argument
from donewhen.cli.views.event_lines import lines_of
from donewhen.server.methods.sessions import follow, session_get
from donewhen.session.outcome import Outcome


@click.command("watch")
@session_argument
@click.option("--json", "as_json", is_flag=True, help="One JSON event per line.")
def command(session: str, as_json: bool) -> int:
    """Follow a session until it ends or waits for a person. Its outcome is the exit code, as with `run`.

    Without ID: the newest session of this repository that is running.
    """
    anyio.run(_follow, session, as_json)
    known = session_get(session)
    if known["state"] not in ("finished", "waiting"):
        say(f"no process is working on it; continue with: donewhen resume {known['id']}")
    outcome = Outcome.of(known["outcome"]) or (Outcome.WAITING if known["state"] == "waiting" else Outcome.FAILED)
    return outcome.exit_code


async def _follow(session: str, as_json: bool) -> None:
    async with contextlib.aclosing(follow(session)) as records:
        async for record in records:
            for line in [json.dumps(record.line())] if as_json else map(one_line, lines_of(record)):
                sys.stdout.write(line + "\n")
                sys.stdout.flush()
            if record.kind == "question_asked" and not as_json:
                say(f"to answer: donewhen answer {record.session} TEXT")
