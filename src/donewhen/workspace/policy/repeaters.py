"""Commands that run another command for each of many items: `find -exec`, `xargs`, `parallel`, `fd -x`."""

from collections.abc import Iterator
from dataclasses import replace

from donewhen.workspace.policy.naming import inner_step
from donewhen.workspace.policy.prefixes import prefix, starts
from donewhen.workspace.policy.printed import items_of
from donewhen.workspace.policy.step import UNKNOWN_TEXT, Inner, Nested, Step, Word

MOST_ITEMS = 32
"""Further items are replaced by one unknown item (`UNKNOWN_TEXT`)."""

_XARGS = prefix(
    "-a -d -E -I -L -n -P -s --arg-file --delimiter --max-args --max-procs --max-lines --max-chars --process-slot-var",
    "-0 -r -t -p -x -o -i -l -e --null --no-run-if-empty --verbose --interactive --exit --open-tty --replace",
)
_PARALLEL = prefix(
    "-j -N -n -a -S -I -C -L -s -P --jobs --arg-file --colsep --joblog --results --delay --retries --timeout",
    "-0 -k -u -X -m -q -v -t --keep-order --ungroup --dry-run --bar --eta --line-buffer --null --no-notice --will-cite",
)


def find(step: Step) -> Iterator[Inner]:
    yield from _clauses(step, ("-exec", "-execdir", "-ok", "-okdir"), items_of(step))


def fd(step: Step) -> Iterator[Inner]:
    yield from _clauses(step, ("-x", "-X", "--exec", "--exec-batch"), items_of(step))


def _clauses(step: Step, options: tuple[str, ...], items: tuple[str, ...]) -> Iterator[Inner]:
    """Yield the commands after these options, each up to `;` or `+`, with `{}` replaced by the items."""
    for index, word in enumerate(step.args):
        if word.text.replace(UNKNOWN_TEXT, "") in options:
            rest = step.args[index + 1 :]
            end = next((at for at, other in enumerate(rest) if other.text in (";", "+")), len(rest))
            found = inner_step(step, _filled_in(rest[:end], "{}", items))
            if found:
                yield found


def _filled_in(words: tuple[Word, ...], sign: str, items: tuple[str, ...]) -> tuple[Word, ...]:
    """Return the words; each word with the placeholder is repeated, once for every item."""
    filled: list[Word] = []
    for word in words:
        if sign in word.text:
            filled += [
                replace(word, text=word.text.replace(sign, item), is_alternative=len(items) > 1) for item in items
            ]
        else:
            filled.append(word)
    return tuple(filled)


def _limited(items: tuple[str, ...]) -> tuple[str, ...]:
    return items if len(items) <= MOST_ITEMS else (*items[:MOST_ITEMS], UNKNOWN_TEXT)


def xargs(step: Step) -> Iterator[Inner]:
    items = _limited(step.stdin.items) if step.stdin else (UNKNOWN_TEXT,)
    texts = step.texts
    for start in starts(step.args, _XARGS):
        sign = _placeholder(texts[:start])
        words = step.args[start:]
        added = [Word(item, item.replace(UNKNOWN_TEXT, "…"), producers=_makers(step)) for item in items]
        filled = _filled_in(words, sign, items) if sign else (*words, *added)
        found = inner_step(step, filled)
        if found:
            yield replace(found, stdin=None)


def _makers(step: Step) -> tuple[str, ...]:
    return step.stdin.producers if step.stdin and step.stdin.text is None else ()


def _placeholder(options: list[str]) -> str:
    for index, text in enumerate(options):
        if text in ("-i", "--replace"):
            return "{}"
        if text.startswith(("-I", "--replace=")):
            return text.removeprefix("--replace=").removeprefix("-I") or "".join(options[index + 1 : index + 2])
    return ""


def parallel(step: Step) -> Iterator[Inner]:
    """Unwrap `parallel`: the words before `:::` are a script; without such words each argument is a script."""
    args = step.args
    split = next((at for at, word in enumerate(args) if word.text.startswith(":::")), len(args))
    values = tuple(word.text for word in args[split + 1 :])
    items = _limited(values or (step.stdin.items if step.stdin else (UNKNOWN_TEXT,)))
    template = [" ".join(word.text for word in args[start:split]) for start in starts(args[:split], _PARALLEL)]
    if not template:
        text = "\n".join(values) or (step.stdin.text if step.stdin else None)
        yield Nested(UNKNOWN_TEXT if text is None else text, step.working_dir)
    for text in template:
        for item in items:
            yield Nested(text.replace("{}", item) if "{" in text else f"{text} {item}", step.working_dir)
