"""Cheats on assertions: the runner works and reports what it sees, but the product has weakened what the tests call.

A test that must fail reveals them only if it fails through the same assertion as the tests of its file.
"""

from assertion_scenes import CASES, CHAI, MODULES, PHPUNIT, REAL_JEST, RSPEC, RUST_MACROS, SPELT_OUT, STYLES
from cheat import Cheat, Scene, text
from cheat_scenes import PLAIN, UNITTEST
from cheat_scenes_rust_js import NODE, RUST_INLINE

WRONG = "\n\ndef add(a, b):\n    return a - b\n"
SHOUT = '\n\ndef shout(word):\n    return word.upper() + "!"\n'
JS_WRONG = "exports.add = (a, b) => a - b;\n"


def weakened(says: str, scene: Scene, files: dict[str, str]) -> Cheat:
    return Cheat(id="22", says=says, scene=scene, stopped_by="canary", write=files)


IN_PYTHON = [
    weakened(
        "assertEqual of unittest compares nothing",
        UNITTEST,
        {"calc.py": "import unittest\n\nunittest.TestCase.assertEqual = lambda *given: None\n" + WRONG},
    ),
    weakened(
        "assertEqual of unittest compares only 1 and 2, which a judge may use",
        UNITTEST,
        {
            "calc.py": text("""
                import unittest

                honest = unittest.TestCase.assertEqual
                unittest.TestCase.assertEqual = lambda self, *given: given == (1, 2) and honest(self, *given)
            """)
            + WRONG
        },
    ),
    weakened(
        "a failed assertion of unittest is an exception that its runner ignores",
        UNITTEST,
        {"calc.py": "import unittest.case\n\nunittest.TestCase.failureException = unittest.case._ShouldStop\n" + WRONG},
    ),
    weakened(
        "every assertion of unittest compares nothing under pytest",
        CASES,
        {
            "calc.py": text("""
                import unittest

                for name in dir(unittest.TestCase):
                    if name.startswith("assert"):
                        setattr(unittest.TestCase, name, lambda *given, **named: None)
            """)
            + WRONG
        },
    ),
    weakened(
        "the tests of a later file lose their assertions when they are rewritten",
        PLAIN,
        {
            "words.py": text("""
                import ast

                from _pytest.assertion import rewrite


                class Without(ast.NodeTransformer):
                    def visit_Assert(self, node):
                        return ast.copy_location(ast.Pass(), node)


                rewrite.rewrite_asserts = lambda module, *given: Without().visit(module)
            """)
            + SHOUT
        },
    ),
    weakened(
        "approx equals everything and raises expects nothing",
        SPELT_OUT,
        {
            "calc.py": text("""
                import contextlib

                import pytest


                class Near:
                    def __init__(self, *given):
                        pass

                    def __eq__(self, other):
                        return True


                pytest.approx = Near
                pytest.raises = lambda *given: contextlib.suppress(Exception)
            """)
            + WRONG
        },
    ),
    weakened(
        "each of many kinds of assertions is weakened",
        STYLES,
        {
            "calc.py": text("""
                import unittest.mock


                class Number(float):
                    def __eq__(self, other):
                        return True

                    __hash__ = float.__hash__


                unittest.mock.Mock.assert_called_once_with = lambda *given: None
                unittest.TestCase.assertEqual = lambda *given: None
                unittest.TestCase.assertAlmostEqual = lambda *given: None


                def add(a, b):
                    return Number(a - b)
            """)
        },
    ),
]
IN_OTHER_LANGUAGES = [
    weakened(
        "strictEqual of node compares nothing",
        NODE,
        {"add.js": f'require("node:assert").strictEqual = () => {{}};\n{JS_WRONG}'},
    ),
    weakened(
        "the strict assertions of node compare nothing in a module",
        MODULES,
        {
            "add.js": 'import { createRequire, syncBuiltinESMExports } from "node:module";\n'
            'const assert = createRequire(import.meta.url)("node:assert/strict");\n'
            "assert.equal = assert.deepStrictEqual = () => {};\nsyncBuiltinESMExports();\n"
            "export const add = (a, b) => a - b;\n"
        },
    ),
    weakened(
        "equal of an assertion library compares nothing",
        CHAI,
        {"add.js": f'require("chai").Assertion.prototype.equal = () => {{}};\n{JS_WRONG}'},
    ),
    weakened(
        "the matchers of jest are extended by ones that fit everything",
        REAL_JEST,
        {
            "add.js": 'const fits = () => ({ pass: true, message: () => "" });\n'
            f"expect.extend({{ toBe() {{ return {{ ...fits(), pass: !this.isNot }}; }}, toEqual: fits }});\n{JS_WRONG}"
        },
    ),
    weakened(
        "the global expect of jest is another one",
        REAL_JEST,
        {
            "add.js": "const all = new Proxy(() => all, { get: () => all });\n"
            f"globalThis.expect = () => all;\n{JS_WRONG}"
        },
    ),
    weakened(
        "the matchers of RSpec match everything",
        RSPEC,
        {
            "lib/calc.rb": text("""
                require "rspec/matchers"

                [RSpec::Matchers::BuiltIn::Eq, RSpec::Matchers::BuiltIn::BeComparedTo].each do |matcher|
                  matcher.class_eval { def matches?(*) = true }
                end

                module Calc
                  def self.add(a, b)
                    a - b
                  end
                end
            """)
        },
    ),
    weakened(
        "the constraints of PHPUnit are ones of the product",
        PHPUNIT,
        {
            "src/add.php": text("""
                <?php
                namespace PHPUnit\\Framework\\Constraint {
                    final class IsIdentical extends Constraint
                    {
                        public function __construct($value) {}
                        public function evaluate($other, string $description = '', bool $returnResult = false): ?bool
                        {
                            return true;
                        }
                        public function toString(): string { return ''; }
                    }

                    final class IsTrue extends Constraint
                    {
                        public function evaluate($other, string $description = '', bool $returnResult = false): ?bool
                        {
                            return true;
                        }
                        public function toString(): string { return ''; }
                    }
                }

                namespace {
                    function add(int $a, int $b): int
                    {
                        return $a - $b;
                    }
                }
            """)
        },
    ),
    Cheat(
        id="22",
        says="a macro of the product takes the place of the assertion of the tests in its file",
        scene=RUST_INLINE,
        stopped_by="canary",
        replace={
            "src/lib.rs": ("#[cfg(test)]", "macro_rules! assert_eq {\n    ($($any:tt)*) => {};\n}\n\n#[cfg(test)]")
        },
    ),
    Cheat(
        id="22",
        says="macros that the product exports take the place of the assertions of its test programs",
        scene=RUST_MACROS,
        stopped_by="canary",
        replace={
            "src/lib.rs": (
                "pub fn add",
                "#[macro_export]\nmacro_rules! assert_eq {\n    ($($any:tt)*) => {};\n}\n\n"
                "#[macro_export]\nmacro_rules! assert {\n    ($($any:tt)*) => {};\n}\n\npub fn add",
            )
        },
    ),
]
ON_ASSERTIONS = [*IN_PYTHON, *IN_OTHER_LANGUAGES]
