"""The click side of the program: verbs loaded on use, and errors as one line with their exit code."""

import importlib
import os
import signal
import sys

import click

from donewhen.cli.verbs import VERBS, help_text
from donewhen.errors import DonewhenError


class LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        command: click.Command = importlib.import_module(VERBS[cmd_name][0]).command
        return command

    def get_help(self, ctx: click.Context) -> str:
        return help_text()


@click.group(cls=LazyGroup, name="donewhen", context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="donewhen")
def app() -> None:
    """A coding agent is done when your checks say so."""


def say(line: str) -> None:
    """One line for a person, on stderr, with control characters made harmless."""
    click.echo(one_line(line), err=True)


def one_line(text: str) -> str:
    """The text as a single printable line: names from a repository must not move a terminal's cursor."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def run(arguments: list[str]) -> int:
    """Run one verb; the exit code. Verbs return their exit code or raise a DonewhenError."""
    try:
        code: object = app.main(arguments, prog_name="donewhen", standalone_mode=False)
    except click.ClickException as error:
        say(f"donewhen: {error.format_message()}")
        return 2
    except (click.Abort, KeyboardInterrupt):
        return 128 + signal.SIGINT
    except DonewhenError as error:
        say(f"donewhen: {error}")
        return error.exit_code
    except BrokenPipeError:
        # The reader went away: end as `cat` would, without a second error from the interpreter's own flush.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    return code if isinstance(code, int) else 0
