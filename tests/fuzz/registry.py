"""Every function that parses foreign text, found automatically, and how to call it with arbitrary bytes.

A public function with one required text parameter is called with it. A function that needs more has an entry in
ADAPTED, or one in NOT_FOREIGN with the reason why no foreign text reaches it. Anything else fails a test.
"""

import contextlib
import importlib
import inspect
import json
import pkgutil
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from types import ModuleType
from typing import Any, cast

from donewhen.engines.external import streams
from donewhen.engines.external.network.client_hello import NotTls
from donewhen.engines.external.network.hosts import NoHost
from donewhen.engines.external.network.http1 import BadHead
from donewhen.engines.external.run.cli_agent import JsonLine, LineSplitter
from donewhen.engines.planned.plan import one_item
from donewhen.engines.planned.tracker import Tracker
from donewhen.engines.typed_reply import InvalidReply
from donewhen.errors import DonewhenError
from donewhen.judge.detect.targets import RECIPE, TARGET
from donewhen.judge.protect.commands.commands import NamedFile
from donewhen.judge.protect.contents import setup_manifests
from donewhen.judge.protect.contents.accepted_part import FileUnreadable
from donewhen.loops.forge.marker import Marker
from donewhen.model.sse import BrokenStream, Events
from donewhen.toml import BadToml
from donewhen.workspace.beneath import Root
from donewhen.workspace.policy import Policy
from donewhen.workspace.policy.grammar import Unread

PLACES = (
    "readers", "judge.detect", "judge.protect", "judge.runners", "judge.receipt", "judge.output_tail",
    "judge.base_tests", "judge.mentions", "judge.python_test_module", "memory",
    "syntax.merging", "union.patch_rules", "engines.external.streams", "engines.external.network",
    "engines.typed_reply",
    "engines.external.discover.programs", "engines.planned", "engines.foreman.subtask_plan", "engines.native.tools",
    "workspace.policy", "workspace.git.store.lfs", "workspace.git.store.patches", "workspace.git.landing.git_config",
    "workspace.git.refs", "workspace.git.reftable", "workspace.git.index", "workspace.git.store.alternates",
    "model.sse", "model.request_error", "model.partial_reply",
    "session.crew.crew", "session.settings.contract_file", "toml", "printable",
    "loops.forge.limits", "loops.forge.marker", "loops.forge.remote",
)  # fmt: skip
"""Packages and modules of `donewhen` that read foreign text."""

DOCUMENTED = (
    BadHead, BadToml, BrokenStream, DonewhenError, InvalidReply, NoHost, NotTls, Unread, FileUnreadable,
)  # fmt: skip
"""The errors with which these modules refuse a text."""

Call = Callable[[bytes], object]
TEXTS = ("str", "bytes", "bytes | str")
LINES = ("Sequence[str]", "list[str]", "Iterable[str]")


def text(content: bytes) -> str:
    return content.decode("utf-8", "replace")


def _stream(shape: str, content: bytes) -> None:
    reader, lines = streams.reader(shape), LineSplitter()
    for line in [*lines.feed(content), *lines.end()]:
        list(reader.value(line.value) if isinstance(line, JsonLine) else reader.text(line.text))
    list(reader.end(1, text(content)))


def _as_json(function: Callable[[Any], object], content: bytes) -> object:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return function(value) if isinstance(value, dict) else None


def _module(name: str) -> Any:
    return importlib.import_module(f"donewhen.{name}")


def _of(name: str) -> Any:
    module, _, function = name.rpartition(".")
    return getattr(_module(module), function)


BASES = {
    "pyproject.toml": b'[project]\nname = "a"\n', "Cargo.toml": b'[package]\nname = "a"\n', "go.mod": b"module a\n",
    "package.json": b'{"name": "a"}', "composer.json": b"{}", "setup.cfg": b"[metadata]\nname = a\n",
    "Gemfile": b'gem "a"\n', "pom.xml": b"<project></project>",
    "tests/conftest.py": b"import a\n", ".gitattributes": b"* text\n", "a.csproj": b"<Project></Project>",
    "Pipfile": b'[packages]\na = "*"\n', "package-lock.json": b'{"packages": {"node_modules/a": {"version": "1"}}}',
    "yarn.lock": b'a@1:\n  version "1"\n', "pnpm-lock.yaml": b"packages:\n  a@1.0.0: {}\n",
    "uv.lock": b'[[package]]\nname = "a"\n', "poetry.lock": b'[[package]]\nname = "a"\n',
    "pdm.lock": b'[[package]]\nname = "a"\n', "Pipfile.lock": b'{"default": {"a": {}}}',
    "Cargo.lock": b'[[package]]\nname = "a"\n', "Gemfile.lock": b"GEM\n  remote: https://rubygems.org/\n",
    "composer.lock": b'{"packages": []}', "requirements.txt": b"a==1\n",
}  # fmt: skip


def _accepted_part(path: str, content: bytes) -> None:
    _of("judge.protect.contents.mixed_contents.accepted_part")(path, BASES[path], content, {"pytest", "test"})


def _defines_tests(suffix: str, content: bytes) -> None:
    _of("judge.protect.contents.test_definitions.defines_tests")(f"a.{suffix}", text(content), ("check_*",))


def _python_test_module(content: bytes) -> None:
    with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        module = _of("judge.python_test_module.PythonTestModule")(text(content), len)
        for path in [*module.tests()][:20]:
            module.skips(path)
            module.takes_foreign_parameters(path)


def _seen_by_setup(path: str, content: bytes) -> None:
    _of("judge.protect.contents.setup_manifests.accepted_part")(path, BASES[path], content, {"pytest", "test"})


def _merged(content: bytes) -> None:
    for path in ("a.yaml", "CHANGELOG.md"):
        _of("syntax.merging.regions.merge_lines")(b"a\n", content, b"b\n" + content)
        outline = _of("syntax.merging.outlines.outline_of")(path)
        assert outline is not None
        if outline.is_sound(content):
            outline.piece(content)


def _lines(content: bytes) -> list[str]:
    return text(content).split("\n")


def _rust_items(content: bytes) -> None:
    mask = _of("judge.protect.contents.rust_items.masked")(text(content))
    _of("judge.protect.contents.rust_items.items")(text(content), mask, 0, len(mask))


def _rust_tests(content: bytes) -> None:
    base = {"src/lib.rs": "mod a;\n#[test] fn t() {}\n", "src/a.rs": "#[test] fn u() {}\n"}
    for path, others in (("src/lib.rs", {}), ("src/a/mod.rs", {"src/a.rs": None})):
        _of("judge.protect.contents.rust_tests.restore_tests")(base.get, {path: text(content), **others})


def _targets(content: bytes) -> None:
    for pattern in (TARGET, RECIPE):
        list(_of("judge.detect.targets.read_targets")("Makefile", text(content), pattern, "make"))


def _server_events(content: bytes) -> None:
    events = Events()
    for chunk in (content[:7], content[7:]):
        list(events.feed(chunk))


GIVEN: Mapping[str, tuple[Any, ...]] = {
    "judge.protect.contents.locks.node_locks.requested": ("1.0.0",),
    "judge.protect.contents.line_files.changed_sections": ("[metadata]\nname = a\n",),
    "judge.protect.contents.setup_manifests.new_package": (("a",), ("test",)),
    "engines.external.discover.programs.mentioned_paths": ("/home/a",),
    "engines.native.tools.clip.clipped": (400, 0, 0),
    "engines.planned.plan.plan_in": ("do it", ("true",)),
    "engines.planned.plan.one_item": ((),),
    "engines.typed_reply.object_in": (("verdict",), "{}"),
    "engines.typed_reply.only_object_in": (("verdict",), "{}"),
    "engines.typed_reply.cut": (400,),
    "judge.protect.commands.package_scripts.used_scripts": (("test", "npm", "t*e*s*t"),),
    "judge.receipt.read": ("receipt",),
    "judge.runners.instrument.instrument_command": (Root("/nowhere"), "/side"),
    "judge.runners.calls.calls": (Root("/nowhere"),),
    "judge.runners.failing_test.words_in": ({"a": "b"}, "a"),
    "judge.output_tail.redacted": ({"TOKEN": "secret"},),
    "loops.forge.marker.marked_text": (Marker("a", "b", "c"),),
    "memory.diffs.shorten": (4_096,),
    "memory.sanitise.sanitise": (4_096, str),
    "memory.sanitise.sanitise_line": (4_096,),
    "memory.sanitise.hide_secrets": ({"TOKEN": "secret"},),
    "memory.sanitise.cut": (4_096,),
    "model.partial_reply.parse_json": (40,),
    "readers.failures.documents.documents": (re.compile(r"[\[{]"),),
    "readers.failures.project_paths.in_project": (("/a",),),
    "readers.failures.traces.blocks": (re.compile("a"),),
    "readers.result.within": ("a test",),
    "readers.xml.walk": (zip,),
    "workspace.git.index.named_parts": ((f"sharedindex.{'0' * 40}",),),
    "workspace.git.refs.follow": (Root("/nowhere"),),
}
"""Arguments of a function after the text."""

ADAPTED: Mapping[str, Call] = {
    **{f"engines.external.streams.{shape}": partial(_stream, shape) for shape in streams.SHAPES},
    "engines.native.tools.globs.matcher": lambda data: _of("engines.native.tools.globs.matcher")(text(data))("a" * 200),
    "engines.native.tools.nearest_text.explain_miss": lambda data: _of(
        "engines.native.tools.nearest_text.explain_miss"
    )("a", text(data), text(data[5:900])),
    "engines.planned.tracker.Tracker": lambda data: Tracker.of(one_item("do it", ())).read_back(text(data)),
    "judge.detect.targets.read_targets": _targets,
    "judge.protect.commands.scripts_run.judges": lambda data: _of("judge.protect.commands.scripts_run.judges")(
        "a.py", text(data), NamedFile("a.py", "script")
    ),
    **{f"judge.protect.contents.mixed_contents.accepted_part:{path}": partial(_accepted_part, path) for path in BASES},
    **{
        f"judge.protect.contents.test_definitions.defines_tests:{suffix}": partial(_defines_tests, suffix)
        for suffix in ("py", "js", "rb", "php")
    },
    **{
        f"judge.protect.contents.setup_manifests.accepted_part:{path}": partial(_seen_by_setup, path)
        for path in setup_manifests.READERS
    },
    "judge.globs.first_match": lambda data: _of("judge.globs.first_match")(
        ("**/*a*b*c", "**/**/a"), text(data)[:4_000]
    ),
    "judge.globs.require_sound": lambda data: _of("judge.globs.require_sound")(text(data), "protect"),
    "judge.protect.contents.rust_items.items": _rust_items,
    "judge.python_test_module.PythonTestModule": _python_test_module,
    "judge.protect.contents.rust_tests.restore_tests": _rust_tests,
    "loops.forge.limits.wait_secs": lambda data: _of("loops.forge.limits.wait_secs")(
        429, {"retry-after": text(data), "date": text(data), "x-ratelimit-reset": text(data)}, text(data)
    ),
    "memory.repair.from_plain": lambda data: _as_json(_of("memory.repair.from_plain"), data),
    "memory.repair.offers_of": lambda data: _as_json(lambda value: list(_of("memory.repair.offers_of")(value)), data),
    "model.request_error.remove_secrets": lambda data: _of("model.request_error.remove_secrets")(
        ("sk-0123456789", text(data)[:100]), text(data)
    ),
    "model.request_error.classify_response": lambda data: _of("model.request_error.classify_response")(
        429, {"retry-after": text(data)}, data, 0
    ),
    "model.sse.Events": _server_events,
    "readers.printed_lines.last": lambda data: _of("readers.printed_lines.last")(re.compile("a"), _lines(data)),
    "readers.printed_lines.first_groups": lambda data: _of("readers.printed_lines.first_groups")(
        re.compile("(a)"), _lines(data)
    ),
    "syntax.merging.regions.merge_lines": _merged,
    "union.patch_rules.secrets": lambda data: list(_of("union.patch_rules.secrets")("a.txt", b"", data)),
    "workspace.policy.Policy": lambda data: Policy.load(root="/tree").decide_plain(text(data)),
}
"""`module.function` or `module.Class` → how to call it, if that needs more than arguments after the text.

The part after a colon distinguishes several calls of one function. Each has its own time limit.
"""

ALSO_RAISES: Mapping[str, type[Exception]] = {
    "memory.repair.from_plain": ValueError,
    "memory.repair.offers_of": ValueError,
    "model.partial_reply.parse_json": ValueError,
}
"""Errors of the standard library that a docstring names."""

MOST: Mapping[str, str] = {
    "engines.planned.tracker": "engines.planned.tracker.LONGEST_FILE",
    "engines.typed_reply": "engines.typed_reply.LONGEST_REPLY",
    "judge.detect": "judge.detect.survey.MOST_BYTES",
    "judge.protect": "judge.protect.base_files.LARGEST",
    "judge.runners": "judge.runners.script_text.MOST_BYTES",
    "session.settings.contract_file": "toml.MOST_BYTES",
    "toml": "toml.MOST_BYTES",
    "workspace.git.landing.git_config": "workspace.git.landing.git_config.LONGEST",
    "workspace.policy": "workspace.policy.grammar.LONGEST",
    "workspace.git.store.alternates": "workspace.git.store.alternates.LONGEST",
    "workspace.git.store.lfs": "workspace.git.store.lfs.LONGEST_POINTER",
}
"""Functions that get no more than a limit of the source. The others get texts of any length."""

OWN_WORDS = "is given words of ours"
PART = "a step of a function that has an entry"
IN_A_PROCESS = "parses code with a grammar that may hang or die; only used in a process with limits"
NOT_FOREIGN: Mapping[str, str] = {
    "engines.typed_reply.first_issues": PART,
    "readers.find_failures.reader": OWN_WORDS,
    "judge.runners.failing_test.with_line_end": PART,
    "judge.runners.runner.lazy": OWN_WORDS,
    "printable.escaped": PART,
    "judge.detect.select.unused": PART,
    "judge.detect.survey.joined": OWN_WORDS,
    "judge.detect.survey.is_within": OWN_WORDS,
    "judge.protect.contents.dependencies.entry": PART,
    "judge.protect.contents.dependencies.version": PART,
    "judge.protect.commands.scripts_run.joined": PART,
    "judge.protect.rules.ignore_files.is_used_ignore_file": PART,
    "judge.protect.rules.used_sources.is_inside": PART,
    "judge.protect.contents.line_files.setup_cfg": PART,
    "judge.protect.contents.locks.lock_files.accepted_part": PART,
    "judge.protect.contents.locks.sources.located": PART,
    "judge.protect.contents.locks.sources.python_file": PART,
    "judge.protect.contents.manifests.merge_json": PART,
    "judge.protect.contents.manifests.merge_toml": PART,
    "judge.protect.contents.rust_items.attribute_spans": PART,
    "judge.protect.contents.rust_modules.body_of_file": PART,
    "judge.protect.contents.line_files.go_mod": PART,
    "judge.protect.contents.line_files.gemfile": PART,
    "judge.protect.contents.manifests.accepted_part": PART,
    "judge.protect.contents.markup.project_file": PART,
    "judge.protect.names.mixed_files.needs_examination": PART,
    "judge.protect.contents.pyproject.is_product_section": PART,
    "judge.protect.commands.package_scripts.is_used": PART,
    "memory.masking.mask": PART,
    "engines.external.network.http1.head_bytes": OWN_WORDS,
    "engines.external.network.endpoints.mcp_wire": OWN_WORDS,
    "engines.external.discover.programs.is_inside": OWN_WORDS,
    "engines.external.discover.programs.on_path": OWN_WORDS,
    "engines.external.streams.reader": OWN_WORDS,
    "engines.planned.prompts.planner_task": OWN_WORDS,
    "engines.planned.prompts.change_request": OWN_WORDS,
    "engines.planned.prompts.cannot_start": OWN_WORDS,
    "engines.planned.prompts.builder_task": OWN_WORDS,
    "session.settings.contract_file.line_of": PART,
    "syntax.merging.entries.row_of": PART,
    "syntax.merging.entries.lines_with_offsets": PART,
    "syntax.merging.merge.merge": IN_A_PROCESS,
    "syntax.merging.pieces.plain": PART,
    "workspace.policy.rules.rule.starts_with": PART,
    "workspace.git.index.entries": "is given an index that git wrote for us",
    "workspace.git.store.lfs.store_content": OWN_WORDS,
    "workspace.git.store.lfs.pointer_of": "is given the path of a file; pointer_in reads what is in it",
    "syntax.merging.toml.is_sound": "a library reads it; only used in a process with limits",
    "engines.external.discover.programs.first_word": "a person's own settings, which are checked before",
    "workspace.policy.grammar.parse": IN_A_PROCESS,
    "workspace.policy.paths.resolved": PART,
    "workspace.policy.paths.path_location": PART,
    "workspace.policy.paths.contains_names": PART,
    "workspace.policy.policy.steps_of": IN_A_PROCESS,
    "workspace.policy.prefixes.prefix": OWN_WORDS,
    "workspace.policy.step.doubt": IN_A_PROCESS,
    "workspace.policy.walk.every_step": IN_A_PROCESS,
}


@cache
def calls() -> Mapping[str, Call]:
    """Every fuzzed function by name."""
    known = {*NOT_FOREIGN, *map(function_of, ADAPTED)}
    found = {name: _simple(name, function) for name, function in public() if name not in known}
    return {**{name: call for name, call in found.items() if call}, **ADAPTED}


def function_of(name: str) -> str:
    """Return the function of an entry; several entries may have the same one."""
    return name.partition(":")[0]


def most(name: str) -> int:
    """Return the length of the longest text for a function."""
    bounds = (cast("int", _of(bound)) for place, bound in MOST.items() if f"{name}.".startswith(f"{place}."))
    return min(bounds, default=sys.maxsize)


def without_entry() -> list[str]:
    """Return functions without an entry, and entries for functions that do not exist."""
    known = {*NOT_FOREIGN, *map(function_of, ADAPTED), *GIVEN, *ALSO_RAISES}
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
