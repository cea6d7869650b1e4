"""The method of the inbox: everything that waits for a person, over all sessions and loops."""

import datetime
import os
from pathlib import Path
from typing import TYPE_CHECKING

from donewhen.server.methods.call_context import CallContext
from donewhen.server.methods.place import place
from donewhen.session.log.open_archive import any_archive, local_settings

if TYPE_CHECKING:
    from donewhen.server.methods.loop_results import InboxEntry


def inbox_list(context: CallContext, repo: str = "") -> "list[InboxEntry]":
    """Return everything that waits for a person. What waits longest is first.

    The commands of an item are for a person in the directory `repo`.
    """
    from donewhen.loops import inbox
    from donewhen.loops.loop_records import repo_key
    from donewhen.loops.open_store import open_store
    from donewhen.loops.spec_files import usable_loops
    from donewhen.session.settings.settings import repository_above
    from donewhen.session.settings.trust import TrustBook
    from donewhen.workspace.state_dir import state_root

    trust, now = TrustBook(state_root(os.environ)), datetime.datetime.now(datetime.UTC)
    top = repository_above(Path(os.path.realpath(place(repo))))
    here = repo_key(top) if top is not None else ""
    with any_archive(context.say) as archive, open_store(local_settings(), context.say) as store:
        found = inbox.inbox_list(archive, store, lambda top: usable_loops(top, trust)[0], now)
        return [
            {
                "kind": item.kind,
                "session": item.session,
                "loop": item.loop,
                "repo": item.repo,
                "title": item.title,
                "reason": item.reason,
                "since": item.since,
                "expires_at": item.expires_at,
                "commands": inbox.commands_from(here, item),
            }
            for item in found
        ]
