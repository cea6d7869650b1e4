"""Reads a reply of a planner or an evaluator value by value. It collects every issue; no issue stops the reading.

No I/O. It reads texts, lists and numbers. The modules `plan` and `evaluation` define what these must contain.
"""

from typing import TypeGuard, cast

from donewhen.engines.typed_reply import InvalidReply, cleaned, cut, describe_value, first_issues

MOST_ISSUES = 40
"""How many issues are reported; a model that makes more of them has a more general misunderstanding."""
MOST_COMMANDS = 20
LONGEST_COMMAND = 4000
"""A longer command is an issue. A command is never cut: half of a command is a different command."""


def is_whole_number(value: object) -> TypeGuard[int | float]:
    """Return True for a whole number; some models write 2.0."""
    return type(value) is int or (isinstance(value, float) and value.is_integer())


class ReplyReader:
    """Reader for one reply; it collects `issues` and the parts that were `filled` in."""

    def __init__(self) -> None:
        self.issues: list[str] = []
        self.filled: list[str] = []

    def require_no_issues(self) -> None:
        if self.issues:
            raise InvalidReply(first_issues(self.issues, MOST_ISSUES))

    def fill(self, what: str, value: str) -> str:
        self.filled.append(what)
        return value

    def text(self, value: object, path: str) -> str:
        if value is not None and not isinstance(value, str):
            self.issues.append(f"{path} must be text, not {describe_value(value)}")
        return cleaned(value).strip() if isinstance(value, str) else ""

    def required(self, value: object, path: str) -> str:
        text = self.text(value, path)
        if not text and (value is None or isinstance(value, str)):
            self.issues.append(f"{path} must be text that is not blank")
        return text

    def command(self, value: object, path: str) -> str:
        command = self.text(value, path)
        if len(command) > LONGEST_COMMAND:
            self.issues.append(f"{path} has more than {LONGEST_COMMAND} characters; put them into a script")
        return command

    def entries(self, value: object, path: str, what: str, most: int) -> list[object]:
        if value is not None and not isinstance(value, list):
            self.issues.append(f"{path} must be {what}, not {describe_value(value)}")
            return []
        found = cast("list[object]", value or [])
        if len(found) > most:
            self.issues.append(f"{path} has {len(found)} entries, at most {most} are allowed; make fewer")
        return found[:most]

    def strings(self, value: object, path: str, most: int) -> tuple[str, ...]:
        """Return the texts that are not blank, each once."""
        found = self.entries(value, path, "a list of strings", most)
        if not all(isinstance(entry, str) for entry in found):
            self.issues.append(f"{path} must be a list of strings")
        texts = (cleaned(entry).strip() for entry in found if isinstance(entry, str))
        return tuple(dict.fromkeys(text for text in texts if text))

    def commands(self, value: object, path: str) -> tuple[str, ...]:
        found = self.strings(value, path, MOST_COMMANDS)
        return tuple(self.command(one, path) for one in found)

    def shortened(self, text: str, most: int, what: str) -> str:
        if len(text) > most:
            self.filled.append(f"{what} cut at {most:,} characters")
        return cut(text, most)
