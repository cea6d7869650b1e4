"""Texts of a test that must fail, in the forms that several runners share."""

import posixpath
import re
from collections.abc import Iterator
from itertools import pairwise

from donewhen.judge.runners.call import RunnerCall
from donewhen.judge.runners.runner import CanaryFile
from donewhen.judge.runners.test_files import first_group, test_files
from donewhen.workspace.beneath import Root

MESSAGE = "this test must fail"
SCRIPTS = ("js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx")
SCRIPT_TESTS = tuple(f"*{mark}.{kind}" for mark in (".test", ".spec", "_test", "-test") for kind in SCRIPTS)


def appended(text: str, more: str) -> str:
    """Return text with more text appended. The start is unchanged, so the addition also fits another version."""
    return f"{text}{'' if text.endswith(chr(10)) else chr(10)}\n\n{more}\n"


def in_script(directory: Root, call: RunnerCall, mark: str) -> Iterator[CanaryFile]:
    """Declare the test with the function that the file itself uses, wherever it comes from."""
    patterns = (*SCRIPT_TESTS, *(f"test*.{kind}" for kind in SCRIPTS))
    for path, text in (*test_files(directory, patterns, call.arguments), *_in_test_directories(directory)):
        declare = first_group(re.search(r"(?:^|[^.\w$])(test|it)(?:\.\w+)*\s*\(", text, re.MULTILINE))
        if declare:
            yield path, appended(text, f'{declare}("{mark}", () => {{\n  throw new Error("{MESSAGE}");\n}});')


def _in_test_directories(directory: Root) -> Iterator[tuple[str, str]]:
    """Yield scripts in directories with certain names: mocha, jest and node run all of these scripts."""
    patterns = tuple(f"*.{kind}" for kind in SCRIPTS)
    for name in ("test", "__tests__", "tests", "spec"):
        for path, text in test_files(directory.below(name), patterns, ()):
            yield f"{name}/{path}", text


def in_java(directory: Root, call: RunnerCall, mark: str) -> Iterator[CanaryFile]:
    """Arguments are goals and tasks, which may have names of directories. Only a selected module is a directory."""
    words = call.arguments
    modules = [following for word, following in pairwise(words) if word in ("-pl", "--projects")]
    for path, text in test_files(directory, ("*Test.java", "*Tests.java", "Test*.java"), modules):
        package = first_group(re.search(r"^package\s+([\w.]+)\s*;", text, re.MULTILINE))
        annotation = first_group(re.search(r"^import\s+(org\.junit(?:\.jupiter\.api)?)\.", text, re.MULTILINE))
        if annotation:
            yield (
                posixpath.join(posixpath.dirname(path), f"Canary_{mark}Test.java"),
                f"{f'package {package};' if package else ''}\npublic class Canary_{mark}Test {{\n"
                f"    @{annotation}.Test\n    public void test_{mark}() {{\n"
                f'        throw new AssertionError("{MESSAGE}");\n    }}\n}}\n',
            )
