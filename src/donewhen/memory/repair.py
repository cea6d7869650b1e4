"""One repair: the failure that it turned, what was changed, and what was said about it. Text in, text out.

Whatever it is made of, a session's words or a line of somebody's file, is made harmless here. Its id says what it is:
the same change for the same failure in the same repository is the same repair, whoever makes it and however often.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from hashlib import sha256
from typing import Any, Literal

from donewhen.memory.diffs import readable, shared, substance
from donewhen.memory.inert import cut, inert, inert_line
from donewhen.memory.signature import MOST, UNKNOWN, Failed, Signature, of_json
from donewhen.memory.signature import VERSION as SIGNATURE_VERSION
from donewhen.readers.json import count, fields, items, words
from donewhen.records import frozen

VERSION = 1
"""Of a repair as a line of JSON."""
APPROACH_BYTES = 1024
DIFF_BYTES = 8 * 1024
LINE_BYTES = 1000
NAME_BYTES = 100
"""Of the names of checks, phases and readers, which are all short."""
WHEN = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
ID_LENGTH = 12
Ending = Literal["", "passed", "red"]
"""How the round of an offer was judged; empty: not, or not so that it would say something."""


@frozen(kw_only=True)
class Offer:
    """A repair that fitted what a round had to repair."""

    session: str
    round: int
    signature: str
    """The digest of the failure that it was for."""
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
    """Where it was made first, as a path. An imported repair may claim any."""
    model: str
    session: str
    round: int
    at: str
    source: str = ""
    """The key of the repository whose session learnt it; empty when that is unknown, as for what was imported."""

    @property
    def id(self) -> str:
        return self._id()

    @property
    def id_of_source(self) -> str:
        """For a repair whose id another repository's has already."""
        return self._id(self.source)

    def _id(self, *more: str) -> str:
        known = [digest(self.signature), *substance(self.diff), *more]
        return sha256(json.dumps(known).encode()).hexdigest()[:ID_LENGTH]

    def plain(self) -> dict[str, Any]:
        told = {name: getattr(self, name) for name in ("approach", "diff", "repo", "model", "session", "round", "at")}
        return {"v": VERSION, "id": self.id, "signature": self.signature.as_json(), **told}


def repair(
    *,
    signature: Signature,
    said: str,
    patch: bytes | str,
    origin: Mapping[str, Any],
    redact: Callable[[str], str] = str,
) -> Repair | None:
    """A repair out of what a session has; None where nothing was changed. The origin is repo, source, model, session,
    round and at."""
    signature = harmless(signature)
    changed = readable(patch)
    diff = shared(inert(changed, max(DIFF_BYTES, len(changed.encode()) * 2), redact).strip("\n"), DIFF_BYTES)
    if not diff:
        return None
    approach = inert(said, APPROACH_BYTES, redact).strip() or generic(signature)
    return _repair(signature, approach, diff, origin)


def place_name(repo: str) -> str:
    """The path of a repository as repairs have it."""
    return inert_line(repo, LINE_BYTES)


def _repair(signature: Signature, approach: str, diff: str, origin: Mapping[str, Any]) -> Repair:
    return Repair(
        signature=signature,
        approach=approach,
        diff=diff,
        **{
            name: inert_line(words(origin.get(name)), LINE_BYTES)
            for name in ("repo", "source", "model", "session", "at")
        },
        round=int(count(origin.get("round"))),
    )


def of_plain(data: Mapping[str, object]) -> Repair:
    """The repair that `plain` told; ValueError, with the reason in words, for anything else. What it says about its
    own id is not asked."""
    if data.get("v") != VERSION:
        raise ValueError(f"version {_shortly(data.get('v'))} of a repair is not known")
    signature = harmless(of_json(fields(data.get("signature"))))
    diff = inert(words(data.get("diff")), DIFF_BYTES).strip("\n")
    if not signature.failed or not signature.check:
        raise ValueError("it has no signature")
    if not 1 <= signature.v <= SIGNATURE_VERSION:
        raise ValueError(f"version {_shortly(signature.v)} of a signature is not known")
    if not diff:
        raise ValueError("it has no diff")
    approach = inert(words(data.get("approach")), APPROACH_BYTES).strip() or generic(signature)
    at = words(data.get("at"))  # what sorts before or behind everything else is no time
    return _repair(signature, approach, diff, {**data, "at": at if WHEN.fullmatch(at) else "", "source": ""})


def _shortly(value: object) -> str:
    """For a line about it: whatever a file has in that place."""
    return cut(json.dumps(value), NAME_BYTES)


def offers_of(data: Mapping[str, object]) -> Iterator[Offer]:
    """The offers in a line of JSON; what is none is left out."""
    for one in map(fields, items(data.get("offers"))):
        number, ending = one.get("round"), words(one.get("ending"))
        session, signature, at = (
            inert_line(words(one.get(name)), LINE_BYTES) for name in ("session", "signature", "at")
        )
        if session and isinstance(number, int) and 0 <= number < 10**9 and ending in ("", "passed", "red"):
            withheld = one.get("withheld") is True
            yield Offer(session=session, round=number, signature=signature, withheld=withheld, ending=ending, at=at)


def harmless(signature: Signature) -> Signature:
    """A signature whose words can be shown."""
    failed = {Failed(*(inert_line(part, LINE_BYTES) for part in one)) for one in signature.failed}
    kept = tuple(sorted(failed)[:MOST])
    check, phase, reader = (
        inert_line(part, NAME_BYTES) for part in (signature.check, signature.phase, signature.reader)
    )
    return replace(signature, check=check, phase=phase, reader=reader, failed=kept)


def digest(signature: Signature) -> str:
    """Both keys in one."""
    return sha256(f"{signature.where()} {signature.what()}".encode()).hexdigest()[:16]


def failure_class(signature: Signature) -> str:
    """What kind of failure it is, in a few words."""
    if signature.reader == UNKNOWN:
        return "timeout" if signature.phase == "timeout" else "output that nobody reads"
    kinds = Counter(one.kind for one in signature.failed if one.kind)
    most = min(kinds, key=lambda kind: (-kinds[kind], kind)) if kinds else signature.phase
    return f"{signature.reader}: {most}"


def generic(signature: Signature) -> str:
    """For a model that said nothing about what it did."""
    return f"The check {signature.check} was red ({failure_class(signature)}) and passed after this change."
