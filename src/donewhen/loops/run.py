"""Starts a loop round and resumes one. The round is claimed before anything is spent, and recorded when it ends.

Bad input is reported before anything is written: an unknown check, a missing token, an engine that cannot work.
"""

import contextlib
import datetime
import os
from collections.abc import Generator
from dataclasses import replace
from functools import partial
from pathlib import Path

from donewhen.engines.spec import EngineKind
from donewhen.errors import BadInput, DonewhenError, MachineryBroke
from donewhen.events import RoundFinished, SessionFinished
from donewhen.judge.contract import Contract
from donewhen.loops import gate, limits, report
from donewhen.loops.actions import ON_BRANCH, ON_FORGE
from donewhen.loops.autonomy import asking, in_force
from donewhen.loops.hidden_secrets import round_secrets
from donewhen.loops.inbox import overdue_rounds
from donewhen.loops.levels import review
from donewhen.loops.loop_memory import LoopMemory
from donewhen.loops.loop_records import MANUAL, Claim, ClaimRefusal, LoopState, RoundEnd, repo_key
from donewhen.loops.loop_store import LoopStore
from donewhen.loops.open_store import open_store
from donewhen.loops.report import Delivery
from donewhen.loops.round import LoopRound
from donewhen.loops.round_ending import EXPIRED
from donewhen.loops.round_outcome import RoundOutcome
from donewhen.loops.round_store import RoundStore, round_end
from donewhen.loops.spec import READ_FROM_FORGE, LoopGateKind, LoopLevel, LoopSpec, spec_of
from donewhen.loops.spec_files import StatedLoop
from donewhen.loops.triggers import Watch
from donewhen.model.name import ModelName
from donewhen.records import frozen
from donewhen.session.crew import crew
from donewhen.session.log.loop_record import LoopRecord
from donewhen.session.log.open_archive import any_archive, archive_of, local_settings
from donewhen.session.log.start_record import NOTE_KIND, StartRecord, new_id
from donewhen.session.log.state import SessionState
from donewhen.session.log.writer import ignore_record
from donewhen.session.outcome import STOPPED, Outcome, SessionResult
from donewhen.session.person.watch import SessionWatcher
from donewhen.session.settings import contract_file
from donewhen.session.settings.settings import Settings
from donewhen.session.verbs import retention, start
from donewhen.session.workplace import Workplace, open_workplace
from donewhen.storage.archive import Archive
from donewhen.storage.owner import Owned
from donewhen.workspace.sandbox.level import Level


@frozen
class RoundResult:
    """How a round ended."""

    session: str
    finished: RoundFinished
    is_cancelled: bool = False
    printed: str = ""
    """The report, if it is to be printed."""

    @property
    def outcome(self) -> RoundOutcome:
        return RoundOutcome.of(self.finished.outcome) or RoundOutcome.FAILED


async def run_round(
    loop: StatedLoop, watch: SessionWatcher, claim: Claim | None = None, dry_run: bool = False
) -> RoundResult:
    """Run one round of a loop now. Without a claim, a person asks for it."""
    loop.require_trust()
    async with open_workplace(loop.top) as workplace:
        with (
            contextlib.closing(archive_of(workplace.settings, watch.say)) as archive,
            open_store(workplace.settings, watch.say) as store,
        ):
            return await _run(loop, watch, workplace, archive, store, claim, dry_run)


async def _run(
    loop: StatedLoop,
    watch: SessionWatcher,
    workplace: Workplace,
    archive: Archive,
    store: LoopStore,
    claim: Claim | None,
    dry_run: bool,
) -> RoundResult:
    repo = repo_key(workplace.repo.root)
    rounds = RoundStore(store, repo, LoopMemory(workplace.settings, repo), partial(is_waiting, archive))
    with _naming(loop):
        line = await _review(loop, workplace, archive, store)
    if line:
        watch.say(f"note: {line}")
    loop = _at_its_level(loop, store.state(repo, loop.spec.name), workplace, watch)
    spec = loop.spec
    with _naming(loop):
        workplace = replace(workplace, settings=_settings(workplace.settings, spec))
        contract = contract_file.contract_in(workplace.settings)
    record = LoopRecord(
        loop=spec.name,
        occurrence=claim.key if claim is not None else MANUAL,
        trigger=claim.trigger if claim is not None else MANUAL,
        reads_only=spec.only_reads,
        checker_engine=spec.checker_engine,
        checker_model=_absolute(spec.checker_model),
        table=loop.entry,
        limits={},
        dry_run=dry_run,
    )
    with _naming(loop):
        _require_possible(workplace, spec)
        await crew.require_possible(workplace, spec.intent, archive, record)
    if dry_run and any(one.loop == spec.name for one in store.interrupted(repo)):
        raise BadInput(f"loop '{spec.name}': an interrupted round must end first; run it without --dry-run")
    if not dry_run:
        await _end_overdue(archive, repo, spec.name, watch)
    given, claimed = claim, claim or await _claim(loop, store, archive, watch)
    if isinstance(claimed, RoundResult):
        return claimed
    claim = claimed
    # Not earlier: an interrupted round that ends first uses some of it.
    allowed = limits.allowance(spec.budget, *rounds.spent(spec.name))
    start_record = StartRecord(
        session=claim.session,
        intent=spec.intent,
        repo=str(workplace.repo.root),
        base=workplace.repo.head,
        parent=workplace.repo.head,
        contract=contract,
        settings=workplace.settings,
        max_iterations=0,
        may_ask=False,
        yes=True,
        loop=record.changed(limits=limits.as_plain(allowed)),
    )

    def loop_round(start_record: StartRecord, state: SessionState) -> LoopRound:
        assert start_record.loop is not None  # it is stated above
        return LoopRound(start_record.loop, state, rounds)

    with contextlib.nullcontext() if given is not None else _released_unless_ended(store, claim):
        result = await start.begin(workplace, start_record, (), archive, watch, loop_round)
        finished = _finished(archive, claim.session, claim.loop)
        _remember(archive, claim.session, finished)
        delivery = Delivery(top=workplace.repo.root, session=claim.session, say=watch.say, is_repeated=claim.is_resumed)
        printed = await _deliver(spec, finished, delivery)
        store.finish(claim, round_end(finished), _now())
    await retention.forget_old(workplace, archive)
    return RoundResult(claim.session, finished, result.outcome is Outcome.CANCELLED, printed)


@contextlib.contextmanager
def _naming(loop: StatedLoop) -> Generator[None]:
    """Name the file and the loop in front of a message about something that it states."""
    try:
        yield
    except BadInput as error:
        about = "" if str(error).startswith("loop '") else f"{_source(loop.spec)}: "
        raise BadInput(f"{loop.file}: {about}{error}") from error


def _source(spec: LoopSpec) -> str:
    """Return where the settings of a round come from."""
    return f"loop '{spec.name}'"


def _at_its_level(loop: StatedLoop, state: LoopState, workplace: Workplace, watch: SessionWatcher) -> StatedLoop:
    """Return a loop with the level of this round. What a person runs although it is paused never acts alone."""
    if state.paused and loop.spec.level is LoopLevel.UNATTENDED:
        return asking(loop)
    found = in_force(loop, state)
    is_promoted = found.spec.level is LoopLevel.UNATTENDED and loop.spec.level is not found.spec.level
    if is_promoted and (state.paused or workplace.probe.level is Level.NONE):
        why = "the loop is paused" if state.paused else "there is no isolation"
        watch.say(f"note: the promotion does not count in this round: {why}")
        return loop
    return found


async def _review(loop: StatedLoop, workplace: Workplace, archive: Archive, store: LoopStore) -> str:
    """Look at what became of earlier works of a loop. Return a line if the loop was demoted."""
    checks = {one.name for one in contract_of(workplace.settings, loop.spec).checks if one.quarantine is None}
    watch = Watch(archive)
    return await review(
        loop, workplace, store, lambda commit: watch.newest_statuses(workplace.repo.root, commit, checks)
    )


@contextlib.contextmanager
def _released_unless_ended(store: LoopStore, claim: Claim) -> Generator[None]:
    """Give the claim up at the end of the block. One whose round has ended is gone already."""
    try:
        yield
    finally:
        with contextlib.suppress(MachineryBroke):  # the claim ends with the process anyway
            store.release(claim)


async def continue_round(loop: StatedLoop, claim: Claim, watch: SessionWatcher) -> RoundResult:
    """Run a claimed round; one that was interrupted is resumed. The caller releases the claim if this raises."""
    with contextlib.closing(archive_of(local_settings(), watch.say)) as archive:
        if not _has_begun(archive, claim):
            return await run_round(loop, watch, claim)
        is_cancelled = not is_waiting(archive, claim.session) and await _resume_interrupted(archive, claim, watch)
        finished = _finished(archive, claim.session, claim.loop)
        _remember(archive, claim.session, finished)
    delivery = Delivery(top=loop.top, session=claim.session, say=watch.say, is_repeated=claim.is_resumed)
    printed = await _deliver(loop.spec, finished, delivery)
    with open_store(local_settings(), watch.say) as store:
        store.finish(claim, round_end(finished), _now())
    return RoundResult(claim.session, finished, is_cancelled, printed)


async def end_after(loop: StatedLoop, claim: Claim, watch: SessionWatcher, problem: str) -> tuple[RoundEnd, str]:
    """Return how a claimed round ended that could not be run or recorded to its end, and what is to be printed.

    If its log says how it ended, that counts. Else it has failed, and the report about that is delivered.
    """
    has_begun = True
    with contextlib.suppress(DonewhenError), contextlib.closing(archive_of(local_settings(), watch.say)) as archive:
        has_begun = _has_begun(archive, claim)
        if has_begun and (ended := _reported_end(archive, claim.session)) is not None:
            return round_end(ended), ""
    spec = loop.spec
    finished = RoundFinished(
        loop=spec.name, outcome=RoundOutcome.FAILED.value, intent=spec.intent, level=spec.level.value, reason=problem
    )
    delivery = Delivery(top=loop.top, session=claim.session, say=watch.say, is_repeated=claim.is_resumed)
    return replace(round_end(finished), has_session=has_begun), await _deliver(spec, finished, delivery)


def _has_begun(archive: Archive, claim: Claim) -> bool:
    """Return True if the session of a round has a log. What a process left that was killed before is removed."""
    if not any(row.id == claim.session for row in archive.sessions(claim.repo)):
        return False
    if any(True for _ in archive.records(claim.session, kinds=(NOTE_KIND,))):
        return True
    archive.delete(claim.session)
    return False


async def _resume_interrupted(archive: Archive, claim: Claim, watch: SessionWatcher) -> bool:
    """Resume the session of a claim. Return True if a person stopped it now, and not before it was interrupted.

    One that cannot be resumed has ended: it was discarded, or its log is damaged.
    """
    ends = _count_of_ends(archive, claim.session)
    try:
        result = await resume(claim.session, watch)
    except Owned:
        raise
    except BadInput as error:
        watch.say(f"note: {error}")
        return False
    return result.outcome is Outcome.CANCELLED and _count_of_ends(archive, claim.session) > ends


def _count_of_ends(archive: Archive, session: str) -> int:
    return sum(1 for _ in archive.records(session, kinds=(SessionFinished.type(),)))


def is_waiting(archive: Archive, session: str) -> bool:
    """Return True if a round has ended and waits for a person."""
    return any(row.id == session and row.state == "waiting" for row in archive.sessions())


async def _end_overdue(archive: Archive, repo: str, loop: str, watch: SessionWatcher) -> None:
    """End every escalation of a loop that expired, which counts as denied, or whose decision was not carried out."""
    quiet = SessionWatcher(on_record=ignore_record, say=watch.say, handles_signals=False)
    for session in overdue_rounds(archive, repo, loop):
        try:
            await resume(session, quiet)
        except DonewhenError as error:
            watch.say(f"note: the work of session {session} stays: {error}")


async def resume(prefix: str, watch: SessionWatcher) -> SessionResult:
    """Resume a session, also one that is a loop round. If it has nothing left to do, return its outcome."""
    opened: list[tuple[StartRecord, LoopStore]] = []
    with contextlib.ExitStack() as stack:
        archive = stack.enter_context(any_archive(watch.say))

        def loop_round(start_record: StartRecord, state: SessionState) -> LoopRound | None:
            if start_record.loop is None:
                return None
            store, repo = stack.enter_context(open_store(start_record.settings, watch.say)), _repo_of(start_record)
            opened.append((start_record, store))
            memory = LoopMemory(start_record.settings, repo)
            return LoopRound(start_record.loop, state, RoundStore(store, repo, memory, partial(is_waiting, archive)))

        result = await start.resume(prefix, watch, loop_round)
        for start_record, store in opened:
            await _record_later_end(start_record, store, watch)
    return result


async def _record_later_end(start_record: StartRecord, store: LoopStore, watch: SessionWatcher) -> None:
    """Write how a round ended into the history, if its first end is there already: a person has decided about it.

    A failure and an expired escalation are delivered: they are not what a person decided.
    """
    assert start_record.loop is not None  # only rounds of loops are opened
    session, loop = start_record.session, start_record.loop.loop
    with contextlib.closing(archive_of(start_record.settings)) as archive:
        finished = _finished(archive, session, loop)
        _remember(archive, session, finished)
    is_news = RoundOutcome.of(finished.outcome) is RoundOutcome.FAILED or finished.decision == EXPIRED
    if store.change_end(_repo_of(start_record), loop, session, round_end(finished)) and is_news:
        delivery = Delivery(top=Path(start_record.repo), session=session, say=watch.say)
        for line in (await _deliver(spec_of(start_record.loop.table, ""), finished, delivery)).splitlines():
            watch.say(line)


def _remember(archive: Archive, session: str, finished: RoundFinished) -> None:
    """Keep how a round ended for the rounds after it."""
    notes = [record.body for record in archive.records(session, kinds=(NOTE_KIND,))]
    if not notes:
        return
    start_record = StartRecord.load(notes[0], local_settings())
    assert start_record.loop is not None  # only rounds of loops are remembered
    secrets = round_secrets(start_record.settings, spec_of(start_record.loop.table, ""), os.environ)
    LoopMemory(start_record.settings, _repo_of(start_record)).remember(finished, session, secrets)


def _repo_of(start_record: StartRecord) -> str:
    return repo_key(Path(start_record.repo))


async def _claim(loop: StatedLoop, store: LoopStore, archive: Archive, watch: SessionWatcher) -> Claim | RoundResult:
    """Claim a round that a person asks for, after an interrupted one has ended. Raise BadInput if one is running.

    If the person stops the interrupted one, return its end: then nothing else is to be run.
    """
    session, repo, name = new_id(), repo_key(loop.top), loop.spec.name
    for round in (one for one in store.interrupted(repo) if one.loop == name):
        if (before := store.take_over(round)) is None:
            continue
        if before.trigger == MANUAL and not _has_begun(archive, before):
            return before  # nothing was done for the person who asked for it
        watch.say(f"note: round {round.session} of this loop was interrupted; it ends first")
        with _released_unless_ended(store, before):
            ended = await continue_round(loop, before, watch)
        if ended.is_cancelled:
            return ended
        for line in ended.printed.splitlines():
            watch.say(line)
    claim = store.claim(repo, name, f"{MANUAL}:{session}", session, MANUAL, _now(), _now())
    if isinstance(claim, ClaimRefusal):
        running = store.state(repo, name).running
        where = f" (session {running.session})" if running is not None else ""
        raise BadInput(f"loop '{name}': {claim.value}{where}")
    return claim


def _settings(settings: Settings, spec: LoopSpec) -> Settings:
    """Return the settings of the repository with the engine, the model and the contract of a loop."""
    contract = contract_of(settings, spec)
    settings = settings.with_checks(contract_file.tables_of(contract), settings.also)
    for table, key, value in (
        ("engine", "use", spec.engine),
        ("engine", "land", "none"),
        ("contract", "allow_green", True),
        *([("model", "use", spec.model)] if spec.model else []),
    ):
        settings = settings.with_value(table, key, value, _source(spec))
    if spec.budget.turns:
        for table in ("native", "external"):
            most = min(settings.whole(table, "max_turns"), spec.budget.turns)
            settings = settings.with_value(table, "max_turns", most, _source(spec))
    return crew.absolute_model_paths(settings)


def contract_of(settings: Settings, spec: LoopSpec) -> Contract:
    """Return the contract of a loop: the checks that it names, and its own. Without either, all checks of the file."""
    stated = contract_file.contract_in(settings)
    known = {check.name: check for check in stated.checks}
    for name in spec.checks:
        if name not in known:
            raise BadInput(f"loop '{spec.name}': 'checks' names '{name}'; there are: {', '.join(known) or 'none'}")
    named = (*(known[name] for name in spec.checks), *spec.own_checks)
    if not named and not spec.only_reads:
        named = stated.checks
    if not named and not spec.only_reads:
        raise BadInput(f"loop '{spec.name}': the level {spec.level.value} needs checks; add [[check]] to donewhen.toml")
    return replace(stated, checks=named)


def _require_possible(workplace: Workplace, spec: LoopSpec) -> None:
    """Raise BadInput for a loop that could not end as it should, before anything is spent."""
    kind = EngineKind.of(spec.engine)
    if spec.only_reads and kind not in (EngineKind.NATIVE, EngineKind.EXTERNAL, EngineKind.AUTO):
        raise BadInput(f"loop '{spec.name}': a loop that only reads needs the engine native or external")
    if EngineKind.of(spec.checker_engine) not in (EngineKind.NATIVE, EngineKind.EXTERNAL, EngineKind.AUTO):
        raise BadInput(f"loop '{spec.name}': 'checker_engine' must be native or external")
    if spec.level is LoopLevel.UNATTENDED and workplace.probe.level is Level.NONE:
        raise BadInput(f"loop '{spec.name}': the level unattended needs isolation, and there is none")
    if spec.gate.kind is LoopGateKind.RULES:
        gate.read_rules(workplace.repo.root, spec.gate.argument)
    if spec.action.kind in ON_BRANCH and spec.level is not LoopLevel.REPORT and not workplace.repo.branch:
        raise BadInput(f"loop '{spec.name}': {spec.action.kind.value} needs a branch, and none is checked out")
    acts_on_forge = spec.action.kind in ON_FORGE and spec.level is not LoopLevel.REPORT
    if acts_on_forge or any(one.read in READ_FROM_FORGE for one in spec.inputs):
        from donewhen.loops import forge_actions  # loaded on use: most loops need no forge

        token = workplace.settings.text("forge", "token_env")
        if token in workplace.settings.texts("workspace", "env"):
            seen = f"'workspace.env' names {token}, which 'forge.token_env' names too"
            raise BadInput(f"loop '{spec.name}': {seen}: no maker or checker may see the token")
        forge_actions.require_possible(workplace, spec)


def _absolute(model: str) -> str:
    """Return a model with the path of its script made absolute."""
    provider, name = ModelName.parse(model) if model else ("", "")
    return f"scripted:{os.path.abspath(name)}" if provider == "scripted" and name else model


def _finished(archive: Archive, session: str, loop: str) -> RoundFinished:
    """Return the last report of a round. A person may have ended its session, which then reported nothing."""
    stopped = RoundFinished(loop=loop, outcome=RoundOutcome.FAILED.value, reason=STOPPED)
    return _reported_end(archive, session) or stopped


def _reported_end(archive: Archive, session: str) -> RoundFinished | None:
    found = [record.event for record in archive.records(session, kinds=(RoundFinished.type(),))]
    last = found[-1] if found else None
    return last if isinstance(last, RoundFinished) else None


async def _deliver(spec: LoopSpec, finished: RoundFinished, delivery: Delivery) -> str:
    """Deliver the report of a round, before its end is recorded: a process that is killed in between leaves a round
    that is delivered again, and not one that was never delivered. Return the report if it is to be printed."""
    if not report.is_delivered(finished):
        return ""
    text = report.rendered(finished)
    others = tuple(place for place in spec.deliver if place != report.STDOUT)
    for problem in await report.deliver(text, finished, others, delivery):
        delivery.say(f"note: {problem}")
    return text if report.STDOUT in spec.deliver else ""


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)
