"""What runs the loops of one repository for the daemon: the scheduler, in a call process that lasts."""

import os
from pathlib import Path

from donewhen.server.methods.call_context import CallContext
from donewhen.server.methods.method import Method, Right


async def run_loops(context: CallContext, repo: str, places: int) -> bool:
    """Run the loops of a repository when they are due, until the daemon ends or asks it to stop."""
    from donewhen.loops.start import run_scheduler
    from donewhen.session.settings.trust import TrustBook
    from donewhen.workspace.state_dir import state_root

    watch = context.watcher
    return await run_scheduler(Path(repo), TrustBook(state_root(os.environ)), watch, context.say, places)


RUN_LOOPS = Method("loop.run_all", run_loops, Right.DECIDE, in_process=True)
"""It is not in the table of methods: only the daemon calls it."""
