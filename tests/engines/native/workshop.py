"""Parts for tests of the native engine: a real tree with its sandbox, a notebook in memory, a scripted model."""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from donewhen.engines.interface import AnswerTimeout, Asker, Attempt, Job, Note, OutOfBudget
from donewhen.engines.native.loop import NativeConfig, NativeEngine
from donewhen.engines.native.tools import ToolContext, ToolOutput, run_call
from donewhen.events import Event, Spend
from donewhen.model.interface import Call, Model, ModelFailed, ModelWaits, OnText, Reply, Turn, Usage
from donewhen.model.scripted import Scripted, ScriptStep
from donewhen.session.workplace import Workplace, open_workplace
from donewhen.workspace.policy import Policy
from donewhen.workspace.trees.maker import Maker
from donewhen.workspace.trees.trees import TreeLayers

FILES = {"a.txt": "one\ntwo\nthree\n", "src/app.py": "def add(a, b):\n    return a - b\n", ".gitignore": "built/\n"}


class Crash(BaseException):
    """Stands for a crash of the process: no code may catch it."""


@dataclass
class Pages:
    """A notebook in memory. `watch` is called before and after each write; it may raise."""

    pages: list[Note] = field(default_factory=list[Note])
    events: list[Event] = field(default_factory=list[Event])
    watch: Callable[[str, Note | None], None] = lambda _when, _note: None

    def notes(self) -> list[Note]:
        return list(self.pages)

    def write(self, note: Note | None, *events: Event) -> None:
        self.watch("before", note)
        if note is not None:
            self.pages.append(note)
        self.events += events
        self.watch("after", note)

    def turns(self, role: str) -> int:
        return len([note for note in self.pages if note.kind in ("turn", "turn_failed") and note.body["role"] == role])

    def types(self) -> list[str]:
        return [event.type() for event in self.events]

    def told(self, kind: str) -> list[dict[str, Any]]:
        return [event.fields() for event in self.events if event.type() == kind]


@dataclass
class Purse:
    """A budget with so many turns."""

    turns: int = 1000
    tokens: int = 0

    def require(self) -> None:
        if self.turns <= 0:
            raise OutOfBudget

    @asynccontextmanager
    async def lease(self, most: Usage) -> AsyncGenerator[None]:
        assert most.input > 0 and most.output > 0
        self.require()
        yield

    def count_usage(self, usage: Usage, usd: float | None) -> Event:
        self.turns -= 1
        self.tokens += usage.total
        return Spend(tokens=self.tokens, usd=usd, input=usage.input, output=usage.output)


@dataclass
class Person:
    answers: list[str | None]
    asked: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    async def ask(self, id: str, prompt: str) -> str:
        self.asked.append((id, prompt))
        answer = self.answers.pop(0)
        if answer is None:
            raise AnswerTimeout
        return answer


@dataclass
class Heard:
    """A model that keeps its requests."""

    model: Model
    turns: list[Turn] = field(default_factory=list[Turn])

    @property
    def name(self) -> str:
        return self.model.name

    async def reply(self, turn: Turn, on_text: OnText | None = None) -> Reply:
        self.turns.append(turn)
        return await self.model.reply(turn, on_text)


@dataclass(frozen=True)
class Failing:
    """A model that always fails."""

    kind: str = "network"
    final: bool = False
    name: str = "test:failing"

    async def reply(self, turn: Turn, on_text: OnText | None = None) -> Reply:
        del on_text
        raise ModelFailed(f"no reply {turn.number}", self.kind, self.final)


@dataclass(frozen=True)
class Until:
    """A model whose quota is exhausted at some turn."""

    model: Model
    turn: int
    name: str = "test:until"

    async def reply(self, turn: Turn, on_text: OnText | None = None) -> Reply:
        if turn.number >= self.turn:
            raise ModelWaits("the quota is used up", "quota")
        return await self.model.reply(turn, on_text)


def calls(*wanted: tuple[str, Mapping[str, Any]], say: str = "", ids: tuple[str, ...] = (), **more: Any) -> Reply:
    given = [*ids, *[""] * (len(wanted) - len(ids))]
    made = tuple(Call(id, name, input) for id, (name, input) in zip(given, wanted, strict=True))
    return Reply(text=say, calls=made, stop="calls", **more)


def write(path: str, content: str) -> tuple[str, Mapping[str, Any]]:
    return "write_file", {"path": path, "content": content}


def shell(command: str, **more: Any) -> tuple[str, Mapping[str, Any]]:
    return "shell", {"command": command, **more}


def read(path: str) -> tuple[str, Mapping[str, Any]]:
    return "read_file", {"path": path}


def done(text: str = "finished") -> Reply:
    return Reply(text=text)


def script(*replies: Reply | str) -> Heard:
    """A model with these replies; a string is an error."""
    steps = tuple(
        ScriptStep(Reply(), error=reply) if isinstance(reply, str) else ScriptStep(reply) for reply in replies
    )
    return Heard(Scripted("scripted:test", {"maker": steps}))


@dataclass
class Workshop:
    place: Workplace
    maker: Maker
    pages: Pages = field(default_factory=Pages)
    purse: Purse = field(default_factory=Purse)
    person: Asker | None = None
    policy: Policy | None = None

    @property
    def rules(self) -> Policy:
        return self.policy or Policy.load(root=self.maker.root)

    def job(self, **more: Any) -> Job:
        given: dict[str, Any] = {
            "intent": "make add right", "contract": "tests: `sh check.sh` exits 0", "iteration": 1, **more,
        }  # fmt: skip
        return Job(
            maker=self.maker,
            private_dir=self.maker.tree.directory / "own",
            notebook=self.pages,
            budget=self.purse,
            asker=self.person,
            **given,
        )

    async def attempt(self, model: Model, config: Mapping[str, Any] | None = None, **job: Any) -> Attempt:
        engine = NativeEngine(model, NativeConfig(policy=self.rules, **(config or {})))
        return await engine.attempt(self.job(**job), emit=self.pages.events.append)

    async def use(self, tool: str, **input: Any) -> ToolOutput:
        """One tool alone."""
        return await run_call(Call("id", tool, input), ToolContext(self.maker, self.rules, self.person))

    async def said(self, tool: str, **input: Any) -> str:
        outcome = await self.use(tool, **input)
        assert outcome.ok, outcome.text
        return outcome.text

    async def refused(self, tool: str, **input: Any) -> str:
        """Return the reason of a failure, which must have the promised form."""
        outcome = await self.use(tool, **input)
        assert not outcome.ok
        assert outcome.text.startswith("ERROR: ")
        return outcome.text.removeprefix("ERROR: ")

    def content(self, path: str) -> str:
        return self.maker.files.read(path, 1 << 20).decode()


@asynccontextmanager
async def fresh_tree(place: Workplace) -> AsyncGenerator[Workshop]:
    tree = await place.trees.make("maker", place.repo.head, TreeLayers())
    try:
        yield Workshop(place, Maker(place.trees, tree, place.sandbox(tree)))
    finally:
        await place.trees.remove(tree, discard=True)


@asynccontextmanager
async def workshop(root: Path) -> AsyncGenerator[Workshop]:
    async with open_workplace(root) as place, fresh_tree(place) as made:
        yield made
