"""Predicts the output of a command where that is possible without running it: `echo`, `cat`, `pwd` and a few more.

Used for text that goes into a shell, into `xargs` or back into a command line. Output that it cannot predict is unknown
(None or `UNKNOWN_TEXT`).
"""

import base64
import binascii
import re
from collections.abc import Callable, Iterator, Sequence

from donewhen.workspace.policy.grammar import LONGEST
from donewhen.workspace.policy.quoting import ansi_c
from donewhen.workspace.policy.step import UNKNOWN_TEXT, PipedText, Step

SILENT = frozenset({"", "true", ":", "cd", "set", "shopt", "export", "readonly", "local", "declare", "unset", "sleep"})
HARMLESS_OUTPUT = {
    "nproc": re.compile(r"(--all)?"),
    "uname": re.compile(r"(-[amnrsv])?"),
    "whoami": re.compile(r""),
    "date": re.compile(r"(-u)? ?(\+(%[A-Za-z]|[-_:.T])*)?"),
    "seq": re.compile(r"[-0-9. ]*"),
    "wc": re.compile(r"(-[lcwm]+)?"),
}
"""With such arguments, their output is one harmless word, never a path or a part of a command."""
FILTERS = frozenset({"grep", "egrep", "fgrep", "sort", "uniq", "head", "tail", "tac", "shuf", "cat", "tee"})
"""Commands that only print lines of their input."""
LISTERS = frozenset({"git", "rg", "grep", "fd", "fdfind", "ls"})
"""Commands that print names below their working directory, unless they are given another one."""

_CONVERSION = re.compile(r"%(?:%|([-0-9.# +]*)([a-zA-Z]))")


def output_of(steps: Sequence[Step]) -> PipedText:
    """Return the combined output of the steps of one pipeline part or one substitution."""
    if not steps:
        return PipedText()
    producers = tuple(dict.fromkeys(step.name for step in steps))
    texts = [printed(step) for step in steps]
    if None not in texts:
        text = "".join(part for part in texts if part)
        return PipedText(text, producers, tuple(text.split()) or (UNKNOWN_TEXT,))
    return PipedText(None, producers, items_of(steps[-1]))


def items_of(step: Step) -> tuple[str, ...]:
    """Return what a line of the step's output looks like; several values if there are alternatives."""
    if step.name in FILTERS and step.stdin:
        return step.stdin.items
    if step.name == "find":
        starts = [text for text in _before_options(step.texts) if text] or ["."]
        return tuple(f"{start}/{UNKNOWN_TEXT}" for start in starts)
    if step.name in LISTERS and not any(text.startswith(("/", "..", UNKNOWN_TEXT)) for text in step.texts):
        return (f"./{UNKNOWN_TEXT}",)
    return (UNKNOWN_TEXT,)


def _before_options(texts: Sequence[str]) -> list[str]:
    operands: list[str] = []
    for text in texts:
        if text.startswith(("-", "(", "!")):
            break
        operands.append(text)
    return operands


def printed(step: Step) -> str | None:
    if step.name in SILENT:
        return ""
    if step.name in HARMLESS_OUTPUT and HARMLESS_OUTPUT[step.name].fullmatch(" ".join(step.texts)):
        return "0"
    known = _PRINTERS.get(step.name)
    return known(step) if known else None


def _echo(step: Step) -> str:
    texts = step.texts
    options = ""
    while texts and re.fullmatch(r"-[neE]+", texts[0]):
        options += texts.pop(0)
    line = " ".join(texts)
    return (ansi_c(line) if "e" in options else line) + ("" if "n" in options else "\n")


def _printf(step: Step) -> str | None:
    texts = step.texts
    if texts[:1] == ["--"]:
        texts = texts[1:]
    if not texts or texts[0].startswith("-"):
        return None
    form, values = ansi_c(texts[0]), iter(texts[1:])
    count = sum(1 for found in _CONVERSION.finditer(form) if found[2])
    rounds = max(-(-(len(texts) - 1) // count) if count else 1, 1)
    if rounds * len(form) > LONGEST or "%" in _CONVERSION.sub("", form):
        return None
    return "".join(_CONVERSION.sub(lambda found: _converted(found, values), form) for _ in range(rounds))


def _converted(found: re.Match[str], values: Iterator[str]) -> str:
    if not found[2]:
        return "%"
    value = next(values, "")
    return ansi_c(value) if found[2] == "b" else value


def _cat(step: Step) -> str | None:
    if any(text != "-" for text in step.texts if not re.fullmatch(r"-[A-Za-z]+", text)):
        return None
    return step.stdin.text if step.stdin else None


def _base64(step: Step) -> str | None:
    text = step.stdin.text if step.stdin else None
    if text is None or UNKNOWN_TEXT in text or not any(option in step.texts for option in ("-d", "-D", "--decode")):
        return None
    try:
        return base64.b64decode(text).decode(errors="replace")
    except (binascii.Error, ValueError):
        return None


def _which(step: Step) -> str | None:
    names = [text for text in step.texts if not text.startswith("-")]
    return names[0] + "\n" if len(names) == 1 and UNKNOWN_TEXT not in names[0] else None


def _command(step: Step) -> str | None:
    return _which(step) if step.texts[:1] == ["-v"] else None


def _git(step: Step) -> str | None:
    return step.working_dir.root + "\n" if step.texts == ["rev-parse", "--show-toplevel"] else None


_PRINTERS: dict[str, Callable[[Step], str | None]] = {
    "echo": _echo,
    "printf": _printf,
    "cat": _cat,
    "base64": _base64,
    "tee": lambda step: step.stdin.text if step.stdin else None,
    "which": _which,
    "command": _command,
    "git": _git,
    "pwd": lambda step: step.working_dir.cwd + "\n",
    "mktemp": lambda step: f"/tmp/{UNKNOWN_TEXT}\n" if not any("/" in text for text in step.texts) else None,
}
