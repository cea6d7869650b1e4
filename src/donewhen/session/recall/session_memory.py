"""Memory of one session: hints from earlier repairs in, new repairs out. It never stops the work.

A failure here is reported once, and the work continues as if there were no memory. Failure signatures are part of the
notes about a verdict, and the hint of a round is part of the note that begins it. A session that is resumed after a
crash therefore shows the same hint again, and what it writes to the memory once more changes nothing there.
"""

import contextlib
import datetime
import json
import os
from collections.abc import Callable, Generator, Mapping
from functools import cached_property, partial
from typing import Any, TypeVar

from donewhen.engines.spec import EngineKind
from donewhen.errors import DonewhenError
from donewhen.events import Error, HintRecalled
from donewhen.judge.contract import Contract
from donewhen.judge.receipt import contract_from
from donewhen.judge.verdict import CheckStatus, Verdict
from donewhen.memory.open_store import RepairStoreHandle
from donewhen.memory.recall import RecalledHint, recall
from donewhen.memory.repair import Ending, Offer, repair, sanitise_signature
from donewhen.memory.repair_store import RepairStore
from donewhen.memory.sanitise import hide_secrets
from donewhen.memory.signature import Signature, from_json, signature_of
from donewhen.session.check.judge_tree import secrets_in
from donewhen.session.log.notes import Baseline, RoundBegun, ShownHint
from donewhen.session.log.open_archive import archive_of
from donewhen.session.log.start_record import StartRecord
from donewhen.session.log.state import Round
from donewhen.session.log.writer import LogWriter
from donewhen.session.recall.check_history import failed_hints, is_flaky, is_worse, judged_trees, statuses
from donewhen.session.workplace import Workplace
from donewhen.workspace.git.store.bare import LARGEST_SHOWN
from donewhen.workspace.state_dir import repository_key, state_root

MOST_FAILURES = 3
"""Failures after which it is not used any more: each may cost the time of waiting for a lock."""
TROUBLE = (
    DonewhenError, OSError, ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError,
)  # fmt: skip
"""What a broken store raises, and what a reader raises on output of an unexpected form."""


class BestEffort:
    """Best-effort wrapper: reports the first failure, and is not used any more after `MOST_FAILURES`."""

    def __init__(self, log: LogWriter, kind: str) -> None:
        self._log = log
        self._kind = kind
        self._failures = 0

    @property
    def is_usable(self) -> bool:
        """True if another try is worthwhile."""
        return self._failures < MOST_FAILURES

    @contextlib.contextmanager
    def __call__(self) -> Generator[None]:
        """Contain errors: an error ends the block and is reported, and nothing else happens."""
        try:
            yield
        except TROUBLE as error:
            self._failures += 1
            words = str(error) if isinstance(error, DonewhenError | OSError) else f"{type(error).__name__}: {error}"
            self.report(f"{words}; the session continues without it")

    def report(self, line: str) -> None:
        """Report a line, once per session over all owners."""
        if self._kind not in self._log.state.errors:
            self._log.emit(Error(kind=self._kind, message=line))


T = TypeVar("T")
SIGNATURES_BYTES = 1024 * 1024
"""Limit for one verdict, all checks together: a note must fit into the log whatever a check prints."""
MOST_LINES = 20_000
"""Lines of the end of a log that are read: readers look at each line, and a check may print only empty ones."""
REPLAY = "replay:"
ENDINGS: Mapping[str, Ending] = {
    CheckStatus.PASS.value: "passed",
    **{status.value: "red" for status in CheckStatus if status.is_red or not status.is_believable},
}
"""Effect of a hint by the status of its check. A status that shows nothing about the work is missing."""
WORKED_TO_THE_END = ("done", "turns", "claim")
"""Ends of an attempt that had its full chance. What a hint did to an interrupted attempt is unknown."""


class SessionMemory:
    """Memory of a session that remembers nothing."""

    def close(self) -> None:
        return

    def signatures(self, verdict: Verdict) -> dict[str, Mapping[str, Any]] | None:
        """Return the failure signatures that the note about a verdict keeps; None if it keeps none."""
        del verdict
        return None

    def baseline_note(self, verdict: Verdict) -> Baseline | None:
        """Return the note about the verdict on the baseline."""
        signatures = self.signatures(verdict)
        return None if signatures is None else Baseline(tree=verdict.tree, signatures=signatures)

    def hint_for(self, n: int) -> ShownHint | None:
        """Return the hint for a new round, if there is one."""
        del n
        return None

    def count_hint(self, current: Round) -> None:
        """Count the hint of a round. Must be called each time the round is worked on."""
        del current

    async def learn_from(self, current: Round) -> None:
        """Learn from a round. Must be called when its verdict is in the log; calling it again changes nothing."""
        del current


class ReplayedMemory(SessionMemory):
    """Memory of a replayed session: it gives the recorded hints, and writes nothing to the memory."""

    def __init__(self, start_record: StartRecord) -> None:
        self._start_record = start_record

    @cached_property
    def _hints(self) -> dict[int, ShownHint]:
        settings = self._start_record.settings
        with contextlib.closing(archive_of(settings)) as archive:
            session = archive.find(settings.text("model", "use").removeprefix(REPLAY))
            records = list(archive.records(session, kinds=(RoundBegun.KIND,)))
        rounds = [RoundBegun.load(record.body) for record in records if record.seq is None]
        return {begun.n: begun.hint for begun in rounds if begun.hint is not None}

    def hint_for(self, n: int) -> ShownHint | None:
        return self._hints.get(n)


class RepairMemory(SessionMemory):
    def __init__(self, workplace: Workplace, start_record: StartRecord, log: LogWriter) -> None:
        self._workplace = workplace
        self._start_record = start_record
        self._log = log
        self._store = RepairStoreHandle(state_root(os.environ), start_record.settings.text("storage", "url"))
        self._source = repository_key(workplace.repo.common_dir)
        self._best_effort = BestEffort(log, "memory")

    def close(self) -> None:
        with contextlib.suppress(*TROUBLE):
            self._store.close()

    def signatures(self, verdict: Verdict) -> dict[str, Mapping[str, Any]] | None:
        """Return the signatures of the failed checks, without held-out checks and checks that do not decide."""
        known: dict[str, Mapping[str, Any]] = {}
        left = SIGNATURES_BYTES
        with self._best_effort():
            held_out = {check.name for check in self._contract.checks if check.held_out}
            for result in verdict.results if self._best_effort.is_usable else ():
                if result.status.is_red and not result.quarantined and result.name not in held_out:
                    plain = self._signature(result.name, verdict.logs[result.name]).as_json()
                    left -= len(json.dumps(plain))
                    if left >= 0:
                        known[result.name] = plain
        return known

    def _signature(self, check: str, log: str) -> Signature:
        """Return a signature without what failed before any work. If nothing else failed, that has to be repaired as
        well.
        """
        baseline = self._log.state.baseline_note
        before = baseline.signatures.get(check) if baseline is not None else None
        end = "".join(log.splitlines(keepends=True)[-MOST_LINES:])
        printed = hide_secrets(end, secrets_in(self._workplace, self._start_record.settings))
        found = signature_of(printed, check, from_json(before) if before else None)
        return sanitise_signature(found if found.failed or not before else signature_of(printed, check))

    @property
    def _contract(self) -> Contract:
        """The current contract: a person may have changed it since the session was opened."""
        return contract_from(self._log.state.start_note["contract"])

    # -- recalling --

    def hint_for(self, n: int) -> ShownHint | None:
        del n
        state, found = self._log.state, None
        with self._best_effort():
            last = next(judged_trees(state), None)
            red = {check: from_json(plain) for check, plain in last.signatures.items()} if last else {}
            if red:
                ask = partial(
                    recall,
                    red=red,
                    repo=self._start_record.repo,
                    spent=list(failed_hints(state)),
                    source=self._source,
                    across=self._start_record.settings.flag("memory", "across_repositories"),
                )
                found = self._ask(lambda: self._store.read(ask, None))
        return _hint(found) if found else None

    def count_hint(self, current: Round) -> None:
        self._count(current, "")

    # -- learning --

    async def learn_from(self, current: Round) -> None:
        results = current.judged.results if current.judged is not None else None
        if results is None:
            return
        if current.hint is not None:
            ending = ENDINGS.get(statuses(results).get(current.hint.check, ""), "")
            worked = current.attempted is not None and current.attempted.stop in WORKED_TO_THE_END
            self._count(current, ending if ending == "passed" or worked else "")
        with self._best_effort():
            await self._learn(current)
        if flaky := [check for check, status in statuses(results).items() if status == "flaky"]:
            # What this session learnt about these checks before was chance as well.
            self._ask(lambda: self._store.read(lambda store: store.unlearn(self._start_record.session, flaky), 0))

    def _count(self, current: Round, ending: Ending) -> None:
        hint = current.hint
        if hint is None:
            return
        offer = Offer(
            session=self._start_record.session,
            round=current.n,
            signature=hint.signature,
            withheld=not hint.text,
            ending=ending,
            at=_now(),
        )
        self._ask(lambda: self._store.write(lambda store: store.offer(hint.repair, offer)))

    async def _learn(self, current: Round) -> None:
        """Store a repair: the change after which a red check passes and no check that passed is worse."""
        state = self._log.state
        now, before, *_ = [*judged_trees(state, current.n), None, None]
        if now is None or before is None or before.tree == now.tree or is_worse(now, before, self._contract):
            return
        turned = [check for check in before.signatures if now.statuses.get(check) == "pass"]
        sure = [check for check in turned if not is_flaky(state, check)]
        if not sure or not self._best_effort.is_usable:
            return
        patch = await self._workplace.store.patch(before.tree, now.tree, LARGEST_SHOWN)
        for check in sure:
            known = repair(
                signature=from_json(before.signatures[check]),
                approach=current.attempted.last_text if current.attempted is not None else "",
                patch=patch,
                origin=self._origin(current),
                redact=partial(hide_secrets, secrets=secrets_in(self._workplace, self._start_record.settings)),
            )
            if known is not None:
                self._ask(partial(self._store.write, partial(RepairStore.add, repair=known)))

    def _origin(self, current: Round) -> dict[str, Any]:
        state = self._log.state
        return {
            "repo": self._start_record.repo,
            "source": self._source,
            "model": (state.agent if current.step == EngineKind.EXTERNAL else "") or state.model,
            "session": self._start_record.session,
            "round": current.n,
            "at": _now(),
        }

    def _ask(self, call: Callable[[], T]) -> T | None:
        """Return the answer of the repair store; None if it cannot be used."""
        answer: T | None = None
        with self._best_effort():
            answer = call() if self._best_effort.is_usable else None
        for line in self._store.warnings:
            self._best_effort.report(line)
        self._store.warnings.clear()
        return answer


class FailureMemory(RepairMemory):
    """Memory of a loop round without hints: its failures are kept, because they tell its finding from others."""

    def hint_for(self, n: int) -> None:
        del n

    def count_hint(self, current: Round) -> None:
        del current

    async def learn_from(self, current: Round) -> None:
        del current


def open_memory(workplace: Workplace, start_record: StartRecord, log: LogWriter) -> SessionMemory:
    settings = start_record.settings
    if not settings.flag("memory", "enabled"):
        return FailureMemory(workplace, start_record, log) if start_record.loop is not None else SessionMemory()
    if settings.text("model", "use").startswith(REPLAY):
        return ReplayedMemory(start_record)
    return RepairMemory(workplace, start_record, log)


def _hint(found: RecalledHint) -> ShownHint:
    return ShownHint(
        repair=found.repair,
        check=found.check,
        signature=found.signature,
        times_helped=found.times_helped,
        text=found.text,
        source=found.source,
    )


def hint_event(hint: ShownHint) -> HintRecalled:
    """Return the event about a hint that is shown."""
    helped = hint.times_helped
    return HintRecalled(signature=hint.signature, times_helped=helped, repair=hint.repair, source=hint.source)


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
