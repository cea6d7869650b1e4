"""The operator's own rules: patterns that deny or ask. No pattern can allow.

"terraform apply"    a command whose words start with these; `*` matches any text within one word
"re:TOKEN.*curl"     a regular expression, searched in the whole command as it was given
"""

import re
import shlex
from collections.abc import Sequence
from fnmatch import fnmatchcase

from donewhen.errors import BadInput
from donewhen.records import frozen
from donewhen.workspace.policy.ruling import Decision
from donewhen.workspace.policy.step import UNKNOWN_TEXT, Step


@frozen
class Pattern:
    """One entry of `policy.deny` or `policy.ask`."""

    key: str
    source: str
    decision: Decision
    words: tuple[str, ...] = ()
    expression: re.Pattern[str] | None = None

    @property
    def reason(self) -> str:
        return f"matches the operator's rule {self.source!r}"

    def in_text(self, command: str) -> bool:
        return self.expression is not None and self.expression.search(command) is not None

    def for_step(self, step: Step) -> Decision:
        """Return the decision on a step. It is to ask if unknown words could match the pattern."""
        texts = [word.text for word in step.words[: len(self.words)]]
        unknown = any(UNKNOWN_TEXT in text for text in texts)
        if not texts or (len(texts) < len(self.words) and not unknown):
            return Decision.ALLOW
        if "/" not in self.words[0]:
            texts[0] = texts[0].rpartition("/")[2]
        fits = all(
            UNKNOWN_TEXT in text or fnmatchcase(text, wanted) for text, wanted in zip(texts, self.words, strict=False)
        )
        return Decision.ALLOW if not fits else Decision.ASK if unknown else self.decision


def patterns(entries: Sequence[object], decision: Decision) -> tuple[Pattern, ...]:
    return tuple(_pattern(entry, decision, f"policy.{decision.value}[{at}]") for at, entry in enumerate(entries))


def _pattern(entry: object, decision: Decision, key: str) -> Pattern:
    if not isinstance(entry, str):
        raise BadInput(f"{key}: must be a string, not {type(entry).__name__}")
    if not entry.strip() or entry.strip() == "re:":
        raise BadInput(f"{key}: the pattern is empty")
    try:
        if entry.startswith("re:"):
            return Pattern(key, entry, decision, expression=re.compile(entry.removeprefix("re:")))
        return Pattern(key, entry, decision, words=tuple(shlex.split(entry)))
    except re.error as error:
        raise BadInput(f"{key}: bad pattern {entry!r}: {error.msg}") from error
    except (ValueError, OverflowError, RecursionError) as error:
        raise BadInput(f"{key}: bad pattern {entry!r}: {error}") from error
