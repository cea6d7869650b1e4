"""One conversation with an editor: what its prompts do, one after the other.

A prompt is an intent, unless the session before waits for an answer: then it is the answer. `/approve`, `/deny`,
`/resume` and `/land` act on the session before. What was said is stored, so that the editor can load it again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from donewhen.errors import BadInput, DonewhenError
from donewhen.server.acp.choices import Choices
from donewhen.server.acp.editor import Editor
from donewhen.server.acp.ending import Known, StopReason, ending_text, stop_reason
from donewhen.server.acp.follow import Follower
from donewhen.server.acp.prompt_text import text_of
from donewhen.server.acp.replay import diff_update, replay
from donewhen.server.acp.shown import title, words
from donewhen.server.acp.transcript import Transcript
from donewhen.server.service import Caller, Service
from donewhen.session.outcome import Outcome
from donewhen.session.person.gates import GateKind
from donewhen.workspace.git.repo import head_of

LONGEST_CONTEXT = 2000
"""Characters of an earlier intent that are repeated in a new one."""
COMMANDS = {
    "approve": "approve what waits for a decision",
    "deny": "deny what waits for a decision",
    "resume": "go on with the session that ended or was interrupted",
    "land": "land the verified work, on another branch if one is named",
}


class Talk:
    def __init__(
        self, service: Service, caller: Caller, editor: Editor, choices: Choices, transcript: Transcript
    ) -> None:
        self._service = service
        self._caller = caller
        self._editor = editor
        self._choices = choices
        self.transcript = transcript
        self._working = False
        self._cancelled = False
        self._follower: Follower | None = None
        self.live = ""
        """The session that a process works on, as far as is known."""

    @property
    def is_idle(self) -> bool:
        return not self._working and not self.live

    # -- what the editor asks for --

    async def prompt(self, blocks: Sequence[Any]) -> StopReason:
        """Do what a prompt says. What cannot be done is said in the conversation."""
        self._require_idle()
        self._working, self._cancelled = True, False
        try:
            return await self._prompt(blocks)
        except DonewhenError as error:
            await self.transcript.say(words(str(error)), after=True)
            return "cancelled" if self._cancelled else "end_turn"
        finally:
            self._working, self._follower = False, None

    async def cancel(self) -> None:
        """Stop what the conversation has started. A prompt that is being worked on then ends as cancelled."""
        self._cancelled = self._working
        if not self.live:
            return
        try:
            await self._call("session.cancel", {"id": self.live})
        except DonewhenError as error:
            if self._follower is not None:
                self._follower.stop(str(error))

    def choose(self, id: str, value: object) -> None:
        self.transcript.choose(self._choices.choose(self.transcript.conversation.options, id, value))

    def choices(self) -> list[Any]:
        return self._choices.shown(self.transcript.conversation.options)

    async def replay(self) -> None:
        """Show everything that was said so far, and how the last session stands."""
        self._require_idle()
        if not self.transcript.conversation.turns:
            return
        *before, last = self.transcript.conversation.turns
        is_open = last.session and not last.after
        last = last.changed(to_seq=0) if is_open else last
        next_seq = await replay(self._service, self._caller, self._editor, [*before, last])
        if is_open:
            self.transcript.change(to_seq=next_seq)
            known = await self._known(last.session)
            self.live = last.session if known.get("live") else ""
            await self._editor.say(ending_text(known, "no editor was there" if self.live else ""))

    def _require_idle(self) -> None:
        if self._working:
            raise BadInput("a prompt of this conversation is being worked on; cancel it first")

    # -- what a prompt is --

    async def _prompt(self, blocks: Sequence[Any]) -> StopReason:
        try:
            text = text_of(blocks, self.transcript.conversation.directory)
        except BadInput:
            self.transcript.begin("(a prompt that cannot be used)")
            raise
        self.transcript.begin(text)
        session = self.transcript.last_session
        last = await self._known(session) if session else None
        command, _, rest = text.removeprefix("/").partition(" ")
        if text.startswith("/") and command in COMMANDS:
            return await self._command(command, rest.strip(), session)
        if last is not None and _takes_answer(last):
            return await self._act(session, "session.answer", {"id": session, "text": text})
        if last is not None and last.get("live"):
            await self.transcript.say("The session before still works, so this was not used: send it again afterwards.")
            return await self._follow(session, self.transcript.next_seq(session))
        return await self._start(text, last)

    async def _command(self, command: str, rest: str, session: str) -> StopReason:
        if not session:
            raise BadInput(f"/{command}: there is no session in this conversation yet")
        if command == "land":
            landed = await self._call("session.land", {"id": session, "onto": rest})
            where = _landed_words(landed["landed"]) if landed["landed"] else f"Not landed: {words(landed['reason'])}"
            await self.transcript.say(where)
            return "end_turn"
        return await self._act(session, f"session.{command}", {"id": session})

    async def _act(self, session: str, method: str, params: Mapping[str, Any]) -> StopReason:
        """Carry out a call after which a session goes on, and follow it."""
        from_seq = self.transcript.next_seq(session)
        result = await self._call(method, params)
        if result.get("is_optional"):
            landed, problem = result.get("landed"), str(result.get("problem") or "")
            await self.transcript.say(words(problem) or (_landed_words(landed) if landed else "The edits stay out."))
            return "end_turn"
        return await self._follow(session, from_seq, has_begun="outcome" not in result)

    async def _start(self, text: str, last: Known | None) -> StopReason:
        head = self._head()
        parameters = {"intent": text, "ask": True}
        parameters |= self._choices.parameters(self.transcript.conversation.options)
        parameters |= self._after(text, last, head) if last is not None else {}
        result = await self._call("session.start", parameters)
        self.transcript.change(head=head)
        return await self._follow(str(result["id"]), 1)

    def _after(self, text: str, last: Known, head: str) -> dict[str, Any]:
        """Return what is special about a session that follows another one in the same conversation.

        It builds on verified work as long as HEAD is where it was: whoever goes on talking means that work.
        """
        outcome, landed, intent = Outcome.of(last.get("outcome")), last.get("landed"), str(last["intent"])
        if outcome is Outcome.VERIFIED and landed and head and head == self.transcript.head_of(str(last["id"])):
            before = f"Done before in this conversation, and part of this tree: {intent[:LONGEST_CONTEXT]}"
            return {"intent": f"{text}\n\n{before}", "base": landed["commit"], "allow_green": True, "dirty": False}
        if outcome is None or outcome.is_success:
            return {}
        before = f"Tried before in this conversation, and not part of this tree: {intent[:LONGEST_CONTEXT]}"
        return {"intent": f"{text}\n\n{before}\nIt ended as {outcome.value}: {last.get('reason') or ''}"}

    def _head(self) -> str:
        """Return the commit at HEAD; empty if there is none, which is then said by whoever needs it."""
        try:
            return head_of(Path(self.transcript.conversation.directory))
        except (BadInput, OSError):
            return ""

    # -- sessions --

    async def _follow(self, session: str, from_seq: int, has_begun: bool = True) -> StopReason:
        """Follow a session to its end, and say how it stands. `has_begun` is False if there was nothing to do."""
        self.transcript.change(session=session, from_seq=from_seq)
        self.live = session
        self._follower = Follower(self._service, self._caller, self._editor, session, from_seq)
        self._follower.is_expected = has_begun
        if self._cancelled:  # it came before the session had an id
            await self.cancel()
        pause = await self._follower.follow()
        self.live = session if pause.live else ""
        self.transcript.change(to_seq=pause.next_seq)
        known = await self._known(session)
        update = await diff_update(self._service, self._caller, known) if known.get("state") == "finished" else None
        if update is not None:
            await self._editor.show(update)
        await self.transcript.say(ending_text(known, pause.reason), after=True)
        return "cancelled" if self._cancelled else stop_reason(known)

    async def _call(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Carry out a call, and say what it notes meanwhile."""
        heard: list[str] = []
        try:
            result = await self._service.call(replace(self._caller, hear=heard.append), method, params)
        finally:
            for line in heard:
                await self.transcript.say(words(line))
        return cast("Mapping[str, Any]", result) if isinstance(result, Mapping) else {}

    async def _known(self, session: str) -> Known:
        known: Known = await self._service.call(self._caller, "session.get", {"id": session})
        return known


def _takes_answer(known: Known) -> bool:
    """Return True if a session waits for a text: an answer, or a change of what it proposes."""
    gate = known.get("gate")
    kind = GateKind.of(str(gate["kind"])) if gate else None
    return known.get("question") is not None or (kind is not None and kind.is_proposal)


def _landed_words(landed: Mapping[str, Any]) -> str:
    note = f" {words(landed['note'])}" if landed.get("note") else ""
    return f"Landed on `{title(landed['branch'])}` ({str(landed['commit'])[:12]}).{note}"
