"""The verb `donewhen verify RECEIPT|COMMIT`: judge again what a receipt certifies, without network access."""

import anyio
import click

from donewhen.cli.group import one_line
from donewhen.server.methods.call_context import CallContext
from donewhen.server.methods.contracts import receipt_verify


@click.command("verify")
@click.argument("named", metavar="RECEIPT|COMMIT")
def command(named: str) -> int:
    """Judge the tree of a receipt again: 0 the same, 1 it differs, 2 the receipt was changed or cannot be read.

    The commands of the receipt are printed first, and a warning if the base commit has another contract: anyone can
    write a receipt whose only check is `true`.
    """
    from donewhen.session.check.receipts import file_content  # loaded on use: help does not need it

    content = file_content(named)
    text = named if content is None else content.decode("utf-8", "surrogateescape")
    name = named if content is not None else ""
    verified = anyio.run(receipt_verify, CallContext(say=_print), text, "", name)
    for line in verified["differences"]:
        _print(f"differs: {line}")
    _print(verified["summary"])
    if verified["anchor"]:
        click.echo(f"anchored: commit {verified['anchor']} carries this receipt")
    else:
        click.echo("unsigned: no commit carries this receipt's digest, so it shows what happened but not who wrote it")
    click.echo("same as the receipt" if verified["same"] else "differs from the receipt")
    return 0 if verified["same"] else 1


def _print(line: str) -> None:
    click.echo(one_line(line))
