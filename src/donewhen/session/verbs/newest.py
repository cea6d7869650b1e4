"""Chooses the session that a verb means if no id is given: the newest one of this repository that fits the verb."""

import os
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path

from donewhen.errors import BadInput
from donewhen.records import frozen
from donewhen.session.log.state import SessionState, replay_log
from donewhen.session.outcome import Outcome
from donewhen.session.person.gates import GateKind
from donewhen.session.settings.settings import repository_above
from donewhen.storage.archive import Archive
from donewhen.storage.record import SessionRow


class SessionCandidate:
    """A session that may fit. Its log is read only if a verb depends on it."""

    def __init__(self, archive: Archive, row: SessionRow) -> None:
        self._archive = archive
        self.row = row

    @cached_property
    def is_live(self) -> bool:
        owner = self._archive.owner(self.row.id)
        return owner is not None and owner.is_alive()

    @cached_property
    def state(self) -> SessionState:
        return replay_log(self._archive.records(self.row.id))

    @property
    def is_kept(self) -> bool:
        """True if its trees are still there."""
        return bool(self.state.start_note) and not self.state.discarded

    @property
    def is_verified(self) -> bool:
        """True for work that may land. The work of a loop round may if it was approved, or allowed by the gate."""
        ended = self.state.finished
        is_accepted = ended is not None and Outcome.of(ended.outcome) is Outcome.VERIFIED
        return (
            self.is_kept and self.state.landing is not None and (is_accepted or not self.state.start_note.get("loop"))
        )


def _always(candidate: SessionCandidate) -> bool:
    del candidate
    return True


def _waits_for_answer(candidate: SessionCandidate) -> bool:
    """An answer may also be a change request for a proposed contract or plan."""
    if candidate.row.state == "finished" or not candidate.is_kept:
        return False
    gate = candidate.state.gate
    kind = GateKind.of(gate.kind) if gate is not None else None
    return candidate.state.question is not None or (kind is not None and kind.is_proposal)


def _waits_for_decision(candidate: SessionCandidate) -> bool:
    return candidate.row.state != "finished" and candidate.is_kept and candidate.state.gate is not None


def _can_resume(candidate: SessionCandidate) -> bool:
    from donewhen.session.verbs.start import is_over  # loaded on use: it loads the code that runs a session

    state = candidate.state
    return candidate.is_kept and not candidate.is_live and not state.lost and not is_over(state)


Fit = tuple[str, Callable[[SessionCandidate], bool]]
"""Which sessions fit, in words and as a test."""
ANY: Fit = ("", _always)
KEPT: Fit = ("that is not discarded", lambda candidate: candidate.is_kept)
DECISION: Fit = ("that waits for a decision", _waits_for_decision)
UNFINISHED: Fit = ("that is not finished", lambda candidate: candidate.row.state != "finished")
VERIFIED: Fit = ("that is verified", lambda candidate: candidate.is_verified)
FITS: Mapping[str, Fit] = {
    "diff": KEPT,
    "answer": ("that waits for an answer", _waits_for_answer),
    "approve": DECISION,
    "deny": DECISION,
    "cancel": UNFINISHED,
    "resume": ("that can be resumed", _can_resume),
    "land": VERIFIED,
    "receipt": VERIFIED,
    "replay": ("that can be replayed", lambda candidate: candidate.is_kept and not candidate.state.agent),
    "discard": KEPT,
}
"""Every session fits a verb that is not listed. A running one fits `discard`, which then refuses it: an older one must
not be discarded in its place."""


@frozen
class Chosen:
    id: str
    intent: str
    fits: str
    """Which sessions fit the verb, in words; empty if all do."""


def newest(archive: Archive, verb: str, start: Path) -> Chosen:
    """Return the newest session that fits a verb, of the repository that contains the directory `start`."""
    words, fits = FITS.get(verb, ANY)
    root = repository_above(Path(os.path.realpath(start)))
    if root is None:
        raise BadInput(f"{start} is not in a repository; name a session: donewhen {verb} ID")
    for row in archive.sessions(str(root)):
        if fits(SessionCandidate(archive, row)):
            return Chosen(row.id, row.title, words)
    raise BadInput(f"there is no session of {root}{' ' if words else ''}{words}; see: donewhen list")
