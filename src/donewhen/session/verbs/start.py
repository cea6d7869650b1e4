"""Starts a session from what a person typed, and resumes one by its id. This is the only way in.

    outcome = await start(options, watch)          outcome = await resume(session, watch)

Bad input is reported before anything is written. The caller decides who watches, and how it is shown.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Generator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from donewhen.errors import BadInput, DonewhenError, MachineryBroke
from donewhen.events import ContractProposed, Event, GateOpened, SessionStarted, StateChanged
from donewhen.judge.contract import Contract
from donewhen.session.crew import crew
from donewhen.session.log import start_record as opening
from donewhen.session.log.notes import OwnerChanged
from donewhen.session.log.open_archive import Say, archive_of, near
from donewhen.session.log.start_record import StartRecord
from donewhen.session.log.state import SessionState, told
from donewhen.session.log.writer import LogWriter
from donewhen.session.outcome import Outcome, SessionResult
from donewhen.session.person import control_socket
from donewhen.session.person.gates import GateDecision, GateKind
from donewhen.session.person.watch import SessionWatcher
from donewhen.session.session import Session
from donewhen.session.settings import contract_file
from donewhen.session.settings import run_options as command_line
from donewhen.session.settings.run_options import RunOptions
from donewhen.session.verbs import retention
from donewhen.session.workplace import Workplace, open_workplace
from donewhen.storage.archive import Archive
from donewhen.storage.lease import Lease
from donewhen.storage.record import Record
from donewhen.workspace.state_dir import state_root


class _Interrupts:
    """Signals that ask to stop. A signal that comes before there is something to stop counts as well."""

    def __init__(self) -> None:
        self._is_interrupted = False
        self._stop: Callable[[], None] | None = None

    def interrupt(self) -> None:
        self._is_interrupted = True
        if self._stop is not None:
            self._stop()

    def on_interrupt(self, stop: Callable[[], None]) -> None:
        self._stop = stop
        if self._is_interrupted:
            stop()


@contextlib.contextmanager
def _interrupts() -> Generator[_Interrupts]:
    """Handle signals from before the first record of a session: its log is complete however early it is stopped."""
    interrupts, loop = _Interrupts(), asyncio.get_running_loop()
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    for one in signals:
        loop.add_signal_handler(one, interrupts.interrupt)
    try:
        yield interrupts
    finally:
        for one in signals:
            loop.remove_signal_handler(one)


async def start(options: RunOptions, watch: SessionWatcher) -> SessionResult:
    """Start a session and work on it to its end."""
    command_line.require_sense(options)
    where = (options.repo or Path.cwd()).absolute()
    async with open_workplace(where) as place:
        held, contract = command_line.contract_of(place.settings, options)
        held = command_line.applied(held, options)
        for line in (
            *place.repo.notes,
            *contract_file.warnings(place.settings, contract_file.contract_in(place.settings)),
        ):
            watch.say(f"note: {line}")
        proposed: tuple[str, ...] = ()
        drafts = not contract.checks and opening.is_planned(held)
        if drafts:
            _require_substance(options.intent)
        elif not contract.checks:
            contract, proposed = _proposed(place, contract)
            held = held.with_checks(contract_file.tables_of(contract), held.also)
        held = crew.settled(held)
        place = replace(place, settings=held)
        archive = archive_of(held, watch.say)
        with contextlib.closing(archive):
            await crew.require_possible(place, options.intent, archive)
            base, parent = await _base(place, options, watch.say)
            known = StartRecord(
                session=opening.new_id(),
                intent=options.intent,
                repo=str(place.repo.root),
                base=base,
                parent=parent,
                contract=contract,
                settings=held,
                max_iterations=options.max_iterations or 0,
                may_ask=not options.yes and (options.ask or watch.person is not None),
                yes=options.yes,
                plans=options.plan,
                drafts=drafts,
            )
            outcome = await begin(place, known, proposed, archive, watch)
            await retention.forget_old(place, archive)
            return outcome


def _beginning(place: Workplace, known: StartRecord, proposed: tuple[str, ...]) -> list[Event]:
    """Return the first events. They are written together with the note that everything else depends on."""
    contract = asdict(known.contract)
    events: list[Event] = [
        SessionStarted(
            intent=known.intent,
            repo=known.repo,
            base=known.base,
            engine=known.settings.text("engine", "use"),
            model=known.settings.text("model", "use"),
            contract=contract,
            isolation=place.probe.level.value,
            path_transparent=place.probe.path_transparent,
        )
    ]
    if proposed:
        events += [StateChanged(from_="created", to="proposed"), ContractProposed(contract=contract, why=proposed)]
        if not known.yes:
            kind, detail = GateKind.CONTRACT, known.contract.render()
            events.append(GateOpened(gate=kind, id=kind.id(), reason=kind.reason, detail=detail))
    return events


def _require_substance(intent: str) -> None:
    """Raise BadInput for an intent that says too little to tell whether it is done."""
    from donewhen.engines.planned.intent_check import what_is_missing

    if missing := what_is_missing(intent):
        raise BadInput(f"the intent {intent.strip()!r} is too short to plan from: {missing}")


def _proposed(place: Workplace, contract: Contract) -> tuple[Contract, tuple[str, ...]]:
    """Return the contract that `init` would propose, and why. If there is none, raise BadInput with what to type."""
    from donewhen.session.check import init_contract

    plan = init_contract.plan(place)
    if not plan.checks:
        raise BadInput(
            f"{place.repo.root}: no contract, and nothing to propose one from; define one: donewhen "
            "run INTENT --check tests='COMMAND', or add [[check]] to donewhen.toml"
        )
    checks = tuple(one.check for one in plan.checks)
    return replace(contract, checks=checks), tuple(f"{one.check.name}: {one.why}" for one in plan.checks)


async def _base(place: Workplace, options: RunOptions, say: Say) -> tuple[str, str]:
    """Return the commit to start from, and the one to land on."""
    head = place.repo.head
    if options.base:
        base = await place.store.resolve(options.base)
        return base, base
    if options.dirty:
        return await place.store.snapshot(), head
    changes = [change.path for change in await place.store.uncommitted()]
    left_out = [path for path in changes if str(place.settings.file) != place.repo.files.place(path)]
    if left_out:
        named = ", ".join(left_out[:3]) + (f" and {len(left_out) - 3} more" if len(left_out) > 3 else "")
        say(f"note: uncommitted changes are left out ({named}); --dirty includes them")
    return head, head


async def resume(prefix: str, watch: SessionWatcher) -> SessionResult:
    """Resume a session. If it has nothing left to do, return its outcome."""
    now = near(*opening.ADDRESS_TABLES)
    archive = archive_of(now, watch.say)
    with contextlib.closing(archive):
        session = archive.find(prefix)
        story = told(archive.records(session))
        if not story.opened:
            raise BadInput(f"session {session} never started and cannot be resumed")
        if (result := _final_result(session, story)) is not None:
            return result
        if story.lost:
            raise BadInput(
                f"cannot resume session {session}: {story.lost} log records are lost; get its work with: "
                f"donewhen diff {session}"
            )
        known = opening.from_plain(story.opened, now)
        async with open_workplace(Path(known.repo), held=known.settings) as place:
            with _interrupts() as interrupts, _owned(archive.claim(session)) as lease:
                story = told(archive.records(session))  # another process may have resumed it a moment ago
                if (result := _final_result(session, story)) is not None:
                    return result
                recorder = LogWriter(lease, story, watch.told, watch.barrier)
                recorder.write(note=OwnerChanged(restarts=story.finished is not None).note())
                return await _run(place, known, recorder, archive, watch, interrupts)


def _final_result(session: str, story: SessionState) -> SessionResult | None:
    """Return the outcome of a session that has nothing left to do; else None."""
    if story.discarded:
        raise BadInput(f"session {session} was discarded and cannot be resumed")
    if story.finished is None or not is_over(story):
        return None
    return SessionResult(session, Outcome(story.finished.outcome), story.finished.reason)


def is_over(story: SessionState) -> bool:
    """Return True if a session has ended and has nothing left to do."""
    outcome = Outcome.of(story.finished.outcome) if story.finished is not None else None
    return outcome is not None and outcome.is_final and not _may_be_worked_on_again(story)


def _may_be_worked_on_again(story: SessionState) -> bool:
    """Return True if an evaluator rejected the work and no person did: it may be worked on again."""
    refused = bool(story.rounds) and story.rounds[-1].is_refused
    return refused and not any(gate.decision == GateDecision.DENIED for gate in story.gates.values())


async def begin(
    place: Workplace, known: StartRecord, proposed: tuple[str, ...], archive: Archive, watch: SessionWatcher
) -> SessionResult:
    """Write the first records of a session, and work on it. `proposed` says why the contract is what it is."""
    with _interrupts() as interrupts, _owned(archive.create(known.session, known.repo, known.intent)) as lease:
        recorder = LogWriter(lease, SessionState(), watch.told, watch.barrier)
        await place.store.keep(f"sessions/{known.session}/base", known.base)
        recorder.write(*_beginning(place, known, proposed), note=(opening.NOTE, opening.plain(known)))
        return await _run(place, known, recorder, archive, watch, interrupts)


@contextlib.contextmanager
def _owned(lease: Lease) -> Generator[Lease]:
    """Release a lease at the end, whatever happens in the block."""
    try:
        yield lease
    finally:
        with contextlib.suppress(MachineryBroke):  # what was written counts; the lease ends with the process anyway
            lease.release()


async def _run(
    place: Workplace,
    known: StartRecord,
    recorder: LogWriter,
    archive: Archive,
    watch: SessionWatcher,
    interrupts: _Interrupts,
) -> SessionResult:
    """Run the session with its control socket open and its signals handled."""
    session = Session(place, known, recorder, lambda: crew.crew(place, known, recorder.story, archive), watch)

    def handle(request: Mapping[str, Any]) -> Mapping[str, Any]:
        match request.get("do"):
            case "cancel":
                session.cancel()
                return {"ok": True}
            case "answer":
                text = str(request.get("text", ""))
                return {"ok": session.questions.deliver(text) or session.gates.change(text, "another terminal")}
            case "decide":
                return {"ok": session.gates.decide(bool(request.get("approved")), "another terminal")}
            case _:
                return {"ok": False}

    def stop_by(record: Record | None) -> None:
        if watch.stops(record):
            session.cancel()

    recorder.also_told = stop_by
    stop_by(None)
    interrupts.on_interrupt(session.cancel)
    outcome: SessionResult | None = None
    broken: DonewhenError | None = None
    async with control_socket.listening(control_socket.door(state_root(os.environ), known.session), handle):
        try:
            outcome = await session.run()
        except DonewhenError as error:
            broken = error  # raised outside the task groups, which would wrap it
        except OSError as error:
            broken = MachineryBroke(str(error))
    if broken is not None:
        raise broken
    assert outcome is not None
    return outcome
