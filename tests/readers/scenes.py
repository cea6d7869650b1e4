"""Small projects of every ecosystem, in six conditions, for runs of the real runners. Data only.

`pass` has two tests that pass; `fail`, `skipped` and `forged` have one that passes and one more. In `forged` that
one fails, and the tested code claims in its output and in a report that it passed. In `killed` the run dies before
its end.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

Files = Mapping[str, str]
CASES = ("pass", "fail", "zero", "skipped", "killed", "forged")
FAKE_REPORT = (
    '<testsuite name=\\"x\\" tests=\\"5\\">'
    + "".join(f'<testcase name=\\"t{n}\\" classname=\\"Fake\\"/>' for n in range(5))
    + "</testsuite>"
)


@dataclass(frozen=True)
class Scene:
    runner: str
    program: str
    command: str
    kind: str
    cases: Mapping[str, Files]
    always: Files = field(default_factory=dict[str, str])


def scripts(head: str, test: str, fails: str, skips: str, forged: str, kill: str) -> dict[str, Files]:
    """JavaScript runners differ only in a few words."""

    def file(*lines: str) -> Files:
        return {"a.test.js": "\n".join([head, *lines]) + "\n"}

    one = f"{test}('one', () => {{}});"
    forge = f"{test}('one', () => {{ console.log({forged!r}); }});"
    return {
        "pass": file(one, f"{test}('two', () => {{}});"),
        "fail": file(one, fails),
        "zero": {"a.js": ""},
        "skipped": file(one, skips),
        "killed": file(one, f"{test}('two', () => {{ {kill} }});"),
        "forged": file(forge, fails),
    }


KILL = "process.kill(process.pid, 'SIGKILL');"

PYTEST = Scene(
    "pytest", "pytest", "pytest -q -p no:cacheprovider", "sidecar",
    {
        "pass": {"test_a.py": "def test_one(): pass\ndef test_two(): pass\n"},
        "fail": {"test_a.py": "def test_one(): pass\ndef test_two(): assert 0\n"},
        "zero": {"a.py": ""},
        "skipped": {"test_a.py": "import pytest\ndef test_one(): pass\n@pytest.mark.skip\ndef test_two(): pass\n"},
        "killed": {"test_a.py": "import os\ndef test_one(): pass\ndef test_two(): os.kill(os.getpid(), 9)\n"},
        "forged": {
            "test_a.py": "import os\ndef test_one():\n    os.write(1, b'5 passed in 0.01s\\n')\n"
            f"    open('junit.xml', 'w').write(\"{FAKE_REPORT}\")\ndef test_two(): assert 0\n"
        },
    },
)  # fmt: skip


def cases_of_unittest() -> dict[str, Files]:
    head = "import os, unittest\nclass T(unittest.TestCase):\n"
    one = "    def test_one(self): pass\n"
    forged = "    def test_one(self): print('-' * 70 + '\\nRan 5 tests in 0.001s\\n\\nOK')\n"
    return {
        "pass": {"test_a.py": f"{head}{one}    def test_two(self): pass\n"},
        "fail": {"test_a.py": f"{head}{one}    def test_two(self): self.fail()\n"},
        "zero": {"test_a.py": ""},
        "skipped": {"test_a.py": f"{head}{one}    def test_two(self): self.skipTest('no')\n"},
        "killed": {"test_a.py": f"{head}{one}    def test_two(self): os.kill(os.getpid(), 9)\n"},
        "forged": {"test_a.py": f"{head}{forged}    def test_two(self): self.fail()\n"},
    }


UNITTEST = Scene("unittest", "python3", "python3 -m unittest", "text", cases_of_unittest())

JEST = Scene(
    "jest", "jest", "npm test", "sidecar",
    scripts(
        "", "test", "test('two', () => { expect(1).toBe(2); });", "test.skip('two', () => {});",
        "Tests:       5 passed, 5 total", KILL,
    ),
    {"package.json": '{"scripts": {"test": "jest"}}'},
)  # fmt: skip
VITEST = Scene(
    "vitest", "vitest", "npx vitest run", "sidecar",
    scripts(
        "import { test, expect } from 'vitest';", "test", "test('two', () => { expect(1).toBe(2); });",
        "test.skip('two', () => {});", " Test Files  1 passed (1)\n      Tests  5 passed (5)",
        "process.kill(process.ppid, 'SIGKILL');",
    ),
    {"package.json": '{"type": "module"}'},
)  # fmt: skip
MOCHA = Scene(
    "mocha", "mocha", "mocha '*.test.js'", "text",
    scripts(
        "", "it", "describe('g', () => it('two', () => { throw new Error('no'); }));", "it.skip('two', () => {});",
        "  5 passing (3ms)", KILL,
    ),
)  # fmt: skip
NODE = Scene(
    "node:test", "node", "npm test", "sidecar",
    scripts(
        "const test = require('node:test');", "test", "test('two', () => { throw new Error('no'); });",
        "test.skip('two', () => {});",
        "# tests 5\n# suites 0\n# pass 5\n# fail 0\n# cancelled 0\n# skipped 0\n# todo 0\n# duration_ms 1.5",
        "process.kill(process.ppid, 'SIGKILL');",
    ),
    {"package.json": '{"scripts": {"test": "node --test"}}'},
)  # fmt: skip


def cases_of_cargo() -> dict[str, Files]:
    one = "#[test] fn one() {}\n"
    forged = "test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s"
    kill = 'std::process::Command::new("kill").args(["-9", &std::process::id().to_string()]).status().unwrap();'

    def program(*tests: str) -> Files:
        return {"tests/a.rs": "".join(tests)}

    return {
        "pass": program(one, "#[test] fn two() {}\n"),
        "fail": program(one, "#[test] fn two() { panic!(); }\n"),
        "zero": {"src/lib.rs": ""},
        "skipped": program(one, "#[test] #[ignore] fn two() {}\n"),
        "killed": program(one, f"#[test] fn two() {{ {kill} loop {{}} }}\n"),
        "forged": program(
            "use std::io::Write;\n#[test] fn one() { "
            f'writeln!(std::io::stderr(), "running 2 tests\\n{forged}").unwrap(); }}\n',
            f'#[test] fn two() {{ println!("{forged}"); panic!(); }}\n',
        ),
    }


CARGO = Scene(
    "cargo", "cargo", "cargo test --offline", "text", cases_of_cargo(),
    {
        "Cargo.toml": '[package]\nname = "small"\nversion = "0.1.0"\nedition = "2021"\n',
        "src/lib.rs": "//! ```\n//! assert_eq!(1, 1);\n//! ```\n",
    },
)  # fmt: skip


def cases_of_go() -> dict[str, Files]:
    head = 'package small\nimport ("fmt"; "os"; "syscall"; "testing")\nvar _ = fmt.Print\nvar _ = os.Exit\n'
    head += "var _ = syscall.Kill\n"
    one = "func TestOne(t *testing.T) {}\n"
    kill = "syscall.Kill(os.Getpid(), syscall.SIGKILL); select {}"
    forged = "--- PASS: TestFake (0.00s)\\n--- PASS: TestTwo (0.00s)\\nPASS\\nok  \\tsmall\\t0.1s"
    return {
        "pass": {"a_test.go": f"{head}{one}func TestTwo(t *testing.T) {{}}\n"},
        "fail": {"a_test.go": f"{head}{one}func TestTwo(t *testing.T) {{ t.Fail() }}\n"},
        "zero": {"a.go": "package small\n"},
        "skipped": {"a_test.go": f"{head}{one}func TestTwo(t *testing.T) {{ t.Skip() }}\n"},
        "killed": {"a_test.go": f"{head}{one}func TestTwo(t *testing.T) {{ {kill} }}\n"},
        "forged": {
            "a_test.go": f'{head}func TestOne(t *testing.T) {{ fmt.Println("{forged}") }}\n'
            f'func TestTwo(t *testing.T) {{ fmt.Println("{forged}"); t.Fail() }}\n'
        },
    }


GO = Scene("go", "go", "go test ./...", "text", cases_of_go(), {"go.mod": "module small\n\ngo 1.19\n"})


def cases_of_rspec() -> dict[str, Files]:
    def group(*examples: str) -> Files:
        return {"spec/a_spec.rb": "\n".join(['RSpec.describe "a" do', *examples, "end"]) + "\n"}

    one = 'it("one") { }'
    forged = 'it("one") { puts "5 examples, 0 failures" }'
    return {
        "pass": group(one, 'it("two") { }'),
        "fail": group(one, 'it("two") { raise "no" }'),
        "zero": {"a.rb": ""},
        "skipped": group(one, 'xit("two") { }'),
        "killed": group(one, 'it("two") { Process.kill("KILL", Process.pid) }'),
        "forged": group(forged, 'it("two") { raise "no" }'),
    }


RSPEC = Scene("rspec", "rspec", "rspec", "sidecar", cases_of_rspec(), {".rspec": "--format documentation\n"})


def cases_of_phpunit() -> dict[str, Files]:
    def case(*methods: str) -> Files:
        head = "<?php\nclass ATest extends PHPUnit\\Framework\\TestCase {\n"
        return {"tests/ATest.php": head + "\n".join(methods) + "\n}\n"}

    one = "function testOne() { $this->assertTrue(true); }"
    two = "function testTwo() { %s }"
    forged = 'function testOne() { fwrite(STDOUT, "OK (5 tests, 5 assertions)\\n"); $this->assertTrue(true); }'
    return {
        "pass": case(one, two % "$this->assertTrue(true);"),
        "fail": case(one, two % "$this->fail();"),
        "zero": {"tests/a.php": ""},
        "skipped": case(one, two % "$this->markTestSkipped();"),
        "killed": case(one, two % "exec('kill -9 ' . getmypid());"),
        "forged": case(forged, two % "$this->fail();"),
    }


PHPUNIT = Scene("phpunit", "phpunit", "phpunit tests", "sidecar", cases_of_phpunit())

SCENES = (PYTEST, UNITTEST, JEST, VITEST, MOCHA, NODE, CARGO, GO, RSPEC, PHPUNIT)
"""Maven is slow to start, so its cases are modules of one project; see its own test."""
