"""The editor, for one conversation: what it shows, and what it asks the person.

Nothing is approved unless the person chose exactly that: no reply, an unknown one and a broken one decide nothing.
"""

import contextlib
from collections.abc import Mapping
from typing import Any, Literal

from acp.exceptions import RequestError
from acp.helpers import start_tool_call, text_block, tool_content, update_tool_call
from acp.interfaces import Client
from acp.schema import (
    AcceptElicitationResponse,
    AllowedOutcome,
    ElicitationFormSessionMode,
    ElicitationSchema,
    ElicitationStringPropertySchema,
    PermissionOption,
    ToolCallUpdate,
)
from pydantic import ValidationError

from donewhen.server.acp.shown import block, title, words
from donewhen.server.acp.updates import Update, message
from donewhen.server.feed.needs_you import WORDS
from donewhen.session.person.gates import GateKind

Decision = Literal["approve", "deny", "later"]
_APPROVES = {
    "contract": "work until these checks pass",
    "plan": "build what the plan says",
    "amendment": "judge the work with these edits",
    "evaluation": "accept the work",
    "no_change": "nothing should change",
    "landing": "try to land it again",
}
_DENIES = {
    "contract": "end without any work",
    "plan": "end without any work",
    "amendment": "the edits do not count",
    "evaluation": "reject the work",
    "no_change": "reject the claim",
    "landing": "do not land it",
}


class Editor:
    def __init__(self, client: Client, conversation: str, has_forms: bool) -> None:
        """`has_forms`: the editor can ask for a text."""
        self._client = client
        self._conversation = conversation
        self.has_forms = has_forms

    async def show(self, update: Update) -> None:
        with contextlib.suppress(ConnectionError):  # the editor has left, which is noticed elsewhere
            await self._client.session_update(session_id=self._conversation, update=update)

    async def say(self, text: str) -> None:
        await self.show(message(text))

    async def decide(self, session: str, gate: Mapping[str, Any]) -> Decision:
        """Ask the person to decide on a gate. Without a decision, return `later`."""
        kind = str(gate.get("kind"))
        reason, detail = str(gate.get("reason") or ""), str(gate.get("detail") or "")
        language = "diff" if kind == GateKind.AMENDMENT else ""
        content = f"{words(reason)}\n\n{block(detail, language)}" if detail.strip() else words(reason)
        call, name = f"{session}-gate-{gate.get('id')}", title(f"{WORDS.get(kind, WORDS['decision'])} ({session})")
        shown = [tool_content(text_block(content))]
        await self.show(start_tool_call(call, name, kind="other", status="pending", content=shown))
        asked = ToolCallUpdate(tool_call_id=call, title=name, kind="other", status="pending", content=[*shown])
        decision: Decision = "later"
        with contextlib.suppress(RequestError, ValidationError, ConnectionError):
            reply = await self._client.request_permission(
                session_id=self._conversation, tool_call=asked, options=_options(kind)
            )
            if isinstance(reply.outcome, AllowedOutcome):
                chosen = reply.outcome.option_id
                decision = "approve" if chosen == "approve" else "deny" if chosen == "deny" else "later"
        await self.show(update_tool_call(call, status="failed" if decision == "later" else "completed"))
        return decision

    async def answer(self, prompt: str) -> str:
        """Ask the person a question by a form. Return the answer; empty if there is none."""
        schema = ElicitationSchema(
            properties={"answer": ElicitationStringPropertySchema(type="string", title="Answer", min_length=1)},
            required=["answer"],
        )
        mode = ElicitationFormSessionMode(session_id=self._conversation, requested_schema=schema)
        try:
            reply = await self._client.create_elicitation(message=words(prompt), mode=mode)
        except (RequestError, ValidationError, ConnectionError):
            return ""
        content = reply.content if isinstance(reply, AcceptElicitationResponse) else None
        return str((content or {}).get("answer") or "").strip()


def _options(kind: str) -> list[PermissionOption]:
    """Return what the person may choose. What changes nothing comes first: editors mark the first option."""
    approve, deny = _APPROVES.get(kind, "go on"), _DENIES.get(kind, "do not go on")
    return [
        PermissionOption(option_id="deny", name=f"Deny: {deny}", kind="reject_once"),
        PermissionOption(option_id="approve", name=f"Approve: {approve}", kind="allow_once"),
    ]
