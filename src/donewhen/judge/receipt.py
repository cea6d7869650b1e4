"""The evidence of a verdict in one file: what was judged, by which contract, where, with which tools, and how it went.

A receipt carries a digest of itself, so a changed one is noticed. That digest proves nothing about who made it: only a
commit that carries it in its message does. Reading and comparing are here; judging again is the judge's.
"""

import datetime
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any, cast

from donewhen import __version__
from donewhen.errors import BadInput
from donewhen.judge.contract import Check, Contract, Quarantine
from donewhen.judge.verdict import Result, Verdict
from donewhen.records import frozen

FORMAT = "donewhen receipt 1"
TRAILER = "Donewhen-Receipt"
LARGEST_BYTES = 32 * 1024 * 1024
COMPARED = ("status", "evidence", "runner", "tests")


@frozen(kw_only=True)
class Circumstances:
    """Where and how a verdict was reached."""

    as_is: bool
    isolation: str
    path_transparent: bool
    tools: Mapping[str, str]
    duration_ms: int
    tokens: int = 0
    usd: float | None = 0.0
    """None when no price is known."""
    amended: bool = False
    """Whether a person approved edits of protected paths, so that the candidate was graded as it is."""


def written(verdict: Verdict, contract: Contract, where: Circumstances, now: datetime.datetime) -> str:
    """A receipt as text."""
    content: dict[str, Any] = {
        "format": FORMAT,
        "donewhen": __version__,
        "made": now.astimezone(datetime.UTC).isoformat(timespec="seconds"),
        "contract": asdict(contract),
        "contract_digest": contract.digest,
        "base": verdict.base,
        "candidate": verdict.candidate,
        "tree": verdict.tree,
        "as_is": where.as_is,
        "amended": where.amended,
        "green": verdict.green,
        "results": [_result(result) for result in verdict.results],
        "baseline": [_result(result) for result in verdict.baseline],
        "edits": [asdict(edit) for edit in verdict.edits],
        "discriminating": verdict.discriminating,
        "notes": list(verdict.notes),
        "isolation": {"level": where.isolation, "path_transparent": where.path_transparent},
        "tools": dict(where.tools),
        "costs": {"duration_ms": where.duration_ms, "tokens": where.tokens, "usd": where.usd},
    }
    plain = json.loads(json.dumps(content, default=_as_text))
    return json.dumps({**plain, "digest": digest_of(plain)}, indent=2, ensure_ascii=True) + "\n"


def _as_text(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime.date) else str(value)


def _result(result: Result) -> dict[str, Any]:
    known = asdict(result)
    for long in ("output_tail", "passed"):  # they say nothing that could be compared
        known.pop(long)
    return {**known, "status": result.status.value}


def digest_of(content: Mapping[str, Any]) -> str:
    """What names a receipt: everything in it but the digest itself."""
    told = {key: value for key, value in content.items() if key != "digest"}
    canonical = json.dumps(told, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return "sha256:" + hashlib.sha256(canonical.encode()).hexdigest()


@frozen
class Receipt:
    """A receipt that was read and is as it was written."""

    content: Mapping[str, Any]
    contract: Contract

    @property
    def digest(self) -> str:
        return self.content["digest"]


def read(text: bytes, where: str) -> Receipt:
    """A receipt out of a file; BadInput when it is none, or was changed."""
    try:
        content: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{where}: not a receipt: {error}") from error
    if not isinstance(content, dict):
        raise BadInput(f"{where}: not a receipt")
    known = cast("dict[str, Any]", content)
    if known.get("format") != FORMAT:
        raise BadInput(f"{where}: not a receipt of a known format: {str(known.get('format'))[:60]!r}")
    if known.get("digest") != digest_of(known):
        raise BadInput(f"{where}: the receipt was changed after it was written: its digest does not match")
    try:
        contract = contract_from(known["contract"])
        [known[key] for key in ("base", "candidate", "tree", "as_is", "results", "tools")]
    except (KeyError, TypeError, ValueError) as error:
        raise BadInput(f"{where}: the receipt is incomplete: {error}") from error
    if contract.digest != known["contract_digest"]:
        raise BadInput(f"{where}: the contract in the receipt is not the one that its digest names")
    return Receipt(known, contract)


def contract_from(known: Mapping[str, Any]) -> Contract:
    """A contract out of its plain form, dates as text."""
    lists = {key: tuple(known[key]) for key in ("protect", "editable")}
    facts: dict[str, Any] = {**known, **lists, "checks": tuple(_check(check) for check in known["checks"])}
    return Contract(**facts)


def _check(known: dict[str, Any]) -> Check:
    quarantine = known["quarantine"]
    if quarantine is not None:
        quarantine = Quarantine(quarantine["reason"], datetime.date.fromisoformat(quarantine["until"]))
    facts: dict[str, Any] = {**known, "quarantine": quarantine}
    return Check(**facts)


def differences(receipt: Receipt, verdict: Verdict) -> Iterator[str]:
    """What a second judgement says otherwise, one line each."""
    content = receipt.content
    if verdict.tree != content["tree"]:
        yield f"the judged tree is {verdict.tree}, the receipt has {content['tree']}"
    before = {known["name"]: known for known in content["results"]}
    for result in verdict.results:
        old = before.get(result.name)
        new = _result(result)
        if old is None:
            yield f"{result.name}: not in the receipt"
            continue
        yield from (f"{result.name}: {key} is {_told(new[key])}, the receipt has {_told(old[key])}"
                    for key in COMPARED if new[key] != old[key])  # fmt: skip
    missing = before.keys() - {result.name for result in verdict.results}
    yield from (f"{name}: in the receipt only" for name in sorted(missing))


def _told(value: Any) -> str:
    return json.dumps(value) if isinstance(value, dict) else str(value)
