"""Proposed contract in plain lines: each check with its reason, or the lines to write if no check was found."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from donewhen.cli.group import one_line, say
from donewhen.session.settings.contract_file import NothingToPropose

if TYPE_CHECKING:
    from donewhen.server.methods.verdict_results import ProductEntry
    from donewhen.session.check.init_contract import ContractProposal

BY_HAND = '[[check]]\nname = "tests"\ncommand = "the command that runs your tests"'


def show(proposal: "ContractProposal", err: bool = False) -> None:
    for one in proposal.checks:
        where = f" (in {one.check.dir})" if one.check.dir != "." else ""
        click.echo(one_line(f"{one.check.name}{where}: {one.check.command}"), err=err)
        click.echo(f"    {one_line(one.why)}", err=err)


def show_product(patterns: "Sequence[ProductEntry]") -> None:
    """Print what the work may change, with the reasons."""
    if patterns:
        click.echo("product: of what the checks use, what the work may change")
        width = max(len(one["pattern"]) for one in patterns)
        for one in patterns:
            click.echo(f"    {one_line(one['pattern']):{width}}  {one['reason']}")


def show_nothing_found(nothing: NothingToPropose) -> None:
    """Print the lines for donewhen.toml on stdout, ready to paste."""
    say(f"donewhen: {nothing}")
    for offer in nothing.offers or (BY_HAND,):
        click.echo("\n".join(map(one_line, offer.splitlines())) + "\n")
