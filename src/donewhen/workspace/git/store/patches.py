"""Applies a patch file to a tree, which gives another tree. It uses an index of the store and checks out no files.

It accepts every form that git accepts: a plain unified diff, git's own format with modes and binary content, and mails
with a patch in each.
"""

import re

from donewhen.errors import BadInput
from donewhen.workspace.git.run_git import GitFailed
from donewhen.workspace.git.store.bare import Bare

LARGEST = 256 << 20
NO_PATCH = re.compile(
    r"No valid patches in input|corrupt patch|unrecognized input|patch with only garbage|malformed", re.IGNORECASE
)
SUBJECT = re.compile(rb"^Subject: (?=.)", re.MULTILINE)
WITHOUT_TAG = re.compile(rb"(?:\[[^]]*\] ?)?(.+)")


class DoesNotApply(Exception):
    """A valid patch does not apply to the tree. The message is one line."""


async def apply_patch(bare: Bare, tree: str, patch: bytes) -> str:
    """Return the tree with the patch applied. Raise `DoesNotApply`, or `BadInput` if the input is not a patch."""
    if not patch.strip():
        raise BadInput("it is empty")
    if len(patch) > LARGEST:
        raise BadInput(f"it is larger than {LARGEST >> 20} MiB")
    with bare.scratch() as location:
        await bare.run("read-tree", tree, at=location)
        try:
            await bare.run("apply", "--cached", "--whitespace=nowarn", "-", at=location, stdin=patch)
        except GitFailed as failed:
            lines = [line.removeprefix("error: ") for line in failed.stderr.splitlines() if line.strip()]
            first_line = lines[0] if lines else "git refuses it"
            if NO_PATCH.search(str(failed)):
                raise BadInput(f"it is not a patch: {first_line}") from failed
            raise DoesNotApply(first_line) from failed
        return (await bare.run("write-tree", at=location)).decode().strip()


def subject(patch: bytes) -> str:
    """Return the subject of the first mail in the patch; empty if there is none."""
    mail = patch[:65536]
    subject = SUBJECT.search(mail)
    found = WITHOUT_TAG.match(mail[subject.end() :]) if subject else None
    return found[1].decode("utf-8", "replace").strip() if found else ""
