"""Files whose content decides whether they are graded: manifests, tests inside sources, settings that reach further.

conftest.py      a new one in a new directory is ordinary while it holds fixtures; hooks reach every test of a run
test_*.py        a new one that names plugins loads them into every test of a run
*_test.go        a new one with a `TestMain` takes over the tests beside it
.gitattributes   what it says about line ends and encodings changes other files
*.rs             the tests inside come back
manifests        key by key
"""

import ast
import re
import unicodedata
from collections.abc import Callable, Collection

from donewhen.judge.protect import manifests, rust
from donewhen.judge.protect.linewise import lines
from donewhen.judge.protect.taken import ALL, WHOLE, Taken, Unreadable

CONTENT_ATTRIBUTES = re.compile(
    r"(?:^|\s)[-!]?(?:text|eol|crlf|ident|filter|working-tree-encoding|binary)(?:[=\s]|$)|^\s*\[attr\]"
)
TEST_MAIN = re.compile(rb"\bfunc\s+TestMain\s*\(")
REACHING = re.compile(
    r"\b(?:globals|vars|locals|exec|eval|compile|__import__)\s*\(|(?<!\.)\bsetattr\s*\(|\bsys\s*\.\s*(?:modules|path|meta_path)"
    r"|\b__dict__\b|\b_pytest\b|\bpluginmanager\b|\bbuiltins\b|\bimportlib\b|\bctypes\b|\bgc\b"
)
"""What a conftest with fixtures does without, and one that works on other tests does not."""
PLUGINS = "pytest_plugins"


def taken(path: str, base: bytes | None, candidate: bytes | None, words: Collection[str]) -> Taken:
    """What is taken of a file; None stands for one that is not there."""
    name = path.rpartition("/")[2]
    if name.endswith(".rs"):
        return rust.taken(base, candidate)
    for end, look in LOOKS.items():
        if f"/{name}".endswith(end):
            return ALL if look(base or b"", candidate or b"") else WHOLE
    return manifests.taken(path, base, candidate, words)


def _holds_fixtures_only(base: bytes, candidate: bytes) -> bool:
    del base
    try:
        text = candidate.decode()
        tree = ast.parse(text)
    except (UnicodeDecodeError, SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return not REACHING.search(text) and not any(_is_hook(node) for node in ast.walk(tree))


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
    return not TEST_MAIN.search(candidate)


def _leaves_content_alone(base: bytes, candidate: bytes) -> bool:
    """In their order, because the last line that covers a path wins. A macro can stand for any attribute."""
    try:
        old, new = (lines(text.decode("utf-8", "surrogateescape")) for text in (base, candidate))
    except Unreadable:
        return False
    if b"[attr]" in base:
        return old == new
    return [line for line in old if CONTENT_ATTRIBUTES.search(line)] == [
        line for line in new if CONTENT_ATTRIBUTES.search(line)
    ]


def _loads_no_plugins(base: bytes, candidate: bytes) -> bool:
    """Python reads names in a normal form, and a line at the top may change the encoding of all that follows."""
    del base
    text = unicodedata.normalize("NFKC", candidate.decode("utf-8", "replace"))
    if PLUGINS not in text and not any("coding" in line for line in text.split("\n", 2)[:2]):
        return True
    try:
        nodes = ast.walk(ast.parse(candidate))
        return not any(PLUGINS in _named_by(node) for node in nodes)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def _named_by(node: ast.AST) -> Collection[object]:
    """The names and the plain texts that a node itself holds: what is bound, imported, or set by its name."""
    return node.names if isinstance(node, ast.Global) else list(vars(node).values())


LOOKS: dict[str, Callable[[bytes, bytes], bool]] = {
    "/conftest.py": _holds_fixtures_only,
    "_test.go": _leaves_tests_alone,
    "/.gitattributes": _leaves_content_alone,
    ".py": _loads_no_plugins,
}
