"""Maker trees of a session: found again by the name that the log has for them, or made anew."""

import hashlib

from donewhen.session.opened import Opened
from donewhen.session.recorder import Recorder
from donewhen.session.story import TREE
from donewhen.session.workplace import Workplace
from donewhen.workspace import leftovers
from donewhen.workspace.trees import Tree


def pin(session: str, part: str) -> str:
    """Under which name the store holds on to what a part has made."""
    return f"sessions/{session}/parts/{hashlib.sha256(part.encode()).hexdigest()[:16]}"


async def maker_tree(place: Workplace, opened: Opened, recorder: Recorder, part: str = "", ground: str = "") -> Tree:
    """The tree of a part of the work, or of all of it: with what was made in it, or else the files of the ground.

    The ground is a tree id; empty is the base.
    """
    trees, story = place.trees, recorder.story
    name = story.parts.get(part, "") if part else story.tree
    tree = await leftovers.adopt(trees, name) if name else None
    if tree is None:
        base = await place.maker_base(opened.base)
        tree = await trees.make("maker", base, await place.standing(base))
        saved = await leftovers.saved(trees, name) if name else ""
        if saved or ground:
            await trees.restore(tree, saved or await place.as_shown(ground))
        recorder.write(note=(TREE, {"name": tree.facts.name} | ({"part": part} if part else {})))
        if name:
            await place.store.release(f"trees/{name}")  # what was saved of it is in the new one
    return tree
