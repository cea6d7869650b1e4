"""What was said in one conversation, stored as it grows."""

from collections.abc import Mapping
from typing import Any

from donewhen.server.acp.conversations import Conversations, EditorConversation, EditorTurn
from donewhen.server.acp.editor import Editor
from donewhen.server.acp.shown import title


class Transcript:
    def __init__(self, conversations: Conversations, conversation: EditorConversation, editor: Editor) -> None:
        self._conversations = conversations
        self._editor = editor
        self.conversation = conversation

    @property
    def last_session(self) -> str:
        """The session that was worked on last; empty if there is none."""
        return next((turn.session for turn in reversed(self.conversation.turns) if turn.session), "")

    def begin(self, prompt: str) -> None:
        """Begin a turn."""
        name = self.conversation.title or title(prompt)
        turns = (*self.conversation.turns, EditorTurn(prompt=prompt))
        self._store(self.conversation.changed(turns=turns, title=name))

    def change(self, **fields: Any) -> None:
        """Change the last turn."""
        *before, last = self.conversation.turns
        self._store(self.conversation.changed(turns=(*before, last.changed(**fields))))

    async def say(self, text: str, after: bool = False) -> None:
        """Say something in the last turn: before its events, or after them."""
        last = self.conversation.turns[-1]
        self.change(**({"after": (*last.after, text)} if after else {"before": (*last.before, text)}))
        await self._editor.say(text)

    def choose(self, options: Mapping[str, str]) -> None:
        self._store(self.conversation.changed(options=options))

    def next_seq(self, session: str) -> int:
        """Return the number of the first event of a session that was not shown, as far as is known."""
        return max((turn.to_seq for turn in self.conversation.turns if turn.session == session), default=0) or 1

    def head_of(self, session: str) -> str:
        """Return the commit at HEAD when a session began."""
        return next((turn.head for turn in self.conversation.turns if turn.session == session and turn.head), "")

    def _store(self, conversation: EditorConversation) -> None:
        self.conversation = self._conversations.store(conversation)
