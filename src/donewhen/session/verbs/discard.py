"""Removal of a session: its trees, its branch if it is still ours, its records. The receipts stay."""

from donewhen.session.conclude import land
from donewhen.session.log import handoff, plan_files
from donewhen.session.log.state import replay_log
from donewhen.session.loop.maker_trees import pin
from donewhen.session.workplace import Workplace
from donewhen.storage.archive import Archive
from donewhen.workspace.files import remove_tree
from donewhen.workspace.trees import orphans


async def discard(workplace: Workplace, archive: Archive, session: str) -> str:
    """Remove everything of a session except its log. Return in one line what was left."""
    left = await land.discard(workplace, session)
    await _remove_tree(workplace, archive, session)
    handoff.remove(session)
    plan_files.remove(session)
    return left


async def forget(workplace: Workplace, archive: Archive, session: str) -> None:
    """Remove a session that ended long ago, except its branch and its receipts."""
    await _remove_tree(workplace, archive, session)
    for kept in ("base", "candidate", "judged", "landed", "onto", "amended"):
        await workplace.store.release(f"sessions/{session}/{kept}")
    handoff.remove(session)
    plan_files.remove(session)
    archive.delete(session)


async def _remove_tree(workplace: Workplace, archive: Archive, session: str) -> None:
    remove_tree(workplace.engine_directory(session))
    state = replay_log(archive.records(session, kinds=("tree",)))
    for name in filter(None, (state.tree, *state.parts.values())):
        tree = await orphans.adopt(workplace.trees, name)
        if tree is not None:
            await workplace.trees.remove(tree, discard=True)
        await workplace.store.release(f"trees/{name}")
    for part in state.parts:
        await workplace.store.release(pin(session, part))
