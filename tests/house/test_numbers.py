"""The house numbers and house rules for all Python of the repository.

A rule looks at the text of one file and names each offence in it. Every rule has code that it must catch and code
that it must accept, so a rule that stops working fails like a file that breaks it. Checks of other programs
(formatting, types, import direction) are not repeated here.
"""

import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

import pytest

from house.broad_excepts import BROAD_EXCEPTS

ROOT = Path(__file__).parents[2]
EVERYWHERE = ("src", "tests", "bench")

LONGEST_FILE = {"src": 500, "bench": 500, "tests": 600}
LONGEST_FUNCTION = 80
FUNCTION_UNDER, FUNCTION_SHARE = 40, 0.95
METHODS_UNDER, PARAMETERS_UNDER, FRAGMENT_UNDER, SHORTEST_FIRST_SENTENCE = 21, 8, 6, 20
NAMES_THAT_SAY_NOTHING = {"utils", "util", "common", "core", "shared", "helpers", "misc"}

ONE_PER_MODULE = {"Stream": "src/donewhen/engines/external/streams/"}
"""Class name → directory in which every module has a class of that name, because it is found by this name."""

Function = ast.FunctionDef | ast.AsyncFunctionDef
Block = Function | ast.ClassDef | ast.If | ast.For | ast.AsyncFor | ast.While | ast.With | ast.AsyncWith | ast.Try
Repeated = ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


@dataclass(frozen=True)
class File:
    text: str
    path: str = "src/snippet.py"

    @cached_property
    def nodes(self) -> list[tuple[str, ast.AST]]:
        """Every node of the file with the dotted name of its function or class."""
        return list(named(ast.parse(self.text), ""))

    @property
    def functions(self) -> list[tuple[str, Function]]:
        return [(name, node) for name, node in self.nodes if isinstance(node, Function)]

    @property
    def is_test_module(self) -> bool:
        return Path(self.path).name.startswith("test_")


def named(parent: ast.AST, within: str) -> Iterator[tuple[str, ast.AST]]:
    for child in ast.iter_child_nodes(parent):
        name = within
        if isinstance(child, Function | ast.ClassDef):
            name = f"{within}.{child.name}".lstrip(".")
        yield name, child
        yield from named(child, name)


def files(*roots: str) -> list[File]:
    return [file_at(path) for root in roots for path in sorted((ROOT / root).rglob("*.py"))]


@cache
def file_at(path: Path) -> File:
    """Parsed once for all rules, because parsing takes longer than any rule."""
    return File(path.read_text(), path.relative_to(ROOT).as_posix())


# -- rules about one file --


def too_long_file(file: File) -> Iterator[str]:
    lines = len(file.text.splitlines())
    if lines > LONGEST_FILE[file.path.split("/")[0]]:
        yield f"{lines} lines"


def too_long_function(file: File) -> Iterator[str]:
    for name, node in file.functions:
        if length(node) > LONGEST_FUNCTION:
            yield f"{name} has {length(node)} lines"


def length(node: Function) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def too_many_methods(file: File) -> Iterator[str]:
    for name, node in file.nodes:
        if isinstance(node, ast.ClassDef):
            methods = {item.name for item in node.body if isinstance(item, Function)}
            if len(methods) >= METHODS_UNDER:
                yield f"{name} has {len(methods)} methods"


def too_many_constructor_parameters(file: File) -> Iterator[str]:
    for name, node in file.nodes:
        if isinstance(node, ast.ClassDef) and constructor_parameters(node) >= PARAMETERS_UNDER:
            yield f"{name} takes {constructor_parameters(node)} parameters"


def constructor_parameters(node: ast.ClassDef) -> int:
    """The parameters of `__init__`, or the fields of a mutable dataclass; a frozen one is a record and may be wide."""
    for item in node.body:
        if isinstance(item, ast.FunctionDef) and item.name == "__init__":
            return len([*item.args.posonlyargs, *item.args.args, *item.args.kwonlyargs]) - 1
    decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
    if any("dataclass" in decorator and "frozen=True" not in decorator for decorator in decorators):
        entries = [item for item in node.body if isinstance(item, ast.AnnAssign)]
        return len([entry for entry in entries if not is_left_out_of_constructor(entry)])
    return 0


def is_left_out_of_constructor(entry: ast.AnnAssign) -> bool:
    declaration = ast.unparse(entry)
    return "ClassVar" in declaration or "KW_ONLY" in declaration or "init=False" in declaration


def too_many_parameters(file: File) -> Iterator[str]:
    for name, node in file.functions:
        if name.endswith("__init__"):
            continue
        given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        taken = [each for each in given if each.arg not in ("self", "cls")]
        if len(taken) >= PARAMETERS_UNDER:
            yield f"{name} takes {len(taken)} parameters"


def fragment(file: File) -> Iterator[str]:
    """A private function that is called once, with a straight body of fewer than six lines, belongs into its caller,
    where its statements can stand at the place of the call and the caller stays under 40 lines."""
    above = {child: node for _, node in file.nodes for child in ast.iter_child_nodes(node)}
    uses: dict[str, list[ast.AST]] = {}
    for _, node in file.nodes:
        if isinstance(node, ast.Name | ast.Attribute):
            uses.setdefault(node.id if isinstance(node, ast.Name) else node.attr, []).append(node)
    for name, function in file.functions:
        used, statements = uses.get(function.name, []), body(function)
        call = above.get(used[0]) if len(used) == 1 and is_private_and_straight(function) else None
        if isinstance(call, ast.Call) and call.func is used[0]:
            caller = caller_that_takes(statements, call, above)
            size = (statements[-1].end_lineno or 0) - statements[0].lineno + 1
            if caller not in (None, function) and size < FRAGMENT_UNDER and length(caller) + size < FUNCTION_UNDER:
                yield f"{name} has {size} lines and is called in {caller.name} only"


def body(function: Function) -> list[ast.stmt]:
    return function.body[1:] if ast.get_docstring(function) is not None else function.body


def is_private_and_straight(function: Function) -> bool:
    """Return False for a function that answers True or False: its name is easier to read than its statements."""
    is_private = function.name.startswith("_") and not function.name.startswith("__")
    is_question = function.returns is not None and ast.unparse(function.returns) == "bool"
    is_generator = any(isinstance(node, ast.Yield | ast.YieldFrom) for node in ast.walk(function))
    is_straight = bool(body(function)) and not any(
        isinstance(statement, Block | ast.Match) for statement in body(function)
    )
    return is_private and is_straight and not is_question and not is_generator and not function.decorator_list


def caller_that_takes(statements: list[ast.stmt], call: ast.Call, above: dict[ast.AST, ast.AST]) -> Function | None:
    """Return the caller if its call can be replaced: one expression goes anywhere, statements only for a whole one."""
    node = above[above[call]] if isinstance(above[call], ast.Await) else above[call]
    if len(statements) > 1 and not isinstance(node, ast.Assign | ast.AnnAssign | ast.Expr | ast.Return):
        return None
    while not isinstance(node, Function):
        if node not in above or isinstance(node, Repeated):
            return None
        node = above[node]
    return node


def no_opening_docstring(file: File) -> Iterator[str]:
    docstring = ast.get_docstring(ast.parse(file.text)) or ""
    first_sentence = re.split(r"(?<=[.!?])\s|\n\s*\n", docstring.strip())[0]
    if len(first_sentence) < SHORTEST_FIRST_SENTENCE:
        yield f"does not open with a sentence of what it is: {first_sentence!r}"


SUPPRESSION = re.compile(
    r"#\s*(?:type:\s*ignore|pyright:\s*\w+(?:\s*=\s*\w+)?|(?:(?:ruff|flake8):\s*)?noqa)"
    r"(?:\[[^\]]*\]|:\s*[A-Z]+[0-9]+(?:[,\s]\s*[A-Z]+[0-9]+)*)?"
)


def suppression_without_reason(file: File) -> Iterator[str]:
    for token in tokenize.generate_tokens(io.StringIO(file.text).readline):
        if token.type != tokenize.COMMENT:
            continue
        found = list(SUPPRESSION.finditer(token.string))
        if found and not re.match(r"\s+[-–—#]+\s+\w\S*\s+\S", token.string[found[-1].end() :]):
            yield f"line {token.start[0]}: {token.string}"


def broad_except(file: File) -> Iterator[str]:
    for place, line in broad_excepts(file):
        if place not in BROAD_EXCEPTS:
            yield f"line {line}: catches everything in {place}"


def broad_excepts(file: File) -> Iterator[tuple[str, int]]:
    for name, node in file.nodes:
        match node:
            case ast.ExceptHandler(type=None):
                caught = "BaseException"
            case ast.ExceptHandler(type=ast.expr() as kinds):
                caught = ast.unparse(kinds)
            case ast.Call(func=func) if ast.unparse(func) in ("suppress", "contextlib.suppress"):
                caught = " ".join(ast.unparse(argument) for argument in node.args)
            case _:
                continue
        if re.search(r"\b(?:Base)?Exception\b", caught):
            yield f"{file.path}::{name}", node.lineno


def sleeping(file: File) -> Iterator[str]:
    for line, used in used_names(file):
        if used.split(".")[-1] == "sleep":
            yield f"line {line}: {used}"


MOCKS = re.compile(
    r"(unittest\.mock|mock|pytest_mock)(\..*)?|(.*\.)?(MagicMock|AsyncMock|setattr|delattr)|mocker(\..*)?"
)


def mocking(file: File) -> Iterator[str]:
    for line, used in used_names(file):
        if MOCKS.fullmatch(used) and used not in ("setattr", "delattr"):
            yield f"line {line}: {used}"


SKIPS = re.compile(r"(pytest|unittest|mark|pytest\.mark)\.(skip\w*|xfail|importorskip)|(.*\.)?SkipTest")


def skipping(file: File) -> Iterator[str]:
    if file.path == "tests/needs.py":
        return
    for line, used in used_names(file):
        if SKIPS.fullmatch(used):
            yield f"line {line}: {used}, but only tests/needs.py leaves a test out"


def used_names(file: File) -> Iterator[tuple[int, str]]:
    """Each name or dotted name that a file reads, calls or imports, with its line."""
    for _, node in file.nodes:
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name) for alias in names)
            case ast.ImportFrom(module=str(module), names=names):
                yield from ((node.lineno, f"{module}.{alias.name}") for alias in names)
            case ast.Attribute() | ast.Name():
                yield node.lineno, ast.unparse(node)
            case ast.arg(arg=argument):
                yield node.lineno, argument
            case _:
                pass


def own_reader_of_toml(file: File) -> Iterator[str]:
    """Import of the parser anywhere but in the module that bounds it."""
    for line, used in used_names(file):
        if used.partition(".")[0] == "tomllib" and file.path != "src/donewhen/toml.py":
            yield f"line {line}: {used}, but only toml.py parses TOML"


def name_that_is_no_sentence(file: File) -> Iterator[str]:
    for name, _ in file.functions if file.is_test_module else []:
        function = name.split(".")[-1]
        words = [word for word in function.split("_") if word]
        if words[0] == "test" and len(words) < 4:
            yield function


def name_that_says_nothing(file: File) -> Iterator[str]:
    for part in Path(file.path).with_suffix("").parts:
        if part in NAMES_THAT_SAY_NOTHING:
            yield f"{part} says nothing about what is in it"


@dataclass(frozen=True)
class Rule:
    says: str
    offences: Callable[[File], Iterator[str]]
    where: tuple[str, ...]
    catches: tuple[File, ...] = field(repr=False)
    lets_pass: tuple[File, ...] = field(repr=False)


def snippets(*texts: str) -> tuple[File, ...]:
    return tuple(File(text) for text in texts)


def in_a_test(*texts: str) -> tuple[File, ...]:
    return tuple(File(text, "tests/test_snippet.py") for text in texts)


def lines(count: int) -> str:
    return "x = 1\n" * count


def function_of(count: int, head: str = "def f():") -> str:
    return head + "\n    x = 1" * (count - 1) + "\n"


def class_of(methods: int) -> str:
    return "class C:\n" + "".join(f"    def m{n}(self): ...\n" for n in range(methods))


def called_once(head: str, *statements: str, use: str = "    x = _f()\n") -> str:
    return f"{head}\n" + "".join(f"    {statement}\n" for statement in statements) + f"def g():\n{use}"


def fields(count: int, decorator: str) -> str:
    return f"@{decorator}\nclass C:\n" + "".join(f"    f{n}: int\n" for n in range(count))


RULES = [
    Rule(
        "only one module parses TOML",
        own_reader_of_toml,
        ("src",),
        catches=snippets("import tomllib", "from tomllib import loads"),
        lets_pass=(*snippets("from donewhen.toml import parse_toml"), File("import tomllib", "src/donewhen/toml.py")),
    ),
    Rule(
        "no file is too long",
        too_long_file,
        EVERYWHERE,
        catches=(*snippets(lines(501)), *in_a_test(lines(601))),
        lets_pass=(*snippets(lines(500)), *in_a_test(lines(600))),
    ),
    Rule(
        "no function is too long",
        too_long_function,
        EVERYWHERE,
        catches=snippets(function_of(81), function_of(81, "async def f():")),
        lets_pass=snippets(function_of(80)),
    ),
    Rule(
        "no class has too many methods",
        too_many_methods,
        EVERYWHERE,
        catches=snippets(class_of(21)),
        lets_pass=snippets(class_of(20)),
    ),
    Rule(
        "no constructor takes too much",
        too_many_constructor_parameters,
        EVERYWHERE,
        catches=snippets(
            "class C:\n    def __init__(self, a, b, c, d, e, f, *, g, h): ...",
            fields(8, "dataclass"),
            fields(8, "dataclasses.dataclass(slots=True)"),
        ),
        lets_pass=snippets(
            "class C:\n    def __init__(self, a, b, c, d, e, f, *, g): ...",
            fields(7, "dataclass"),
            fields(7, "dataclass") + "    kinds: ClassVar[int]\n    later: int = field(init=False)\n",
            fields(12, "dataclass(frozen=True)"),
        ),
    ),
    Rule(
        "no function takes too much",
        too_many_parameters,
        ("src",),
        catches=snippets(
            "def f(a, b, c, d, e, f, *, g, h): ...",
            "class C:\n    async def m(self, a, b, c, d, /, e, f, g, h): ...",
        ),
        lets_pass=snippets(
            "def f(a, b, c, d, e, f, *, g): ...",
            "class C:\n    def m(self, a, b, c, d, e, f, g): ...",
            "def f(a, *many, **named): ...",
        ),
    ),
    Rule(
        "no private fragment is apart from its only caller",
        fragment,
        ("src",),
        catches=snippets(
            called_once("def _f():", '"""What it is."""', "a = 1", "b = 2", "c = 3", "d = 4", "return a"),
            called_once("def _f():", "return 1", use="    if x > _f():\n        return 2\n"),
            called_once("async def _f():", "a = 1", "return a", use="    async def h():\n        return await _f()\n"),
            "class C:\n    def _f(self):\n        return 1\n    def g(self):\n        return self._f()\n",
            called_once("def _f():", "return 1", use="    x = 1\n" * 36 + "    _f()\n"),
        ),
        lets_pass=snippets(
            called_once("def f():", "return 1", use="    x = f()\n"),
            called_once("def _f():", "return 1", use="    x = _f() + _f()\n"),
            called_once("def _f():", "return 1", use="    x = map(_f, y)\n"),
            called_once("def _f():", "a = 1", "b = 2", "c = 3", "d = 4", "e = 5", "return a"),
            *(called_once("def _f():", one) for one in ("if a: return 1", "yield 1")),
            called_once("def _f() -> bool:", "return a > b"),
            called_once("@cache\ndef _f():", "return 1"),
            called_once("def _f():", "a = 1", "return a", use="    if x > _f():\n        return 2\n"),
            called_once("def _f():", "return 1", use="    x = [_f() for _ in y]\n"),
            called_once("def _f():", "return 1", use="    x = 1\n" * 37 + "    _f()\n"),
            "def _f():\n    return _f()\n",
        ),
    ),
    Rule(
        "every module opens with what it is",
        no_opening_docstring,
        ("src",),
        catches=snippets("", "x = 1", '"""Too short."""', '"""Short. And then a longer second sentence."""'),
        lets_pass=snippets('"""Reads what a compiler prints, and nothing else."""'),
    ),
    Rule(
        "every suppression has a reason",
        suppression_without_reason,
        EVERYWHERE,
        catches=snippets(
            "import x  # type: ignore",
            "import x  # type: ignore[import]",
            "import x  # noqa",
            "import x  # noqa: F401",
            "import x  # noqa: F401 - because",
            "import x  # noqa: F401, E402",
            "import x  # pyright: ignore[reportMissingImports] -",
            "# ruff: noqa\n",
            "# pyright: basic\n",
        ),
        lets_pass=snippets(
            "import x  # noqa: F401 - the import registers the codec",
            "import x  # noqa: F401, E402 - the path is set above",
            "import x  # type: ignore[import] # it ships no types",
            "import x  # noqa: F401  # pyright: ignore[reportMissingImports] - only there on Linux",
            "x = '# noqa'  # a comment about noqa",
        ),
    ),
    Rule(
        "only known boundaries catch everything",
        broad_except,
        EVERYWHERE,
        catches=snippets(
            "try: ...\nexcept Exception: ...",
            "try: ...\nexcept BaseException as error: ...",
            "try: ...\nexcept: ...",
            "try: ...\nexcept (OSError, Exception): ...",
            "try: ...\nexcept* Exception: ...",
            "with contextlib.suppress(Exception): ...",
        ),
        lets_pass=snippets(
            "try: ...\nexcept (OSError, ValueError): ...",
            "try: ...\nexcept ExceptionGroup: ...",
            "with suppress(OSError): ...",
        ),
    ),
    Rule(
        "no test sleeps",
        sleeping,
        ("tests",),
        catches=in_a_test(
            "import time\ntime.sleep(1)",
            "from time import sleep",
            "async def f(): await anyio.sleep(0)",
            "async def f(): await asyncio.sleep(1)",
        ),
        lets_pass=in_a_test("async def f(): await anyio.sleep_forever()", "run('sleep 1')"),
    ),
    Rule(
        "no test uses mocks",
        mocking,
        ("tests",),
        catches=in_a_test(
            "from unittest.mock import patch",
            "import unittest.mock",
            "from unittest import mock",
            "x = MagicMock()",
            "def test_a(monkeypatch): monkeypatch.setattr('a.b', 1)",
            "def test_a(mocker): ...",
        ),
        lets_pass=in_a_test("def test_a(monkeypatch): monkeypatch.setenv('A', 'b')", "import unittest"),
    ),
    Rule(
        "no test is left out but through the one door",
        skipping,
        ("tests",),
        catches=in_a_test(
            "import pytest\npytest.skip('no')",
            "from pytest import skip",
            "@pytest.mark.skip\ndef test_a(): ...",
            "@pytest.mark.skipif(True, reason='no')\ndef test_a(): ...",
            "@pytest.mark.xfail\ndef test_a(): ...",
            "x = pytest.importorskip('x')",
            "raise unittest.SkipTest",
        ),
        lets_pass=(
            *in_a_test("from needs import needs\nneeds('git')"),
            File("pytest.skip('no')", "tests/needs.py"),
        ),
    ),
    Rule(
        "the name of a test is a sentence",
        name_that_is_no_sentence,
        ("tests",),
        catches=in_a_test(
            "def test_policy(): ...", "async def test_it_works(): ...", "class T:\n def test_a(self): ..."
        ),
        lets_pass=in_a_test("def test_policy_denies_sudo(): ...", "def helper(): ..."),
    ),
    Rule(
        "no module has a name that says nothing",
        name_that_says_nothing,
        EVERYWHERE,
        catches=(File("", "src/donewhen/utils.py"), File("", "src/donewhen/core/loop.py")),
        lets_pass=(File("", "src/donewhen/readers/pytest.py"),),
    ),
]


def named_by_rule(rule: Rule) -> str:
    return rule.says.replace(" ", "-")


@pytest.mark.parametrize("rule", RULES, ids=named_by_rule)
def test_the_repository_follows_every_rule(rule: Rule) -> None:
    offences = [f"{file.path}: {offence}" for file in files(*rule.where) for offence in rule.offences(file)]
    assert not offences, "\n".join([rule.says, *offences])


@pytest.mark.parametrize("rule", RULES, ids=named_by_rule)
def test_every_rule_catches_offences_and_accepts_honest_code(rule: Rule) -> None:
    assert [file.text for file in rule.catches if not list(rule.offences(file))] == []
    assert [(file.text, found) for file in rule.lets_pass if (found := list(rule.offences(file)))] == []


def test_every_listed_broad_except_exists() -> None:
    found = {place for file in files(*EVERYWHERE) for place, _ in broad_excepts(file)}
    assert set(BROAD_EXCEPTS) - found == set()


# -- numbers over all of the source --


def too_few_short(lengths: list[int]) -> list[str]:
    """Return what is wrong with the lengths of all functions together."""
    short = sum(length < FUNCTION_UNDER for length in lengths) / len(lengths)
    return [f"only {short:.1%} have under {FUNCTION_UNDER} lines"] if short < FUNCTION_SHARE else []


def test_most_functions_of_the_source_are_short() -> None:
    assert too_few_short([length(node) for file in files("src") for _, node in file.functions]) == []


def test_long_functions_are_noticed_in_the_share() -> None:
    assert too_few_short([5] * 95 + [40] * 5) == []
    assert too_few_short([5] * 94 + [40] * 6) == ["only 94.0% have under 40 lines"]


def same_names(among: list[File]) -> dict[str, list[str]]:
    """The names of public classes that more than one module defines, with these modules."""
    where: dict[str, list[str]] = {}
    for file in among:
        for node in ast.parse(file.text).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                directory = ONE_PER_MODULE.get(node.name)
                if directory is None or not file.path.startswith(directory):
                    where.setdefault(node.name, []).append(file.path)
    return {name: paths for name, paths in where.items() if len(paths) > 1}


def test_the_name_of_a_public_class_is_defined_once() -> None:
    assert same_names(files("src")) == {}


def test_two_classes_of_one_name_are_noticed() -> None:
    a, b = File("class A: ...", "src/a.py"), File("class A: ...\nclass B: ...", "src/b.py")
    assert same_names([a, b]) == {"A": ["src/a.py", "src/b.py"]}
    private = [File("class _A: ...", path) for path in ("src/a.py", "src/b.py")]
    streams = [File("class Stream: ...", f"{ONE_PER_MODULE['Stream']}{name}.py") for name in ("a", "b")]
    assert same_names([a, *private, *streams]) == {}
    assert same_names([*streams, *(File("class Stream: ...", path) for path in ("src/a.py", "src/b.py"))]) != {}
