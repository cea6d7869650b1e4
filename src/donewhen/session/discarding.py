"""A session taken away again: its trees, its branch where it is still ours, its records. The receipts stay."""

from donewhen.session import artifacts, handoff, landing
from donewhen.session.makers import pin
from donewhen.session.story import told
from donewhen.session.workplace import Workplace
from donewhen.storage.archive import Archive
from donewhen.workspace import leftovers
from donewhen.workspace.files import remove_tree


async def discard(place: Workplace, archive: Archive, session: str) -> str:
    """Remove everything of a session but its log; what was left alone, in one line."""
    left = await landing.discard(place, session)
    await _remove_tree(place, archive, session)
    handoff.remove(session)
    artifacts.remove(session)
    return left


async def forget(place: Workplace, archive: Archive, session: str) -> None:
    """Remove a session that is long over, but for its branch and its receipts."""
    await _remove_tree(place, archive, session)
    for kept in ("base", "candidate", "judged", "landed", "onto"):
        await place.store.release(f"sessions/{session}/{kept}")
    handoff.remove(session)
    artifacts.remove(session)
    archive.delete(session)


async def _remove_tree(place: Workplace, archive: Archive, session: str) -> None:
    remove_tree(place.own_directory(session))
    story = told(archive.records(session, kinds=("tree",)))
    for name in filter(None, (story.tree, *story.parts.values())):
        tree = await leftovers.adopt(place.trees, name)
        if tree is not None:
            await place.trees.remove(tree, discard=True)
        await place.store.release(f"trees/{name}")
    for part in story.parts:
        await place.store.release(pin(session, part))
