"""The verb `donewhen init`: propose a contract from the content of the repository, run it once, and write it."""

import sys
from collections.abc import Mapping

import anyio
import click

from donewhen.cli.group import one_line, say
from donewhen.server.methods.contracts import contract_init


@click.command("init")
def command() -> int:
    """Propose donewhen.toml from what the repository already has, try it once, and write it.

    Every check is shown with its reason. An existing file keeps its content; only missing checks are added. Exit code
    0 when there is a contract, 2 when nothing was found.
    """
    # Imported here, because help and completion do not need these modules.
    from donewhen.cli.views import contract_lines
    from donewhen.cli.views.audience import audience
    from donewhen.server.methods.call_context import CallContext, ContractViews
    from donewhen.session.settings.contract_file import NothingToPropose

    views = ContractViews(proposed=contract_lines.show, judging=audience, allows=_allows)
    try:
        written = anyio.run(contract_init, CallContext(say=say, views=views))
    except NothingToPropose as nothing:
        contract_lines.show_nothing_found(nothing)
        return nothing.exit_code
    if not written["checks"]:
        click.echo(one_line(f"{written['file']} already has a check for everything that was found"))
        return 0
    contract_lines.show_product(written["product"])
    names = [one["name"] for one in written["checks"]]
    keys = [f"{key} = {values}" for key, values in written["workspace"].items()]
    product = ["product"] if written["product"] else []
    done = "wrote" if written["is_new"] else "added to"
    click.echo(one_line(f"{done} {written['file']}: {', '.join([*names, *product, *keys])}"))
    return 0


def _allows(wider: Mapping[str, tuple[str, ...]]) -> bool:
    """Ask the person at the terminal before settings give more access to the host."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    keys = ", ".join(f"{key} = {list(values)}" for key, values in wider.items())
    return click.confirm(one_line(f"Allow the checks [workspace] {keys}?"), default=False)
