"""Canary: a test that must fail, added to the tests that a command runs.

A runner that does not report the canary can no longer fail. The place for it is guessed from names and contents of
files of the base. The guess is proven on the base first, so a wrong guess costs only the canary.
"""

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise

from donewhen.judge.runners.calls import RunnerCall, calls
from donewhen.judge.runners.instrument import InstrumentedCommand
from donewhen.judge.runners.test_files import first_group, test_files
from donewhen.records import frozen
from donewhen.workspace.beneath import Root

SAYS = "this test must fail"
SCRIPTS = ("js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx")
SCRIPT_TESTS = tuple(f"*{mark}.{kind}" for mark in (".test", ".spec", "_test", "-test") for kind in SCRIPTS)
DECLARES = re.compile(r"(?:^|[^.\w$])(test|it)(?:\.\w+)*\s*\(", re.MULTILINE)
CRATE = re.compile(r'^name\s*=\s*"([\w-]+)"', re.MULTILINE)
NAMESPACE = re.compile(r"^namespace\s+([\w\\]+)\s*;", re.MULTILINE)
PACKAGE = re.compile(r"^package\s+([\w.]+)\s*;", re.MULTILINE)
JUNIT = re.compile(r"^import\s+(org\.junit(?:\.jupiter\.api)?)\.", re.MULTILINE)


@frozen
class Canary:
    files: Mapping[str, bytes]
    """Path from the root of the repository → its whole content, written over the tree for one run."""
    name: str
    """Part of the name with which the runner reports the failure."""


Added = tuple[str, str]
"""A path relative to the directory of the check, and the new content of the file."""


def canary(ask: InstrumentedCommand, root: Root, dir: str, token: str) -> Canary | None:
    """Return a canary for a command; None if no sensible one can be added.

    `root` is a checkout of the base. `token` must be unguessable.
    """
    directory, mark = root.below(dir), re.sub(r"\W", "_", token)
    for call in calls(ask.command, directory):
        add = BY_RUNNER.get(call.runner)
        added = next(add(directory, call, mark), None) if add else None
        if added is not None:
            path, content = added
            return Canary({posixpath.normpath(posixpath.join(dir, path)): content.encode()}, mark)
    return None


def _appended(text: str, more: str) -> str:
    """Return text with more text appended. The start is unchanged, so the addition also fits another version."""
    return f"{text}{'' if text.endswith(chr(10)) else chr(10)}\n\n{more}\n"


def _for_pytest(directory: Root, call: RunnerCall, mark: str) -> Iterator[Added]:
    for path, text in test_files(directory, ("test_*.py", "*_test.py"), call.arguments):
        yield path, _appended(text, f'def test_{mark}():\n    raise AssertionError("{SAYS}")')


def _for_unittest(directory: Root, call: RunnerCall, mark: str) -> Iterator[Added]:
    """Add a test case; in a file that is run as a program, before the lines that start its tests."""
    case = (
        f"class Canary_{mark}(__import__('unittest').TestCase):\n"
        f'    def test_{mark}(self):\n        raise AssertionError("{SAYS}")'
    )
    for path, text in test_files(directory, ("test*.py", "*_test.py"), call.arguments):
        if "TestCase" not in text:
            continue
        is_run = any(word.endswith(".py") and path == posixpath.normpath(word) for word in call.arguments)
        start = re.search(r"^if __name__ ==", text, re.MULTILINE) if is_run else None
        before, after = (text[: start.start()], text[start.start() :]) if start else (text, "")
        yield path, _appended(before, case) + (f"\n\n{after}" if after else "")


def _for_scripts(directory: Root, call: RunnerCall, mark: str) -> Iterator[Added]:
    """Declare the test with the function that the file itself uses, wherever it comes from."""
    patterns = (*SCRIPT_TESTS, *(f"test*.{kind}" for kind in SCRIPTS))
    for path, text in (*test_files(directory, patterns, call.arguments), *_in_test_directories(directory)):
        declare = first_group(DECLARES, text)
        if declare:
            yield path, _appended(text, f'{declare}("{mark}", () => {{\n  throw new Error("{SAYS}");\n}});')


def _in_test_directories(directory: Root) -> Iterator[Added]:
    """Yield scripts in directories with certain names: mocha, jest and node run all of these scripts."""
    patterns = tuple(f"*.{kind}" for kind in SCRIPTS)
    for name in ("test", "__tests__", "tests", "spec"):
        for path, text in test_files(directory.below(name), patterns, ()):
            yield f"{name}/{path}", text


def _for_go(directory: Root, call: RunnerCall, mark: str) -> Iterator[Added]:
    for path, text in test_files(directory, ("*_test.go",), call.arguments):
        if '"testing"' in text:
            yield path, _appended(text, f'func Test_{mark}(t *testing.T) {{\n\tt.Fatal("{SAYS}")\n}}')


def _for_cargo(directory: Root, call: RunnerCall, mark: str) -> Iterator[Added]:
    """Add to a test program that uses the product, if there is one; otherwise create a new one."""
    test = f'#[test]\nfn canary_{mark}() {{\n    panic!("{SAYS}");\n}}\n'
    words = call.arguments
    if "--test" in words[:-1]:
        name = posixpath.basename(f"{words[words.index('--test') + 1]}.rs")
        yield from ((path, _appended(text, test)) for path, text in test_files(directory, (name,), ()))
    elif not {"--lib", "--bins", "--bin", "--doc", "--examples"} & set(words):
        for manifest, text in test_files(directory, ("Cargo.toml",), ()):
            if re.search(r"^\[package\]", text, re.MULTILINE):
                tests = posixpath.join(posixpath.dirname(manifest), "tests")
                yield _using_crate(directory, tests, text, test) or (f"{tests}/canary_{mark}.rs", test)


def _using_crate(directory: Root, tests: str, text: str, test: str) -> Added | None:
    """Return a test program that runs code of the product, with the test added; None if there is none.

    In such a program the start-up code of the product runs too, so its effects are seen.
    """
    name = first_group(CRATE, text)
    for path, content in test_files(directory.below(tests), ("*.rs",), ()) if name else ():
        if "/" not in path and re.search(rf"\b{re.escape(name.replace('-', '_'))}\s*::", content):
            return f"{tests}/{path}", _appended(content, test)
    return None


def _for_rspec(directory: Root, call: RunnerCall, mark: str) -> Iterator[Added]:
    group = f'RSpec.describe("canary_{mark}") do\n  it("fails") {{ raise "{SAYS}" }}\nend'
    for path, text in test_files(directory, ("*_spec.rb",), call.arguments):
        yield path, _appended(text, group)


def _for_phpunit(directory: Root, call: RunnerCall, mark: str) -> Iterator[Added]:
    for path, text in test_files(directory, ("*Test.php",), call.arguments):
        namespace = first_group(NAMESPACE, text)
        yield (
            posixpath.join(posixpath.dirname(path), f"Canary_{mark}Test.php"),
            f"<?php\n{f'namespace {namespace};' if namespace else ''}\n"
            f"final class Canary_{mark}Test extends \\PHPUnit\\Framework\\TestCase\n{{\n"
            f"    public function test_{mark}(): void\n    {{\n        self::fail('{SAYS}');\n    }}\n}}\n",
        )


def _for_java(directory: Root, call: RunnerCall, mark: str) -> Iterator[Added]:
    """Arguments are goals and tasks, which may have names of directories. Only a selected module is a directory."""
    words = call.arguments
    modules = [following for word, following in pairwise(words) if word in ("-pl", "--projects")]
    for path, text in test_files(directory, ("*Test.java", "*Tests.java", "Test*.java"), modules):
        package = first_group(PACKAGE, text)
        annotation = first_group(JUNIT, text)
        if annotation:
            yield (
                posixpath.join(posixpath.dirname(path), f"Canary_{mark}Test.java"),
                f"{f'package {package};' if package else ''}\npublic class Canary_{mark}Test {{\n"
                f"    @{annotation}.Test\n    public void test_{mark}() {{\n"
                f'        throw new AssertionError("{SAYS}");\n    }}\n}}\n',
            )


BY_RUNNER: Mapping[str, Callable[[Root, RunnerCall, str], Iterator[Added]]] = {
    "pytest": _for_pytest,
    "unittest": _for_unittest,
    "jest": _for_scripts,
    "vitest": _for_scripts,
    "mocha": _for_scripts,
    "node:test": _for_scripts,
    "go": _for_go,
    "cargo": _for_cargo,
    "rspec": _for_rspec,
    "phpunit": _for_phpunit,
    "maven": _for_java,
    "gradle": _for_java,
}
