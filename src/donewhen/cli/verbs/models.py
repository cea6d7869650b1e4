"""The verb `donewhen models`: which models can be used on this machine."""

import json

import click

from donewhen.cli.group import one_line


@click.command("models")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per provider and line.")
def command(as_json: bool) -> int:
    """The main providers for `--model PROVIDER:NAME`, whether each is ready, and what it lacks if not.

    Other providers of pydantic-ai work as well. Keys are never shown.
    """
    from donewhen.server.methods.machine import models_list

    for one in models_list():
        if as_json:
            click.echo(json.dumps(one))
            continue
        example = f"{one['provider']}:{one['model']}" if one["model"] else f"{one['provider']}:NAME"
        click.echo(one_line(f"{'ready' if one['ready'] else '-':<6}{example:<32}{one['why']}"))
    return 0
