"""Classification of an agent's error, by the status of a refused request or by its message. Pure.

Only for what an agent itself calls an error: the text of a model may say anything.
"""

import re
from datetime import UTC, datetime
from typing import Any

from donewhen.engines.external.agent_events import ProblemKind

SIGN_IN = re.compile(
    r"\b40[13]\b|\bunauthori[sz]ed\b|\bauthentication[ _]?(failed|error|required)|\bapi[ _-]?key\b"
    r"|\bnot (logged|signed) in\b|\bplease (log|sign)[ -]?in\b|\brun /login\b",
    re.IGNORECASE,
)
QUOTA = re.compile(
    r"\b(402|429)\b|\bquota\b|\brate[ _-]?limit|\busage limit|\bcredit balance|\bbilling[ _]?error", re.IGNORECASE
)
MILLISECONDS = 100_000_000_000
"""A time above this is in milliseconds."""


def problem_kind(message: str, status: Any = None) -> ProblemKind:
    """Return the kind of an error, by its status if that is known: a message may quote anything."""
    if status in (401, 403):
        return "sign_in"
    if status in (402, 429):
        return "quota"
    if status is not None:
        return "quota" if QUOTA.search(message) else "agent"
    if SIGN_IN.search(message):
        return "sign_in"
    return "quota" if QUOTA.search(message) else "agent"


def utc(since_epoch: Any) -> str:
    """Return a time in the format of events; empty if the value is not a valid time."""
    if isinstance(since_epoch, bool) or not isinstance(since_epoch, int | float) or not 0 < since_epoch < 1e14:
        return ""
    secs = since_epoch / 1000 if since_epoch > MILLISECONDS else float(since_epoch)
    return datetime.fromtimestamp(secs, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
