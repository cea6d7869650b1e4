"""Signature of a failure: where it happened and what happened. It decides nothing about repairs.

*where* is the check, the phase and the set of failed ids, compared by overlap. *what* is, for each failure, the kind,
the masked message and the innermost frame in the project. Failures that the base already had, with the same cause, are
left out. If several readers understand a log, the most reliable one counts. A log that no reader understands gets
templates instead of causes. It can be grouped, but nothing is recalled for it.
"""

import json
import re
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import NamedTuple

from donewhen.memory.masking import mask
from donewhen.memory.template import has_timeout, templates
from donewhen.readers.failures.failure import Failure
from donewhen.readers.failures.logs import lines, looked_at, text_of
from donewhen.readers.failures.places import portable, top_of_project
from donewhen.readers.find_failures import failure_reports
from donewhen.readers.json import fields, items, words
from donewhen.records import frozen

VERSION = 1
SAME_PLACE = 0.7
SAME_CAUSE = 0.5
MOST = 500
LONGEST_ID = 300
UNKNOWN = "template"
IN_TITLE = re.compile(r"(?<!\w)[-+]?\d+(?:[.,:]\d+)*")
"""Numbers in a title with spaces are mostly parameters. Numbers in a function name are part of the name."""


class Failed(NamedTuple):
    """One failure without the parts that differ between runs. For a log without a reader: a template, without an id."""

    id: str
    kind: str
    message: str
    place: str
    """`file:function` of the innermost frame in the project."""

    @property
    def cause(self) -> tuple[str, str, str]:
        return self.kind, self.message, self.place


@frozen(kw_only=True)
class Signature:
    check: str = ""
    phase: str = "test"
    failed: tuple[Failed, ...] = ()
    """Unique and sorted."""
    reader: str = UNKNOWN
    v: int = VERSION

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(sorted({each.id for each in self.failed if each.id}))

    @property
    def causes(self) -> tuple[tuple[str, str, str], ...]:
        return tuple(sorted({each.cause for each in self.failed}))

    @property
    def step(self) -> str:
        """The phase to compare. Readers report a failed set-up only if no test fails as well, so both are one step."""
        return "test" if self.phase in ("setup", "collect") else self.phase

    @property
    def may_be_recalled(self) -> bool:
        """True only if a reader understood the log and there is a failure that the base did not have."""
        return self.reader != UNKNOWN and bool(self.failed)

    def place_digest(self) -> str:
        """Return the digest of the place. Equal digests mean the same place; different ones may still overlap."""
        return _digest([self.v, self.check, self.phase, *self.ids])

    def cause_digest(self) -> str:
        """Return the digest of the causes."""
        return _digest([self.v, *self.causes])

    def as_json(self) -> dict[str, object]:
        """Return plain data from which `from_json` creates the same signature."""
        where = {"key": self.place_digest(), "check": self.check, "phase": self.phase}
        causes = [
            {
                "kind": kind,
                "message": message,
                "place": place,
                "ids": [each.id for each in self.failed if each.cause == (kind, message, place)],
            }
            for kind, message, place in self.causes
        ]
        return {
            "v": self.v,
            "reader": self.reader,
            "recall": self.may_be_recalled,
            "ids": list(self.ids),
            "where": where,
            "what": {"key": self.cause_digest(), "causes": causes},
        }


def from_json(data: Mapping[str, object]) -> Signature:
    """Return the signature from the data of `as_json`. Fields that are missing or of a wrong type count as empty."""
    where, what = fields(data.get("where")), fields(data.get("what"))
    causes = [fields(cause) for cause in items(what.get("causes"))]
    version = data.get("v")
    return Signature(
        check=words(where.get("check")),
        phase=words(where.get("phase")),
        failed=_unique(
            Failed(words(id), words(cause.get("kind")), words(cause.get("message")), words(cause.get("place")))
            for cause in causes
            for id in items(cause.get("ids"))
        ),
        reader=words(data.get("reader")),
        v=version if isinstance(version, int) else 0,
    )


def signature_of(log: bytes | str, check: str = "", base: Signature | None = None) -> Signature:
    """Return the signature of a check's output. `base` is the signature of the same check on the base."""
    text = text_of(log) if isinstance(log, bytes) else looked_at(log)
    found = failure_reports(text)
    if not found:
        printed = lines(text)
        lines.cache_clear()
        failed = _unique(Failed("", "", template, "") for template in templates(printed))
        return Signature(check=check, phase="timeout" if has_timeout(printed) else "test", failed=failed)
    before = set(base.failed) if base else set[Failed]()
    failed = _unique(each for each in map(_failed, found[0].failures) if each not in before)
    return Signature(check=check, phase=found[0].phase, failed=failed, reader=found[0].reader)


def same_place(a: Signature, b: Signature) -> bool:
    """Return whether check and step are the same and most failed ids are in both."""
    return _same_step(a, b) and _overlap(a.ids, b.ids) >= SAME_PLACE


def matches(a: Signature, b: Signature) -> bool:
    """Return whether places are the same, or one is part of the other, and the common failures have the same causes.

    A part is enough because a run may stop at its first failure.
    """
    ids, others = set(a.ids), set(b.ids)
    if not (_same_step(a, b) and a.failed and b.failed and (same_place(a, b) or ids <= others or others <= ids)):
        return False
    shared = (ids & others) or {""}
    return _overlap(_of_ids(a, shared), _of_ids(b, shared)) >= SAME_CAUSE


def _of_ids(signature: Signature, ids: set[str]) -> list[Failed]:
    return [each for each in signature.failed if each.id in ids]


def _same_step(a: Signature, b: Signature) -> bool:
    return (a.v, a.check, a.step, a.reader) == (b.v, b.check, b.step, b.reader)


def _failed(failure: Failure) -> Failed:
    top = top_of_project(failure.frames)
    place = f"{portable(top.file)}:{top.function}".rstrip(":") if top else portable(failure.file)
    id = portable(failure.id) if failure.id.startswith(("/", "../", "./")) or failure.id[1:3] == ":/" else failure.id
    if " " in id:
        id = IN_TITLE.sub("N", id)
    return Failed(id[:LONGEST_ID], failure.kind[:LONGEST_ID], mask(failure.message, failure.kind), place[:LONGEST_ID])


def _unique(failed: Iterable[Failed]) -> tuple[Failed, ...]:
    """Return unique, sorted failures. Sorted, so that two runs with too many failures keep the same ones."""
    return tuple(sorted(set(failed))[:MOST])


def _overlap(a: Iterable[object], b: Iterable[object]) -> float:
    """Return the Jaccard index; 1.0 for two empty sets."""
    one, other = set(a), set(b)
    return len(one & other) / len(one | other) if one or other else 1.0


def _digest(parts: list[object]) -> str:
    text = json.dumps(parts, ensure_ascii=True)
    return sha256(text.encode()).hexdigest()[:32]
