"""Single entries in the log of a session without an owner: a decision, an answer, its end. It is not resumed here."""

import contextlib
from collections.abc import Generator

from donewhen.errors import BadInput
from donewhen.events import QuestionAnswered, SessionFinished, StateChanged
from donewhen.session.log import handoff
from donewhen.session.log.state import told
from donewhen.session.log.writer import LogWriter, nobody
from donewhen.session.outcome import STOPPED, Outcome
from donewhen.session.person.gates import Gates
from donewhen.storage.archive import Archive
from donewhen.storage.lease import Note


@contextlib.contextmanager
def owning(archive: Archive, session: str, seize: bool = False) -> Generator[LogWriter]:
    """Provide the log of a session while the block runs. Raise `Owned` if another process works on the session."""
    lease = archive.claim(session, seize=seize)
    try:
        yield LogWriter(lease, told(archive.records(session)), nobody)
    finally:
        lease.release()


def answer(recorder: LogWriter, text: str) -> bool:
    """Answer the waiting question, or send a change request for a proposal. Return False if neither waits."""
    question = recorder.story.question
    if recorder.story.discarded:
        return False
    if question is not None:
        recorder.write(QuestionAnswered(id=question.id, answer=text), sync=True)
        return True
    if recorder.story.gate is not None and not text.strip():
        raise BadInput(f"session {recorder.session}: the answer is empty; write what to change")
    return Gates(recorder, None).change(text, "a person")


def decide(recorder: LogWriter, approved: bool) -> bool:
    """Decide the waiting gate. Return False if none waits."""
    return not recorder.story.discarded and Gates(recorder, None).decide(approved, "a person")


def cancel(recorder: LogWriter) -> None:
    """End a session, and write the handoff file that helps to continue."""
    end(recorder, STOPPED)
    handoff.write(recorder.session, recorder.story)


def end(recorder: LogWriter, reason: str, note: Note | None = None) -> None:
    """Write the end of a session that a person wants to end."""
    story = recorder.story
    judged = story.last_judged
    results = story.baseline_results if judged is None else judged.results or ()
    passed = sum(one.status == "pass" for one in results)
    finished = SessionFinished(
        outcome=Outcome.CANCELLED,
        reason=reason,
        iterations=story.iterations,
        results=results,
        summary=f"{Outcome.CANCELLED}: {passed} of {len(results)} checks passed",
        tree=(judged.tree if judged is not None else None) or "",
    )
    recorder.write(StateChanged(from_=story.state, to="finished"), finished, note=note, sync=True)
