"""Finds what runs inside a step: the command after `sudo`, `env`, `timeout`, `xargs`, the script after `sh -c`.

It removes one layer at a time; `walk` repeats it. A wrapper that is itself unwanted is unwrapped too.
"""

import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import replace

from donewhen.workspace.policy import repeaters, shells
from donewhen.workspace.policy.gitcall import git
from donewhen.workspace.policy.naming import inner_step
from donewhen.workspace.policy.paths import resolved
from donewhen.workspace.policy.prefixes import (
    ASSIGNMENT,
    PREFIXES,
    RUNNERS,
    SCRIPT_OPERANDS,
    SCRIPT_OPTIONS,
    SCRIPT_VARIABLES,
    SUBCOMMANDS,
    Prefix,
    prefix,
    starts,
)
from donewhen.workspace.policy.step import DOUBT, Inner, Nested, Step, Word, WorkingDir, plain

_ANY = prefix()
_ENV = prefix("-u -C --unset --chdir", "- -i -0 -v --ignore-environment --null --debug", assigns=True)
_PYTHON = re.compile(r"(python|pypy)[\d.]*")
_SPLIT = re.compile(r"(?:-[iv0]*S|--split-string=?)(.*)", re.DOTALL)
_WATCH = prefix("-n -q --interval --equexit", "-b -c -d -e -g -p -r -t -w -x --beep --color --exec --no-title")


def unwrap(step: Step) -> Iterator[Inner]:
    """Yield the steps and scripts that this step would start."""
    for name, value in step.assigned:
        if name in SCRIPT_VARIABLES and value.text:
            yield Nested(value.text, step.working_dir)
    yield from shells.evaluated_later(step)
    special = _SPECIAL.get(step.name) or (python if _PYTHON.fullmatch(step.name) else None)
    if special:
        yield from special(step)
    elif step.name in PREFIXES:
        yield from after_prefix(step, PREFIXES[step.name])
    elif step.name in RUNNERS:
        yield from after_prefix(step, RUNNERS[step.name])
    elif step.args:
        yield from subcommand(step)
    if step.name in SCRIPT_OPTIONS:
        yield from option_scripts(step)
    if step.name in SCRIPT_OPERANDS:
        yield from (Nested(text, step.working_dir) for text in step.texts if " " in text)


def after_prefix(step: Step, shape: Prefix, offset: int = 0) -> Iterator[Inner]:
    args = step.args[offset:]
    for start in starts(args, shape):
        found = inner_step(step, args[start:])
        if found:
            yield replace(found, assigned=_assignments(args[:start]) if shape.assigns else ())


def _assignments(words: tuple[Word, ...]) -> tuple[tuple[str, Word], ...]:
    pairs = ((word, word.text.partition("=")) for word in words if ASSIGNMENT.match(word.text))
    return tuple((name, replace(word, text=value)) for word, (name, _, value) in pairs)


def subcommand(step: Step) -> Iterator[Inner]:
    """Unwrap `uv run …`, `bundle exec …`. Only the first word that is not an option counts as the subcommand."""
    for index in starts(step.args, _ANY)[:1]:
        shape = SUBCOMMANDS.get((step.name, step.args[index].text))
        if shape:
            yield from after_prefix(step, shape, index + 1)


def option_scripts(step: Step) -> Iterator[Inner]:
    options = SCRIPT_OPTIONS[step.name]
    for word, following in zip(step.args, step.args[1:], strict=False):
        if word.text in options:
            yield from shells.script(step, following)
    for word in step.args:
        name, equals, value = word.text.partition("=")
        if equals and name in options:
            yield from shells.script(step, replace(word, text=value))


def env(step: Step) -> Iterator[Inner]:
    """Unwrap `env`, with `-S`, which splits one word into several, and `-C`, which changes the directory."""
    ends = starts(step.args, _ENV)
    cwd, texts = step.working_dir.cwd, step.texts
    for index, text in enumerate(texts[: max(ends, default=len(texts))]):
        split = _SPLIT.fullmatch(text)
        if split:
            script, *rest = [split[1], *texts[index + 1 :]] if split[1] else texts[index + 1 :] or [""]
            yield Nested(" ".join([script, *map(shlex.quote, rest)]), step.working_dir, stdin=step.stdin)
            return
        if text in ("-C", "--chdir"):
            cwd = resolved("".join(texts[index + 1 : index + 2]), cwd)
    for start in ends:
        found = inner_step(step, step.args[start:], WorkingDir(step.working_dir.root, cwd))
        if found:
            yield replace(found, assigned=_assignments(step.args[:start]))


def python(step: Step) -> Iterator[Inner]:
    """Unwrap `python -m tool`: it counts as running the tool."""
    for index, text in enumerate(step.texts):
        if text == "-m":
            found = inner_step(step, step.args[index + 1 :])
            if found:
                yield found
            return
        if not text.startswith("-") or text == "-c":
            return


def watch(step: Step) -> Iterator[Inner]:
    for start in starts(step.args, _WATCH):
        yield Nested(" ".join(word.text for word in step.args[start:]), step.working_dir)


def command(step: Step) -> Iterator[Inner]:
    if step.texts[:1] not in (["-v"], ["-V"]):
        yield from after_prefix(step, PREFIXES["command"])


def unnamed(step: Step) -> Iterator[Inner]:
    """Unwrap `$SUDO rm …`: the unknown name may be empty or a wrapper."""
    found = inner_step(step, step.args)
    if found:
        yield found


def hub(step: Step) -> Iterator[Inner]:
    found = inner_step(step, (plain("git"), *step.args))
    if found and step.args:
        yield found


_SPECIAL: dict[str, Callable[[Step], Iterator[Inner]]] = {
    **dict.fromkeys(shells.SHELLS, shells.shell),
    ".": shells.source,
    DOUBT: unnamed,
    "alias": shells.alias,
    "command": command,
    "env": env,
    "eval": shells.evaluate,
    "fd": repeaters.fd,
    "fdfind": repeaters.fd,
    "find": repeaters.find,
    "git": git,
    "hub": hub,
    "parallel": repeaters.parallel,
    "source": shells.source,
    "trap": shells.trap,
    "watch": watch,
    "xargs": repeaters.xargs,
}
