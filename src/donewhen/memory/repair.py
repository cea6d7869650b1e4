"""A repair: the failure that it fixed, the change, and what the model wrote about it. Text in, text out.

Texts from a session or from an imported file are sanitised here. The id is computed from the content: the same change
for the same failure in the same repository is the same repair, no matter who makes it and how often.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from hashlib import sha256
from typing import Any, Literal

from donewhen.memory.diffs import changed_lines, readable_patch, shorten
from donewhen.memory.sanitise import cut, sanitise, sanitise_line
from donewhen.memory.signature import MOST, UNKNOWN, Failed, Signature, from_json
from donewhen.memory.signature import VERSION as SIGNATURE_VERSION
from donewhen.readers.json import count, fields, items, words
from donewhen.records import frozen

VERSION = 1
"""Format version of a repair as a line of JSON."""
APPROACH_BYTES = 1024
DIFF_BYTES = 8 * 1024
LINE_BYTES = 1000
NAME_BYTES = 100
"""Limit for the names of checks, phases and readers, which are all short."""
WHEN = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
ID_LENGTH = 12
Ending = Literal["", "passed", "red"]
"""The result of the round of an offer; empty if it was not judged, or the verdict says nothing about the hint."""


@frozen(kw_only=True)
class Offer:
    """A repair that matched a failure in a round; its hint was shown or withheld."""

    session: str
    round: int
    signature: str
    """The digest of the failure for which it was offered."""
    withheld: bool = False
    ending: Ending = ""
    at: str = ""

    def plain(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("session", "round", "signature", "withheld", "ending", "at")}


@frozen(kw_only=True)
class Repair:
    signature: Signature
    approach: str
    diff: str
    repo: str
    """Path of the repository where it was first made. An imported repair may claim any path."""
    model: str
    session: str
    round: int
    at: str
    source: str = ""
    """Key of the repository whose session learnt it; empty if unknown, as for imported repairs."""

    @property
    def id(self) -> str:
        return self._id()

    @property
    def id_of_source(self) -> str:
        """The id to use if a repair of another repository already has `id`."""
        return self._id(self.source)

    def _id(self, *more: str) -> str:
        known = [digest(self.signature), *changed_lines(self.diff), *more]
        return sha256(json.dumps(known).encode()).hexdigest()[:ID_LENGTH]

    def plain(self) -> dict[str, Any]:
        values = {name: getattr(self, name) for name in ("approach", "diff", "repo", "model", "session", "round", "at")}
        return {"v": VERSION, "id": self.id, "signature": self.signature.as_json(), **values}


def repair(
    *,
    signature: Signature,
    approach: str,
    patch: bytes | str,
    origin: Mapping[str, Any],
    redact: Callable[[str], str] = str,
) -> Repair | None:
    """Create a repair from a session's data; None if nothing was changed. `origin` has the keys repo, source, model,
    session, round and at."""
    signature = sanitise_signature(signature)
    changed = readable_patch(patch)
    diff = shorten(sanitise(changed, max(DIFF_BYTES, len(changed.encode()) * 2), redact).strip("\n"), DIFF_BYTES)
    if not diff:
        return None
    approach = sanitise(approach, APPROACH_BYTES, redact).strip() or default_approach(signature)
    return _repair(signature, approach, diff, origin)


def place_name(repo: str) -> str:
    """Return the path of a repository in the form that repairs store."""
    return sanitise_line(repo, LINE_BYTES)


def _repair(signature: Signature, approach: str, diff: str, origin: Mapping[str, Any]) -> Repair:
    return Repair(
        signature=signature,
        approach=approach,
        diff=diff,
        **{
            name: sanitise_line(words(origin.get(name)), LINE_BYTES)
            for name in ("repo", "source", "model", "session", "at")
        },
        round=int(count(origin.get("round"))),
    )


def from_plain(data: Mapping[str, object]) -> Repair:
    """Return the repair from the data of `plain`; raise ValueError with a readable reason for anything else. The id in
    the data is ignored."""
    if data.get("v") != VERSION:
        raise ValueError(f"unknown version {_short_json(data.get('v'))} of a repair")
    signature = sanitise_signature(from_json(fields(data.get("signature"))))
    diff = sanitise(words(data.get("diff")), DIFF_BYTES).strip("\n")
    if not signature.failed or not signature.check:
        raise ValueError("it has no signature")
    if not 1 <= signature.v <= SIGNATURE_VERSION:
        raise ValueError(f"unknown version {_short_json(signature.v)} of a signature")
    if not diff:
        raise ValueError("it has no diff")
    approach = sanitise(words(data.get("approach")), APPROACH_BYTES).strip() or default_approach(signature)
    at = words(data.get("at"))  # only a valid time: other text could sort before or after everything else
    return _repair(signature, approach, diff, {**data, "at": at if WHEN.fullmatch(at) else "", "source": ""})


def _short_json(value: object) -> str:
    """Return any JSON value as a short text for an error message."""
    return cut(json.dumps(value), NAME_BYTES)


def offers_of(data: Mapping[str, object]) -> Iterator[Offer]:
    """Yield the offers in a line of JSON. Invalid ones are left out."""
    for one in map(fields, items(data.get("offers"))):
        number, ending = one.get("round"), words(one.get("ending"))
        session, signature, at = (
            sanitise_line(words(one.get(name)), LINE_BYTES) for name in ("session", "signature", "at")
        )
        if session and isinstance(number, int) and 0 <= number < 10**9 and ending in ("", "passed", "red"):
            withheld = one.get("withheld") is True
            yield Offer(session=session, round=number, signature=signature, withheld=withheld, ending=ending, at=at)


def sanitise_signature(signature: Signature) -> Signature:
    """Return a signature whose texts are safe to show."""
    failed = {Failed(*(sanitise_line(part, LINE_BYTES) for part in one)) for one in signature.failed}
    kept = tuple(sorted(failed)[:MOST])
    check, phase, reader = (
        sanitise_line(part, NAME_BYTES) for part in (signature.check, signature.phase, signature.reader)
    )
    return replace(signature, check=check, phase=phase, reader=reader, failed=kept)


def digest(signature: Signature) -> str:
    """Return one digest of place and causes."""
    return sha256(f"{signature.place_digest()} {signature.cause_digest()}".encode()).hexdigest()[:16]


def failure_class(signature: Signature) -> str:
    """Return a short description of the kind of failure."""
    if signature.reader == UNKNOWN:
        return "timeout" if signature.phase == "timeout" else "output that no reader understands"
    kinds = Counter(one.kind for one in signature.failed if one.kind)
    most = min(kinds, key=lambda kind: (-kinds[kind], kind)) if kinds else signature.phase
    return f"{signature.reader}: {most}"


def default_approach(signature: Signature) -> str:
    """Return an approach text for a model that described nothing."""
    return f"The check {signature.check} was red ({failure_class(signature)}) and passed after this change."
