"""How long an answer of a forge asks us to wait. Pure: status, header fields and text in, seconds out."""

import email.utils
import re
import time
from collections.abc import Mapping

SECONDS = re.compile(r"[0-9]{1,12}")
SECONDARY_SECS = 60.0
"""GitHub: wait at least a minute after a secondary limit that names no time."""
LONGEST_SECS = 24 * 3600.0
"""A server that asks for more is broken."""


def wait_secs(status: int, fields: Mapping[str, str], text: str) -> float | None:
    """Return the seconds until the next request may be sent; None if the answer is not about a limit.

    `fields` has small letters in its names.
    """
    asked = _retry_after(fields)
    if status in (403, 429):
        if asked is not None:
            return asked
        reset = fields.get("x-ratelimit-reset", "")
        if fields.get("x-ratelimit-remaining") == "0" and SECONDS.fullmatch(reset):
            return _bounded(int(reset) - _now(fields))
        is_limit = status == 429 or "secondary rate limit" in text.lower()
        return SECONDARY_SECS if is_limit else None
    return asked if status >= 500 else None


def _retry_after(fields: Mapping[str, str]) -> float | None:
    text = fields.get("retry-after", "").strip()
    if SECONDS.fullmatch(text):
        return _bounded(int(text))
    moment = _moment(text)
    return None if moment is None else _bounded(moment - _now(fields))


def _now(fields: Mapping[str, str]) -> float:
    """Return the server's own time: its limits are measured by its clock."""
    moment = _moment(fields.get("date", ""))
    return time.time() if moment is None else moment


def _moment(text: str) -> float | None:
    try:
        return email.utils.parsedate_to_datetime(text[:100]).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError, OSError):
        return None


def _bounded(seconds: float) -> float:
    return min(max(float(seconds), 0.0), LONGEST_SECS)
