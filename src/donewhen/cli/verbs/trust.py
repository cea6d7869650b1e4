"""The verb `donewhen trust`: accept settings of this repository's donewhen.toml that go beyond the defaults."""

import os
from pathlib import Path

import click

from donewhen.cli.group import one_line
from donewhen.errors import BadInput
from donewhen.session.settings import settings
from donewhen.session.settings.trust import TrustBook
from donewhen.workspace.state_dir import state_root


@click.command("trust")
def command() -> int:
    """Accept the widening keys of this repository's donewhen.toml, as the file is now.

    Any later change of the file has to be accepted again.
    """
    here = Path(os.path.realpath(Path.cwd()))
    top = settings.repository_above(here) or Path("/")
    file = settings.find(here, top)
    if file is None:
        raise BadInput(f"there is no {settings.FILE_NAME} here or above, so there is nothing to trust")
    real, written, content = settings.read_inside(file, top)
    widened = settings.widening(content, settings.without_repository(os.environ))
    for widening in widened:
        click.echo(one_line(f"{widening.key} = {widening.value!r}"))
    TrustBook(state_root(os.environ)).accept(real, written)
    click.echo(one_line(f"trusted: {file}" if widened else f"{file} asks for nothing beyond the defaults"))
    return 0
