"""The one table of all methods: what the command line, the daemon, MCP, ACP and the Python interface can do.

`donewhen sandbox` is not in it: it hands the streams and the exit code of one command to a person's shell, which no
message can carry. `donewhen loop start` is not in it either, because the scheduler is a part of the daemon. What
follows a session live is a subscription of a connection and no call.
"""

from collections.abc import Mapping

from donewhen.server.methods import inbox, machine, session_decisions, session_work, sessions
from donewhen.server.methods.method import Method, Right

OBSERVE, SUBMIT, DECIDE = Right.OBSERVE, Right.SUBMIT, Right.DECIDE

_METHODS = (
    Method("session.start", session_work.session_start, SUBMIT, in_process=True, begins=True),
    Method("session.list", sessions.session_list, OBSERVE),
    Method("session.get", sessions.session_get, OBSERVE),
    Method("session.config", sessions.session_config, OBSERVE),
    Method("session.events", sessions.session_events, OBSERVE),
    Method("session.diff", session_work.session_diff, OBSERVE, in_process=True),
    Method("session.answer", session_decisions.session_answer, DECIDE),
    Method("session.approve", session_decisions.session_approve, DECIDE, in_process=True),
    Method("session.deny", session_decisions.session_deny, DECIDE),
    Method("session.cancel", session_decisions.session_cancel, SUBMIT),
    Method("session.resume", session_work.session_resume, SUBMIT, in_process=True, begins=True),
    Method("session.replay", session_work.session_replay, SUBMIT, in_process=True, begins=True),
    Method("session.land", session_work.session_land, DECIDE, in_process=True),
    Method("session.discard", session_work.session_discard, DECIDE, in_process=True),
    Method("models.list", machine.models_list, OBSERVE, in_process=True),
    Method("agents.list", machine.agents_list, OBSERVE, in_process=True),
    Method("inbox.list", inbox.inbox_list, OBSERVE),
)

TABLE: Mapping[str, Method] = {method.name: method for method in _METHODS}
"""The methods by name."""
