"""The verb `donewhen answer`: answer a session's question, or send a change request for its contract or plan."""

import click

from donewhen.cli import through_daemon
from donewhen.cli.session_argument import matching_ids, newest_for
from donewhen.cli.verbs.resume import continue_session
from donewhen.errors import BadInput
from donewhen.server.methods.call_context import SILENT
from donewhen.server.methods.session_decisions import session_answer
from donewhen.server.methods.sessions import session_list

SHORTEST_ID = 4
"""Letters. A text that is shorter is never taken for the beginning of an id."""


@click.command("answer")
@click.argument("words", nargs=-1, required=True, metavar="[ID] TEXT", shell_complete=matching_ids)
@click.option("--json", "as_json", is_flag=True, help="One JSON event per line on stdout.")
def command(words: tuple[str, ...], as_json: bool) -> int:
    """Answer the question of a session with TEXT, or request a change of the pending contract or plan.

    One argument is the TEXT, for the newest session of this repository that waits for an answer. If it is the id of a
    session, the text is missing. A session that no process works on continues here.
    """
    *ids, text = words
    if len(ids) > 1:
        raise BadInput("answer takes an ID and one TEXT; put the text in quotes: donewhen answer ID 'TEXT'")
    if not ids:
        _require_text(text)
    session = ids[0] if ids else newest_for("answer")
    code = through_daemon.decide("session.answer", session, as_json, text=text)
    if code is not None:
        return code
    answered = session_answer(session, text)
    return 0 if answered["live"] else continue_session(answered["id"], as_json)


def _require_text(text: str) -> None:
    """Raise BadInput if the only argument is the id of a session."""
    if len(text) >= SHORTEST_ID and any(row["id"].startswith(text) for row in session_list(SILENT)):
        raise BadInput(f"{text!r} is a session, and the answer is missing: donewhen answer {text} TEXT")
