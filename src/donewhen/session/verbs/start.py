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
from donewhen.events import ContractProposed, Event, GateOpened, PlanText, SessionStarted, StateChanged
from donewhen.judge.contract import Contract
from donewhen.session.check import judge_tree
from donewhen.session.crew import crew
from donewhen.session.log.notes import OwnerChanged
from donewhen.session.log.open_archive import Say, archive_of, local_settings
from donewhen.session.log.start_record import ADDRESS_TABLES, NOTE_KIND, StartRecord, is_planned, new_id
from donewhen.session.log.state import SessionState, replay_log
from donewhen.session.log.writer import LogWriter
from donewhen.session.outcome import Outcome, SessionResult
from donewhen.session.person import control_socket
from donewhen.session.person.gates import GateDecision, GateKind
from donewhen.session.person.watch import SessionWatcher
from donewhen.session.session import RoundOfLoop, Session
from donewhen.session.settings import contract_file, run_options
from donewhen.session.settings.run_options import RunOptions
from donewhen.session.verbs import retention
from donewhen.session.workplace import Workplace, open_workplace
from donewhen.storage.archive import Archive
from donewhen.storage.lease import Lease
from donewhen.storage.record import Record
from donewhen.workspace.git.objects import shown
from donewhen.workspace.state_dir import state_root

LoopRoundOf = Callable[[StartRecord, SessionState], RoundOfLoop | None]
"""Returns what is special about a session that is a loop round; None for an ordinary session."""


def ordinary(start_record: StartRecord, state: SessionState) -> None:
    """Return None. A session that is a loop round is refused without its loop."""
    del start_record, state


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
def _interrupts(watch: SessionWatcher) -> Generator[_Interrupts]:
    """Handle signals from before the first record of a session: its log is complete however early it is stopped."""
    interrupts, loop = _Interrupts(), asyncio.get_running_loop()
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if watch.handles_signals else ()
    for one in signals:
        loop.add_signal_handler(one, interrupts.interrupt)
    try:
        yield interrupts
    finally:
        for one in signals:
            loop.remove_signal_handler(one)


async def start(options: RunOptions, watch: SessionWatcher) -> SessionResult:
    """Start a session and work on it to its end."""
    run_options.require_valid(options)
    where = (options.repo or Path.cwd()).absolute()
    async with open_workplace(where) as workplace:
        held, contract = run_options.contract_of(workplace.settings, options)
        held = run_options.with_options(held, options)
        for line in (
            *workplace.repo.notes,
            *contract_file.warnings(workplace.settings, contract_file.contract_in(workplace.settings)),
        ):
            watch.say(f"note: {line}")
        proposed: tuple[str, ...] = ()
        drafts = not contract.checks and is_planned(held)
        if drafts:
            _require_plannable(options.intent)
        elif not contract.checks:
            contract, proposed = _propose_contract(workplace, contract)
            held = held.with_checks(contract_file.tables_of(contract), held.also)
        held = crew.absolute_model_paths(held)
        workplace = replace(workplace, settings=held)
        archive = archive_of(held, watch.say)
        with contextlib.closing(archive):
            await crew.require_possible(workplace, options.intent, archive)
            base, parent = await _base(workplace, options, watch.say)
            if hidden := sorted(await judge_tree.held_out_files(workplace, base)):
                more = f" and {len(hidden) - 1} more" if len(hidden) > 1 else ""
                watch.say(f"note: only held-out checks see {shown(hidden[0])}{more}")
            start_record = StartRecord(
                session=new_id(),
                intent=options.intent,
                repo=str(workplace.repo.root),
                base=base,
                parent=parent,
                contract=contract,
                settings=held,
                max_iterations=options.max_iterations or 0,
                may_ask=not options.yes and (options.ask or watch.person is not None or watch.may_be_asked),
                yes=options.yes,
                wants_plan=options.plan,
                drafts_contract=drafts,
            )
            outcome = await begin(workplace, start_record, proposed, archive, watch)
            await retention.forget_old(workplace, archive)
            return outcome


def _first_events(workplace: Workplace, start_record: StartRecord, proposed: tuple[str, ...]) -> list[Event]:
    """Return the first events. They are written together with the note that everything else depends on."""
    contract = asdict(start_record.contract)
    events: list[Event] = [
        SessionStarted(
            intent=start_record.intent,
            repo=start_record.repo,
            base=start_record.base,
            engine=start_record.settings.text("engine", "use"),
            model=start_record.settings.text("model", "use"),
            contract=contract,
            isolation=workplace.probe.level.value,
            path_transparent=workplace.probe.path_transparent,
        )
    ]
    if proposed:
        events += [StateChanged(from_="created", to="proposed"), ContractProposed(contract=contract, why=proposed)]
        if not start_record.yes:
            kind, detail = GateKind.CONTRACT, start_record.contract.render()
            events.append(GateOpened(gate=kind, id=kind.id(), reason=kind.reason, detail=detail))
    return events


def _require_plannable(intent: str) -> None:
    """Raise BadInput for an intent that says too little to tell whether it is done."""
    from donewhen.engines.planned.intent_check import what_is_missing

    if missing := what_is_missing(intent):
        raise BadInput(f"the intent {intent.strip()!r} is too short to plan from: {missing}")


def _propose_contract(workplace: Workplace, contract: Contract) -> tuple[Contract, tuple[str, ...]]:
    """Return the contract that `init` would propose, and why. If there is none, raise BadInput with what to type."""
    from donewhen.session.check import init_contract

    proposal = init_contract.propose_contract(workplace)
    if not proposal.checks:
        raise BadInput(
            f"{workplace.repo.root}: no contract, and nothing to propose one from; define one: donewhen "
            "run INTENT --check tests='COMMAND', or add [[check]] to donewhen.toml"
        )
    checks = tuple(one.check for one in proposal.checks)
    return replace(contract, checks=checks), tuple(f"{one.check.name}: {one.why}" for one in proposal.checks)


async def _base(workplace: Workplace, options: RunOptions, say: Say) -> tuple[str, str]:
    """Return the commit to start from, and the one to land on."""
    head = workplace.repo.head
    if options.base:
        base = await workplace.store.resolve(options.base)
        return base, base
    if options.dirty:
        return await workplace.store.snapshot(), head
    changes = [change.path for change in await workplace.store.uncommitted()]
    left_out = [path for path in changes if str(workplace.settings.file) != workplace.repo.files.full_path(path)]
    if left_out:
        named = ", ".join(left_out[:3]) + (f" and {len(left_out) - 3} more" if len(left_out) > 3 else "")
        say(f"note: uncommitted changes are left out ({named}); --dirty includes them")
    return head, head


async def resume(prefix: str, watch: SessionWatcher, loop_round: LoopRoundOf = ordinary) -> SessionResult:
    """Resume a session. If it has nothing left to do, return its outcome."""
    now = local_settings(*ADDRESS_TABLES)
    archive = archive_of(now, watch.say)
    with contextlib.closing(archive):
        session = archive.find(prefix)
        state = replay_log(archive.records(session))
        if not state.start_note:
            raise BadInput(f"session {session} never started and cannot be resumed")
        if (result := _final_result(session, state)) is not None:
            return result
        if state.lost:
            raise BadInput(
                f"cannot resume session {session}: {state.lost} log records are lost; get its work with: "
                f"donewhen diff {session}"
            )
        start_record = StartRecord.load(state.start_note, now)
        async with open_workplace(Path(start_record.repo), held=start_record.settings) as workplace:
            with _interrupts(watch) as interrupts, _release_at_end(archive.claim(session)) as lease:
                state = replay_log(archive.records(session))  # another process may have resumed it a moment ago
                if (result := _final_result(session, state)) is not None:
                    return result
                log = LogWriter(lease, state, watch.on_record, watch.barrier)
                log.write(note=OwnerChanged(restarts=state.finished is not None).note())
                return await _run(workplace, start_record, log, archive, watch, interrupts, loop_round)


def _final_result(session: str, state: SessionState) -> SessionResult | None:
    """Return the outcome of a session that has nothing left to do; else None."""
    if state.discarded:
        raise BadInput(f"session {session} was discarded and cannot be resumed")
    if state.finished is None or not is_over(state):
        return None
    return SessionResult(session, Outcome(state.finished.outcome), state.finished.reason)


def is_over(state: SessionState) -> bool:
    """Return True if a session has ended and has nothing left to do."""
    outcome = Outcome.of(state.finished.outcome) if state.finished is not None else None
    may_go_on = outcome is Outcome.REJECTED and _may_be_worked_on_again(state)
    return outcome is not None and outcome.is_final and not may_go_on


def _may_be_worked_on_again(state: SessionState) -> bool:
    """Return True if an evaluator rejected the work and no person did: it may be worked on again."""
    refused = bool(state.rounds) and state.rounds[-1].has_failed_evaluation
    return refused and not any(gate.decision == GateDecision.DENIED for gate in state.gates.values())


async def begin(
    workplace: Workplace,
    start_record: StartRecord,
    proposed: tuple[str, ...],
    archive: Archive,
    watch: SessionWatcher,
    loop_round: LoopRoundOf = ordinary,
) -> SessionResult:
    """Write the first records of a session, and work on it. `proposed` says why the contract is what it is."""
    with (
        _interrupts(watch) as interrupts,
        _release_at_end(archive.create(start_record.session, start_record.repo, start_record.intent)) as lease,
    ):
        log = LogWriter(lease, SessionState(), watch.on_record, watch.barrier)
        await workplace.store.keep(f"sessions/{start_record.session}/base", start_record.base)
        log.write(*_first_events(workplace, start_record, proposed), note=(NOTE_KIND, start_record.plain()))
        return await _run(workplace, start_record, log, archive, watch, interrupts, loop_round)


@contextlib.contextmanager
def _release_at_end(lease: Lease) -> Generator[Lease]:
    """Release a lease at the end, whatever happens in the block."""
    try:
        yield lease
    finally:
        with contextlib.suppress(MachineryBroke):  # what was written counts; the lease ends with the process anyway
            lease.release()


async def _run(
    workplace: Workplace,
    start_record: StartRecord,
    log: LogWriter,
    archive: Archive,
    watch: SessionWatcher,
    interrupts: _Interrupts,
    loop_round: LoopRoundOf,
) -> SessionResult:
    """Run the session with its control socket open and its signals handled."""
    session = Session(
        workplace,
        start_record,
        log,
        lambda: crew.crew(
            replace(workplace, agent_tools=watch.agent_tools(start_record.session)), start_record, log.state, archive
        ),
        watch,
        loop_round(start_record, log.state),
    )

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
            case "ask" if not start_record.may_ask:
                return {"bad_input": "no person may be asked in this session"}
            case "ask":
                return {"ok": session.questions.post(str(request.get("question", "")), str(request.get("prompt", "")))}
            case "report":
                log.write(PlanText(text=str(request.get("text", "")), by=str(request.get("by", ""))))
                return {"ok": True}
            case _:
                return {"ok": False}

    def stop_by(record: Record | None) -> None:
        if watch.stops(record):
            session.cancel()

    log.also_on_record = stop_by
    stop_by(None)
    interrupts.on_interrupt(session.cancel)
    outcome: SessionResult | None = None
    broken: DonewhenError | None = None
    async with control_socket.serve(control_socket.socket_path(state_root(os.environ), start_record.session), handle):
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
