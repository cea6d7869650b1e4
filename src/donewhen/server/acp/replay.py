"""Shows an editor again what was said in a conversation, from its file and the logs of its sessions."""

import base64
from collections.abc import Sequence
from typing import Any

from acp.helpers import start_tool_call, text_block, tool_content, update_user_message_text
from acp.schema import ToolCallLocation

from donewhen.errors import DonewhenError
from donewhen.printable import visible
from donewhen.server.acp.conversations import EditorTurn
from donewhen.server.acp.editor import Editor
from donewhen.server.acp.ending import Known
from donewhen.server.acp.patch_parts import edits_of
from donewhen.server.acp.shown import words
from donewhen.server.acp.updates import Update, Updates
from donewhen.server.service import Caller, Service


async def replay(service: Service, caller: Caller, editor: Editor, turns: Sequence[EditorTurn]) -> int:
    """Show the turns in their order. A session whose log is gone is said to be gone.

    Return the number of the first event that was not shown of the last turn; 0 if it has no events.
    """
    next_seq = 0
    updates: dict[str, Updates] = {}
    last_of = {turn.session: number for number, turn in enumerate(turns) if turn.to_seq}
    for number, turn in enumerate(turns):
        await editor.show(update_user_message_text(f"{visible(turn.prompt)}\n\n"))
        for text in turn.before:
            await editor.say(text)
        next_seq = 0
        if turn.session:
            of_session = updates.setdefault(turn.session, Updates(turn.session))
            try:
                next_seq = await _replay_events(service, caller, editor, turn, of_session)
                if last_of.get(turn.session) == number:
                    await _replay_diff(service, caller, editor, turn.session)
            except DonewhenError as error:
                await editor.say(words(str(error)))
        for text in turn.after:
            await editor.say(text)
    return next_seq


async def _replay_events(service: Service, caller: Caller, editor: Editor, turn: EditorTurn, updates: Updates) -> int:
    """Show the events of a turn. Return the number of the first one that was not shown."""
    seq = turn.from_seq
    while not turn.to_seq or seq < turn.to_seq:
        page = await service.call(caller, "session.events", {"id": turn.session, "from_seq": seq})
        if not page["events"]:
            return seq
        for line in page["events"]:
            if not turn.to_seq or line["seq"] < turn.to_seq:
                for update in updates.of(line):
                    await editor.show(update)
        seq = page["next_seq"]
    return turn.to_seq


async def _replay_diff(service: Service, caller: Caller, editor: Editor, session: str) -> None:
    known: Known = await service.call(caller, "session.get", {"id": session})
    update = await diff_update(service, caller, known) if known.get("state") == "finished" else None
    if update is not None:
        await editor.show(update)


async def diff_update(service: Service, caller: Caller, known: Known) -> Update | None:
    """Return the work of a session as edits of files; None if it made nothing that can be shown."""
    session = str(known["id"])
    if not known.get("rounds"):
        return None
    try:
        found: dict[str, Any] = await service.call(caller, "session.diff", {"id": session})
    except DonewhenError:
        return None
    patch = found["patch"]
    if found.get("encoding") == "base64":
        patch = base64.b64decode(patch).decode("utf-8", "replace")
    contents, places, left_out = edits_of(patch, str(known.get("repo")))
    if not contents and not left_out:
        return None
    rest = f"{left_out} more are not shown here; see: donewhen diff {session}"
    return start_tool_call(
        f"{session}-work-{known.get('iterations')}",
        f"the work of session {session}",
        kind="edit",
        status="completed",
        content=[*contents, *([tool_content(text_block(rest))] if left_out or found.get("truncated") else [])],
        locations=[ToolCallLocation(path=path, line=line or None) for path, line in places],
    )
