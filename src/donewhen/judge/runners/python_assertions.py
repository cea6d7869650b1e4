"""Tests that must fail for a Python test file, through the assertions that the file itself uses. Nothing is imported.

What a file uses is found in its syntax tree: the assertion methods of its test classes, `assert`, and functions of
known assertion libraries under the names by which the file imports them.
"""

import ast
from collections.abc import Iterator
from textwrap import indent

from donewhen.judge.runners.failing_test import MESSAGE
from donewhen.records import frozen

METHODS = {
    "assertEqual": "$left, $right",
    "assertNotEqual": "$left, $left",
    "assertTrue": "False",
    "assertFalse": "True",
    "assertIs": "None, True",
    "assertIsNot": "None, None",
    "assertIsNone": "$left",
    "assertIsNotNone": "None",
    "assertIn": "$left, [$right]",
    "assertNotIn": "$left, [$left]",
    "assertIsInstance": "$left, str",
    "assertNotIsInstance": "$left, int",
    "assertAlmostEqual": "$left, $right",
    "assertNotAlmostEqual": "$left, $left",
    "assertGreater": "$left, $right",
    "assertGreaterEqual": "$left, $right",
    "assertLess": "$right, $left",
    "assertLessEqual": "$right, $left",
    "assertRegex": "'$left', '$right'",
    "assertNotRegex": "'$left', '$left'",
    "assertCountEqual": "[$left], [$right]",
    "assertListEqual": "[$left], [$right]",
    "assertTupleEqual": "($left,), ($right,)",
    "assertSetEqual": "{$left}, {$right}",
    "assertDictEqual": "{$left: 0}, {$right: 0}",
    "assertSequenceEqual": "[$left], [$right]",
    "assertMultiLineEqual": "'$left', '$right'",
    "assertRaises": "ValueError, int",
    "assertRaisesRegex": "ValueError, '$left', int",
    "assertWarns": "UserWarning, int",
    "fail": f"'{MESSAGE}'",
}
"""Method of `unittest.TestCase` → arguments with which it fails."""
EQUAL = "$call($left, $right)"
ARRAYS = "$call([$left], [$right])"
FUNCTIONS = {
    "pytest.raises": "with $call(ValueError):\n    pass",
    "pytest.fail": f"$call('{MESSAGE}')",
    "pytest.approx": "assert $left == $call($right)",
    "numpy.testing.assert_equal": ARRAYS,
    "numpy.testing.assert_allclose": ARRAYS,
    "numpy.testing.assert_almost_equal": ARRAYS,
    "numpy.testing.assert_array_equal": ARRAYS,
    "numpy.testing.assert_array_almost_equal": ARRAYS,
    "hamcrest.assert_that": "$call($left, __import__('hamcrest').equal_to($right))",
    "assertpy.assert_that": "$call($left).is_equal_to($right)",
    "expects.expect": "$call($left).to(__import__('expects').equal($right))",
    "nose.tools.assert_equal": EQUAL,
    "nose.tools.eq_": EQUAL,
}
"""Function → a statement that fails. `$call` stands for the function as the file calls it."""
MOCK = "__import__('unittest.mock', fromlist=['Mock']).Mock()"
OF_MOCKS = {
    "assert_called": "",
    "assert_called_once": "",
    "assert_called_with": "$left",
    "assert_called_once_with": "$left",
    "assert_any_call": "$left",
}
PLAIN = "assert $left == $right"


@frozen
class PythonAssertions:
    """The kinds of assertions in a file, as statements that fail."""

    methods: tuple[tuple[str, str], ...] = ()
    """A class of tests, and a statement for a method of that class."""
    statements: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()
    """The classes of tests that use methods of `unittest.TestCase`."""

    def as_functions(self) -> tuple[str, ...]:
        """Return tests for a runner that runs functions as well as classes."""
        plain = self.statements if self.statements or self.methods else (PLAIN,)
        functions = (f"def test_$name():\n{indent(statement, '    ')}" for statement in plain)
        return (*(_method(*method) for method in self.methods), *functions)

    def as_methods(self) -> tuple[str, ...]:
        """Return tests for a runner that runs classes only."""
        if not self.cases:
            head = "class Canary_$name(__import__('unittest').TestCase):\n    def test_$name(self):\n        "
            return (f"{head}self.assertEqual($left, $right)",)
        plain = ((self.cases[0], statement) for statement in self.statements)
        return tuple(_method(*method) for method in (*self.methods, *plain))


def _method(case: str, statement: str) -> str:
    """Return a test that is added to a class of the file, with its own preparations and its own assertions."""
    return f"def _canary_$name(self):\n{indent(statement, '    ')}\n\n\n{case}.test_$name = _canary_$name"


def python_assertions(text: str) -> PythonAssertions:
    """Return the kinds of assertions that a file uses, in the order of their first use."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return PythonAssertions()
    methods: dict[str, str] = {}
    for case in tree.body:
        if isinstance(case, ast.ClassDef) and any(_is_test(node) for node in case.body):
            for name in _methods_used(case):
                methods.setdefault(name, case.name)
    calls = tuple((case, f"self.{name}({METHODS[name]})") for name, case in methods.items())
    statements = tuple(dict.fromkeys(_statements(tree, _imported(tree))))
    return PythonAssertions(calls, statements, tuple(dict.fromkeys(methods.values())))


def _is_test(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test")


def _methods_used(case: ast.ClassDef) -> Iterator[str]:
    for node in ast.walk(case):
        match node:
            case ast.Attribute(value=ast.Name(id="self"), attr=name) if name in METHODS:
                yield name
            case _:
                pass


def _imported(tree: ast.Module) -> dict[str, str]:
    """Return the names that the file imports at its top, with what they stand for."""
    found: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                found[name] = alias.name if alias.asname else name
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return found


def _statements(tree: ast.Module, imported: dict[str, str]) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Assert():
                yield PLAIN
            case ast.Call(func=ast.Attribute(attr=name)) if name in OF_MOCKS:
                yield f"{MOCK}.{name}({OF_MOCKS[name]})"
            case ast.Call(func=called) if call := _dotted(called):
                first, dot, rest = call.partition(".")
                if statement := FUNCTIONS.get(imported.get(first, "") + dot + rest):
                    yield statement.replace("$call", call)
            case _:
                pass


def _dotted(node: ast.expr) -> str:
    """Return a name with its attributes as text; empty for any other expression."""
    names = list[str]()
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(names)]) if isinstance(node, ast.Name) else ""
