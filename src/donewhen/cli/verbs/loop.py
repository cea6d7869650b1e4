"""The verb `donewhen loop`: the loops of this repository, and when they are due."""

import datetime
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from donewhen.cli import through_daemon
from donewhen.cli.group import one_line, say
from donewhen.cli.verbs import loop_add
from donewhen.cli.views.event_fields import count_text
from donewhen.cli.views.loop_history import history_lines, newest_folded
from donewhen.cli.views.loop_tables import (
    interrupted_words,
    limit_words,
    list_legend,
    list_lines,
    paused_words,
    scheduler_note,
    terminal_width,
    wrapped,
)
from donewhen.errors import BadInput, DonewhenError
from donewhen.loops.loop_records import PAUSED_BY_PERSON
from donewhen.loops.round_outcome import RoundOutcome
from donewhen.server.methods import loops as methods
from donewhen.server.methods.call_context import CallContext

if TYPE_CHECKING:
    from donewhen.cli.loop_run_away import LoopRunAway
    from donewhen.server.methods.loop_results import OccurrenceEntry, RoundSummary

CONTEXT = CallContext(say=say)
EMPTY = "this repository has no loops; a ready-made one: donewhen loop add; your own: [[loop]] in donewhen.toml"
SHOW_INDENT = " " * 13
BUDGET = {
    "a round": {
        "turns": "turn",
        "tokens": "token",
        "input_tokens": "input token",
        "output_tokens": "output token",
        "minutes": "minute",
        "usd": "",
    },
    "a day": {"tokens_per_day": "token", "usd_per_day": ""},
    "in all": {"tokens_lifetime": "token", "usd_lifetime": ""},
}
"""What each limit counts; money has no word."""


def matching_loops(ctx: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Return the loops of this repository whose name begins with what was typed."""
    del ctx, parameter
    try:
        names = methods.names()
    except DonewhenError:
        return []  # a shell has no place for a message
    return [CompletionItem(name) for name in names if name.startswith(typed)]


@click.group("loop", no_args_is_help=False)
def command() -> None:
    """Recurring work: what comes back, when, and what it may do without a person."""


command.add_command(loop_add.command)


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per loop and line.")
def list_loops(as_json: bool) -> int:
    """List the loops of this repository: level, next run, last outcomes, use of today, schedule and action."""
    found = through_daemon.call("loop.list", partial(methods.loop_list, CONTEXT))
    if as_json:
        for row in found["loops"]:
            click.echo(json.dumps(row))
    else:
        _print_list(found["loops"], has_others=bool(found["errors"]))
    for error in found["errors"]:
        say(f"donewhen: {error}")
    return BadInput.exit_code if found["errors"] else 0


def _print_list(rows: Sequence[Mapping[str, Any]], has_others: bool) -> None:
    if not rows:
        if not has_others:
            say(EMPTY)
        return
    width = terminal_width()
    for line in list_lines(rows, width):
        click.echo(one_line(line))
    for note in filter(None, (*list_legend(rows), scheduler_note(rows))):
        for line in wrapped(note, width):
            say(line)


@command.command("show")
@click.argument("name", shell_complete=matching_loops)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def show(name: str, as_json: bool) -> int:
    """Show one loop: every key, the next occurrences, and what a person must accept before it runs."""
    known = _called("loop.show", methods.loop_show, name)
    if as_json:
        click.echo(json.dumps(known))
        return 0
    width = terminal_width()
    for whole in _lines(known):
        for line in wrapped(whole, width, SHOW_INDENT):
            click.echo(one_line(line))
    return 0


@command.command("run")
@click.argument("name", shell_complete=matching_loops)
@click.option("--dry-run", is_flag=True, help="Do everything but the action, and print what it would do.")
@click.option("--unless-paused", is_flag=True, help="For cron: nothing if it is paused or runs; no output but reports.")
@click.option("--json", "as_json", is_flag=True, help="One JSON event per line on stdout.")
def run(name: str, dry_run: bool, unless_paused: bool, as_json: bool) -> int:
    """Run one round of a loop now.

    The outcome is the exit code: 0 reported, proceeded or skipped, 3 escalated, 4 failed, 5 budget, 130 cancelled.
    """
    import anyio

    from donewhen.cli.views.session_audience import session_view, session_watcher

    if unless_paused and methods.is_held(CONTEXT, name):
        return 0
    if unless_paused and not as_json:
        return _run_for_cron(name, dry_run)
    away = _begun(name, dry_run)
    if away is not None:
        with session_view(as_json, may_ask=False) as view:
            return show_round(away.follow(view), as_json)
    with session_watcher(as_json, may_ask=False) as watch:
        result = anyio.run(methods.loop_run, CallContext(watch=watch), name, dry_run)
    return show_round(result, as_json)


def _begun(name: str, dry_run: bool) -> "LoopRunAway | None":
    """Begin a round in the daemon; None if none runs."""
    from donewhen.cli.loop_run_away import LoopRunAway

    client = through_daemon.daemon()
    begun = client and through_daemon.begin(client, "loop.run", {"name": name, "dry_run": dry_run})
    return LoopRunAway(client, begun) if client is not None and begun else None


def _run_for_cron(name: str, dry_run: bool) -> int:
    """Run one round. Print only what is delivered and failures: cron mails whatever is printed."""
    import anyio

    from donewhen.loops.report import UNDELIVERED
    from donewhen.session.log.writer import ignore_record
    from donewhen.session.person.watch import SessionWatcher

    notes = list[str]()

    def keep_or_say(line: str) -> None:
        if line.startswith("note: ") and UNDELIVERED not in line:
            notes.append(line)
        else:
            say(line)

    watch = SessionWatcher(on_record=ignore_record, say=keep_or_say)
    away = _begun(name, dry_run)
    if away is not None:
        result = away.follow(None, keep_or_say)
    else:
        result = anyio.run(methods.loop_run, CallContext(watch=watch), name, dry_run)
    if not result["printed"] and result["outcome"] != RoundOutcome.FAILED.value:
        return result["exit_code"]
    for note in notes:
        say(note)
    return show_round(result, as_json=False)


def show_round(result: "RoundSummary", as_json: bool) -> int:
    """Print how a round ended, and return the exit code."""
    for line in result["printed"].splitlines():
        click.echo(one_line(line), err=as_json)
    reason = f": {result['reason']}" if result["reason"] else ""
    click.echo(one_line(f"loop {result['loop']}: {result['outcome']}{reason}"), err=as_json)
    if result["outcome"] == RoundOutcome.ESCALATED.value:
        for verb in ("diff", "approve", "deny"):
            click.echo(f"  donewhen {verb} {result['id']}", err=as_json)
    return result["exit_code"]


@command.command("start")
@click.option("--places", type=click.IntRange(min=1), default=2, show_default=True, help="Rounds at the same time.")
def start(places: int) -> int:
    """Run the loops of this repository when they are due, until Ctrl-C."""
    import anyio

    if through_daemon.daemon() is not None:
        raise BadInput("the daemon runs the loops of this repository; stop it first, or leave them to it")

    def log(line: str) -> None:
        say(f"{datetime.datetime.now(datetime.UTC).astimezone():%H:%M} {line}")

    def show(line: str) -> None:
        click.echo(one_line(line))

    return methods.CANCELLED_EXIT if anyio.run(methods.run_scheduler, CallContext(say=log), show, places) else 0


@command.command("pause")
@click.argument("name", shell_complete=matching_loops)
def pause(name: str) -> int:
    """Pause a loop: it is not due until it is resumed. A round that is running goes on."""
    reason = _called("loop.pause", methods.loop_pause, name)
    already = "" if reason == PAUSED_BY_PERSON else f" already: {limit_words(reason)}"
    click.echo(one_line(f"loop {name}: paused{already}; donewhen loop resume {name}"))
    return 0


@command.command("resume")
@click.argument("name", shell_complete=matching_loops)
def resume(name: str) -> int:
    """End the pause of a loop, and forget its failures. What was missed is not made up for."""
    _called("loop.resume", methods.loop_resume, name)
    click.echo(f"loop {name}: resumed")
    return 0


@command.command("promote")
@click.argument("name", shell_complete=matching_loops)
def promote(name: str) -> int:
    """Let a loop act alone, after verified works that nobody reverted or denied. Only a person does this."""
    reason = _called("loop.promote", methods.loop_promote, name)
    click.echo(f"loop {name}: unattended from now on; {reason}")
    return 0


@command.command("demote")
@click.argument("name", shell_complete=matching_loops)
def demote(name: str) -> int:
    """Let a person decide about everything that a loop does. Works are counted again from now on."""
    _called("loop.demote", methods.loop_demote, name)
    click.echo(f"loop {name}: a person decides from now on")
    return 0


@command.command("history")
@click.argument("name", default="", shell_complete=matching_loops)
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="Show at most this many.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per occurrence and line.")
def history(name: str, limit: int, as_json: bool) -> int:
    """What became of every occurrence of a loop, the newest first. Without NAME: of all loops of this repository."""
    if as_json:
        for row in _history(name, limit):
            click.echo(json.dumps(row))
        return 0
    rows = newest_folded(partial(_history, name), limit)
    if not rows:
        say("no round was run yet")
        return 0
    for line in history_lines(rows, with_name=not name, width=terminal_width()):
        click.echo(one_line(line))
    return 0


def _called(method: str, function: Callable[..., Any], name: str) -> Any:
    return through_daemon.call(method, partial(function, CONTEXT, name), name=name)


def _history(name: str, limit: int) -> "list[OccurrenceEntry]":
    alone = partial(methods.loop_history, CONTEXT, name, limit)
    return through_daemon.call("loop.history", alone, name=name, limit=limit)


def _lines(known: Mapping[str, Any]) -> Iterator[str]:
    yield f"{known['name']}  {known['intent']}"
    yield f"  level      {known['level']}" + (f", because {known['level_reason']}" if known["level_reason"] else "")
    if earned := known["evidence"]:
        fault = f", since {earned['fault']}" if earned["fault"] else ""
        yield f"  earned     {len(earned['sessions'])} of {earned['needed']} verified works in a row{fault}"
    yield f"  schedule   {known['schedule']}: {known['words']} ({known['timezone']})"
    if known["next"]:
        yield f"  next       {', '.join(_times(known['next']))}"
    if known["running"]:
        yield f"  running    session {known['running']}"
    if known["interrupted"]:
        yield f"  round      {interrupted_words(known)}"
    if known["paused"]:
        yield f"  paused     {paused_words(known)}"
    if known["on"]:
        yield f"  also on    {', '.join(known['on'])}"
    for one in known["inputs"]:
        reach = ", with network" if one["network"] else ""
        what = f"{one['read']}, read by donewhen" if one["read"] else _joined(one["command"])
        yield f"  input      {one['name']}: {what}{reach}"
    checks = [*known["checks"], *(one["name"] for one in known["own_checks"])]
    yield f"  checks     {', '.join(checks) or ('none' if known['only_reads'] else 'all of donewhen.toml')}"
    yield f"  maker      {known['engine']}: {_joined(known['maker'] or known['intent'])}"
    checker = known["checker"] or "tries to show that the work is wrong"
    yield f"  checker    {known['checker_engine']}: {_joined(checker)}"
    yield f"  action     {known['action']}, gate {known['gate']}"
    if known["never"]:
        yield f"  never      {', '.join(known['never'])}"
    yield f"  budget     {_budget(known['budget'])}"
    yield f"  file       {known['file']}"
    if not known["trusted"]:
        why = f"because of {', '.join(known['widening'])}" if known["widening"] else "before a scheduler runs it"
        yield f"  needs      donewhen trust, {why}"


def _times(moments: list[str]) -> list[str]:
    """Return moments as times of day, with seconds where they need them."""
    length = len("2026-01-01 00:00") if all(at[17:19] == "00" for at in moments) else len("2026-01-01 00:00:00")
    return [at[:length].replace("T", " ") for at in moments]


def _budget(limits: dict[str, float]) -> str:
    """Return the limits that are set, as words."""
    found = list[str]()
    for period, nouns in BUDGET.items():
        set_here = [_limit(limits[key], noun) for key, noun in nouns.items() if limits[key]]
        found += [f"{', '.join(set_here)} {period}"] if set_here else []
    return "; ".join(found) or "no limit"


def _limit(most: float, noun: str) -> str:
    if not noun:
        return f"${most:g}"
    return f"{most:g} {noun}s" if most % 1 else count_text(int(most), noun)


def _joined(text: str) -> str:
    """Return a text of several lines as one line."""
    return " ".join(text.split())
