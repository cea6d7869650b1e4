"""Decides from the text of a source file if it defines tests, for files whose name and place do not tell. Pure text.

The text is read loosely: a file that starts tests in an unusual way should rather count as a test. What a test asserts
is not examined.
"""

import re
from collections.abc import Collection
from fnmatch import fnmatchcase

DEFINED = re.compile(r"^[ \t]*+(?:async[ \t]++)?(?:def|class)[ \t]++(\w++)", re.MULTILINE)
PYTHON_NAMES = ("test", "Test")
PYTHON = re.compile(
    r"\b(?:TestCase|runTest|load_tests|parametrize)\b|[\"']test_|^[ \t]*+from .{1,200} import .*\btest_", re.MULTILINE
)
FUNCTIONS = r"[xf]?(?:test|it|describe|specify)"
SCRIPT = re.compile(
    rf"(?:^|[^.\w$]){FUNCTIONS}(?:\.\w+)*\s*(?:\(\s*(?:[\"'`]|[\w.$]+\s*,\s*(?:async\b|function\b|\())|`)"
    rf"|(?:^|[^.\w$]){FUNCTIONS}\.(?:each|for|concurrent|only|skip)\b"
    r"|[\"'](?:node:test|@jest/globals|vitest|mocha|ava|tape|tap|uvu|@playwright/test|bun:test)[\"']",
    re.MULTILINE,
)
RUBY = re.compile(
    r"^[ \t]*+(?:RSpec\.)?(?:describe|context|it|specify|feature|scenario)\b|\bdef test_|\bTestCase\b|\bMinitest\b",
    re.MULTILINE,
)
PHP = re.compile(
    r"\bTestCase\b|\bfunction\s{1,9}test|#\[Test\b|@test\b|^[ \t]*+(?:it|test|describe)[ \t]*+\(", re.MULTILINE
)
BY_SUFFIX = {"rb": RUBY, "php": PHP}


def defines_tests(path: str, text: str, python_names: Collection[str] = ()) -> bool:
    """Return True if a runner could find tests in this text. `python_names` are prefixes or patterns of settings."""
    suffix = path.rpartition(".")[2]
    if suffix == "py":
        wanted = [name if re.search(r"[*?\[]", name) else f"{name}*" for name in (*PYTHON_NAMES, *python_names)]
        defined = set(DEFINED.findall(text))
        return bool(PYTHON.search(text)) or any(fnmatchcase(name, one) for name in defined for one in wanted)
    if suffix in BY_SUFFIX:
        return bool(BY_SUFFIX[suffix].search(text))
    return not re.fullmatch(r"[cm]?[jt]sx?", suffix) or bool(SCRIPT.search(text))
