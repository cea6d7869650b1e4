"""The verb `donewhen memory`: remembered repairs and failure signatures. Only sessions learn new repairs."""

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import click

from donewhen.cli.group import one_line, say
from donewhen.errors import BadInput
from donewhen.server.methods import memory as methods
from donewhen.server.methods.call_context import CallContext

CONTEXT = CallContext(say=say)
MOST_BYTES = 256 * 1024 * 1024
EMPTY = "nothing is remembered yet; a repair is learnt when a check turns from red to green in a session"


@click.group("memory", no_args_is_help=False)
def command() -> None:
    """Learnt repairs: what they changed, how often their hints helped, and how failures are recognised."""


@command.command("list")
@click.argument("words", nargs=-1, metavar="[WORDS]...")
@click.option("--repo", default="", metavar="PATH", help="Only repairs made in the repository at PATH.")
@click.option("--tag", default="", metavar="TAG", help="Texts with this tag instead: loop-state for rounds of loops.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per repair or text, and line.")
def list_repairs(words: tuple[str, ...], repo: str, tag: str, as_json: bool) -> int:
    """List the repairs, the newest first. With WORDS, only those that contain all of them in the check, the failure,
    the message or the change.

    A line has the id, the repository, how often the hint helped and hurt, the check, the kind of failure and the
    message.
    """
    if tag:
        return _list_texts(tag, as_json)
    found = methods.memory_list(CONTEXT, " ".join(words), repo)
    if not found:
        say("no repair matches" if words or repo else EMPTY)
    for known in found:
        click.echo(json.dumps(known) if as_json else one_line(_summary_line(known)))
    return 0


def _list_texts(tag: str, as_json: bool) -> int:
    found = methods.memory_texts(CONTEXT, tag)
    if not found:
        say(f"nothing is remembered with the tag {tag}")
    for one in found:
        line = f"{one['at'][:16].replace('T', ' ')}  {one['source']}  {one['session']}  {one['text']}"
        click.echo(json.dumps(one) if as_json else one_line(line))
    return 0


@command.command("show")
@click.argument("id")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def show(id: str, as_json: bool) -> int:
    """Show one repair: the failure, its message, the change, and how its hints did."""
    known = methods.memory_show(CONTEXT, id)
    if as_json:
        click.echo(json.dumps(known))
        return 0
    for line in _lines(known):
        click.echo(one_line(line))
    return 0


@command.command("forget")
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--all", "every", is_flag=True, help="All of them.")
@click.option("--tag", default="", metavar="TAG", help="Texts with this tag instead, such as loop-state.")
def forget(ids: tuple[str, ...], every: bool, tag: str) -> int:
    """Remove the repairs with these ids, or all of them, with their counts."""
    if sum(map(bool, (ids, every, tag))) != 1:
        raise BadInput("name the repairs: donewhen memory forget ID, or --all")
    if tag:
        count = methods.memory_forget_texts(CONTEXT, tag)
        say(f"forgotten: {count} text{'' if count == 1 else 's'}")
        return 0
    count = methods.memory_forget(CONTEXT, list(ids), every)
    say(f"forgotten: {count} repair{'' if count == 1 else 's'}")
    return 0


@command.command("export")
@click.argument("file", required=False, metavar="[FILE]")
def export(file: str | None) -> int:
    """Write all repairs with their counts to FILE or to stdout, one JSON object per line."""
    lines = methods.memory_export(CONTEXT)
    if not lines:
        say(EMPTY)
    text = "".join(f"{line}\n" for line in lines)
    if file is None or file == "-":
        click.echo(text, nl=False)
        return 0
    try:
        Path(file).write_text(text)
    except (OSError, ValueError) as why:
        raise BadInput(f"{file}: {getattr(why, 'strerror', None) or why}") from why
    return 0


@command.command("import")
@click.argument("file", metavar="FILE")
def import_repairs(file: str) -> int:
    """Add what `export` wrote elsewhere; what is known already stays as it is. `-` reads what is piped in."""
    done = methods.memory_import(CONTEXT, _read(file), file)
    count = done["repairs"]
    say(f"imported: {count} repair{'' if count == 1 else 's'}, {done['new']} of them new")
    return 0


@command.command("signature")
@click.argument("file", required=False, metavar="[FILE]")
@click.option("--check", default="", metavar="NAME", help="The check that printed the log; part of the first key.")
def signature(file: str | None, check: str) -> int:
    """Print both keys of the failure in FILE, the log of a check or of a whole CI run. Without FILE, stdin is read.

    One JSON object: `where` and `what` with a key each, what failed, the phase, the reader that understood the log, and
    whether a repair may be recalled for it. Nothing is run or stored.
    """
    click.echo(json.dumps(methods.memory_signature(_read(file), check), indent=2))
    return 0


def _summary_line(known: Mapping[str, Any]) -> str:
    counts = f"+{known['helped']} -{known['hurt']}"
    state = f" ({known['state']})" if known["state"] != "offered" else ""
    source = known["repo"] if known["learnt_here"] else f"imported or older: {known['repo'] or 'unknown'}"
    approach = known["approach"].split("\n")[0]
    return f"{known['id']}  [{source}]  {counts:<7}  {known['check']}, {known['class']}{state}: {approach}"


STATES = {
    "offered": "used as a hint when the same failure occurs again",
    "retired": "retired: the evidence is against it; not used as a hint any more",
    "grouped": "never used as a hint: no reader understands what the check printed",
}


NOT_LEARNT_HERE = "imported, or from an older version: used as a hint only with memory.across_repositories = true"


def _lines(known: Mapping[str, Any]) -> Iterator[str]:
    signature = known["signature"]
    yield f"repair    {known['id']}"
    yield f"state     {STATES[known['state']]}"
    yield f"check     {known['check']}"
    yield f"failure   {known['class']} ({known['key']})"
    for cause in signature["what"]["causes"]:
        failure = ": ".join(filter(None, (cause["place"], cause["kind"], cause["message"])))
        yield f"          {failure}"
    yield from (f"failed    {id}" for id in signature["ids"])
    yield f"learnt    {known['at']} in session {known['session']}, round {known['round']}, by {known['model'] or '?'}"
    yield f"repo      {known['repo']}"
    if not known["learnt_here"]:
        yield f"source    {NOT_LEARNT_HERE}"
    yield f"offered   {known['offered']}: shown {known['shown']}, withheld {known['withheld']}"
    yield f"shown     helped {known['helped']}, hurt {known['hurt']}{_share(known['helped'], known['hurt'])}"
    passed, red = known["withheld_passed"], known["withheld_red"]
    yield f"withheld  passed {passed}, red {red}{_share(passed, red)}"
    yield "said"
    yield from (f"          {line.expandtabs(4)}" for line in known["approach"].split("\n"))
    yield "changed"
    yield from (f"          {line.expandtabs(4)}" for line in known["diff"].split("\n"))


def _share(good: int, bad: int) -> str:
    return f": {good / (good + bad):.0%} of {good + bad} judged" if good + bad else ""


def _read(file: str | None) -> str:
    if file is None or file == "-":
        return _read_limited("stdin", sys.stdin.buffer)
    try:
        with Path(file).open("rb") as log:
            return _read_limited(file, log)
    except (OSError, ValueError) as why:
        raise BadInput(f"{file}: {getattr(why, 'strerror', None) or why}") from why


def _read_limited(name: str, log: BinaryIO) -> str:
    content = log.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise BadInput(f"{name}: longer than {MOST_BYTES // 1024**2} MB; give the part with the failure")
    return content.decode("utf-8", "surrogateescape")
