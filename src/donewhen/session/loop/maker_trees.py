"""Maker trees of a session: adopted by the name in the log, or created."""

import hashlib

from donewhen.session.check import judge_tree
from donewhen.session.log.notes import MakerTree
from donewhen.session.log.start_record import StartRecord
from donewhen.session.log.writer import LogWriter
from donewhen.session.workplace import Workplace
from donewhen.workspace.trees import orphans
from donewhen.workspace.trees.trees import Tree


def pin(session: str, part: str) -> str:
    """Return the name under which the store keeps what a part has made."""
    return f"sessions/{session}/parts/{hashlib.sha256(part.encode()).hexdigest()[:16]}"


async def maker_tree(
    workplace: Workplace, start_record: StartRecord, log: LogWriter, part: str = "", start_tree: str = ""
) -> Tree:
    """Return the maker tree of a part of the work, or of all of it.

    It contains what was made in it before, else the files of `start_tree`: a tree id, or empty for the base.
    """
    trees, state = workplace.trees, log.state
    hidden = await judge_tree.held_out_files(workplace, start_record.base)  # known from here on, also after a resume
    name = state.parts.get(part, "") if part else state.tree
    tree = await orphans.adopt(trees, name) if name else None
    if tree is None:
        base = await workplace.maker_base(start_record.base)
        tree = await trees.make("maker", base, await workplace.tree_layers(base, hidden=hidden))
        saved = await orphans.saved_tree(trees, name) if name else ""
        if saved or start_tree:
            await trees.restore(tree, saved or await workplace.as_shown(start_tree, start_record.base))
        log.write(note=MakerTree(name=tree.facts.name, part=part or None).note())
        if name:
            await workplace.store.release(f"trees/{name}")  # the new tree contains what was saved of the old one
    return tree
