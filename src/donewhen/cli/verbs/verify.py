"""The verb `donewhen verify RECEIPT|COMMIT`: judge again what a receipt certifies, without network access."""

from pathlib import Path

import anyio
import click

from donewhen.cli.group import one_line
from donewhen.session.check import judge_tree, receipts
from donewhen.session.workplace import open_workplace


@click.command("verify")
@click.argument("named", metavar="RECEIPT|COMMIT")
def command(named: str) -> int:
    """Judge again what a receipt tells of: 0 the same, 1 it differs, 2 the receipt was changed or cannot be read.

    First it prints the commands that it judges by, and whether the base commit states another contract: anyone can
    write a receipt whose only check is `true`.
    """
    return anyio.run(_verify, named)


async def _verify(named: str) -> int:
    start = Path.cwd()
    async with open_workplace(start, offline=True) as place:
        found = await receipts.find(place, named, start)
        for line in await receipts.described(place, found, start):
            click.echo(one_line(line))
        verified = await receipts.verify(place, found, start, lambda _: None)
    for line in verified.differences:
        click.echo(one_line(f"differs: {line}"))
    click.echo(one_line(judge_tree.summary(verified.verdict)))
    if verified.anchor:
        click.echo(f"anchored: commit {verified.anchor} carries this receipt")
    else:
        click.echo("unsigned: no commit carries this receipt's digest, so it shows what happened but not who says so")
    click.echo("differs from the receipt" if verified.differences else "same as the receipt")
    return 1 if verified.differences else 0
