"""The verb `donewhen check`: judge the working tree against HEAD, without a model."""

import sys
from functools import partial
from typing import TYPE_CHECKING

import anyio
import click

from donewhen.cli.group import say
from donewhen.errors import BadInput

if TYPE_CHECKING:
    from donewhen.session.check.init_contract import ContractProposal


@click.command("check")
@click.option("--head", is_flag=True, help="Judge HEAD alone, without the working tree's changes.")
@click.option("--as-is", is_flag=True, help="Judge the files as you left them, without protection.")
@click.option("--fresh", is_flag=True, help="Ignore cached results.")
@click.option("--receipt", type=click.Path(), default="", help="Write the evidence to this file.")
@click.option("--json", "as_json", is_flag=True, help="One JSON event per line on stdout.")
def command(head: bool, as_is: bool, fresh: bool, receipt: str, as_json: bool) -> int:
    """Judge the working tree against HEAD: 0 when every check passes, 1 when not.

    Protected paths (tests, their configuration, files that the checks run) are judged as they are in HEAD. Edits to
    them are listed as not graded.
    """
    # Imported here, because help and completion do not need these modules.
    from donewhen.cli.views import contract_lines
    from donewhen.cli.views.audience import audience
    from donewhen.server.methods.call_context import CallContext, ContractViews
    from donewhen.server.methods.contracts import contract_check
    from donewhen.session.settings.contract_file import NothingToPropose

    if head and as_is:
        raise BadInput(
            "--head and --as-is exclude each other: --head ignores the working tree, --as-is judges all of it"
        )
    context = CallContext(say=say, views=ContractViews(judging=partial(audience, as_json), accepts=_accepts))
    try:
        judged = anyio.run(contract_check, context, "head" if head else "as-is" if as_is else "working", fresh, receipt)
    except NothingToPropose as nothing:
        contract_lines.show_nothing_found(nothing)
        return nothing.exit_code
    return 0 if judged["green"] else 1


def _accepts(proposal: "ContractProposal") -> bool:
    """Show a proposed contract, and ask whether to judge by it now."""
    from donewhen.cli.views import contract_lines

    say("there is no contract yet; `donewhen init` would write this one:")
    contract_lines.show(proposal, err=True)
    return sys.stdin.isatty() and click.confirm("Judge with it now?", default=False, err=True)
