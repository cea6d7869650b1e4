"""Finds the files that only held-out checks may see, once for a base and a contract, and keeps the result.

The result must not change during a session: a resumed session hides the same files. `judge.held_out` has the rules.
"""

import datetime
import json

from donewhen.judge.green_proof import JudgeRequest
from donewhen.judge.judge import Judge
from donewhen.judge.judge_host import JudgeEnvironment
from donewhen.judge.run_cache import RUNS, RunCache
from donewhen.session.settings.contract_file import contract_in
from donewhen.session.workplace import Workplace
from donewhen.workspace.files import write_atomically


async def find_held_out_files(workplace: Workplace, base: str, environment: JudgeEnvironment) -> frozenset[str]:
    """Return the files of a base. Raise BadInput if something else needs one of them."""
    if not workplace.has_held_out_checks:
        return frozenset()
    kept = await workplace.kept_held_out_files(base)
    if kept.exists():
        return await workplace.held_out_files(base)
    request = JudgeRequest(
        base=base,
        candidate=await workplace.store.tree_of(base),
        environment=environment,
        today=datetime.datetime.now().astimezone().date(),
        phase="baseline",
    )
    runs = RunCache(workplace.trees.directory / RUNS)
    contract = contract_in(workplace.settings)
    found = await Judge(workplace, contract, request, runs, lambda _: None).held_out_files()
    kept.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_atomically(kept, json.dumps(sorted(found)))
    return found
