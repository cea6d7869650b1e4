"""Every function that parses text of others, found by itself, and how it is called with arbitrary bytes.

A public function with one required parameter of text is called with it. One that needs more has an entry in ADAPTED,
or one in NOT_FOREIGN with the reason why no stranger decides what it is given. Anything else fails a test.
"""

import importlib
import inspect
import json
import pkgutil
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from types import ModuleType
from typing import Any

from donewhen.engines.external import streams
from donewhen.engines.external.lines import Lines, Value
from donewhen.engines.external.network.client_hello import NotTls
from donewhen.engines.external.network.heads import BadHead
from donewhen.engines.external.network.hosts import NoHost
from donewhen.engines.foreman.plan import Unsound
from donewhen.engines.planned.plan import one_item
from donewhen.engines.planned.reading import Malformed
from donewhen.engines.planned.tracker import Tracker
from donewhen.engines.typed_reply import Unreadable as UnreadableReply
from donewhen.errors import DonewhenError
from donewhen.judge.detect.targets import RECIPE, TARGET
from donewhen.judge.protect.commands import Named
from donewhen.judge.protect.taken import Unreadable
from donewhen.model.sse import BrokenStream, Events
from donewhen.toml import BadToml
from donewhen.workspace.beneath import Root
from donewhen.workspace.policy import Policy
from donewhen.workspace.policy.grammar import Unread

PLACES = (
    "readers", "judge.detect", "judge.protect", "judge.runners", "judge.receipt", "judge.tail", "memory",
    "syntax.merging", "union.manners", "engines.external.streams", "engines.external.network", "engines.typed_reply",
    "engines.external.programs", "engines.planned", "engines.foreman.plan", "engines.native.tools",
    "workspace.policy", "workspace.store.lfs", "workspace.store.patches", "workspace.landing.config_text",
    "workspace.refs", "model.sse", "model.setback", "model.draft",
    "session.complexity", "session.contract_file", "toml", "printable",
)  # fmt: skip
"""Packages and modules of `donewhen` that read what others wrote."""

DOCUMENTED = (
    BadHead, BadToml, BrokenStream, DonewhenError, Malformed, NoHost, NotTls, Unread, Unreadable, UnreadableReply,
    Unsound,
)  # fmt: skip
"""The errors with which these modules refuse a text."""

Call = Callable[[bytes], object]
TEXTS = ("str", "bytes", "bytes | str")
LINES = ("Sequence[str]", "list[str]", "Iterable[str]")


def text(content: bytes) -> str:
    return content.decode("utf-8", "replace")


def _stream(shape: str, content: bytes) -> None:
    reader, lines = streams.reader(shape), Lines()
    for line in [*lines.feed(content), *lines.end()]:
        list(reader.value(line.value) if isinstance(line, Value) else reader.text(line.text))
    list(reader.end(1, text(content)))


def _as_json(function: Callable[[Any], object], content: bytes) -> object:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return function(value) if isinstance(value, dict) else None


def _module(name: str) -> Any:
    return importlib.import_module(f"donewhen.{name}")


def _of(name: str) -> Callable[..., Any]:
    module, _, function = name.rpartition(".")
    return getattr(_module(module), function)


BASES = {
    "pyproject.toml": b'[project]\nname = "a"\n', "Cargo.toml": b'[package]\nname = "a"\n', "go.mod": b"module a\n",
    "package.json": b'{"name": "a"}', "composer.json": b"{}", "setup.cfg": b"[metadata]\nname = a\n",
    "Gemfile": b'gem "a"\n', "pom.xml": b"<project></project>", "src/lib.rs": b"fn a() {}\n",
    "tests/conftest.py": b"import a\n", ".gitattributes": b"* text\n", "a.csproj": b"<Project></Project>",
}  # fmt: skip


def _taken(content: bytes) -> None:
    for path, base in BASES.items():
        _of("judge.protect.inside.taken")(path, base, content, {"pytest", "test"})


def _merged(content: bytes) -> None:
    for path in ("a.yaml", "CHANGELOG.md"):
        _of("syntax.merging.regions.merged_by_lines")(b"a\n", content, b"b\n" + content)
        outline = _of("syntax.merging.outlines.outline_of")(path)
        assert outline is not None
        if outline.is_sound(content):
            outline.piece(content)


def _lines(content: bytes) -> list[str]:
    return text(content).split("\n")


def _rust_items(content: bytes) -> None:
    mask = _of("judge.protect.rust_items.masked")(text(content))
    _of("judge.protect.rust_items.items")(text(content), mask, 0, len(mask))


def _targets(content: bytes) -> None:
    for pattern in (TARGET, RECIPE):
        list(_of("judge.detect.targets.read_targets")("Makefile", text(content), pattern, "make"))


def _server_events(content: bytes) -> None:
    events = Events()
    for chunk in (content[:7], content[7:]):
        list(events.feed(chunk))


GIVEN: Mapping[str, tuple[Any, ...]] = {
    "engines.external.programs.mentioned": ("/home/a",),
    "engines.native.tools.clip.clipped": (400, 0, 0),
    "engines.planned.plan.plan_in": ("do it", ("true",)),
    "engines.planned.plan.one_item": ((),),
    "engines.typed_reply.object_in": (("verdict",), "{}"),
    "engines.typed_reply.only_object_in": (("verdict",), "{}"),
    "engines.typed_reply.cut": (400,),
    "judge.protect.scripts.used_scripts": (("test", "npm", "t*e*s*t"),),
    "judge.receipt.read": ("receipt",),
    "judge.runners.asks.ask": (Root("/nowhere"), "/side"),
    "judge.runners.calls.calls": (Root("/nowhere"),),
    "judge.tail.redacted": ({"TOKEN": "secret"},),
    "memory.diffs.shared": (4_096,),
    "memory.inert.inert": (4_096, str),
    "memory.inert.inert_line": (4_096,),
    "memory.inert.hidden": ({"TOKEN": "secret"},),
    "memory.inert.cut": (4_096,),
    "model.draft.parsed": (40,),
    "readers.failures.documents.documents": (re.compile(r"[\[{]"),),
    "readers.failures.project_paths.in_project": (("/a",),),
    "readers.failures.traces.blocks": (re.compile("a"),),
    "readers.tally.within": ("a test",),
    "readers.xml.walk": (zip,),
    "workspace.refs.follow": (Root("/nowhere"),),
}
"""What a function needs after the text."""

ADAPTED: Mapping[str, Call] = {
    **{f"engines.external.streams.{shape}": partial(_stream, shape) for shape in streams.SHAPES},
    "engines.native.tools.globs.matcher": lambda data: _of("engines.native.tools.globs.matcher")(text(data))("a" * 200),
    "engines.native.tools.nearest.explain_miss": lambda data: _of("engines.native.tools.nearest.explain_miss")(
        "a", text(data), text(data[5:900])
    ),
    "engines.planned.tracker.Tracker": lambda data: Tracker.of(one_item("do it", ())).read_back(text(data)),
    "judge.detect.targets.read_targets": _targets,
    "judge.protect.executed.judges": lambda data: _of("judge.protect.executed.judges")(
        "a.py", text(data), Named("a.py", "script")
    ),
    "judge.protect.inside.taken": _taken,
    "judge.protect.globs.first_match": lambda data: _of("judge.protect.globs.first_match")(
        ("**/*a*b*c", "**/**/a"), text(data)[:4_000]
    ),
    "judge.protect.globs.require_sound": lambda data: _of("judge.protect.globs.require_sound")(text(data), "protect"),
    "judge.protect.rust_items.items": _rust_items,
    "memory.repair.of_plain": lambda data: _as_json(_of("memory.repair.of_plain"), data),
    "memory.repair.offers_of": lambda data: _as_json(lambda value: list(_of("memory.repair.offers_of")(value)), data),
    "model.setback.of_response": lambda data: _of("model.setback.of_response")(
        429, {"retry-after": text(data)}, data, 0
    ),
    "model.sse.Events": _server_events,
    "readers.printed.last": lambda data: _of("readers.printed.last")(re.compile("a"), _lines(data)),
    "readers.printed.heard": lambda data: _of("readers.printed.heard")(re.compile("(a)"), _lines(data)),
    "syntax.merging.regions.merged_by_lines": _merged,
    "union.manners.secrets": lambda data: list(_of("union.manners.secrets")("a.txt", b"", data)),
    "workspace.policy.Policy": lambda data: Policy.again((), (), "/tree").at_once(text(data)),
}
"""`module.function` or `module.Class` → how it is called, where that takes more than arguments after the text."""

ALSO_RAISES: Mapping[str, type[Exception]] = {
    "memory.repair.of_plain": ValueError,
    "memory.repair.offers_of": ValueError,
    "model.draft.parsed": ValueError,
}
"""Errors of the standard library that a docstring names."""

OWN_WORDS = "is given words of ours"
PART = "a step of a function that has an entry"
IN_A_PROCESS = "parses code with a grammar that may hang or die; only used in a process with limits"
NOT_FOREIGN: Mapping[str, str] = {
    "printable.escaped": PART,
    "judge.detect.choosing.unused": PART,
    "judge.detect.survey.joined": OWN_WORDS,
    "judge.detect.survey.is_within": OWN_WORDS,
    "judge.protect.dependencies.entry": PART,
    "judge.protect.dependencies.version": PART,
    "judge.protect.executed.joined": PART,
    "judge.protect.ignoring.is_obeyed": PART,
    "judge.protect.lines.setup_cfg": PART,
    "judge.protect.lines.go_mod": PART,
    "judge.protect.lines.gemfile": PART,
    "judge.protect.manifests.taken": PART,
    "judge.protect.markup.project_file": PART,
    "judge.protect.mixed.looks_at": PART,
    "judge.protect.pyproject.is_product_section": PART,
    "judge.protect.scripts.is_used": PART,
    "memory.masking.masked": PART,
    "engines.external.network.heads.written": OWN_WORDS,
    "engines.external.programs.lies_in": OWN_WORDS,
    "engines.external.programs.on_path": OWN_WORDS,
    "engines.external.streams.reader": OWN_WORDS,
    "engines.planned.words.planning": OWN_WORDS,
    "engines.planned.words.changing": OWN_WORDS,
    "engines.planned.words.cannot_start": OWN_WORDS,
    "engines.planned.words.building": OWN_WORDS,
    "session.contract_file.line_of": PART,
    "syntax.merging.entries.row_of": PART,
    "syntax.merging.entries.lines_with_offsets": PART,
    "syntax.merging.merge.merge": IN_A_PROCESS,
    "syntax.merging.pieces.plain": PART,
    "workspace.policy.rules.rule.starts_with": PART,
    "workspace.store.lfs.take_in": OWN_WORDS,
    "workspace.store.lfs.pointer_of": "is given the path of a file; pointer_in reads what is in it",
    "syntax.merging.toml.is_sound": "a library reads it; only used in a process with limits",
    "engines.external.programs.first_word": "a person's own settings, which are checked before",
    "workspace.policy.grammar.parse": IN_A_PROCESS,
    "workspace.policy.paths.resolved": PART,
    "workspace.policy.paths.where": PART,
    "workspace.policy.paths.holds": PART,
    "workspace.policy.policy.steps_of": IN_A_PROCESS,
    "workspace.policy.prefixes.prefix": OWN_WORDS,
    "workspace.policy.step.doubt": IN_A_PROCESS,
    "workspace.policy.walk.every_step": IN_A_PROCESS,
}


@cache
def calls() -> Mapping[str, Call]:
    """By name, every function that is fuzzed."""
    found = {name: _simple(name, function) for name, function in public() if name not in {**NOT_FOREIGN, **ADAPTED}}
    return {**{name: call for name, call in found.items() if call}, **ADAPTED}


def without_entry() -> list[str]:
    """Functions that nobody has said anything about, and entries for what does not exist."""
    known = {**NOT_FOREIGN, **ADAPTED, **GIVEN, **ALSO_RAISES}
    missing = [name for name, function in public() if name not in known and _simple(name, function) is None]
    return missing + [name for name in known if not hasattr(_module(name.rpartition(".")[0]), name.rpartition(".")[2])]


def public() -> Iterator[tuple[str, Callable[..., Any]]]:
    """The public functions whose first parameter is text or lines of text."""
    for module in modules():
        for name, value in vars(module).items():
            function = inspect.unwrap(value) if callable(value) else None
            if name.startswith("_") or not inspect.isfunction(function) or function.__module__ != module.__name__:
                continue
            given = [*inspect.signature(function).parameters.values()]
            if given and _kind(given[0]) and not inspect.iscoroutinefunction(function):
                yield f"{module.__name__.removeprefix('donewhen.')}.{name}", value


def modules() -> Iterator[ModuleType]:
    for place in PLACES:
        module = _module(place)
        yield module
        for inner in pkgutil.walk_packages(getattr(module, "__path__", ()), f"{module.__name__}."):
            yield importlib.import_module(inner.name)


def _kind(parameter: inspect.Parameter) -> str:
    annotation = parameter.annotation
    name = (
        annotation.__name__ if isinstance(annotation, type) and not hasattr(annotation, "__args__") else str(annotation)
    )
    plain = name.replace("collections.abc.", "")
    return plain if plain in (*TEXTS, *LINES) else ""


def _simple(name: str, function: Callable[..., Any]) -> Call | None:
    first, *others = inspect.signature(inspect.unwrap(function)).parameters.values()
    needed = [one for one in others if one.default is one.empty and one.kind is not one.VAR_POSITIONAL]
    given = GIVEN.get(name, ())
    return partial(_called, function, _kind(first), given) if len(needed) <= len(given) else None


def _called(function: Callable[..., Any], kind: str, more: tuple[Any, ...], content: bytes) -> None:
    given = content if kind.startswith("bytes") else text(content) if kind == "str" else _lines(content)
    found = function(given, *more)
    if isinstance(found, Iterator):
        list(found)  # pyright: ignore[reportUnknownArgumentType] - of anything
