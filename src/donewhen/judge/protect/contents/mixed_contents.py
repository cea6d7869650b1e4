"""Files whose content decides if they are graded: manifests, tests in source files, settings with a wide effect.

conftest.py      a new one in a new directory is ordinary if it has only fixtures; hooks affect every test of a run
test_*.py        a new one that names plugins loads them into every test of a run
*_test.go        a new one with a `TestMain` controls the tests next to it; the name alone counts
.gitattributes   its rules about line ends and encodings change other files
manifests        examined key by key
lock files       no known dependency may come from another source

A new test file may be too large for memory. `large_file_rule` returns how it is read then.
"""

import ast
import codecs
import re
import unicodedata
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from donewhen.judge.protect.contents import manifests
from donewhen.judge.protect.contents.accepted_part import ALL, NOTHING, AcceptedPart, FileUnreadable, lines
from donewhen.judge.protect.contents.locks import lock_files
from donewhen.judge.protect.names.mixed_files import is_lock

CONTENT_ATTRIBUTES = re.compile(
    r"(?:^|\s)[-!]?(?:text|eol|crlf|ident|filter|working-tree-encoding|binary)(?:[=\s]|$)|^\s*\[attr\]"
)
TEST_MAIN = re.compile(r"\bTestMain\b")
REACHES_OUT = re.compile(
    r"\b(?:globals|vars|locals|exec|eval|compile|__import__)\s*\(|(?<!\.)\bsetattr\s*\(|\bsys\s*\.\s*(?:modules|path|meta_path)"
    r"|\b__dict__\b|\b_pytest\b|\bpluginmanager\b|\bbuiltins\b|\bimportlib\b|\bctypes\b|\bgc\b"
)
"""Not needed in a conftest with fixtures, but needed in one that manipulates other tests."""
PLUGINS = "pytest_plugins"
LargeFileRule = Callable[[Path, int], bool]
PIECE = 1 << 20
OVERLAP = 64
"""Number of characters that two pieces share. It is more than the longest name that is searched."""


def accepted_part(path: str, base: bytes | None, candidate: bytes | None, words: Collection[str]) -> AcceptedPart:
    """Return how much of a file is accepted. None stands for a missing file."""
    name = path.rpartition("/")[2]
    for end, rule in CONTENT_RULES.items():
        if f"/{name}".endswith(end):
            return ALL if rule(base or b"", candidate or b"") else NOTHING
    if is_lock(path):
        return lock_files.accepted_part(path, base, candidate)
    return manifests.accepted_part(path, base, candidate, words)


def _holds_fixtures_only(base: bytes, candidate: bytes) -> bool:
    del base
    try:
        text = candidate.decode()
        tree = ast.parse(text)
    except (UnicodeDecodeError, SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return not REACHES_OUT.search(text) and not any(_is_hook(node) for node in ast.walk(tree))


def _is_hook(node: ast.AST) -> bool:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.Name(id=name, ctx=ast.Store()):
            return name.startswith("pytest_") or name in ("collect_ignore", "collect_ignore_glob")
        case ast.ImportFrom(names=names):
            return any(alias.name == "*" or (alias.asname or alias.name).startswith("pytest_") for alias in names)
        case ast.Attribute(attr=name):
            return name in ("hookimpl", "hookspec")
        case _:
            return False


def _leaves_tests_alone(base: bytes, candidate: bytes) -> bool:
    del base
    return not TEST_MAIN.search(candidate.decode("utf-8", "replace"))


def _leaves_content_alone(base: bytes, candidate: bytes) -> bool:
    """Return True if the rules about content are unchanged, in the same order.

    The order matters because the last line that covers a path wins. A macro can stand for any attribute.
    """
    try:
        old, new = (lines(text.decode("utf-8", "surrogateescape")) for text in (base, candidate))
    except FileUnreadable:
        return False
    if b"[attr]" in base:
        return old == new
    return [line for line in old if CONTENT_ATTRIBUTES.search(line)] == [
        line for line in new if CONTENT_ATTRIBUTES.search(line)
    ]


def _loads_no_plugins(base: bytes, candidate: bytes) -> bool:
    """Return True if a test file loads no plugins.

    Python normalises names, and a line at the top may change the encoding of the whole file.
    """
    del base
    text = candidate.decode("utf-8", "replace")
    if not _names_plugins(text) and "coding" not in _first_lines(text, 2):
        return True
    try:
        nodes = ast.walk(ast.parse(candidate))
        return not any(PLUGINS in _named_by(node) for node in nodes)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def _named_by(node: ast.AST) -> Collection[object]:
    """Return the names and texts that a node itself contains: what is bound, imported, or set by name."""
    return node.names if isinstance(node, ast.Global) else list(vars(node).values())


def _names_plugins(text: str) -> bool:
    return PLUGINS in unicodedata.normalize("NFKC", text)


def _first_lines(text: str, number: int) -> str:
    return "\n".join(text.split("\n", number)[:number])


def large_file_rule(path: str) -> LargeFileRule | None:
    """Return the function that examines a new test file that is too large for memory; None for any other file."""
    name = path.rpartition("/")[2]
    if name == "conftest.py":
        return None
    return next((rule for end, rule in LARGE_FILE_RULES.items() if name.endswith(end)), None)


def _large_leaves_tests_alone(content: Path, piece: int) -> bool:
    return not any(
        found.start() > 0 and found.end() < len(text)
        for text in _pieces(content, piece)
        for found in TEST_MAIN.finditer(text)
    )


def _large_loads_no_plugins(content: Path, piece: int) -> bool:
    """Return True if no plugin is named. No syntax tree is built: a name in a comment or a text counts too."""
    lines_before = 0
    for text in _pieces(content, piece):
        if _names_plugins(text) or (lines_before < 2 and "coding" in _first_lines(text, 3 - lines_before)):
            return False
        lines_before += text[OVERLAP:].count("\n")  # lines that the next piece does not repeat, perhaps fewer
    return True


def _pieces(content: Path, size: int) -> Iterator[str]:
    """Yield overlapping pieces of the text, with a line end at both ends. Every name is complete in some piece."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    kept = "\n"
    with content.open("rb") as file:
        while block := file.read(size):
            text = kept + decoder.decode(block)
            yield text
            kept = text[-OVERLAP:]
    yield f"{kept}\n"


CONTENT_RULES: dict[str, Callable[[bytes, bytes], bool]] = {
    "/conftest.py": _holds_fixtures_only,
    "_test.go": _leaves_tests_alone,
    "/.gitattributes": _leaves_content_alone,
    ".py": _loads_no_plugins,
}
LARGE_FILE_RULES: dict[str, LargeFileRule] = {
    "_test.go": _large_leaves_tests_alone,
    ".py": _large_loads_no_plugins,
}
