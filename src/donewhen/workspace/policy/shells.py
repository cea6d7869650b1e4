"""Shells and builtins that run text: `sh -c`, a shell that reads commands, `eval`, `source`, `trap`, `alias`."""

import re
from collections.abc import Iterator
from dataclasses import replace

from donewhen.workspace.policy.step import DOUBT, UNKNOWN_TEXT, Inner, Nested, PipedText, Step, Word

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "rbash", "fish", "yash"})
DOWNLOADERS = frozenset({"curl", "wget", "aria2c", "fetch", "http", "https", "xh", "lynx", "nc", "ncat", "ssh", "gh"})

_VALUES = frozenset({"--rcfile", "--init-file"})
_CLUSTER = re.compile(r"[-+][A-Za-z]+")
_STDIN = frozenset({"/dev/stdin", "/proc/self/fd/0", "/dev/fd/0", UNKNOWN_TEXT})
"""Operands that make a shell read its standard input. An unknown operand (`UNKNOWN_TEXT`) may be empty."""


def shell(step: Step) -> Iterator[Inner]:
    """Unwrap `sh -c SCRIPT`, `sh FILE`, or `sh` with its commands on standard input."""
    has_script, operands = _options(step.args)
    for word in step.args[: len(step.args) - len(operands)]:
        if word.stream:
            yield from commands_read(step, word.stream)
    if has_script and operands:
        parameters = {str(index): argument.text for index, argument in enumerate(operands[1:])}
        parameters["@"] = parameters["*"] = " ".join(argument.text for argument in operands[2:])
        yield from script(step, operands[0], parameters)
    elif operands and operands[0].stream:
        yield from commands_read(step, operands[0].stream)
    elif step.stdin and (not operands or operands[0].text in _STDIN or "-s" in step.texts):
        yield from commands_read(step, step.stdin)


def _options(args: tuple[Word, ...]) -> tuple[bool, tuple[Word, ...]]:
    """Return whether `-c` is among the options of a shell, and the operands."""
    has_script, index = False, 0
    while index < len(args):
        text = args[index].text
        if text in ("--", "-"):
            return has_script, args[index + 1 :]
        if text.lstrip(UNKNOWN_TEXT)[:1] not in ("-", "+"):
            break
        cluster = _CLUSTER.fullmatch(text)
        # An unknown option may be the one that makes the operand a script.
        has_script = has_script or text == "--command" or UNKNOWN_TEXT in text
        has_script = has_script or bool(cluster and text[0] == "-" and "c" in text)
        index += 2 if text in _VALUES or (cluster and text[-1] in "oO") else 1
    return has_script, args[index:]


def script(step: Step, word: Word, parameters: dict[str, str] | None = None) -> Iterator[Inner]:
    """Yield a script that is given as one word. If none of its text is known, yield only a doubt."""
    if word.is_alternative or not word.text.strip(UNKNOWN_TEXT):
        yield unknown(step, word.producers)
        return
    yield Nested(word.text, step.working_dir, parameters or {}, step.stdin)
    if word.producers:
        yield unknown(step, word.producers)


def commands_read(step: Step, stream: PipedText) -> Iterator[Inner]:
    """Yield the commands that a shell reads.

    A file is allowed like a script in the tree and yields nothing. Unknown output of a command yields a doubt.
    """
    if stream.text is not None:
        yield Nested(stream.text, step.working_dir)
    elif stream.producers:
        doubted = unknown(step, stream.producers)
        yield replace(doubted, text=" | ".join([*filter(str.isprintable, filter(None, stream.producers)), step.text]))


def unknown(step: Step, producers: tuple[str, ...]) -> Step:
    kind = "unknown-script" if DOWNLOADERS.isdisjoint(producers) else "downloaded-script"
    return Step(DOUBT, (), step.text, step.working_dir, doubt=kind)


def evaluate(step: Step) -> Iterator[Inner]:
    """Unwrap `eval`: its words, joined by blanks, are a script."""
    args = step.args[1:] if step.texts[:1] == ["--"] else step.args
    if args:
        producers = tuple(name for word in args for name in word.producers)
        joined = " ".join(word.text for word in args)
        yield from script(
            step, Word(joined, step.text, is_alternative=any(word.is_alternative for word in args), producers=producers)
        )


def source(step: Step) -> Iterator[Inner]:
    target = step.args[0] if step.args else None
    if target and target.stream:
        yield from commands_read(step, target.stream)
    elif target and step.stdin and (target.text in _STDIN or UNKNOWN_TEXT in target.text):
        yield from commands_read(step, step.stdin)
    elif target and target.text.startswith(UNKNOWN_TEXT) and "/" not in target.text:
        yield unknown(step, target.producers)


def trap(step: Step) -> Iterator[Inner]:
    operands = [word for word in step.args if word.text != "--"]
    if len(operands) > 1 and operands[0].text not in ("-", "-p", "-l", ""):
        yield from script(step, operands[0])


def alias(step: Step) -> Iterator[Inner]:
    for word in step.args:
        if "=" in word.text:
            yield Nested(word.text.partition("=")[2], step.working_dir)


_NAMES_VARIABLE = re.compile(rf"{UNKNOWN_TEXT}*-v")
_NAME_TAKERS = frozenset(
    {"test", "unset", "let", "declare", "typeset", "local", "export", "readonly", "read", "mapfile"}
)


def evaluated_later(step: Step) -> Iterator[Inner]:
    """Yield substitutions in plain text that the shell evaluates later: in names, in arithmetic, in its prompts."""
    texts = [value.text for _, value in step.assigned]
    if step.name in _NAME_TAKERS or (step.name == "printf" and _NAMES_VARIABLE.match("".join(step.texts[:1]))):
        texts += step.texts
    for text in texts:
        for start in re.finditer(r"\$\(|`", text):
            yield Nested(text[start.end() : _closing(text, start)], step.working_dir)


def _closing(text: str, start: re.Match[str]) -> int:
    """Return where a substitution ends: at the end of the text if it is not closed."""
    if start[0] == "`":
        return start.end() + len(text[start.end() :].partition("`")[0])
    depth = 1
    for index in range(start.end(), len(text)):
        depth += {"(": 1, ")": -1}.get(text[index], 0)
        if not depth:
            return index
    return len(text)
