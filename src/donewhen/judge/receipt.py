"""Receipt: the evidence of a verdict in one file.

It states what was judged, by which contract, where, with which tools, and with which results. A receipt contains a
digest of itself, so that a change is detected. The digest does not prove who made the receipt; only a commit whose
message contains the digest does. This module reads and compares receipts. Judging again is the task of `judge`.
"""

import datetime
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any, cast, get_args

from donewhen import __version__
from donewhen.errors import BadInput
from donewhen.judge.contract import Check, Contract, MinEvidence, Quarantine, require_sound
from donewhen.judge.verdict import Result, Verdict
from donewhen.records import frozen

FORMAT = "donewhen receipt 1"
TRAILER = "Donewhen-Receipt"
LARGEST_BYTES = 32 * 1024 * 1024
COMPARED = ("status", "evidence", "runner", "tests")
MOST_CHECKS = 1000
LONGEST_TEXT = 128 * 1024
"""Maximum characters of one value of a contract. The kernel accepts no longer command."""
MOST_NUMBER = 10**9


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
    """None if no price is known."""
    amended: bool = False
    """True if a person approved edits of protected paths, so that the candidate was graded unchanged."""


def written(verdict: Verdict, contract: Contract, where: Circumstances, now: datetime.datetime) -> str:
    """Return a receipt as JSON text."""
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
        "basis": list(verdict.basis),
        "notes": [str(note) for note in verdict.notes],
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
    for long in ("output_tail", "passed"):  # not comparable between two runs
        known.pop(long)
    return {**known, "status": result.status.value}


def digest_of(content: Mapping[str, Any]) -> str:
    """Return the digest of a receipt: a hash of everything in it except the digest itself."""
    signed = {key: value for key, value in content.items() if key != "digest"}
    canonical = json.dumps(signed, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return "sha256:" + hashlib.sha256(canonical.encode()).hexdigest()


@frozen
class Receipt:
    """A receipt that was read and validated; its digest matches."""

    content: Mapping[str, Any]
    contract: Contract

    @property
    def digest(self) -> str:
        return self.content["digest"]


def read(text: bytes, where: str) -> Receipt:
    """Return the receipt in a file. Raise BadInput if it is not a receipt or was changed."""
    try:
        content: object = json.loads(text)
        if not isinstance(content, dict):
            raise BadInput(f"{where}: not a receipt")
        known = cast("dict[str, Any]", content)
        if known.get("format") != FORMAT:
            raise BadInput(f"{where}: not a receipt of a known format: {str(known.get('format'))[:60]!r}")
        digest = digest_of(known)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{where}: not a receipt: {error}") from error
    if known.get("digest") != digest:
        raise BadInput(f"{where}: the receipt was changed after it was written: its digest does not match")
    try:
        _require_form(known)
        contract = contract_from(known["contract"])
        require_sound(contract.checks)
    except (KeyError, TypeError, ValueError, BadInput) as error:
        raise BadInput(f"{where}: the receipt is incomplete: {error}") from error
    if contract.digest != known.get("contract_digest"):
        raise BadInput(f"{where}: the contract in the receipt does not match its digest")
    return Receipt(known, contract)


def _require_form(known: Mapping[str, Any]) -> None:
    """Raise ValueError for values of the wrong type, before any is used or shown. The file is untrusted input."""
    for key in ("base", "candidate", "tree"):
        _require(isinstance(known[key], str), key)
    for key in ("as_is", "amended"):
        _require(isinstance(known.get(key, False), bool), key)
    _require("as_is" in known and isinstance(known["tools"], dict), "as_is or tools")
    contract = _table(known["contract"], "contract")
    usual: dict[str, Any] = {key: value for key, value in asdict(Contract(checks=())).items() if key != "checks"}
    _require_types({"product": [], **contract}, usual, "contract")
    _require(contract["min_evidence"] in get_args(MinEvidence), "contract.min_evidence")
    checks: object = contract["checks"]
    _require(isinstance(checks, list) and 0 < len(cast("list[Any]", checks)) <= MOST_CHECKS, "contract.checks")
    for number, check in enumerate(contract["checks"]):
        at = f"contract.checks[{number}]"
        _require_types(_table(check, at), asdict(Check(name="", command="")), at)
        if check["quarantine"] is not None:
            reason = _table(check["quarantine"], at).get("reason")
            _require(isinstance(reason, str) and len(reason) <= LONGEST_TEXT, f"{at}.quarantine")
    names: set[str] = set()
    for number, result in enumerate(cast("list[Any]", known["results"])):
        name = _table(result, f"results[{number}]").get("name")
        _require(isinstance(name, str) and name not in names and set(COMPARED) <= set(result), f"results[{number}]")
        names.add(str(name))


def _require_types(given: Mapping[str, Any], usual: Mapping[str, Any], at: str) -> None:
    for key, default in usual.items():
        _require(_fits(given[key], default), f"{at}.{key}")


def _fits(value: object, usual: object) -> bool:
    """Return True if a value has the type of the default of its field."""
    if isinstance(usual, bool) or isinstance(value, bool):
        return isinstance(usual, bool) and isinstance(value, bool)
    if isinstance(usual, str):
        return _is_text(value)
    if isinstance(usual, int | float):
        return isinstance(value, int | float) and 0 <= value <= MOST_NUMBER
    if isinstance(usual, tuple):
        items = cast("list[object]", value) if isinstance(value, list) else [None]
        return all(map(_is_text, items))
    return value is None or isinstance(value, dict | list)


def _is_text(value: object) -> bool:
    """Return True for a text of limited length that can be used in a command or a path."""
    if not isinstance(value, str) or len(value) > LONGEST_TEXT:
        return False
    try:
        value.encode()
    except UnicodeEncodeError:  # a lone surrogate, which JSON can express
        return False
    return True


def _table(value: object, at: str) -> Mapping[str, Any]:
    _require(isinstance(value, dict), at)
    return cast("Mapping[str, Any]", value)


def _require(right: bool, at: str) -> None:
    if not right:
        raise ValueError(f"'{at}' is invalid")


def described(receipt: Receipt) -> Iterator[str]:
    """Yield lines for a person: each check with its command and what is expected of it."""
    contract = receipt.contract
    for check in contract.checks:
        where = "" if check.dir == "." else f" (in {check.dir})"
        yield f"check {check.name}{where}: {check.command}"
        yield f"  must {'; '.join(_expected(check))}"
    for key in ("product", "protect", "editable"):
        if patterns := getattr(contract, key):
            yield f"{key}: {', '.join(patterns)}"
    if contract.min_evidence != Contract(checks=()).min_evidence:
        yield f"min_evidence: {contract.min_evidence}"
    if receipt.content["as_is"]:
        yield "as_is: no protection; the work's own tests and settings count"
    if receipt.content.get("amended"):
        yield "amended: a person approved edits of protected paths"


def _expected(check: Check) -> Iterator[str]:
    exit = "exit 0" if check.expect_exit_zero else "exit with a status from 1 to 125"
    yield f"{exit} within {check.timeout_secs:g} s"
    if check.output_contains:
        yield f"print {check.output_contains!r}"
    usual = Check(name="", command="")
    if check.min_tests != usual.min_tests:
        yield f"run at least {check.min_tests} tests"
    if check.allow_skips:
        yield "may skip tests"
    if check.quarantine is not None:
        yield f"does not decide until {check.quarantine.until} (quarantine: {check.quarantine.reason})"


def contract_from(known: Mapping[str, Any]) -> Contract:
    """Return a contract from its JSON form, in which dates are texts."""
    lists = {key: tuple(known.get(key, ())) for key in ("product", "protect", "editable")}
    facts: dict[str, Any] = {**known, **lists, "checks": tuple(_check(check) for check in known["checks"])}
    return Contract(**facts)


def _check(known: dict[str, Any]) -> Check:
    quarantine = known["quarantine"]
    if quarantine is not None:
        quarantine = Quarantine(quarantine["reason"], datetime.date.fromisoformat(quarantine["until"]))
    facts: dict[str, Any] = {**known, "quarantine": quarantine}
    return Check(**facts)


def differences(receipt: Receipt, verdict: Verdict) -> Iterator[str]:
    """Yield one line for each difference between a receipt and a second verdict."""
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
        yield from (f"{result.name}: {key} is {_shown(new[key])}, the receipt has {_shown(old[key])}"
                    for key in COMPARED if new[key] != old[key])  # fmt: skip
    missing = before.keys() - {result.name for result in verdict.results}
    yield from (f"{name}: only in the receipt" for name in sorted(missing))


def _shown(value: Any) -> str:
    return json.dumps(value) if isinstance(value, dict) else str(value)
