"""Classification of a failed request into the same few kinds for every provider, from its status and body only.

Providers report the same problem in different places: an exhausted quota is a code, a sentence or a list of violated
limits. Other modules decide from this whether and when to retry. Servers repeat keys in their error messages, so a
message is kept complete until `RequestError.clean` has removed secrets. If it were cut first, half of a key would stay.
"""

import datetime
import email.utils
import json
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal

from donewhen.model.interface import Usage
from donewhen.readers.json import fields, items, words

LONGEST_MESSAGE = 300
SHORTEST_SECRET = 8
"""Shorter values are placeholders such as `ollama`, or prefixes of ordinary words."""

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
RESET_TIME = re.compile(r"regain access on (\d{4}-\d\d-\d\d)(?: at (\d\d:\d\d))?")
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
"""Error type inside a stream → the equivalent HTTP status."""


@dataclass(slots=True, eq=False)
class RequestError(Exception):
    """One request failed."""

    message: str
    kind: str
    retry: bool = False
    final: bool = False
    after: float | None = None
    """Seconds that the server asks to wait before a retry."""
    waits: Literal["", "sign_in", "quota"] = ""
    reset_at: float | None = None
    """For a quota: time of the reset in seconds since the epoch, if the server reported it."""
    status: int = field(default=0, init=False)
    usage: Usage = field(default_factory=Usage, init=False)
    """Tokens that the provider counted before the failure; they are paid for anyway."""

    def __str__(self) -> str:
        return self.message

    def clean(self, secrets: Collection[str]) -> None:
        """Make the message safe to show: remove secrets, limit the length, add the status."""
        message = remove_secrets(secrets, self.message)[:LONGEST_MESSAGE]
        self.message = f"{message} (HTTP {self.status})" if self.status else message


def remove_secrets(secrets: Collection[str], text: str) -> str:
    """Return the text without these secrets. A secret that is cut off at the end of the text is removed too."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) < SHORTEST_SECRET:
            continue
        text = text.replace(secret, "…")
        cut = next(
            (size for size in range(len(secret) - 1, SHORTEST_SECRET - 1, -1) if text.endswith(secret[:size])), 0
        )
        text = f"{text[:-cut]}…" if cut else text
    return text


def classify_response(status: int, headers: Mapping[str, str], body: bytes, now: float) -> RequestError:
    """Classify a response that is not a stream."""
    data = _body(body)
    message = _message(data) or _plain_text(body) or "no reason given"
    error = _classify(status, message, json.dumps(data)[:20_000] if data else message)
    error.status = status
    error.after = _seconds_to_wait(headers, data, now)
    if error.waits == "quota":
        error.reset_at = _reset(message, headers, data)
    return error


def classify_stream_error(error: Mapping[str, object]) -> RequestError:
    """Classify an error that arrived inside a stream."""
    code, kind = error.get("code"), words(error.get("type"))
    status = code if isinstance(code, int) and 400 <= code < 600 else 0
    status = status or STATUS_OF_TYPE.get(words(code), 0) or STATUS_OF_TYPE.get(kind, 0) or 500
    return classify_response(status, {}, json.dumps({"error": error}).encode(), now=0.0)


def _classify(status: int, message: str, everything: str) -> RequestError:
    match status:
        case _ if status < 500 and QUOTA.search(everything):
            return RequestError(message, "quota", waits="quota")
        case 429 if "PerDay" in everything:
            return RequestError(message, "quota", waits="quota")
        case 402:
            return RequestError(message, "quota", waits="quota")
        case 401 | 403:
            return RequestError(message, "sign_in", waits="sign_in")
        case 400 if BAD_KEY.search(everything):
            return RequestError(message, "sign_in", waits="sign_in")
        case 400 | 413 | 422 if status == 413 or CONTEXT.search(everything):
            return RequestError(message, "context_length", final=True)
        case 404 | 405:
            return RequestError(message, "not_found", final=True)
        case 407:
            return RequestError(message, "proxy")
        case 408 | 425:
            return RequestError(message, "timeout", retry=True)
        case 429:
            return RequestError(message, "rate_limited", retry=True)
        case 409:
            return RequestError(message, "overloaded", retry=True)
        case _ if status >= 500:
            return RequestError(message, "overloaded" if status in (503, 529) else "server_error", retry=True)
        case _:
            return RequestError(message, "bad_request", final=True)


def _body(body: bytes) -> dict[str, object]:
    try:
        data: object = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return fields(data) or fields(next(iter(items(data)), None))


def _message(body: Mapping[str, object]) -> str:
    error = body.get("error")
    found = (
        words(fields(error).get("message")) or words(error) or words(body.get("message")) or words(body.get("detail"))
    )
    return " ".join(found.split())


def _plain_text(body: bytes) -> str:
    text = body.decode("utf-8", "replace").strip()
    return "" if text.startswith("<") else " ".join(text.split())


def _seconds_to_wait(headers: Mapping[str, str], body: Mapping[str, object], now: float) -> float | None:
    for name, scale in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        value = headers.get(name, "").strip()
        if re.fullmatch(r"\d{1,12}(\.\d{1,9})?", value):
            return float(value) / scale
        if value and (when := _date(value)) is not None:
            return max(0.0, when - now)
    if (reset := _epoch(headers.get(RESET_HEADER, ""))) is not None:
        return max(0.0, reset - now)
    delays = [words(detail.get("retryDelay")) for detail in _details(body)]
    return next((float(delay[:-1]) for delay in delays if re.fullmatch(r"\d{1,9}(\.\d{1,9})?s", delay)), None)


def _date(value: str) -> float | None:
    try:
        return email.utils.parsedate_to_datetime(value).timestamp()
    except (ValueError, OverflowError):
        return None


def _details(body: Mapping[str, object]) -> Iterator[dict[str, object]]:
    yield from (fields(detail) for detail in items(fields(body.get("error")).get("details")))


def _reset(message: str, headers: Mapping[str, str], body: Mapping[str, object]) -> float | None:
    """Return when a quota resets, if the server reports it in the message, in a header or in a field."""
    if found := RESET_TIME.search(message):
        with suppress(ValueError):
            return datetime.datetime.fromisoformat(f"{found[1]}T{found[2] or '00:00'}:00+00:00").timestamp()
    resets_at = fields(body.get("error")).get("resets_at")
    return _epoch(headers.get(RESET_HEADER, "")) or _epoch(str(resets_at))


def _epoch(text: str) -> float | None:
    return float(text) if re.fullmatch(r"\d{9,11}", text) else None
