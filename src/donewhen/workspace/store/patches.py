"""A patch file put onto a tree, as another tree: in an index of the store, and no file of it is ever on disk.

Any form that git takes: a plain unified diff, git's own with modes and binary content, mails with a patch in each.
"""

import re

from donewhen.errors import BadInput
from donewhen.workspace.git import GitFailed
from donewhen.workspace.store.bare import Bare

LARGEST = 256 << 20
NO_PATCH = re.compile(
    r"No valid patches in input|corrupt patch|unrecognized input|patch with only garbage|malformed", re.IGNORECASE
)
SUBJECT = re.compile(rb"^Subject: (?:\[[^]]*\] ?)?(.+)$", re.MULTILINE)


class DoesNotApply(Exception):
    """A sound patch that the tree has no place for; the message is one line."""


async def applied(bare: Bare, tree: str, patch: bytes) -> str:
    """The tree with the patch in it; `DoesNotApply`, or `BadInput` for what is no patch at all."""
    if not patch.strip():
        raise BadInput("it is empty")
    if len(patch) > LARGEST:
        raise BadInput(f"it is larger than {LARGEST >> 20} MiB")
    with bare.scratch() as place:
        await bare.run("read-tree", tree, at=place)
        try:
            await bare.run("apply", "--cached", "--whitespace=nowarn", "-", at=place, stdin=patch)
        except GitFailed as failed:
            said = _first_line(failed)
            if NO_PATCH.search(str(failed)):
                raise BadInput(f"it is not a patch: {said}") from failed
            raise DoesNotApply(said) from failed
        return (await bare.run("write-tree", at=place)).decode().strip()


def subject(patch: bytes) -> str:
    """What the first mail in it says it is about; empty when it is none."""
    found = SUBJECT.search(patch[:65536])
    return found[1].decode("utf-8", "replace").strip() if found else ""


def _first_line(failed: GitFailed) -> str:
    lines = [line.removeprefix("error: ") for line in failed.said.splitlines() if line.strip()]
    return lines[0] if lines else "git refuses it"
