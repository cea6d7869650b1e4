"""The verbs on sessions, once for every surface: the command line now, a daemon's wires over the same table.

Each takes and gives plain data, and raises a `DonewhenError` with one line. Who may call, and how it is shown, is the
business of the surfaces.
"""

import contextlib
import importlib
import os
import signal
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from donewhen.errors import BadInput, MachineryBroke
from donewhen.session import control, entries
from donewhen.session.archives import Say, any_archive, silent
from donewhen.session.recorder import Recorder
from donewhen.session.story import Round, Story, told
from donewhen.storage.archive import Archive
from donewhen.storage.owner import Owner
from donewhen.storage.record import Record
from donewhen.workspace.state import state_root

ANSWER_SECS = 0.3
"""A living owner answers at once; one that does not is stuck."""
END_SECS = 5.0
"""How long an owner that was told to stop may take to write its last word."""
LOOK_SECS = 0.02


def session_list(repo: str = "", limit: int = 0, say: Say = silent) -> list[dict[str, Any]]:
    """All sessions, the newest first; of one repository when it is named."""
    with any_archive(say) as archive:
        rows = archive.sessions(repo or None, limit or None)
        return [{**asdict(row), "live": _is_live(archive.owner(row.id))} for row in rows]


def session_get(session: str) -> dict[str, Any]:
    """Everything that is known about one session."""
    with any_archive() as archive:
        id = archive.find(session)
        story = told(archive.records(id))
        known = {"id": id, "live": _is_live(archive.owner(id)), **about(story)}
    return {**known, "artifacts": _artifacts(id)}


def _artifacts(session: str) -> dict[str, str]:
    """Files that were written about a session, by name."""
    here = state_root(os.environ) / "artifacts" / session
    if not here.is_dir():
        return {}
    from donewhen.session import artifacts  # it brings what plans are made of

    return artifacts.found(session)


def about(story: Story) -> dict[str, Any]:
    """A story as plain data for people and programs."""
    question, gate = story.question, story.gate
    last = story.last_judged or {}
    return {
        "intent": story.started.get("intent", ""),
        "repo": story.started.get("repo", ""),
        "base": story.started.get("base", ""),
        "created_at": story.created_at,
        "state": story.state,
        "outcome": (story.finished or {}).get("outcome"),
        "reason": (story.finished or {}).get("reason"),
        "engine": story.engine or story.started.get("engine"),
        "model": story.model or story.started.get("model"),
        "isolation": story.started.get("isolation"),
        "contract": story.opened.get("contract") or story.started.get("contract", {}),
        "baseline": (story.baseline or {}).get("results", []),
        "results": last.get("results", []),
        "edits": last.get("edits", []),
        "refused": last.get("refused_paths", []),
        "amended": any(one.kind == "amendment" and one.decision == "approved" for one in story.gates.values()),
        "iterations": story.iterations,
        "rounds": [_round(one) for one in story.rounds],
        "tokens": story.tokens,
        "usd": story.usd,
        "active_secs": round(story.active_secs, 3),
        "question": {"id": question.id, "prompt": question.prompt} if question else None,
        "gate": {"id": gate.id, "kind": gate.kind, "reason": gate.reason, "detail": gate.detail} if gate else None,
        "landed": dict(story.landed) if story.landed else None,
        "lost_records": story.lost,
        "tree": (story.landing or last).get("tree"),
    }


def _round(one: Round) -> dict[str, Any]:
    attempted, judged, opinion = one.attempted or {}, one.judged or {}, one.opinion
    return {
        "n": one.n,
        "engine": one.rung,
        "stop": attempted.get("stop"),
        "said": attempted.get("said", ""),
        "green": judged.get("green"),
        "failing": judged.get("failing", []),
        "opinion": (opinion or {}).get("status", ""),
    }


def session_config(session: str) -> list[dict[str, Any]]:
    """Every setting of a session with its value and where it came from."""
    with any_archive() as archive:
        opened = told(archive.records(archive.find(session))).opened
    keys = ("table", "key", "value", "source")
    return [dict(zip(keys, entry, strict=True)) for entry in opened.get("settings", [])]


def session_events(session: str, after_seq: int = 0) -> Iterator[Record]:
    with any_archive() as archive:
        yield from archive.events(archive.find(session), after_seq)


async def session_follow(session: str) -> AsyncGenerator[Record]:
    """What happened and what happens, for as long as somebody works on it."""
    with any_archive() as archive:
        id = archive.find(session)
        async with contextlib.aclosing(archive.follow(id, is_over=lambda: not _is_live(archive.owner(id)))) as records:
            async for record in records:
                yield record


def session_answer(session: str, text: str) -> dict[str, Any]:
    """Answer the question that waits. `live` tells whether somebody goes on with it right now."""
    request = {"do": "answer", "text": text}
    return _tell(session, request, lambda log: entries.answer(log, text), "no question waits for an answer")


def session_decide(session: str, approved: bool) -> dict[str, Any]:
    """Decide the gate that waits."""
    request = {"do": "decide", "approved": approved}
    return _tell(session, request, lambda log: entries.decide(log, approved), "nothing waits for a decision")


def session_approve(session: str) -> dict[str, Any]:
    return session_decide(session, True)


def session_deny(session: str) -> dict[str, Any]:
    return session_decide(session, False)


def _tell(session: str, request: Mapping[str, Any], record: Callable[[Recorder], bool], nothing: str) -> dict[str, Any]:
    """Say something to a session: through its owner's door, or into its log when nobody owns it."""
    with any_archive() as archive:
        id = archive.find(session)
        if _is_live(archive.owner(id)):
            answer = control.ask(_door(id), request, END_SECS)
            if answer is None:
                raise MachineryBroke(f"session {id}: its process does not answer")
            if "problem" in answer:
                raise MachineryBroke(f"session {id}: {answer['problem']}")
            if not answer.get("ok"):
                raise BadInput(f"session {id}: {nothing}")
            return {"id": id, "live": True}
        with entries.owning(archive, id) as recorder:
            if not record(recorder):
                raise BadInput(f"session {id}: {nothing}{_ended(recorder.story)}")
        return {"id": id, "live": False}


def _ended(story: Story) -> str:
    if story.discarded:
        return "; it was discarded"
    return f"; it ended as {story.finished['outcome']}" if story.finished else ""


class Cancelled(NamedTuple):
    id: str
    said: str
    """In one line: what was done, or what had already happened."""


def session_cancel(session: str) -> Cancelled:
    """Stop a session. Afterwards nothing that it started is alive, and its log says so."""
    with any_archive() as archive:
        id = archive.find(session)
        story = told(archive.records(id))
        if story.state == "finished":
            return Cancelled(id, f"it had already ended as {(story.finished or {}).get('outcome')}")
        owner = archive.owner(id)
        if owner is not None and owner.is_alive():
            _stop(archive, id, owner)
        story = told(archive.records(id))
        if story.state != "finished":
            with entries.owning(archive, id, seize=True) as recorder:
                entries.cancel(recorder)
                story = recorder.story
        outcome = (story.finished or {}).get("outcome")
        return Cancelled(
            id, "cancelled" if outcome == "cancelled" else f"it ended as {outcome} before it could be stopped"
        )


def _stop(archive: Archive, session: str, owner: Owner) -> None:
    """Ask the owner, and kill it when it does not answer: whatever it started dies with it."""
    if control.ask(_door(session), {"do": "cancel"}, ANSWER_SECS) is not None:
        until = time.monotonic() + END_SECS
        while owner.is_alive() and time.monotonic() < until:
            if archive.owner(session) is None:
                return
            time.sleep(LOOK_SECS)
    if owner.host == os.uname().nodename and owner.is_alive():
        with contextlib.suppress(ProcessLookupError):
            os.kill(owner.pid, signal.SIGKILL)


def models_list() -> list[dict[str, Any]]:
    """The providers that can be named, and whether what they need is there; a key itself is never told."""
    from donewhen.model.providers import PROVIDERS
    from donewhen.model.router import DEFAULTS

    found: list[dict[str, Any]] = []
    for name, provider in PROVIDERS.items():
        wanted = provider.key_variables if provider.needs_key else provider.url_variables
        there = [variable for variable in wanted if os.environ.get(variable, "").strip()]
        why = f"{there[0]} is set" if there else f"set {' or '.join(wanted)}"
        found.append({"provider": name, "ready": bool(there), "why": why, "model": DEFAULTS.get(name)})
    return found


def _door(session: str) -> Path:
    return control.door(state_root(os.environ), session)


def _is_live(owner: Owner | None) -> bool:
    return owner is not None and owner.is_alive()


METHODS: Mapping[str, str] = {
    "session.start": "donewhen.session.starting:start",
    "session.list": "donewhen.server.methods:session_list",
    "session.get": "donewhen.server.methods:session_get",
    "session.events": "donewhen.server.methods:session_events",
    "session.answer": "donewhen.server.methods:session_answer",
    "session.approve": "donewhen.server.methods:session_approve",
    "session.deny": "donewhen.server.methods:session_deny",
    "session.cancel": "donewhen.server.methods:session_cancel",
    "session.resume": "donewhen.session.starting:resume",
    "session.replay": "donewhen.session.replaying:replay",
    "session.land": "donewhen.session.afterwards:land",
    "session.discard": "donewhen.session.afterwards:discard",
    "session.diff": "donewhen.session.afterwards:diff",
    "session.receipt": "donewhen.session.afterwards:receipt",
    "agents.list": "donewhen.session.agents:agents_list",
    "models.list": "donewhen.server.methods:models_list",
    "memory.list": "donewhen.session.memories:memory_list",
    "memory.show": "donewhen.session.memories:memory_show",
    "memory.recall": "donewhen.session.memories:memory_recall",
    "memory.forget": "donewhen.session.memories:memory_forget",
    "memory.export": "donewhen.session.memories:memory_export",
    "memory.import": "donewhen.session.memories:memory_import",
}
"""Name → what carries it out, by its place, so that looking at a session does not load what working on one needs."""


def method(name: str) -> Callable[..., Any]:
    """The function of a name; those that work in a repository are coroutines."""
    if name not in METHODS:
        raise BadInput(f"there is no method {name!r}")
    module, _, function = METHODS[name].partition(":")
    return getattr(importlib.import_module(module), function)
