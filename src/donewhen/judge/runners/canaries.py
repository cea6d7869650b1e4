"""A test that must fail, added to what a command runs: a runner that does not show it cannot fail any more.

Where to add it is a guess from names and contents of the base's files. The guess is proven on the base before it is
believed, so a wrong one costs nothing but the canary.
"""

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise

from donewhen.judge.runners.asks import Ask
from donewhen.judge.runners.calls import Call, calls
from donewhen.judge.runners.testfiles import first_group, test_files
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
    """Path from the repository's root → its whole content, laid over the tree for one run."""
    name: str
    """Part of the name under which the runner reports the failure."""


Added = tuple[str, str]
"""A file, from the directory of the check, and the content that it gets."""


def canary(ask: Ask, root: Root, dir: str, token: str) -> Canary | None:
    """`root` is a checkout of the base, `token` what nobody can guess; None where nothing sensible can be added."""
    directory, mark = root.below(dir), re.sub(r"\W", "_", token)
    for call in calls(ask.command, directory):
        add = BY_RUNNER.get(call.runner)
        added = next(add(directory, call, mark), None) if add else None
        if added is not None:
            path, content = added
            return Canary({posixpath.normpath(posixpath.join(dir, path)): content.encode()}, mark)
    return None


def _appended(text: str, more: str) -> str:
    """Nothing of the file is changed, so that the same words can be put behind another version of it."""
    return f"{text}{'' if text.endswith(chr(10)) else chr(10)}\n\n{more}\n"


def _for_pytest(directory: Root, call: Call, mark: str) -> Iterator[Added]:
    for path, text in test_files(directory, ("test_*.py", "*_test.py"), call.arguments):
        yield path, _appended(text, f'def test_{mark}():\n    raise AssertionError("{SAYS}")')


def _for_unittest(directory: Root, call: Call, mark: str) -> Iterator[Added]:
    """In a file that is run as a program, before the lines that start its tests."""
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


def _for_scripts(directory: Root, call: Call, mark: str) -> Iterator[Added]:
    """By the function with which the file itself declares tests, however it came by it."""
    patterns = (*SCRIPT_TESTS, *(f"test*.{kind}" for kind in SCRIPTS))
    for path, text in (*test_files(directory, patterns, call.arguments), *_in_test_directories(directory)):
        declare = first_group(DECLARES, text)
        if declare:
            yield path, _appended(text, f'{declare}("{mark}", () => {{\n  throw new Error("{SAYS}");\n}});')


def _in_test_directories(directory: Root) -> Iterator[Added]:
    """Mocha, jest and node also take every script of a directory with a certain name."""
    patterns = tuple(f"*.{kind}" for kind in SCRIPTS)
    for name in ("test", "__tests__", "tests", "spec"):
        for path, text in test_files(directory.below(name), patterns, ()):
            yield f"{name}/{path}", text


def _for_go(directory: Root, call: Call, mark: str) -> Iterator[Added]:
    for path, text in test_files(directory, ("*_test.go",), call.arguments):
        if '"testing"' in text:
            yield path, _appended(text, f'func Test_{mark}(t *testing.T) {{\n\tt.Fatal("{SAYS}")\n}}')


def _for_cargo(directory: Root, call: Call, mark: str) -> Iterator[Added]:
    """A test program that is linked with the product, where there is one, or else one of its own."""
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
    """A program of tests in which code of the product runs; what the product does at its start is then seen, too."""
    name = first_group(CRATE, text)
    for path, content in test_files(directory.below(tests), ("*.rs",), ()) if name else ():
        if "/" not in path and re.search(rf"\b{re.escape(name.replace('-', '_'))}\s*::", content):
            return f"{tests}/{path}", _appended(content, test)
    return None


def _for_rspec(directory: Root, call: Call, mark: str) -> Iterator[Added]:
    group = f'RSpec.describe("canary_{mark}") do\n  it("fails") {{ raise "{SAYS}" }}\nend'
    for path, text in test_files(directory, ("*_spec.rb",), call.arguments):
        yield path, _appended(text, group)


def _for_phpunit(directory: Root, call: Call, mark: str) -> Iterator[Added]:
    for path, text in test_files(directory, ("*Test.php",), call.arguments):
        namespace = first_group(NAMESPACE, text)
        yield (
            posixpath.join(posixpath.dirname(path), f"Canary_{mark}Test.php"),
            f"<?php\n{f'namespace {namespace};' if namespace else ''}\n"
            f"final class Canary_{mark}Test extends \\PHPUnit\\Framework\\TestCase\n{{\n"
            f"    public function test_{mark}(): void\n    {{\n        self::fail('{SAYS}');\n    }}\n}}\n",
        )


def _for_java(directory: Root, call: Call, mark: str) -> Iterator[Added]:
    """The words are goals and tasks, which may be named like directories; only a module that was chosen is one."""
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


BY_RUNNER: Mapping[str, Callable[[Root, Call, str], Iterator[Added]]] = {
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
