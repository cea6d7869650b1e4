"""One Python test module of the base as data: which of its tests it skips, and whose values are their parameters.

Nothing is imported or run. A name counts as decided by the base if it leads to constants, to the standard library or to
installed packages only. Whatever may come from the product, or is not understood, does not.
"""

import ast
import builtins
from collections.abc import Callable, Iterable, Iterator

MARKS = frozenset({
    "skip", "skipif", "skipIf", "skipUnless", "skipTest", "SkipTest", "importorskip", "xfail", "expectedFailure",
})  # fmt: skip
LOADERS = frozenset({"importorskip", "find_spec", "import_module", "__import__"})
PREPARING = frozenset({"setUp", "setUpClass", "setup_method", "setup_class", "asyncSetUp"})
IMPORT = "import "
"""Before the name of a module among the names that an expression depends on."""
MOST_NAMES = 2_000

Function = ast.FunctionDef | ast.AsyncFunctionDef
Uses = frozenset[str]
NOTHING: Uses = frozenset()


class PythonTestModule:
    def __init__(self, text: str, is_installed: Callable[[str], bool]) -> None:
        """Raise SyntaxError, ValueError, RecursionError or MemoryError if the text cannot be parsed."""
        self._tree = ast.parse(text)
        self._is_installed = is_installed
        self._bindings: dict[str, set[str]] = {}
        self._marks: set[str] = set()
        """Names that stand for a mark."""
        self._bind(self._tree.body, NOTHING)
        self._nodes = dict(_named(self._tree.body, ()))
        self._of_all = [*self._skips_by_mark(_marks(self._tree.body)), *_skips_in(self._tree.body, NOTHING)]
        """What the skips depend on that concern every test of the module."""

    def tests(self) -> Iterator[list[str]]:
        """Yield the tests of the module and of its classes, as names of class and function."""
        for path, node in self._nodes.items():
            if isinstance(node, Function) and node.name.startswith("test"):
                yield list(path)

    def skips(self, path: list[str]) -> bool:
        """Return True if a test is skipped, and the product does not decide it."""
        return any(self._is_decided(uses) for uses in self._skips_of(path))

    def takes_foreign_parameters(self, path: list[str]) -> bool:
        """Return True if parameters of a test may come from elsewhere than its own file and installed packages."""
        given = [one for node in self._above(path) for one in node.decorator_list if "parametrize" in _words(one)]
        return not given or not all(self._is_decided(_uses(one)) for one in given)

    def _above(self, path: list[str]) -> list[ast.ClassDef | Function]:
        """Return the classes around a test, and the test."""
        parts = (tuple(path[:length]) for length in range(1, len(path) + 1))
        return [self._nodes[part] for part in parts if part in self._nodes]

    def _skips_of(self, path: list[str]) -> Iterator[Uses]:
        """Yield what each skip depends on that concerns a test."""
        yield from self._of_all
        for length, node in enumerate(self._above(path), 1):
            yield from self._skips_by_mark((*node.decorator_list, *_marks(node.body)))
            prepared = (self._nodes.get((*path[:length], name)) for name in PREPARING)
            for one in (node, *filter(None, prepared)):
                yield from _skips_in(one.body, NOTHING) if isinstance(one, Function) else ()

    def _skips_by_mark(self, marks: Iterable[ast.expr]) -> Iterator[Uses]:
        return (_uses(one) for one in marks if not (MARKS | self._marks).isdisjoint(_words(one)))

    def _is_decided(self, uses: Uses) -> bool:
        """Return True if names lead to constants, the standard library and installed packages only."""
        waiting, seen = list(uses), set[str]()
        while waiting:
            name = waiting.pop()
            if name in seen:
                continue
            seen.add(name)
            if name.startswith(IMPORT):
                if not self._is_installed(name.removeprefix(IMPORT)):
                    return False
            elif name in self._bindings:
                waiting += self._bindings[name]
            elif not hasattr(builtins, name):
                return False
            if len(seen) > MOST_NAMES:
                return False
        return True

    def _bind(self, body: Iterable[ast.stmt], around: Uses) -> None:
        """Record what the names of a module depend on. `around` are the names of the conditions around the body."""
        for node in body:
            match node:
                case ast.Import() | ast.ImportFrom():
                    for alias in node.names:
                        self._add((alias.asname or alias.name).partition(".")[0], _uses(node) | around)
                case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
                    for name in _stored(node):
                        self._add(name, _uses(node) | around)
                        self._marks |= set() if MARKS.isdisjoint(_words(node)) else {name}
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                    self._add(node.name, (_uses(node) - _stored(node)) | around)
                case ast.If():
                    self._bind((*node.body, *node.orelse), around | _uses(node.test))
                case ast.Try():
                    handled = [one for handler in node.handlers for one in handler.body]
                    tried = NOTHING.union(*(_uses(one) - _stored(one) for one in node.body))
                    self._bind((*node.body, *handled, *node.orelse, *node.finalbody), around | tried)
                case _:
                    for name in _stored(node):
                        self._add(name, _uses(node) | around)

    def _add(self, name: str, uses: Iterable[str]) -> None:
        self._bindings.setdefault(name, set()).update(uses)


def _named(
    body: Iterable[ast.stmt], above: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], ast.ClassDef | Function]]:
    """Yield the functions and classes of a module and of its classes, with the names around them."""
    for node in body:
        if isinstance(node, ast.ClassDef | Function):
            yield (*above, node.name), node
        if isinstance(node, ast.ClassDef):
            yield from _named(node.body, (*above, node.name))


def _marks(body: Iterable[ast.stmt]) -> Iterator[ast.expr]:
    """Yield the values of `pytestmark`."""
    for node in body:
        if isinstance(node, ast.Assign) and "pytestmark" in _stored(node):
            yield node.value


def _skips_in(body: Iterable[ast.stmt], around: Uses) -> Iterator[Uses]:
    """Yield what each statement that skips depends on: the conditions around it, and modules that it looks for."""
    for node in body:
        if isinstance(node, ast.ClassDef | Function | ast.Assert) or MARKS.isdisjoint(_words(node)):
            continue
        match node:
            case ast.If():
                yield from _skips_in((*node.body, *node.orelse), around | _uses(node.test))
            case ast.Try():
                tried = NOTHING.union(*(_uses(one) - _stored(one) for one in node.body))
                yield from _skips_in((*node.body, *(s for one in node.handlers for s in one.body)), around | tried)
            case ast.Raise() | ast.Expr(value=ast.Call()) | ast.Assign(value=ast.Call()) if "mark" not in _words(node):
                yield around | {name for name in _uses(node) if name.startswith(IMPORT)}
            case _:
                pass


def _words(node: ast.AST) -> set[str]:
    """Return the names and attributes in an expression or statement."""
    inner = list(ast.walk(node))
    names = {one.id for one in inner if isinstance(one, ast.Name)}
    return names | {one.attr for one in inner if isinstance(one, ast.Attribute)}


def _stored(node: ast.AST) -> Uses:
    """Return the names that a statement or function binds."""
    inner = list(ast.walk(node))
    bound = {one.id for one in inner if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load)}
    bound |= {one.arg for one in inner if isinstance(one, ast.arg)}
    imported = (one for one in inner if isinstance(one, ast.Import | ast.ImportFrom))
    return frozenset(
        bound | {(alias.asname or alias.name).partition(".")[0] for one in imported for alias in one.names}
    )


def _uses(node: ast.AST) -> Uses:
    """Return the names that an expression or statement reads, and the modules that it imports or looks for."""
    found = set[str]()
    for one in ast.walk(node):
        match one:
            case ast.Name(id=name, ctx=ast.Load()):
                found.add(name)
            case ast.Import(names=names):
                found |= {IMPORT + alias.name.partition(".")[0] for alias in names}
            case ast.ImportFrom(module=module, level=level):
                found.add(IMPORT + ("." if level else (module or "").partition(".")[0]))
            case ast.Call() if not LOADERS.isdisjoint(_words(one.func)):
                named = [str(first.value) for first in one.args[:1] if isinstance(first, ast.Constant)]
                found.add(IMPORT + (named[0].partition(".")[0] if named else "."))
            case _:
                pass
    return frozenset(found)
