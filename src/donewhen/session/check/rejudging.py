"""Judges the work of a session again on a new base, as the session did, and writes a new receipt."""

from donewhen.judge.contract import Contract
from donewhen.judge.verdict import Verdict
from donewhen.records import frozen
from donewhen.session.check import receipts
from donewhen.session.check.judge_tree import TreeToJudge, judge_tree
from donewhen.session.log.writer import LogWriter
from donewhen.session.workplace import Workplace


@frozen
class Rejudging:
    workplace: Workplace
    contract: Contract
    log: LogWriter
    amended: bool = False
    """True if approved edits of protected paths count."""

    async def rejudge(self, base: str, tree: str) -> Verdict:
        to_judge = TreeToJudge(base=base, candidate=tree, as_is=self.amended)
        return await judge_tree(self.workplace, self.contract, to_judge, self.log.emit)

    async def write_receipt(self, verdict: Verdict) -> str:
        """Write the receipt of a new verdict. Return its digest."""
        costs = receipts.ReceiptCosts.of(self.log.state)
        text = await receipts.receipt_text(
            self.workplace, verdict, self.contract, costs, as_is=self.amended, amended=self.amended
        )
        return await receipts.keep(self.workplace, text)
