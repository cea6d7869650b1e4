"""The report of a loop round as text, and its delivery to the places that the loop names.

`proceeded`, `skipped` and "nothing to do" are not delivered: they stay in the history.
"""

import os
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from donewhen.events import RoundFinished
from donewhen.loops.prompts import has_nothing_to_do
from donewhen.loops.round_outcome import RoundOutcome
from donewhen.loops.spec import FILE, WEBHOOK
from donewhen.printable import one_line, visible
from donewhen.records import frozen
from donewhen.workspace.beneath import Root

DELIVERED = (RoundOutcome.REPORTED, RoundOutcome.ESCALATED, RoundOutcome.BUDGET, RoundOutcome.FAILED)
WEBHOOK_SECS = 20.0
STDOUT = "stdout"
UNDELIVERED = "the report could not be delivered to"


def is_delivered(finished: RoundFinished) -> bool:
    maker = finished.maker or {}
    outcome = RoundOutcome.of(finished.outcome)
    is_refuted = (finished.checker or {}).get("status") == "refuted"
    has_nothing = not is_refuted and has_nothing_to_do(str(maker.get("text", "")))
    silent = outcome is RoundOutcome.REPORTED and has_nothing
    return outcome in DELIVERED and not silent


def rendered(finished: RoundFinished) -> str:
    """Return the report of a round as text."""
    return "\n".join(_lines(finished)) + "\n"


def _lines(finished: RoundFinished) -> Iterator[str]:
    yield f"[{finished.level}] loop {finished.loop} ({finished.outcome})"
    yield f"intent: {_flat(finished.intent)}"
    if finished.maker is not None:
        yield from _agent("maker", finished.maker)
    if finished.checker is not None:
        yield from _agent("checker", finished.checker)
    if RoundOutcome.of(finished.outcome) is RoundOutcome.ESCALATED:
        yield f"escalation: {_flat(finished.reason)}"
    elif finished.reason:
        yield f"reason: {_flat(finished.reason)}"
    if finished.action is not None:
        yield f"action: {finished.action.get('kind', '')} — {_flat(str(finished.action.get('summary', '')))}"
    if finished.finding:
        yield f"finding: {finished.finding}"
    yield f"tokens: {finished.input_tokens} in / {finished.output_tokens} out"


def _agent(name: str, told: Mapping[str, Any]) -> Iterator[str]:
    turns = int(told.get("turns", 0))
    yield f"{name}: {told.get('status', '')} in {turns} turn{'s' if turns != 1 else ''}"
    yield from (f"  {visible(line)}".rstrip() for line in str(told.get("text", "")).strip().splitlines())


def _flat(text: str) -> str:
    """Return a text as one line: words of an agent must not look like another line of the report."""
    return one_line(" ".join(text.split()))


@frozen(kw_only=True)
class Delivery:
    """Where the reports of a round go."""

    top: Path
    """Files are named relative to it."""
    session: str
    say: Callable[[str], None]
    is_repeated: bool = False
    """True if an earlier process may have delivered this report before it was killed."""


async def deliver(text: str, finished: RoundFinished, places: tuple[str, ...], delivery: Delivery) -> list[str]:
    """Deliver a report. Return a line for every place that could not be reached; that never changes an outcome."""
    problems: list[str] = []
    for place in places:
        try:
            if place.startswith(FILE):
                _append(delivery.top, place.removeprefix(FILE), text, delivery.is_repeated)
            elif place.startswith(WEBHOOK):
                await _post(place.removeprefix(WEBHOOK), text, finished, delivery.session)
            else:
                for line in text.splitlines():
                    delivery.say(line)
        except (OSError, ValueError) as error:
            problems.append(f"{UNDELIVERED} {place}: {error}")
    return problems


def _append(top: Path, name: str, text: str, is_repeated: bool) -> None:
    """Add a report to a file with one write, so that two reports are never mixed. A repeated one may be there.

    In the repository no link is followed: it may come from the work of a maker or from a stranger.
    """
    written = f"{text}\n".encode()
    file = Path(os.path.normpath(top / name))
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK  # a pipe must not block
    if file.is_relative_to(top):
        root, path = Root(top), str(file.relative_to(top))
        with root.above(path, make=True):
            descriptor = root.open(path, flags, 0o644)
    else:
        file.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(file, flags, 0o644)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError("it is not a regular file")
        if is_repeated and _ends_with(descriptor, written):
            return
        os.write(descriptor, written)
    finally:
        os.close(descriptor)


def _ends_with(descriptor: int, written: bytes) -> bool:
    size = os.fstat(descriptor).st_size
    return size >= len(written) and os.pread(descriptor, len(written), size - len(written)) == written


async def _post(url: str, text: str, finished: RoundFinished, key: str) -> None:
    import httpx2  # loaded on use: most reports go nowhere else

    body = {"text": text, **finished.fields()}
    try:
        async with httpx2.AsyncClient(timeout=WEBHOOK_SECS, follow_redirects=False) as client:
            answer = await client.post(url, json=body, headers={"Idempotency-Key": key})
        if answer.status_code >= 300:
            raise OSError(f"the server answered {answer.status_code}")
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise OSError(str(error) or type(error).__name__) from error
