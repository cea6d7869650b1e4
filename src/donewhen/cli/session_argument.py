"""The argument ID of verbs on sessions: without it, the newest session that fits the verb is meant.

One line on stderr says which session that is. A shell completes the ids.
"""

from collections.abc import Callable

import click
from click.shell_completion import CompletionItem

from donewhen.cli.group import say
from donewhen.errors import DonewhenError
from donewhen.printable import shortened

MOST_OFFERED = 50


def session_argument(command: Callable[..., int]) -> Callable[..., int]:
    """Add the parameter `session` to a verb. Its value is always an id or the beginning of one."""
    argument = click.argument(
        "session", required=False, metavar="[ID]", callback=_given_or_newest, shell_complete=matching_ids
    )
    return argument(command)


def _given_or_newest(ctx: click.Context, parameter: click.Parameter, given: str | None) -> str | None:
    del parameter
    return newest_for(str(ctx.command.name)) if given is None and not ctx.resilient_parsing else given


def newest_for(verb: str) -> str:
    """Return the id of the newest session that fits the verb, and say which one it is."""
    from donewhen.server.methods.sessions import newest_session  # loaded on use: help and completion do not need it

    chosen = newest_session(verb)
    say(f"session {chosen.id}, the newest{' ' if chosen.fits else ''}{chosen.fits}: {shortened(chosen.intent)}")
    return chosen.id


def matching_ids(ctx: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Return the sessions whose id begins with what was typed, newest first."""
    del ctx, parameter
    from donewhen.server.methods.call_context import SILENT  # loaded on use, as above
    from donewhen.server.methods.sessions import session_list

    try:
        rows = session_list(SILENT, limit=MOST_OFFERED)
    except DonewhenError:
        return []  # a shell has no place for a message
    return [CompletionItem(row["id"], help=shortened(row["title"])) for row in rows if row["id"].startswith(typed)]
