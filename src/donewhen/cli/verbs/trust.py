"""The verb `donewhen trust`: accept settings of this repository's donewhen.toml that go beyond the defaults."""

import click

from donewhen.cli.group import one_line
from donewhen.server.methods.machine import trust_accept


@click.command("trust")
def command() -> int:
    """Accept the widening keys of this repository's donewhen.toml and of its loops, as the files are now.

    After any change, a file must be accepted again.
    """
    for trusted in trust_accept():
        for widening in trusted["keys"]:
            click.echo(one_line(f"{widening['key']} = {widening['value']!r}"))
        file = trusted["file"]
        click.echo(one_line(f"trusted: {file}" if trusted["keys"] else f"{file} asks for nothing beyond the defaults"))
    return 0
