"""Tests that must fail for a JavaScript or TypeScript test file, through the assertions that the file itself uses.

The text is searched, not parsed. A function counts only if it is global or comes from a known assertion library: a
function of the product could fail on the base and succeed later.
"""

import re
from collections.abc import Iterator

from donewhen.judge.runners.call import RunnerCall
from donewhen.judge.runners.failing_test import MESSAGE, with_line_end
from donewhen.judge.runners.runner import CanaryFile
from donewhen.judge.runners.test_files import first_group, test_files
from donewhen.workspace.beneath import Root

SCRIPTS = ("js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx")
SCRIPT_TESTS = tuple(f"*{mark}.{kind}" for mark in (".test", ".spec", "_test", "-test") for kind in SCRIPTS)
LIBRARIES = re.compile(r"(?:node:)?assert(?:/strict)?|chai|power-assert|uvu/assert|expect|vitest|@jest/globals")
LIBRARY = re.compile(r"(?:\bfrom|=\s{0,9}require\()\s{0,9}[\"']([^\"'\n]{1,100})[\"']")
DECLARES = re.compile(r"\b(?:import|const|let|var)\b")
NOT_NAMES = re.compile(r"[=;\"'()]")
LONGEST_NAMES = 500
"""In characters: the names that one statement takes from a library."""
BOUND_AGAIN = re.compile(r"^(?:const|let|var)\s++([^=;\"'()\n]{1,200})=\s{0,9}([\w$]++)", re.MULTILINE)
NAME = re.compile(r"[\w$]+")
CALL = re.compile(r"(?<![\w$.])([\w$]++)(?:\.(\w++))?\s?\(")
ASSERT = {
    "assert": "false",
    "ok": "false",
    "equal": "$left, $right",
    "strictEqual": "$left, $right",
    "deepEqual": "[$left], [$right]",
    "deepStrictEqual": "[$left], [$right]",
    "notEqual": "$left, $left",
    "notStrictEqual": "$left, $left",
    "notDeepEqual": "[$left], [$left]",
    "notDeepStrictEqual": "[$left], [$left]",
    "throws": "() => {}",
    "doesNotThrow": f'() => {{ throw new Error("{MESSAGE}"); }}',
    "match": '"$left", /$right/',
    "rejects": "Promise.resolve($left)",
    "fail": f'"{MESSAGE}"',
    "is": "$left, $right",
    "isTrue": "false",
    "isFalse": "true",
    "isNull": "$left",
    "isUndefined": "$left",
    "isDefined": "undefined",
    "include": "[$left], $right",
    "lengthOf": "[$left], 2",
}
"""Function of an assertion library → arguments with which it fails."""
EXPECT = {
    "toBe": ("$left", "$right"),
    "toEqual": ("[$left]", "[$right]"),
    "toStrictEqual": ("[$left]", "[$right]"),
    "toMatchObject": ("{ a: $left }", "{ a: $right }"),
    "toBeTruthy": ("false", ""),
    "toBeFalsy": ("true", ""),
    "toBeNull": ("$left", ""),
    "toBeUndefined": ("$left", ""),
    "toBeDefined": ("undefined", ""),
    "toBeNaN": ("$left", ""),
    "toContain": ("[$left]", "$right"),
    "toContainEqual": ("[$left]", "$right"),
    "toHaveLength": ("[$left]", "2"),
    "toHaveProperty": ("{ a: $left }", '"b"'),
    "toMatch": ('"$left"', "/$right/"),
    "toBeGreaterThan": ("$left", "$right"),
    "toBeGreaterThanOrEqual": ("$left", "$right"),
    "toBeLessThan": ("$right", "$left"),
    "toBeLessThanOrEqual": ("$right", "$left"),
    "toBeCloseTo": ("$left", "$right"),
    "toBeInstanceOf": ("{}", "Date"),
    "toThrow": ("() => {}", ""),
    "toThrowError": ("() => {}", ""),
}
"""Matcher of jest and vitest → the value, and arguments with which it fails."""
CHAI = {
    "to.equal": "$left).to.equal($right)",
    "to.eql": "[$left]).to.eql([$right])",
    "to.deep.equal": "[$left]).to.deep.equal([$right])",
    "to.not.equal": "$left).to.not.equal($left)",
    "to.be.true": "false).to.be.true",
    "to.be.false": "true).to.be.false",
    "to.be.null": "$left).to.be.null",
    "to.be.undefined": "$left).to.be.undefined",
    "to.be.ok": "false).to.be.ok",
    "to.exist": "null).to.exist",
    "to.include": "[$left]).to.include($right)",
    "to.contain": "[$left]).to.contain($right)",
    "to.have.lengthOf": "[$left]).to.have.lengthOf(2)",
    "to.throw": "() => {}).to.throw()",
    "to.be.above": "$left).to.be.above($right)",
    "to.be.below": "$right).to.be.below($left)",
}
AFTER_EXPECT = re.compile(r"\.(not\.)?(to[A-Z]\w*|to(?:\.\w+)+)")


def in_script(directory: Root, call: RunnerCall, mark: str) -> Iterator[CanaryFile]:
    """Declare the tests with the function that the file itself uses, wherever it comes from."""
    del mark
    patterns = (*SCRIPT_TESTS, *(f"test*.{kind}" for kind in SCRIPTS))
    seen = set[str]()
    for path, text in (*test_files(directory, patterns, call.arguments), *_in_test_directories(directory)):
        declare = first_group(re.search(r"(?:^|[^.\w$])(test|it)(?:\.\w+)*\s*\(", text, re.MULTILINE))
        if declare and path not in seen:
            seen.add(path)
            tests = (
                f'{declare}("$name", {"async " * statement.startswith("await ")}() => {{\n  {statement};\n}});'
                for statement in script_assertions(text)
            )
            yield CanaryFile(path, with_line_end(text), tuple(tests))


def _in_test_directories(directory: Root) -> Iterator[tuple[str, str]]:
    """Yield scripts in directories with certain names: mocha, jest and node run all of these scripts."""
    patterns = tuple(f"*.{kind}" for kind in SCRIPTS)
    for name in ("test", "__tests__", "tests", "spec"):
        for path, text in test_files(directory.below(name), patterns, ()):
            yield f"{name}/{path}", text


def script_assertions(text: str) -> tuple[str, ...]:
    """Return one statement that must fail for each kind of assertion that a file uses, in the order of first use."""
    known, others = _bound(text)
    found = dict.fromkeys(_calls(text, known))
    calls = {name for name, _ in CALL.findall(text)}
    if "expect" in calls and "expect" not in others:
        found |= dict.fromkeys(_matchers(text))
    if "should" in known and ".should." in text:
        found["($left).should.equal($right)"] = None
    return tuple(found) or (f'throw new Error("{MESSAGE}")',)


def _bound(text: str) -> tuple[set[str], set[str]]:
    """Return the names that come from assertion libraries, and those that come from elsewhere."""
    known, others = set[str](), set[str]()
    for library in LIBRARY.finditer(text):
        declared = DECLARES.split(text[max(0, library.start() - LONGEST_NAMES) : library.start()])
        if len(declared) > 1 and not NOT_NAMES.search(declared[-1]):
            (known if LIBRARIES.fullmatch(library[1]) else others).update(NAME.findall(declared[-1]))
    for names, source in BOUND_AGAIN.findall(text):
        if source in known:
            known.update(NAME.findall(names))
    return known, others


def _calls(text: str, known: set[str]) -> list[str]:
    found = list[str]()
    for name, method in CALL.findall(text):
        called = method or name
        if name in known and called in ASSERT:
            call = f"{name}.{method}" if method else name
            found.append(f"{'await ' if called == 'rejects' else ''}{call}({ASSERT[called]})")
    return found


def _matchers(text: str) -> list[str]:
    found = list[str]()
    for negated, name in AFTER_EXPECT.findall(text):
        if name in EXPECT:
            value, arguments = EXPECT[name]
            found.append("expect($left).not.toBe($left)" if negated else f"expect({value}).{name}({arguments})")
        elif name in CHAI:
            found.append(f"expect({CHAI[name]}")
    return found
