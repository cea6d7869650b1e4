"""A draft as the text of `.donewhen/loops/NAME.toml`, with short comments for the person who reads it."""

import json
import textwrap
from collections.abc import Iterator

from donewhen.loops.catalogue.draft import DraftInput, LoopDraft, ReadyLoop
from donewhen.loops.spec import ActionKind, LoopLevel

LEVEL_COMMENTS = {
    LoopLevel.REPORT: "its agents only read",
    LoopLevel.ASSISTED: "a person decides about everything",
}
ACTION_COMMENTS = {
    ActionKind.REPORT: "the report is delivered, and nothing else is done",
    ActionKind.COMMENT: "written after `donewhen approve`; its agents only read",
    ActionKind.OPEN_PR: "a draft, opened after `donewhen approve`",
    ActionKind.BRANCH: "the work waits as the branch donewhen/ID",
    ActionKind.APPLY_PATCH: "a commit on the checked-out branch, after `donewhen approve`",
}
QUOTES = '"""'
WIDTH = 100


def text_of(ready: ReadyLoop, draft: LoopDraft, name: str) -> str:
    return "\n".join(_lines(ready, draft, name)) + "\n"


def _lines(ready: ReadyLoop, draft: LoopDraft, name: str) -> Iterator[str]:
    yield f"# {name}: {ready.what}."
    yield f"# Try it: donewhen loop run {name} --dry-run. After a change of this file: donewhen trust"
    yield ""
    keys = [
        ("intent", toml_text(draft.intent), ""),
        ("level", toml_text(draft.level.value), LEVEL_COMMENTS[draft.level]),
        ("schedule", toml_text(ready.schedule), "also cron with five fields"),
        ("action", toml_text(draft.action.value), ACTION_COMMENTS[draft.action]),
    ]
    if draft.checks:
        keys.append(("checks", f"[{', '.join(map(toml_text, draft.checks))}]", "of donewhen.toml"))
    width = max(len(f"{key} = {value}") for key, value, comment in keys if comment)
    for key, value, comment in keys:
        yield f"{f'{key} = {value}':<{width}}  # {comment}" if comment else f"{key} = {value}"
    if draft.never:
        yield "never = ["
        yield from (f"    {toml_text(path)}," for path in draft.never)
        yield "]"
    for key, prompt in (("maker", draft.maker), ("checker", draft.checker)):
        yield ""
        yield f"{key} = {QUOTES}"
        for line in prompt.splitlines():
            indent = "  " if line.startswith("- ") else ""
            yield textwrap.fill(line, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
        yield QUOTES
    for one in draft.inputs:
        yield from _input_lines(one)
    if check := draft.own_check:
        yield f"\n# {check.comment}\n[[check]]\nname = {toml_text(check.name)}\ncommand = {toml_text(check.command)}"
    yield "\n# Limits of a round and of a day; a spent limit pauses the loop and asks you"
    yield "[budget]"
    yield from (f"{key} = {value}" for key, value in ready.budget.items())


def _input_lines(one: DraftInput) -> Iterator[str]:
    yield f"\n# {one.comment}"
    yield "[[inputs]]"
    yield f"name = {toml_text(one.name)}"
    yield f"read = {toml_text(one.read.value)}" if one.read else f"command = {toml_text(one.command)}"
    if one.network:
        yield "network = true"
    if one.timeout_secs:
        yield f"timeout_secs = {one.timeout_secs}"


def toml_text(text: str) -> str:
    """Return a text as a TOML value that is easy to read: commands stand as they are typed."""
    is_plain = all(char.isprintable() or char == "\n" for char in text)
    if is_plain and "\n" in text and "'''" not in text and not text.startswith("\n"):
        return f"'''\n{text}'''"
    if is_plain and '"' in text and "'" not in text and "\n" not in text:
        return f"'{text}'"
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
