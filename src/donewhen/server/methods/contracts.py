"""The methods about contracts and verdicts without a session: propose, check, union, and receipts.

`check` must not load the database of sessions, so that it is not imported here.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from donewhen.server.methods.call_context import CallContext

if TYPE_CHECKING:
    from donewhen.judge.verdict import Verdict
    from donewhen.session.check.init_contract import ContractProposal
    from donewhen.session.check.judge_tree import CheckRequest
    from donewhen.session.check.receipts import Verified
    from donewhen.session.verbs.check import CheckWatcher
    from donewhen.session.verbs.init import InitWatcher
    from donewhen.session.verbs.union import Combined


async def contract_init(watch: "InitWatcher") -> "ContractProposal":
    from donewhen.session.verbs.init import init

    return await init(watch)


async def contract_check(request: "CheckRequest", receipt: Path | None, watch: "CheckWatcher") -> "Verdict":
    from donewhen.session.verbs.check import check

    return await check(request, receipt, watch)


async def receipt_get(id: str, amended: bool = False) -> str:
    """Return the receipt of a verified session; with `amended`, that of its second commit."""
    from donewhen.session.verbs.finished import receipt

    return await receipt(id, amended)


async def receipt_verify(context: CallContext, named: str) -> "Verified":
    from donewhen.session.verbs.verify import verify

    return await verify(named, context.say)


async def union_run(context: CallContext, base: str, words: Sequence[str]) -> "Combined":
    from donewhen.session.verbs.union import union

    return await union(base, words, context.say, context.emit)
