"""What went wrong with one request, in the same few kinds for every provider: pure reading of a status and its body.

Providers say the same things in different places: a used-up quota is a code, a sentence or a list of violated limits.
Whether and when to ask again is decided elsewhere, from what is found here.
"""

import datetime
import email.utils
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal

from donewhen.model.base import Usage
from donewhen.readers.json import fields, items, words

LONGEST_MESSAGE = 300

CONTEXT = re.compile(
    r"context_length_exceeded|maximum context length|context window|prompt is too long|exceed_context_size"
    r"|input token count .{0,40}exceeds|input is too long|too many input tokens",
    re.IGNORECASE,
)
QUOTA = re.compile(
    r"insufficient_quota|billing_error|billing_hard_limit|credit balance is too low|exceeded your current quota, please"
    r"|specified API usage limits|insufficient balance|usage_limit_reached",
    re.IGNORECASE,
)
BAD_KEY = re.compile(r"API_KEY_INVALID|API key not valid|invalid_api_key|API key expired", re.IGNORECASE)
REGAINED = re.compile(r"regain access on (\d{4}-\d\d-\d\d)(?: at (\d\d:\d\d))?")
RESET_HEADER = "anthropic-ratelimit-unified-reset"
STATUS_OF_TYPE = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "insufficient_quota": 429,
    "api_error": 500,
    "server_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""What an error inside a stream would have been as a status."""


@dataclass(slots=True, eq=False)
class Setback(Exception):
    """One request failed."""

    message: str
    kind: str
    retry: bool = False
    final: bool = False
    after: float | None = None
    """Seconds that the server wants to pass first."""
    waits: Literal["", "sign_in", "quota"] = ""
    reset_at: float | None = None
    """For a quota: seconds since the epoch, when the server said it."""
    status: int = field(default=0, init=False)
    usage: Usage = field(default_factory=Usage, init=False)
    """What the provider had counted before it went wrong; it is paid for all the same."""

    def __str__(self) -> str:
        return self.message


def of_response(status: int, headers: Mapping[str, str], body: bytes, now: float) -> Setback:
    """The meaning of an answer that is no stream."""
    said = _body(body)
    message = _message(said) or _first_line(body) or "no reason given"
    setback = _of(status, message, json.dumps(said)[:20_000] if said else message)
    setback.status = status
    setback.after = _seconds_to_wait(headers, said, now)
    if setback.waits == "quota":
        setback.reset_at = _reset(message, headers, said)
    return setback


def of_stream_error(error: Mapping[str, object]) -> Setback:
    """The meaning of an error that a stream brought instead of an answer."""
    code, kind = error.get("code"), words(error.get("type"))
    status = code if isinstance(code, int) and 400 <= code < 600 else 0
    status = status or STATUS_OF_TYPE.get(words(code), 0) or STATUS_OF_TYPE.get(kind, 0) or 500
    return of_response(status, {}, json.dumps({"error": error}).encode(), now=0.0)


def _of(status: int, message: str, everything: str) -> Setback:
    told = f"{message[:LONGEST_MESSAGE]} (HTTP {status})"
    match status:
        case _ if status < 500 and QUOTA.search(everything):
            return Setback(told, "quota", waits="quota")
        case 429 if "PerDay" in everything:
            return Setback(told, "quota", waits="quota")
        case 402:
            return Setback(told, "quota", waits="quota")
        case 401 | 403:
            return Setback(told, "sign_in", waits="sign_in")
        case 400 if BAD_KEY.search(everything):
            return Setback(told, "sign_in", waits="sign_in")
        case 400 | 413 | 422 if status == 413 or CONTEXT.search(everything):
            return Setback(told, "context_length", final=True)
        case 404 | 405:
            return Setback(told, "not_found", final=True)
        case 407:
            return Setback(told, "proxy")
        case 408 | 425:
            return Setback(told, "timeout", retry=True)
        case 429:
            return Setback(told, "rate_limited", retry=True)
        case 409:
            return Setback(told, "overloaded", retry=True)
        case _ if status >= 500:
            return Setback(told, "overloaded" if status in (503, 529) else "server_error", retry=True)
        case _:
            return Setback(told, "bad_request", final=True)


def _body(body: bytes) -> dict[str, object]:
    try:
        said: object = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return fields(said) or fields(next(iter(items(said)), None))


def _message(said: Mapping[str, object]) -> str:
    error = said.get("error")
    found = (
        words(fields(error).get("message")) or words(error) or words(said.get("message")) or words(said.get("detail"))
    )
    return " ".join(found.split())


def _first_line(body: bytes) -> str:
    text = body[:2000].decode("utf-8", "replace").strip()
    return "" if text.startswith("<") else " ".join(text.split())[:LONGEST_MESSAGE]


def _seconds_to_wait(headers: Mapping[str, str], said: Mapping[str, object], now: float) -> float | None:
    for name, scale in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        value = headers.get(name, "").strip()
        if re.fullmatch(r"\d{1,12}(\.\d{1,9})?", value):
            return float(value) / scale
        if value and (when := _date(value)) is not None:
            return max(0.0, when - now)
    if (reset := _epoch(headers.get(RESET_HEADER, ""))) is not None:
        return max(0.0, reset - now)
    delays = [words(detail.get("retryDelay")) for detail in _details(said)]
    return next((float(delay[:-1]) for delay in delays if re.fullmatch(r"\d{1,9}(\.\d{1,9})?s", delay)), None)


def _date(value: str) -> float | None:
    try:
        return email.utils.parsedate_to_datetime(value).timestamp()
    except (ValueError, OverflowError):
        return None


def _details(said: Mapping[str, object]) -> Iterator[dict[str, object]]:
    yield from (fields(detail) for detail in items(fields(said.get("error")).get("details")))


def _reset(message: str, headers: Mapping[str, str], said: Mapping[str, object]) -> float | None:
    """When a quota comes back, where the server tells: in words, in a header or in a field."""
    if found := REGAINED.search(message):
        with suppress(ValueError):
            return datetime.datetime.fromisoformat(f"{found[1]}T{found[2] or '00:00'}:00+00:00").timestamp()
    told = fields(said.get("error")).get("resets_at")
    return _epoch(headers.get(RESET_HEADER, "")) or _epoch(str(told))


def _epoch(told: str) -> float | None:
    return float(told) if re.fullmatch(r"\d{9,11}", told) else None
