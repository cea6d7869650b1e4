"""What one session recalls from earlier repairs and adds to them. Never in its way: what breaks here is told once, and
the work goes on as if there were no memory.

Which failures there were is part of the notes about a judgement, and which hint a round has is part of the note that
begins it. So a session that goes on after its process died shows the same hint again, and whatever it then writes to
the memory once more changes nothing there.
"""

import contextlib
import datetime
import json
import os
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Any, TypeVar

from donewhen.events import Event, HintRecalled
from donewhen.judge.contract import Contract
from donewhen.judge.receipt import contract_from
from donewhen.judge.verdict import Status, Verdict
from donewhen.memory.book import Book
from donewhen.memory.inert import hidden
from donewhen.memory.opening import Shelf
from donewhen.memory.recall import Recalled, recall
from donewhen.memory.repair import Ending, Offer, harmless, repair
from donewhen.memory.signature import Signature, of_json, signature_of
from donewhen.session.archives import archive_of
from donewhen.session.checking import secrets_in
from donewhen.session.judgements import is_flaky, is_worse, judgements, spent, statuses
from donewhen.session.opened import Opened
from donewhen.session.recorder import Recorder
from donewhen.session.story import BASELINE, Plain, Round
from donewhen.session.tolerating import TROUBLE, Tolerance
from donewhen.session.workplace import Workplace
from donewhen.workspace.state import repository_key, state_root
from donewhen.workspace.store.bare import LARGEST_SHOWN

T = TypeVar("T")
SIGNATURES_BYTES = 1024 * 1024
"""Of one judgement, all checks together: a note must fit into the log whatever a check prints."""
MOST_LINES = 20_000
"""Of the end of a log: readers look at each line, and a check may print nothing but empty ones."""
REPLAY = "replay:"
RED = (Status.FAIL, Status.TIMEOUT)
ENDINGS: Mapping[str, Ending] = {"pass": "passed", "fail": "red", "timeout": "red", "vacuous": "red", "tampered": "red"}
"""By the status of a check; what says nothing about the work is missing."""
WORKED_TO_THE_END = ("done", "turns", "claim")
"""How an attempt ends that had its chance: what a hint did to one that was broken off is not known."""

Additions = tuple[dict[str, Any], tuple[Event, ...]]
"""What a note has in addition, and what is told with it."""


class NoMemory:
    """For a session that remembers nothing."""

    def close(self) -> None:
        return

    def of_baseline(self, verdict: Verdict) -> tuple[str, Plain] | None:
        """The note about the judgement before any work."""
        del verdict
        return None

    def of_round(self, verdict: Verdict) -> dict[str, Any]:
        """What the note about a judged round says in addition."""
        del verdict
        return {}

    def begins(self, n: int) -> Additions:
        """What the note that begins a round says in addition: its hint, if there is one."""
        del n
        return {}, ()

    def offered(self, current: Round) -> None:
        """To be called when a round is worked on, each time."""
        del current

    async def judged(self, current: Round) -> None:
        """To be called when a round's judgement is in the log; once more does nothing."""
        del current


class Replayed(NoMemory):
    """For a session that is played again: the hints of then, and nothing is written to the memory."""

    def __init__(self, opened: Opened) -> None:
        self._opened = opened

    @cached_property
    def _hints(self) -> dict[int, Plain]:
        settings = self._opened.settings
        with contextlib.closing(archive_of(settings)) as archive:
            session = archive.find(settings.text("model", "use").removeprefix(REPLAY))
            bodies = [record.body for record in archive.records(session, kinds=("round",)) if record.seq is None]
        return {body["n"]: body["hint"] for body in bodies if body.get("hint")}

    def begins(self, n: int) -> Additions:
        return _additions(self._hints.get(n))


class Remembering(NoMemory):
    def __init__(self, place: Workplace, opened: Opened, recorder: Recorder) -> None:
        self._place = place
        self._opened = opened
        self._recorder = recorder
        self._shelf = Shelf(state_root(os.environ), opened.settings.text("storage", "url"))
        self._source = repository_key(place.repo.common_dir)
        self._tolerant = Tolerance(recorder, "memory")

    def close(self) -> None:
        with contextlib.suppress(*TROUBLE):
            self._shelf.close()

    def of_baseline(self, verdict: Verdict) -> tuple[str, Plain] | None:
        return BASELINE, {"tree": verdict.tree, "signatures": self._signatures(verdict)}

    def of_round(self, verdict: Verdict) -> dict[str, Any]:
        return {"signatures": self._signatures(verdict)}

    def _signatures(self, verdict: Verdict) -> dict[str, Plain]:
        """Of the checks that failed; nothing is said about held-out ones, nor about those that do not decide."""
        known: dict[str, Plain] = {}
        left = SIGNATURES_BYTES
        with self._tolerant():
            held_out = {check.name for check in self._contract.checks if check.held_out}
            for result in verdict.results if self._tolerant.goes_on else ():
                if result.status in RED and not result.quarantined and result.name not in held_out:
                    plain = self._signature(result.name, verdict.logs[result.name]).as_json()
                    left -= len(json.dumps(plain))
                    if left >= 0:
                        known[result.name] = plain
        return known

    def _signature(self, check: str, log: str) -> Signature:
        """Without what failed before any work; where nothing else did, that has to be repaired as well."""
        before = self._recorder.story.before_work.get("signatures", {}).get(check)
        end = "".join(log.splitlines(keepends=True)[-MOST_LINES:])
        printed = hidden(end, secrets_in(self._place, self._opened.settings))
        found = signature_of(printed, check, of_json(before) if before else None)
        return harmless(found if found.failed or not before else signature_of(printed, check))

    @property
    def _contract(self) -> Contract:
        """The one of now: a person may have changed it since the session was opened."""
        return contract_from(self._recorder.story.opened["contract"])

    # -- recalling --

    def begins(self, n: int) -> Additions:
        del n
        story, found = self._recorder.story, None
        with self._tolerant():
            last = next(judgements(story), None)
            red = {check: of_json(plain) for check, plain in last.signatures.items()} if last else {}
            if red:
                ask = partial(
                    recall,
                    red=red,
                    repo=self._opened.repo,
                    spent=list(spent(story)),
                    source=self._source,
                    across=self._opened.settings.flag("memory", "across_repositories"),
                )
                found = self._asked(lambda: self._shelf.read(ask, None))
        return _additions(_plain(found) if found else None)

    def offered(self, current: Round) -> None:
        self._count(current, "")

    # -- learning --

    async def judged(self, current: Round) -> None:
        judged, attempted = current.judged or {}, current.attempted or {}
        if "results" not in judged:
            return
        if current.hint:
            ending = ENDINGS.get(statuses(judged).get(str(current.hint["check"]), ""), "")
            had_its_chance = ending == "passed" or attempted.get("stop") in WORKED_TO_THE_END
            self._count(current, ending if had_its_chance else "")
        with self._tolerant():
            await self._learn(current)
        if flaky := [check for check, status in statuses(judged).items() if status == "flaky"]:
            # What this session has learnt about it before was chance as well.
            self._asked(lambda: self._shelf.read(lambda book: book.unlearn(self._opened.session, flaky), 0))

    def _count(self, current: Round, ending: Ending) -> None:
        hint = current.hint
        if not hint:
            return
        offer = Offer(
            session=self._opened.session,
            round=current.n,
            signature=str(hint["signature"]),
            withheld=not hint["text"],
            ending=ending,
            at=_now(),
        )
        self._asked(lambda: self._shelf.write(lambda book: book.offer(str(hint["repair"]), offer)))

    async def _learn(self, current: Round) -> None:
        """A check that was red and passes now, while nothing that passed is worse: what was changed is a repair."""
        story = self._recorder.story
        now, before, *_ = [*judgements(story, current.n), None, None]
        if now is None or before is None or before.tree == now.tree or is_worse(now, before, self._contract):
            return
        turned = [check for check in before.signatures if now.statuses.get(check) == "pass"]
        sure = [check for check in turned if not is_flaky(story, check)]
        if not sure or not self._tolerant.goes_on:
            return
        patch = await self._place.store.patch(before.tree, now.tree, LARGEST_SHOWN)
        for check in sure:
            known = repair(
                signature=of_json(before.signatures[check]),
                said=str((current.attempted or {}).get("said", "")),
                patch=patch,
                origin=self._origin(current),
                redact=partial(hidden, secrets=secrets_in(self._place, self._opened.settings)),
            )
            if known is not None:
                self._asked(partial(self._shelf.write, partial(Book.add, repair=known)))

    def _origin(self, current: Round) -> Plain:
        story = self._recorder.story
        return {
            "repo": self._opened.repo,
            "source": self._source,
            "model": (story.agent if current.rung == "external" else "") or story.model,
            "session": self._opened.session,
            "round": current.n,
            "at": _now(),
        }

    def _asked(self, ask: Callable[[], T]) -> T | None:
        """What the book says; None when it cannot be asked."""
        answer: T | None = None
        with self._tolerant():
            answer = ask() if self._tolerant.goes_on else None
        for line in self._shelf.warnings:
            self._tolerant.tell(line)
        self._shelf.warnings.clear()
        return answer


def for_session(place: Workplace, opened: Opened, recorder: Recorder) -> NoMemory:
    settings = opened.settings
    if not settings.flag("memory", "enabled"):
        return NoMemory()
    if settings.text("model", "use").startswith(REPLAY):
        return Replayed(opened)
    return Remembering(place, opened, recorder)


def _plain(found: Recalled) -> dict[str, Any]:
    return {name: getattr(found, name) for name in ("repair", "check", "signature", "times_helped", "text", "source")}


def _additions(hint: Plain | None) -> Additions:
    if not hint:
        return {}, ()
    helped, repaired = int(hint["times_helped"]), str(hint["repair"])
    source = str(hint.get("source", ""))
    told = HintRecalled(signature=str(hint["signature"]), times_helped=helped, repair=repaired, source=source)
    return {"hint": dict(hint)}, (told,) if hint["text"] else ()


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
