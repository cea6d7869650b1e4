"""The methods that work on a session, and those that show, land or throw away what it made."""

import base64
from pathlib import Path
from typing import TYPE_CHECKING, Any

from donewhen.server.methods.call_context import CallContext
from donewhen.server.methods.place import place
from donewhen.session.settings import schema

if TYPE_CHECKING:
    from typing import Unpack

    from donewhen.server.methods.results import LandedCommit, LandingResult, SessionEnding, SessionPatch
    from donewhen.server.methods.start_options import StartOptions
    from donewhen.session.conclude.land import Landing
    from donewhen.session.outcome import SessionResult

LONGEST_PATCH = 4 << 20
"""Bytes of a patch in one result, unless another limit is given."""


async def session_start(context: CallContext, **options: "Unpack[StartOptions]") -> "SessionEnding":
    """Start a session and work on the intent until the contract is green or a limit is reached."""
    from donewhen.session.settings.run_options import RunOptions
    from donewhen.session.verbs.start import start

    given: dict[str, Any] = {**options}
    values: dict[str, Any] = {}
    for flag, key in schema.flags().items():
        value = given.pop(flag.removeprefix("--").replace("-", "_"), None)
        if value not in (None, "", []):  # an empty text counts as not given
            values[flag] = key.python_type(value)
    given["repo"] = place(given.get("repo", ""))
    given["contract"] = Path(given["contract"]) if given.get("contract") else None
    return _ending(await start(RunOptions(**given, values=values), context.watcher))


async def session_resume(context: CallContext, id: str) -> "SessionEnding":
    """Continue a session after a crash, a limit or a restart."""
    from donewhen.loops.run import resume

    return _ending(await resume(id, context.watcher))


async def session_replay(context: CallContext, id: str) -> "SessionEnding":
    """Run a recorded session again without a model, as a new session."""
    from donewhen.session.verbs.replay import replay

    return _ending(await replay(id, context.watcher))


def _ending(result: "SessionResult") -> "SessionEnding":
    outcome = result.outcome
    return {
        "id": result.session,
        "outcome": outcome.value,
        "reason": result.reason,
        "exit_code": outcome.exit_code,
    }


async def session_diff(id: str, candidate: bool = False, limit: int = LONGEST_PATCH) -> "SessionPatch":
    """Return the work of a session against its base, as a patch.

    With `candidate`, the edits that are not graded are in it. A patch that is longer than `limit` bytes is cut; 0 is no
    limit. `patch` is text, or base64 if `encoding` says so: a patch may contain bytes that are no text.
    """
    from donewhen.session.verbs.finished import diff

    whole = await diff(id, candidate)
    part = whole[:limit] if limit else whole
    try:
        text, encoding = part.decode(), "utf-8"
    except UnicodeDecodeError:
        text, encoding = base64.b64encode(part).decode(), "base64"
    return {"patch": text, "encoding": encoding, "size": len(whole), "truncated": len(part) < len(whole)}


async def session_land(id: str, onto: str = "") -> "LandingResult":
    """Bring the judged tree of a verified session into a branch: its own, or `onto`."""
    from donewhen.session.conclude.land import LandingRefused
    from donewhen.session.verbs.finished import land

    landed = await land(id, onto)
    if isinstance(landed, LandingRefused):
        return {"landed": None, "reason": landed.reason, "paths": list(landed.paths)}
    return {"landed": commit_entry(landed), "reason": "", "paths": []}


def commit_entry(landed: "Landing") -> "LandedCommit":
    return {"branch": landed.branch, "commit": landed.commit, "applied": landed.applied, "note": landed.note}


async def session_discard(id: str) -> str:
    """Remove the trees and the branch of a session. Return in one line what was left."""
    from donewhen.session.verbs.finished import discard

    return await discard(id)
