"""Judge the newest work of a session again, by its contract: also while another process works on the session."""

from donewhen.errors import BadInput
from donewhen.events import Emit
from donewhen.judge.contract import Contract
from donewhen.judge.verdict import Verdict
from donewhen.session.check.judge_tree import TreeToJudge, judge_tree
from donewhen.session.verbs.finished import open_finished


async def rejudge(prefix: str, emit: Emit) -> tuple[Verdict, Contract]:
    """Judge what was captured at the end of the newest round. Protected paths are those of the base."""
    async with open_finished(prefix) as found:
        made = [one.attempted.candidate for one in found.state.rounds if one.attempted and one.attempted.candidate]
        if not made:
            raise BadInput(f"session {found.start_record.session} has made nothing yet that can be judged")
        tree = TreeToJudge(base=found.start_record.base, candidate=made[-1])
        contract = found.start_record.contract
        return await judge_tree(found.workplace, contract, tree, emit), contract
