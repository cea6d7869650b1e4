"""The one table of all methods: what the command line, the daemon, MCP, ACP and the Python interface can do.

`donewhen sandbox` is not in it: it hands the streams and the exit code of one command to a person's shell, which no
message can carry. `donewhen loop start` is not in it either, because the scheduler is a part of the daemon. What
follows a session live is a subscription of a connection and no call.
"""

from collections.abc import Mapping

from donewhen.server.methods import (
    agent_requests,
    contracts,
    inbox,
    loops,
    machine,
    memory,
    session_decisions,
    session_work,
    sessions,
)
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
    Method("contract.propose", contracts.contract_propose, OBSERVE, in_process=True),
    Method("contract.init", contracts.contract_init, DECIDE, in_process=True),
    Method("contract.revise", contracts.contract_revise, DECIDE),
    Method("contract.check", contracts.contract_check, SUBMIT, in_process=True),
    Method("union.run", contracts.union_run, SUBMIT, in_process=True),
    Method("receipt.get", contracts.receipt_get, OBSERVE, in_process=True),
    Method("receipt.verify", contracts.receipt_verify, SUBMIT, in_process=True),
    Method("loop.catalogue", loops.loop_catalogue, OBSERVE, in_process=True),
    Method("loop.add", loops.loop_add, DECIDE, in_process=True),
    Method("loop.list", loops.loop_list, OBSERVE, in_process=True),
    Method("loop.show", loops.loop_show, OBSERVE, in_process=True),
    Method("loop.run", loops.loop_run, SUBMIT, in_process=True, begins=True),
    Method("loop.run_stated", loops.loop_run_stated, DECIDE, in_process=True, begins=True),
    Method("loop.proposal", loops.loop_proposal, OBSERVE),
    Method("loop.pause", loops.loop_pause, DECIDE, in_process=True),
    Method("loop.resume", loops.loop_resume, DECIDE, in_process=True),
    Method("loop.promote", loops.loop_promote, DECIDE, in_process=True),
    Method("loop.demote", loops.loop_demote, DECIDE, in_process=True),
    Method("loop.history", loops.loop_history, OBSERVE, in_process=True),
    Method("inbox.list", inbox.inbox_list, OBSERVE),
    Method("session.verify", agent_requests.session_verify, SUBMIT, in_process=True),
    Method("session.report", agent_requests.session_report, SUBMIT),
    Method("session.ask", agent_requests.session_ask, SUBMIT),
    Method("session.question", agent_requests.session_question, OBSERVE),
    Method("contract.get", agent_requests.contract_get, OBSERVE, in_process=True),
    Method("memory.list", memory.memory_list, OBSERVE, in_process=True),
    Method("memory.show", memory.memory_show, OBSERVE, in_process=True),
    Method("memory.recall", memory.memory_recall, OBSERVE, in_process=True),
    Method("memory.forget", memory.memory_forget, DECIDE, in_process=True),
    Method("memory.export", memory.memory_export, OBSERVE, in_process=True),
    Method("memory.import", memory.memory_import, DECIDE, in_process=True),
    Method("memory.signature", memory.memory_signature, OBSERVE, in_process=True),
    Method("memory.texts", memory.memory_texts, OBSERVE, in_process=True),
    Method("memory.forget_texts", memory.memory_forget_texts, DECIDE, in_process=True),
    Method("memory.record", agent_requests.memory_record, SUBMIT, in_process=True),
    Method("memory.notes", agent_requests.memory_notes, OBSERVE, in_process=True),
    Method("agents.list", machine.agents_list, OBSERVE, in_process=True),
    Method("models.list", machine.models_list, OBSERVE, in_process=True),
    Method("doctor.run", machine.doctor_run, OBSERVE, in_process=True),
    Method("policy.decide", machine.policy_decide, OBSERVE, in_process=True),
    Method("trust.accept", machine.trust_accept, DECIDE, in_process=True),
)

TABLE: Mapping[str, Method] = {method.name: method for method in _METHODS}
"""The methods by name."""
