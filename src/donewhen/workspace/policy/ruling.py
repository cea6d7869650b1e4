"""The ruling of the policy: allow, ask or deny, and the rule that decided it."""

from enum import Enum

from donewhen.records import frozen

LONGEST_SHOWN = 400


class Decision(Enum):
    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"

    @property
    def strictness(self) -> int:
        return _STRICTNESS[self]


_STRICTNESS = {Decision.ALLOW: 0, Decision.ASK: 1, Decision.DENY: 2}


@frozen
class Ruling:
    decision: Decision
    rule: str
    reason: str
    command: str
    """The part of the command that the rule matched."""


def shown(text: str) -> str:
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 1] + "…"
