"""The verb `verify`: judge again what a receipt certifies, without network access."""

from pathlib import Path

from donewhen.session.check import receipts
from donewhen.session.check.receipts import Verified
from donewhen.session.log.open_archive import Say
from donewhen.session.workplace import open_workplace


async def verify(named: str, describe: Say) -> Verified:
    """Find a receipt by its file or by a commit, describe what it certifies line by line, and judge that again."""
    start = Path.cwd()
    async with open_workplace(start, offline=True) as workplace:
        found = await receipts.find(workplace, named, start)
        for line in await receipts.description(workplace, found, start):
            describe(line)
        return await receipts.verify(workplace, found, start, lambda _: None)
