"""The `donewhen` program: a lazy group of verbs and the one place that turns an error into a line and an exit code.

A verb's module is imported only when that verb is called, so `--help` and `--version` stay under 0.1 s of CPU.
What is not here: any logic. A verb lives in its own file next to this one.
"""

import importlib
import os
import signal
import sys
from typing import NoReturn

import click

from donewhen import __version__
from donewhen.errors import DonewhenError

VERBS: dict[str, tuple[str, str]] = {
    "sandbox": ("donewhen.cli.sandbox", "run one command exactly as an engine's command would run"),
    "policy": ("donewhen.cli.policy", "allow, ask or deny, and which rule says so; runs nothing"),
    "trust": ("donewhen.cli.trust", "accept the widening keys of this repository's donewhen.toml"),
    "doctor": ("donewhen.cli.doctor", "what is missing on this machine and what it costs you"),
}
"""Verb → the module that holds `command`, and the line `--help` shows without importing it."""


class LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        command: click.Command = importlib.import_module(VERBS[cmd_name][0]).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(verb, line) for verb, (_, line) in VERBS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="donewhen")
def app() -> None:
    """A coding agent is done when your checks say so."""


def say(line: str) -> None:
    """One line for a person, on stderr, with control characters made harmless."""
    click.echo(one_line(line), err=True)


def one_line(text: str) -> str:
    """The text as a single printable line: names from a repository must not move a terminal's cursor."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "backslashreplace").decode() for c in text)


def main() -> NoReturn:
    try:
        code = app.main(standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        code = 0
    except click.ClickException as error:
        say(f"donewhen: {error.format_message()}")
        code = 2
    except (click.Abort, KeyboardInterrupt):
        code = 130
    except DonewhenError as error:
        say(f"donewhen: {error}")
        code = error.exit_code
    except BrokenPipeError:
        # The reader went away: end as `cat` would, without a second error from the interpreter's own flush.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 128 + signal.SIGPIPE
    sys.exit(code if isinstance(code, int) else 0)
