"""The verb `verify`: judge again what a receipt certifies, without network access."""

from pathlib import Path

from donewhen.judge import receipt
from donewhen.session.check import receipts
from donewhen.session.check.receipts import Verified
from donewhen.session.log.open_archive import Say
from donewhen.session.workplace import open_workplace


async def verify(start: Path, named: str, content: bytes | None, describe: Say) -> Verified:
    """Find a receipt, describe what it certifies line by line, and judge that again.

    `content` is the receipt, and `named` is what messages call it. Without content, `named` is a commit.
    """
    async with open_workplace(start, offline=True) as workplace:
        found = receipt.read(content, named) if content is not None else await receipts.of_commit(workplace, named)
        for line in await receipts.description(workplace, found, start):
            describe(line)
        return await receipts.verify(workplace, found, start, lambda _: None)
