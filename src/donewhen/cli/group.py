"""Click group of the program: it loads verbs on use and reports errors as one line with an exit code."""

import difflib
import importlib
import io
import os
import signal
import sys

import click

from donewhen.cli.verb_table import LATER, VERBS, help_text
from donewhen.errors import DonewhenError
from donewhen.printable import one_line


class LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        command: click.Command = importlib.import_module(f"donewhen.cli.verbs.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in VERBS and not args[0].startswith("-"):
            raise click.UsageError(_unknown_verb(args[0]))
        return super().resolve_command(ctx, args)

    def get_help(self, ctx: click.Context) -> str:
        return help_text()


def _unknown_verb(name: str) -> str:
    if name in LATER:
        return f"{name} is not available in this version; see: donewhen --help"
    similar = difflib.get_close_matches(name, VERBS, 1, cutoff=0.7)
    return f"unknown command {name!r}; " + (f"did you mean {similar[0]}?" if similar else "see: donewhen --help")


def _words_of(error: click.ClickException) -> str:
    """Return what is wrong. A verb that needs another word says where the words are."""
    words = error.format_message()
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is None or not isinstance(context.command, click.Group) or not words.endswith("."):
        return words
    return f"{words.removesuffix('.')}; see: {context.command_path} --help"


@click.group(cls=LazyGroup, name="donewhen", context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="donewhen")
def app() -> None:
    """A coding agent is done when your checks say so."""


def say(line: str) -> None:
    """Print one line for a person on stderr, with control characters escaped."""
    click.echo(one_line(line), err=True)


def run(arguments: list[str]) -> int:
    """Run one verb and return the exit code. Verbs return their exit code or raise a DonewhenError."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # do not fail on a terminal that cannot show ✓
    colour = False if os.environ.get("NO_COLOR") else None
    try:
        code: object = app.main(arguments, prog_name="donewhen", standalone_mode=False, color=colour)
    except click.ClickException as error:
        say(f"donewhen: {_words_of(error)}")
        return 2
    except (click.Abort, KeyboardInterrupt):
        return 128 + signal.SIGINT
    except DonewhenError as error:
        say(f"donewhen: {error}")
        return error.exit_code
    except BrokenPipeError:
        # The reader is gone: end as `cat` would, without a second error from the interpreter's own flush.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    return code if isinstance(code, int) else 0
