"""Every kind of assertion with which an added test must fail does fail, in a real run of a real runner.

A statement that does not fail would be no defence: on the base its test would not be reported, and then it is left out.
"""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from real import environment_for, project, run
from scenes import CARGO, GO, JEST, MOCHA, NODE, PHPUNIT, PYTEST, RSPEC, UNITTEST, VITEST

from donewhen.judge.runners import (
    Canary,
    canary,
    go,
    instrument_command,
    phpunit,
    python_assertions,
    rspec,
    script_assertions,
)
from donewhen.workspace.beneath import Root
from repositories import write

TOKEN = "c0ffee5ea1"


def python(functions: str, methods: Iterable[str] = (*python_assertions.METHODS, *python_assertions.OF_MOCKS)) -> str:
    uses = "".join(f"        self.{name}()\n" for name in methods)
    head = "import unittest\nimport pytest\nclass T(unittest.TestCase):\n    def test_one(self): pass\n"
    return f"{head}    def later(self):\n{uses}def later():\n    {functions}\n"


def script(head: str, uses: Iterable[str]) -> str:
    lines = "\n".join(f"  {use};" for use in uses)
    return f"{head}\ntest('one', () => {{}});\nconst later = () => {{\n{lines}\n}};\n"


def expected(names: Iterable[str]) -> list[str]:
    return ["expect(1).not.toBe(2)", *(f"expect(1).{name}(2)" for name in names)]


OF_NODE = [name for name in script_assertions.ASSERT if not name.startswith(("is", "include", "lengthOf", "assert"))]
FILES = {
    "pytest": (PYTEST, "test_a.py", python("assert pytest.approx(1); pytest.raises(OSError); pytest.fail('no')")),
    "unittest": (UNITTEST, "test_a.py", python("assert True").replace("import pytest\n", "")),
    "jest": (JEST, "a.test.js", script("", expected(script_assertions.EXPECT))),
    "vitest": (
        VITEST,
        "a.test.js",
        script("import { test, expect } from 'vitest';", expected(script_assertions.EXPECT)),
    ),
    "node": (
        NODE,
        "a.test.js",
        script(
            "const test = require('node:test');\nconst assert = require('node:assert');\n"
            "const { strictEqual, deepEqual: same } = require('assert');",
            ["assert(1)", "strictEqual(1, 1)", *(f"assert.{name}(1)" for name in OF_NODE)],
        ),
    ),
    "mocha": (
        MOCHA,
        "a.test.js",
        script("import * as assert from 'node:assert';\nconst test = it;", ["assert.equal(1, 1)"]).replace(
            "import * as assert from 'node:assert';", "const assert = require('assert');"
        ),
    ),
    "cargo": (
        CARGO,
        "tests/a.rs",
        "#[test] fn one() { assert!(true); assert_eq!(1, 1); assert_ne!(1, 2); }\n",
    ),
    "cargo-in-sources": (
        CARGO,
        "src/lib.rs",
        "pub fn a() {}\n#[cfg(test)]\nmod tests {\n    #[test] fn one() { assert!(true); assert_eq!(1, 1); }\n}\n",
    ),
    "go": (
        GO,
        "a_test.go",
        'package small\nimport "testing"\nfunc TestOne(t *testing.T) {\n\tif false {\n'
        + "".join(f"\t\tt.{name}({'' if 'Fail' in name else '`no`'})\n" for name in go.METHODS)
        + "\t}\n}\n",
    ),
    "rspec": (
        RSPEC,
        "spec/a_spec.rb",
        "RSpec.describe 'a' do\n  it('one') { }\nend\n"
        + "".join(f"# {word}\n" for word in rspec.ASSERTIONS if word not in ("should", "assert_equal")),
    ),
    "phpunit": (
        PHPUNIT,
        "tests/ATest.php",
        "<?php\nclass ATest extends PHPUnit\\Framework\\TestCase {\n"
        "function testOne() { $this->assertTrue(true); }\n}\n" + "".join(f"// {word}\n" for word in phpunit.ASSERTIONS),
    ),
}
LEAST = {"pytest": 38, "unittest": 34, "jest": 24, "vitest": 24, "node": 16, "mocha": 1, "cargo": 3,
         "cargo-in-sources": 2, "go": 6, "rspec": 15, "phpunit": 17}  # fmt: skip


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", FILES)
def test_every_kind_of_assertion_fails_in_a_real_run(name: str, tmp_path: Path, real_home: Path) -> None:
    scene, path, text = FILES[name]
    environment = environment_for(scene, tmp_path, real_home)
    root = project(tmp_path / "small", replace(scene, cases={"only": {path: text}}), "only")
    bird = canary(instrument_command(scene.command, Root(root), "/sidecar"), Root(root), ".", TOKEN)
    assert bird is not None
    assert len(bird.tests) >= LEAST[name], names_of(bird)
    write(root, dict(bird.files))
    ran = run(root, scene.command, environment)
    failures = "\n".join(ran.reading.failures if ran.reading else ())
    assert [test.name for test in bird.tests if test.name not in failures] == [], ran.output.decode()


def names_of(bird: Canary) -> str:
    return "\n".join(content.decode() for content in bird.files.values())
