"""One entry in the log of a session that nobody works on: a decision, an answer, its end. Nobody goes on here."""

import contextlib
from collections.abc import Generator

from donewhen.errors import BadInput
from donewhen.events import QuestionAnswered, SessionFinished, StateChanged
from donewhen.session import handoff
from donewhen.session.gates import Gates, may_be_changed
from donewhen.session.recorder import Recorder, nobody
from donewhen.session.story import told
from donewhen.storage.archive import Archive
from donewhen.storage.lease import Note

STOPPED = "a person stopped it"


@contextlib.contextmanager
def owning(archive: Archive, session: str, seize: bool = False) -> Generator[Recorder]:
    """The log of a session, for as long as the block runs. `Owned` while somebody is at work on it."""
    lease = archive.claim(session, seize=seize)
    try:
        yield Recorder(lease, told(archive.records(session)), nobody)
    finally:
        lease.release()


def answer(recorder: Recorder, text: str) -> bool:
    """Answer the question that waits, or say what should be different in a proposal; False when neither waits."""
    question, gate = recorder.story.question, recorder.story.gate
    if recorder.story.discarded:
        return False
    if question is None and gate is not None and not text.strip():
        raise BadInput(f"session {recorder.session}: the answer is empty; say what should be different")
    if question is None and gate is not None and may_be_changed(recorder.story, gate):
        from donewhen.session import taking  # it brings what plans are made of

        taking.keep_edits(recorder)
        return Gates(recorder, None).change(text, "a person")
    if question is None and gate is not None and gate.kind == "plan":
        from donewhen.session import plans  # it brings an engine with it

        return plans.wishes(recorder, text)
    if question is None:
        return False
    recorder.write(QuestionAnswered(id=question.id, answer=text), sync=True)
    return True


def decide(recorder: Recorder, approved: bool) -> bool:
    """Decide the gate that waits; False when none does. A contract is taken as it stands in its file by now."""
    gate = recorder.story.gate
    if approved and gate is not None and gate.kind == "contract" and not recorder.story.discarded:
        from donewhen.session import taking  # it brings what plans are made of

        if taking.taken_as_edited(recorder, "a person"):
            return True
    return not recorder.story.discarded and Gates(recorder, None).decide(approved, "a person")


def cancel(recorder: Recorder) -> None:
    """End a session, and leave what helps to go on with it."""
    end(recorder, STOPPED)
    handoff.write(recorder.session, recorder.story)


def end(recorder: Recorder, reason: str, note: Note | None = None) -> None:
    """The last word about a session that a person wants to end."""
    story = recorder.story
    results = (story.last_judged or story.baseline or {}).get("results", [])
    passed = sum(one["status"] == "pass" for one in results)
    finished = SessionFinished(
        outcome="cancelled",
        reason=reason,
        iterations=story.iterations,
        results=tuple(results),
        summary=f"cancelled: {passed} of {len(results)} checks passed",
        tree=str((story.last_judged or {}).get("tree", "")),
    )
    recorder.write(StateChanged(from_=story.state, to="finished"), finished, note=note, sync=True)
