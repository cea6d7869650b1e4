"""The methods that agents use: judge the work, read the contract, report, ask a person, and keep notes.

Nothing here decides anything. A question does not hold the caller: it is posted, and its answer is looked for later.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from donewhen.errors import BadInput
from donewhen.server.methods.call_context import CallContext
from donewhen.server.methods.place import place
from donewhen.server.methods.sessions import is_live
from donewhen.session.log.open_archive import any_archive
from donewhen.session.log.state import SessionState, replay_log
from donewhen.workspace.state_dir import state_root

if TYPE_CHECKING:
    from donewhen.judge.contract import Contract
    from donewhen.judge.verdict import Result
    from donewhen.server.methods.agent_results import AskedQuestion, JudgedWork, KeptNote, ShownContract, WorkResult

REPLY_SECS = 5.0
HELD_OUT = "a held-out check"
"""Stands for the name of a check about which an agent learns nothing else."""
WAITING, ANSWERED, EXPIRED = "waiting", "answered", "expired"


async def session_verify(context: CallContext, id: str) -> "JudgedWork":
    """Judge the newest work of a session again, by its contract. What held-out checks print is left out."""
    from donewhen.session.check.judge_tree import outcome_of
    from donewhen.session.verbs.rejudge import rejudge

    verdict, contract = await rejudge(id, context.emit)
    hidden = {check.name for check in contract.checks if check.held_out}
    return {
        "green": verdict.green,
        "outcome": outcome_of(verdict).value,
        "tree": verdict.tree,
        "results": [_result(result, result.name in hidden) for result in verdict.results],
        "not_graded": [edit.path for edit in verdict.edits],
    }


def _result(result: "Result", is_hidden: bool) -> "WorkResult":
    if is_hidden:
        passed = result.status.value == "pass"
        return {"name": HELD_OUT, "status": "pass" if passed else "fail", "exit_code": None, "output_tail": ""}
    tail = result.output_tail
    return {"name": result.name, "status": result.status.value, "exit_code": result.exit_code, "output_tail": tail}


async def contract_get(id: str = "", repo: str = "") -> "ShownContract":
    """Return the contract that is in force for a session, or for a repository. Held-out checks are left out."""
    from donewhen.judge.receipt import contract_from

    if not id:
        return _shown(_contract_of(place(repo)))
    with any_archive() as archive:
        state = replay_log(archive.records(archive.find(id)))
    known = state.start_note.get("contract") or (state.started.contract if state.started else None)
    if not known:
        raise BadInput(f"session {id} has no contract yet")
    return _shown(contract_from(known))


def _contract_of(directory: Path) -> "Contract":
    from donewhen.session.settings import contract_file, settings

    top = settings.repository_above(directory) or directory
    return contract_file.contract_in(settings.load(directory, top, os.environ, None))  # no key here widens anything


def _shown(contract: "Contract") -> "ShownContract":
    return {
        "description": contract.description,
        "checks": [
            {"name": check.name, "command": check.command, "dir": check.dir, "timeout_secs": check.timeout_secs}
            for check in contract.checks
            if not check.held_out
        ],
        "protect": list(contract.protect),
        "editable": list(contract.editable),
        "text": contract.render(),
    }


def session_report(id: str, text: str, by: str) -> str:
    """Show a line to the people who watch a session: `by` says who reports it. Return the id of the session."""
    line = " ".join(text.split())
    if not line:
        raise BadInput("the report has no visible text")
    session, _ = _ask_owner(id, {"do": "report", "text": line, "by": by})
    return session


def session_ask(id: str, question: str, prompt: str) -> "AskedQuestion":
    """Ask the person of a session. The answer comes later: `session.question` returns it.

    `prompt` is the question in words, and `question` an id that the caller chooses. It is asked once for an id.
    """
    known = _question(_state_of(id), question)
    if known is not None:
        return known
    session, accepted = _ask_owner(id, {"do": "ask", "question": question, "prompt": prompt})
    if not accepted:
        raise BadInput(f"session {session}: another question waits for its answer; ask again later")
    return {"state": WAITING, "answer": ""}


def session_question(id: str, question: str) -> "AskedQuestion":
    """Return how far the question with the id `question` is, and the answer of the person."""
    known = _question(_state_of(id), question)
    if known is None:
        raise BadInput("there is no question with this id")
    return known


def _state_of(id: str) -> SessionState:
    with any_archive() as archive:
        return replay_log(archive.records(archive.find(id)))


def _question(state: SessionState, question: str) -> "AskedQuestion | None":
    known = state.questions.get(question)
    if known is None:
        return None
    if known.answer is not None:
        return {"state": ANSWERED, "answer": known.answer}
    return {"state": EXPIRED if known.expired else WAITING, "answer": ""}


def _ask_owner(id: str, request: dict[str, Any]) -> tuple[str, bool]:
    """Send a request to the process that works on a session. Return the session's id, and whether it agreed."""
    from donewhen.session.person import control_socket  # loaded on use: it imports anyio

    with any_archive() as archive:
        session = archive.find(id)
        live = is_live(archive.owner(session))
    if not live:
        raise BadInput(f"session {session}: no process is working on it")
    answer = control_socket.ask(control_socket.socket_path(state_root(os.environ), session), request, REPLY_SECS)
    for problem in ("problem", "bad_input"):
        if answer is not None and problem in answer:
            raise BadInput(f"session {session}: {answer[problem]}")
    if answer is None:
        raise BadInput(f"session {session}: its process does not answer")
    return session, bool(answer.get("ok"))


def memory_record(context: CallContext, text: str, by: str, repo: str = "") -> "KeptNote":
    """Keep a note of the author `by` about a repository in the memory. The same note is kept once."""
    from donewhen.session.verbs.notes import record_note

    return {**record_note(text, by, place(repo), context.say)}


def memory_notes(context: CallContext, words: str, repo: str = "") -> "list[KeptNote]":
    """Return the notes about a repository that contain all of the `words`, newest first."""
    from donewhen.session.verbs.notes import find_notes

    return [{**note} for note in find_notes(words, place(repo), context.say)]
