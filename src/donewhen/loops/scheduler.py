"""The scheduler: looks at all loops and claims the rounds that are due. It does not run them (`run_scheduler` does).

A look is one call of `tick`. It may be repeated, made late, or made by several processes at once: the store lets one of
them claim an occurrence, and whatever a killed process left undone is done by the next look.

    a new loop, a new schedule     is due for the first time after now
    several occurrences            one round, for the newest; the rows of the others say so
    a round is running             `skip`: rows that say so; `queue`: what is due waits, and is one round afterwards
    after a failure                what is due waits until the back-off ends, and is one round then
    a round was interrupted        it is taken over before anything else of its loop
    the clock was put back         what ran does not run again; what was only put together is due again
"""

import datetime
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from donewhen.errors import BadInput, MachineryBroke, NeedsPerson
from donewhen.loops.due import Held, Pending, coalesced, decided, key_at, pending_times, schedule_id, starts_at
from donewhen.loops.due_words import cause_words, time_words
from donewhen.loops.loop_records import (
    FAILED,
    SCHEDULE,
    Claim,
    ClaimRefusal,
    Decided,
    Due,
    LoopState,
    Move,
    OccurrenceStatus,
    RoundEnd,
    RunningRound,
    repo_key,
)
from donewhen.loops.loop_rows import MOST_ROWS
from donewhen.loops.loop_store import LONGEST_BACKOFF, LoopStore
from donewhen.loops.run import contract_of
from donewhen.loops.spec import LoopSpec, Overlap
from donewhen.loops.spec_files import StatedLoop, usable_loops
from donewhen.loops.standings import Standing, Standings
from donewhen.loops.triggers import CHECK_RED, COMMIT, Sighting, Watch, free_key
from donewhen.records import frozen
from donewhen.session.log.open_archive import Say
from donewhen.session.settings import contract_file
from donewhen.session.settings.settings import load, repository_above
from donewhen.session.settings.trust import TrustBook

CLOCK_NOISE = datetime.timedelta(minutes=1)
"""Clocks of two machines may differ by this; a clock that goes back by less counts as steady."""
MOST_ATTEMPTS = 5
"""How often a round is run again after its process was killed."""
OWN_ROUNDS = 50
"""Newest rounds of a loop whose landings are no trigger for it."""
SOON = datetime.timedelta(seconds=1)
HELD_LOOK = datetime.timedelta(seconds=5)
"""How soon to look again while something keeps a loop from running: a person may be repairing it."""
INVALID, UNTRUSTED = "the file was invalid", "it waited for: donewhen trust"
NOT_THERE = "the repository was not there"
"""Why a loop with a due time could not run."""
NO_LOOPS = "there are no loops; a ready-made one: donewhen loop add; your own: [[loop]] in donewhen.toml"
Seen = tuple[str, str]
"""A trigger and the state in which it was seen."""


@frozen(kw_only=True)
class RepoLoops:
    """The loops of one repository as its files state them now."""

    top: Path
    loops: tuple[StatedLoop, ...] = ()
    """Those that can be used."""
    errors: tuple[str, ...] = ()
    """What is wrong with the others, one line each."""
    why: str = INVALID
    """What keeps the others from running."""


@frozen
class Start:
    """A round to run. Its claim is resumed if an earlier process was interrupted in it."""

    loop: StatedLoop
    claim: Claim


@frozen
class Tick:
    starts: tuple[Start, ...]
    wake_at: datetime.datetime | None
    """When to look next, at the latest; None if nothing is due before a round ends or a trigger changes."""


@frozen(kw_only=True)
class _At:
    """One loop at one look."""

    top: Path
    repo: str
    loop: StatedLoop
    state: LoopState
    now: datetime.datetime

    @property
    def spec(self) -> LoopSpec:
        return self.loop.spec


def read_repo(top: Path, trust: TrustBook) -> RepoLoops:
    """Read the loops of a repository. A loop whose round could not begin is one that cannot be used."""
    if repository_above(top) != top:
        return RepoLoops(top=top, errors=(f"{top} is not there; nothing runs until it is back",), why=NOT_THERE)
    loops, found = usable_loops(top, trust)
    errors = [*map(str, found)]
    try:
        settings = load(top, top, os.environ, trust)
        known = {check.name for check in contract_file.contract_in(settings).checks}
    except NeedsPerson:
        return RepoLoops(top=top, loops=tuple(replace(one, is_accepted=False) for one in loops), errors=tuple(errors))
    except BadInput as error:
        return RepoLoops(top=top, errors=(*errors, str(error)))
    known |= {check.name for loop in loops for check in loop.spec.own_checks}
    usable: list[StatedLoop] = []
    for loop in loops:
        try:
            contract_of(settings, loop.spec)
            _require_known_checks(loop.spec, known)
            usable.append(loop)
        except BadInput as error:
            errors.append(f"{loop.file}: {error}")
    return RepoLoops(top=top, loops=tuple(usable), errors=tuple(errors))


def _require_known_checks(spec: LoopSpec, known: Collection[str]) -> None:
    for trigger in spec.on:
        name = trigger.removeprefix(CHECK_RED)
        if trigger.startswith(CHECK_RED) and name not in known:
            raise BadInput(f"loop '{spec.name}': 'on' names the check '{name}'; there are: {', '.join(sorted(known))}")


class Scheduler:
    def __init__(
        self,
        store: LoopStore,
        repositories: Callable[[], Iterable[RepoLoops]],
        watch: Watch,
        new_session: Callable[[], str],
        say: Say,
    ) -> None:
        self.store = store
        self._repositories = repositories
        self._watch = watch
        self._new_session = new_session
        self.say = say
        self._said: dict[str, set[str]] = {}
        """Lines that were said about something and still hold."""
        self._standings = Standings(say)
        self._held: dict[tuple[str, str], Held] = {}
        self._missing: set[str] = set()
        """Repositories that are not there."""

    def tick(self, now: datetime.datetime, places: int) -> Tick:
        """Look at all loops. Claim at most `places` rounds, those that are due longest first.

        If the database breaks meanwhile, the rounds that were claimed before are returned.
        """
        starts, wake_at = list[Start](), list[datetime.datetime]()
        try:
            found = [at for repository in self._repositories() for at in self._loops_of(repository, now)]
            latest = datetime.datetime.max.replace(tzinfo=datetime.UTC)
            for at in sorted(found, key=lambda at: at.state.due_at or latest):
                start = self._look(at, places > len(starts))
                starts += [start] if start else []
                self._held.pop((at.repo, at.spec.name), None)
            for repo in dict.fromkeys(at.repo for at in found):
                here = {at.spec.name: at for at in found if at.repo == repo}
                self.store.due_times.look(repo, here, now)
                for state in self.store.states(repo):
                    if state.loop in here:
                        wake_at += _wake_at(here[state.loop], state, places > len(starts))
            wake_at += [now + HELD_LOOK] if self._held else []
            self._say_once("", ())
        except MachineryBroke as error:
            self._say_once("", [f"the loops cannot be looked at now: {error}"])
        return Tick(tuple(starts), min(wake_at, default=None))

    def _loops_of(self, repository: RepoLoops, now: datetime.datetime) -> list[_At]:
        """Return the loops that may run, with their states. Loops that are gone have no due time."""
        repo, loops = repo_key(repository.top), {loop.spec.name: loop for loop in repository.loops}
        active = {name: loop for name, loop in loops.items() if loop.is_accepted}
        states = {state.loop: state for state in self.store.states(repo)}
        waiting = {name for name, state in states.items() if state.due_at and name not in active}
        # A loop whose file is invalid at the moment may be among the missing ones.
        if waiting - loops.keys() and not repository.errors:
            waiting -= set(self.store.due_times.keep_only(repo, loops))
        may_be_held = waiting | {name for name, state in states.items() if state.due_at and name in active}
        self._held = {key: one for key, one in self._held.items() if key[0] != repo or key[1] in may_be_held}
        for name in waiting:
            self._held.setdefault((repo, name), Held(now, UNTRUSTED if name in loops else repository.why))
        back = [state for name, state in states.items() if name in active and _is_clock_back(state, now)]
        for state in back:
            due_at = active[state.loop].spec.schedule.next_after(now)
            self.store.due_times.put_back(repo, state.loop, min(due_at, state.due_at or due_at), now)
        if back:
            self.say(f"{repository.top}: the clock was put back; rounds that ran are not repeated")
            states = {state.loop: state for state in self.store.states(repo)}
        self._say_how_it_stands(repository, states, now)
        at = {name: states.get(name) or LoopState(repo=repo, loop=name) for name in active}
        return [
            _At(top=repository.top, repo=repo, loop=active[name], state=state, now=now)
            for name, state in at.items()
            if not state.paused
        ]

    def _say_how_it_stands(
        self, repository: RepoLoops, states: Mapping[str, LoopState], now: datetime.datetime
    ) -> None:
        """Say what is new about a repository: that it is missing or back, and about each of its loops."""
        top, repo, is_there = repository.top, repo_key(repository.top), repository.why != NOT_THERE
        if is_there and repo in self._missing:
            self.say(f"{top} is there again")
        self._missing = self._missing - {repo} if is_there else self._missing | {repo}
        standings = {
            loop.spec.name: _standing(repo, loop, states.get(loop.spec.name), now) for loop in repository.loops
        }
        self._standings.look(repo, standings, is_complete=not repository.errors)
        self._say_once(repo, repository.errors or ([] if repository.loops else [NO_LOOPS]))

    def _look(self, at: _At, has_place: bool) -> Start | None:
        state, is_new = at.state, at.state.due_at is None or at.state.schedule != schedule_id(at.spec.schedule)
        times = pending_times(at.repo, at.spec, state.due_at, at.now) if state.due_at and not is_new else []
        if state.running and state.running.is_interrupted:
            self._note_missed(at, times)
            return self._take_over(at, state.running) if has_place else None
        if is_new:
            return self._set_first(at)
        triggered = self._triggered(at)
        if not times and not triggered:
            return None
        if state.running and at.spec.overlap is Overlap.SKIP:
            return self._skip(at, [*times, *triggered], state.running)
        if state.running or not has_place or _backs_off(state, at.now):
            return self._note_missed(at, times)
        return self._claim(at, times, triggered)

    def _note_missed(self, at: _At, times: list[Pending]) -> None:
        """Write what was missed while nobody looked, if the round for it has to wait. The newest one stays due."""
        rows = [self._coalesced(at, one, times[-1].key) for one in times[:-1]]
        if any(row.status is OccurrenceStatus.MISSED for row in rows):
            self.store.due_times.decide(at.repo, at.spec.name, rows, _move(at, times[-1].due_at, ()), at.now)

    def _coalesced(self, at: _At, pending: Pending, into: str) -> Decided:
        return coalesced(pending, into, at.state, at.now, self._held.get((at.repo, at.spec.name)))

    def _take_over(self, at: _At, round: RunningRound) -> Start | None:
        claim = self.store.take_over(round)
        if claim is None:
            return None
        if claim.attempt > MOST_ATTEMPTS:
            reason = f"the process that ran it was killed {MOST_ATTEMPTS} times"
            self.store.finish(claim, RoundEnd(outcome=FAILED, reason=reason), at.now)
            self.say(f"loop {claim.loop}: round {claim.session} failed: {reason}")
            return None
        self.say(f"loop {claim.loop}: round {claim.session} was interrupted and goes on")
        return Start(at.loop, claim)

    def _set_first(self, at: _At) -> None:
        """Set the due time of a new loop or schedule, after now. The first look at a trigger records its state."""
        rows, due_at = list[Decided](), at.state.due_at
        if due_at and due_at <= at.now:
            late = Pending(key=key_at(due_at), due_at=due_at)
            rows.append(decided(late, OccurrenceStatus.MISSED, "the schedule was changed before it ran"))
        known = self.store.due_times.seen(at.repo, at.spec.name)
        first = [one for one in self._sightings(at) if one[0] not in known]
        move = _move(at, at.spec.schedule.next_after(at.now), [(trigger, found.state) for trigger, found in first])
        self.store.due_times.decide(at.repo, at.spec.name, rows, move, at.now)

    def _triggered(self, at: _At) -> list[Pending]:
        """Return the occurrences of triggers. Record states that are none: first looks and the loop's own landings."""
        if not at.spec.on:
            return []
        known, pending, noted = self.store.due_times.seen(at.repo, at.spec.name), list[Pending](), list[Seen]()
        for trigger, found in self._sightings(at):
            seen = (trigger, found.state)
            if known.get(trigger) == found.state:
                continue
            if trigger not in known or not found.key or self._is_own(at, found):
                noted.append(seen)
            elif key := self._key(at, trigger, found, known[trigger]):
                pending.append(Pending(key=key, due_at=at.now, trigger=trigger, seen=(seen,)))
        if noted:
            self.store.due_times.decide(at.repo, at.spec.name, (), _move(at, at.state.due_at, noted), at.now)
        return pending

    def _sightings(self, at: _At) -> list[tuple[str, Sighting]]:
        found, lines = list[tuple[str, Sighting]](), list[str]()
        for trigger in at.spec.on:
            try:
                sighting = self._watch.look(trigger, at.top)
                found.append((trigger, sighting))
                if trigger.startswith(COMMIT) and not sighting.state:
                    lines.append(f"{at.loop.file}: the branch of the trigger {trigger} does not exist")
            except BadInput as error:
                lines.append(f"{at.loop.file}: {error}")
        self._say_once(f"{at.repo}\0{at.spec.name}", lines)
        return found

    def _key(self, at: _At, trigger: str, found: Sighting, was: str) -> str:
        """Return the key of an occurrence; empty if another scheduler has decided it meanwhile.

        What is the same as an earlier occurrence, such as a branch that was put back, is another one.
        """
        if not found.may_recur:
            return found.key
        taken = {row.key for row in self.store.history(at.repo, at.spec.name, MOST_ROWS)}
        # In this order: if nobody has decided it until now, none of these keys is its own.
        is_decided = self.store.due_times.seen(at.repo, at.spec.name).get(trigger) != was
        return "" if is_decided else free_key(found.key, taken)

    def _is_own(self, at: _At, found: Sighting) -> bool:
        rounds = self.store.history(at.repo, at.spec.name, OWN_ROUNDS)
        return self._watch.is_own(found, [row.session for row in rounds if row.session])

    def _skip(self, at: _At, pending: list[Pending], running: RunningRound) -> None:
        reason = f"the round {running.session} of {running.key} is still running"
        rows = [decided(one, OccurrenceStatus.SKIPPED, reason) for one in pending]
        if self.store.due_times.decide(at.repo, at.spec.name, rows, _move_past(at, pending), at.now):
            still = f"round {running.session} is still running"
            self.say(f"loop {at.spec.name}: nothing started {_cause(pending[-1], at.now)}: {still}")

    def _claim(self, at: _At, times: list[Pending], triggered: list[Pending]) -> Start | None:
        """Claim one round for everything that is due."""
        newest, others = (times[-1], [*times[:-1], *triggered]) if times else (triggered[0], triggered[1:])
        due = Due(
            repo=at.repo,
            loop=at.spec.name,
            key=newest.key,
            trigger=newest.trigger,
            due_at=newest.due_at,
            others=tuple(self._coalesced(at, one, newest.key) for one in others),
            move=_move_past(at, [newest, *others]),
        )
        claim = self.store.claim_due(due, self._new_session(), at.now)
        if isinstance(claim, Claim):
            more = f", with {len(others)} more" if others else ""
            self.say(f"loop {at.spec.name}: round {claim.session} started {_cause(newest, at.now)}{more}")
            return Start(at.loop, claim)
        if claim is ClaimRefusal.DECIDED:
            # The newest has a row already: somebody else ran it, or the clock was put back. Triggers are not part of
            # it; the next look claims them.
            older = [self._coalesced(at, one, newest.key) for one in times[:-1]]
            move = _move_past(at, [newest, *times[:-1]])
            self.store.due_times.decide(at.repo, at.spec.name, older, move, at.now)
        return None

    def _say_once(self, about: str, lines: Iterable[str]) -> None:
        """Say lines that did not hold at the last look."""
        current = set(lines)
        for line in sorted(current - self._said.get(about, set())):
            self.say(line)
        self._said[about] = current


def _move(at: _At, due_at: datetime.datetime | None, seen: Iterable[Seen]) -> Move:
    return Move(was_due=at.state.due_at, due_at=due_at, schedule=schedule_id(at.spec.schedule), seen=tuple(seen))


def _move_past(at: _At, pending: list[Pending]) -> Move:
    """Return the move of the due time behind these occurrences."""
    times = [one.due_at for one in pending if one.trigger == SCHEDULE]
    due_at = at.spec.schedule.next_after(max(times)) if times else at.state.due_at
    return _move(at, due_at, [seen for one in pending for seen in one.seen])


def _cause(pending: Pending, now: datetime.datetime) -> str:
    return cause_words(pending.trigger, pending.key, pending.due_at, now)


def _standing(repo: str, loop: StatedLoop, state: LoopState | None, now: datetime.datetime) -> Standing:
    """Return how a loop stands before it is looked at."""
    spec, state = loop.spec, state or LoopState(repo=repo, loop=loop.spec.name)
    if not loop.is_accepted:
        return Standing(words="waits for: donewhen trust", entry=loop.entry, waits=True)
    if state.paused:
        words = f"paused: {state.paused}; donewhen loop resume {spec.name}"
        return Standing(words=words, entry=loop.entry, paused=state.paused)
    is_known = state.due_at is not None and state.schedule == schedule_id(spec.schedule)
    due_at = state.due_at if state.due_at is not None and is_known else spec.schedule.next_after(now)
    start = starts_at(repo, spec, due_at)
    if state.backoff_until is not None and _backs_off(state, now):
        start = max(start, state.backoff_until)
    when = f"next at {time_words(start, now)}" if start > now else "due now"
    return Standing(words=", and on ".join([when, *spec.on]), entry=loop.entry)


def _is_clock_back(state: LoopState, now: datetime.datetime) -> bool:
    return state.looked_at is not None and now < state.looked_at - CLOCK_NOISE


def _backs_off(state: LoopState, now: datetime.datetime) -> bool:
    """Return True during a back-off. One that is further away than the longest was set by another clock."""
    return state.backoff_until is not None and now < state.backoff_until <= now + LONGEST_BACKOFF


def _wake_at(at: _At, state: LoopState, has_place: bool) -> list[datetime.datetime]:
    """Return when a loop needs the next look, if that is known."""
    if state.paused or state.due_at is None:
        return []
    start = starts_at(at.repo, at.spec, state.due_at)
    if start > at.now:
        return [start]
    if state.backoff_until and _backs_off(state, at.now):
        return [state.backoff_until]
    return [at.now + SOON] if has_place and not state.running else []
