"""The verb `donewhen diff`: the work of a session as a patch."""

import base64
import sys

import anyio
import click

from donewhen.cli.group import say
from donewhen.cli.session_argument import session_argument
from donewhen.printable import visible
from donewhen.server.methods.session_work import session_diff

ESCAPED = "note: control and hidden characters are shown as escapes; to get the exact patch: donewhen diff"


@click.command("diff")
@session_argument
@click.option("--candidate", is_flag=True, help="All that was made, with the edits that are not graded.")
def command(session: str, candidate: bool) -> int:
    """The work of a session against its base, as a patch that git can apply.

    A verified session shows what landed. --candidate also shows its edits of protected paths, which are not graded.
    A terminal gets control characters as escapes. A file or a pipe gets the exact patch.
    Without ID: the newest session of this repository that is not discarded.
    """
    made = anyio.run(session_diff, session, candidate, 0)
    patch = base64.b64decode(made["patch"]) if made["encoding"] == "base64" else made["patch"].encode()
    if not sys.stdout.isatty():
        sys.stdout.buffer.write(patch)
        return 0
    text = patch.decode("utf-8", "surrogateescape")
    shown = visible(text)
    sys.stdout.write(shown)
    if shown != text:
        say(f"{ESCAPED} {session} > FILE")
    return 0
