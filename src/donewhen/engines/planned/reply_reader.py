"""Reads a reply of a planner or an evaluator value by value. It collects every issue; no issue stops the reading.

No I/O. It reads texts, lists and numbers. The modules `plan` and `evaluation` define what these must contain.
"""

from typing import TypeGuard, cast

from donewhen.engines.typed_reply import InvalidReply, cleaned, cut, few, quoted

MOST_TOLD = 40
"""How many issues are reported; a model that makes more of them has a more general misunderstanding."""
MOST_COMMANDS = 20
LONGEST_COMMAND = 4000
"""A longer command is an issue. A command is never cut: half of a command is a different command."""


def is_whole(told: object) -> TypeGuard[int | float]:
    """Tell whether a value is a whole number; some models write 2.0."""
    return type(told) is int or (isinstance(told, float) and told.is_integer())


class ReplyReader:
    """Reader for one reply; it collects `issues` and the parts that were `filled` in."""

    def __init__(self) -> None:
        self.issues: list[str] = []
        self.filled: list[str] = []

    def finish(self) -> None:
        if self.issues:
            raise InvalidReply(few(self.issues, MOST_TOLD))

    def fill(self, what: str, value: str) -> str:
        self.filled.append(what)
        return value

    def text(self, told: object, path: str) -> str:
        if told is not None and not isinstance(told, str):
            self.issues.append(f"{path} must be text, not {quoted(told)}")
        return cleaned(told).strip() if isinstance(told, str) else ""

    def required(self, told: object, path: str) -> str:
        text = self.text(told, path)
        if not text and (told is None or isinstance(told, str)):
            self.issues.append(f"{path} must be text that is not blank")
        return text

    def command(self, told: object, path: str) -> str:
        command = self.text(told, path)
        if len(command) > LONGEST_COMMAND:
            self.issues.append(f"{path} has more than {LONGEST_COMMAND} characters; put them into a script")
        return command

    def entries(self, told: object, path: str, what: str, most: int) -> list[object]:
        if told is not None and not isinstance(told, list):
            self.issues.append(f"{path} must be {what}, not {quoted(told)}")
            return []
        found = cast("list[object]", told or [])
        if len(found) > most:
            self.issues.append(f"{path} has {len(found)} entries, at most {most} are allowed; make fewer")
        return found[:most]

    def strings(self, told: object, path: str, most: int) -> tuple[str, ...]:
        """Return the texts that are not blank, each once."""
        found = self.entries(told, path, "a list of strings", most)
        if not all(isinstance(entry, str) for entry in found):
            self.issues.append(f"{path} must be a list of strings")
        texts = (cleaned(entry).strip() for entry in found if isinstance(entry, str))
        return tuple(dict.fromkeys(text for text in texts if text))

    def commands(self, told: object, path: str) -> tuple[str, ...]:
        found = self.strings(told, path, MOST_COMMANDS)
        return tuple(self.command(one, path) for one in found)

    def short(self, text: str, most: int, what: str) -> str:
        if len(text) > most:
            self.filled.append(f"{what} cut at {most:,} characters")
        return cut(text, most)
