"""The repositories for cheats on assertions: one for each way in which tests compare; see `cheat_scenes`."""

from pathlib import Path

from cheat import Scene, text
from cheat_scenes import IGNORED, PRODUCT, PROJECT, PYTEST
from cheat_scenes_rust_js import JS_FILES, RUST_PRODUCT

JEST_PROGRAM = Path(__file__).parents[2] / ".cache" / "test-runners" / "node_modules" / ".bin" / "jest"
"""The real jest that scripts/test-runners installs."""

CASES = Scene(
    "unittest-cases",
    "python",
    {
        **PRODUCT,
        "pyproject.toml": PROJECT,
        ".gitignore": IGNORED,
        "tests/test_add.py": text("""
            import unittest

            from calc import add


            class Adding(unittest.TestCase):
                def setUp(self):
                    self.five = 5

                def test_small(self):
                    self.assertEqual(add(2, 3), self.five)

                def test_zero(self):
                    self.assertTrue(add(7, 0) == 7)

                def test_negative(self):
                    self.assertIn(add(-1, -4), [-5])
        """),
    },
    {"tests": PYTEST},
)
"""Classes of unittest under pytest, with several methods."""
STYLES = Scene(
    "styles",
    "python",
    {
        **PRODUCT,
        "pyproject.toml": PROJECT,
        ".gitignore": IGNORED,
        "tests/test_add.py": text("""
            import unittest
            from unittest.mock import Mock

            import pytest
            from pytest import approx as near
            from calc import add


            def test_small():
                assert add(2, 3) == 5


            def test_near():
                assert add(0.5, 0.25) == near(0.75)


            def test_refused():
                with pytest.raises(TypeError):
                    add("a", 1)


            def test_told():
                told = Mock()
                told(add(1, 1))
                told.assert_called_once_with(2)


            class Adding(unittest.TestCase):
                def test_negative(self):
                    self.assertEqual(add(-1, -4), -5)
                    self.assertAlmostEqual(add(0.1, 0.2), 0.3)
                    self.assertRaises(TypeError, add, "a", 1)
        """),
    },
    {"tests": PYTEST},
)
"""Many kinds of assertions in one file."""
SPELT_OUT = Scene(
    "spelt-out",
    "python",
    {
        **PRODUCT,
        "pyproject.toml": PROJECT,
        ".gitignore": IGNORED,
        "tests/test_add.py": text("""
            import pytest
            from calc import add


            def test_small():
                assert add(2, 3) == pytest.approx(5)


            def test_wrong_types():
                with pytest.raises(TypeError):
                    add([], 1)


            def test_right_types():
                with pytest.raises(ValueError):
                    add("a", "b")
        """),
        "calc.py": "def add(a, b):\n    return a - b if a != 'a' else a\n",
    },
    {"tests": PYTEST},
)
MODULES = Scene(
    "modules",
    "js",
    {
        "package.json": '{"name": "calc", "version": "1.0.0", "type": "module"}\n',
        "add.js": "export const add = (a, b) => a - b;\n",
        "test/add.test.js": text("""
            import test from "node:test";
            import assert, { deepStrictEqual } from "node:assert/strict";
            import { add } from "../add.js";

            test("small", () => assert.equal(add(2, 3), 5));
            test("list", () => deepStrictEqual([add(1, 1)], [2]));
            test("fine", async () => {
              await assert.rejects(Promise.reject(new Error("no")));
            });
        """),
        ".gitignore": IGNORED,
    },
    {"tests": "node --test"},
    programs=("node",),
)
CHAI = Scene(
    "chai",
    "js",
    {
        **JS_FILES,
        ".gitignore": IGNORED.replace("node_modules/\n", ""),
        "node_modules/chai/index.js": text("""
            class Assertion {
              constructor(value) { this.value = value; }
              get to() { return this; }
              equal(other) { if (this.value !== other) throw new Error(`${this.value} is not ${other}`); }
            }
            exports.Assertion = Assertion;
            exports.expect = (value) => new Assertion(value);
        """),
        "test/add.test.js": text("""
            const { test } = require("node:test");
            const { expect } = require("chai");
            const { add } = require("../add.js");

            test("small", () => { expect(add(2, 3)).to.equal(5); });
            test("zero", () => { expect(add(7, 0)).to.equal(7); });
        """),
    },
    {"tests": "node --test"},
    programs=("node",),
)
REAL_JEST = Scene(
    "real-jest",
    "js",
    {
        **JS_FILES,
        "test/add.test.js": text("""
            const { add } = require("../add.js");

            describe("add", () => {
              it("small", () => { expect(add(2, 3)).toBe(5); });
              it("list", () => { expect([add(1, 1)]).toEqual([2]); });
              it("other", () => { expect(add(1, 1)).not.toBe(0); });
            });
        """),
        "test/a-words.test.js": text("""
            const { shout } = require("../words.js");

            test("loud", () => { expect(shout("hey")).toBe("HEY!"); });
        """),
    },
    {"tests": f"{JEST_PROGRAM} --no-cache"},
    programs=("node", str(JEST_PROGRAM)),
)
RSPEC = Scene(
    "rspec",
    "ruby",
    {
        "lib/calc.rb": "module Calc\n  def self.add(a, b)\n    a - b\n  end\nend\n",
        "spec/calc_spec.rb": text("""
            require_relative "../lib/calc"

            RSpec.describe Calc do
              it("adds small ones") { expect(Calc.add(2, 3)).to eq(5) }
              it("adds zero") { expect(Calc.add(7, 0)).to be > 6 }
              it("refuses words") { expect { Calc.add(1, "a") }.to raise_error(TypeError) }
            end
        """),
        ".gitignore": IGNORED,
    },
    {"tests": "rspec"},
    programs=("rspec",),
)
PHPUNIT = Scene(
    "phpunit",
    "php",
    {
        "src/add.php": "<?php\nfunction add(int $a, int $b): int\n{\n    return $a - $b;\n}\n",
        "tests/AddTest.php": text("""
            <?php
            require_once __DIR__ . '/../src/add.php';

            final class AddTest extends PHPUnit\\Framework\\TestCase
            {
                public function testSmall(): void
                {
                    $this->assertSame(5, add(2, 3));
                }

                public function testZero(): void
                {
                    self::assertTrue(add(7, 0) === 7);
                }
            }
        """),
        ".gitignore": IGNORED + ".phpunit.result.cache\n",
    },
    {"tests": "phpunit tests"},
    programs=("phpunit",),
)
RUST_MACROS = Scene(
    "rust-macros",
    "rust",
    {
        **RUST_PRODUCT,
        "tests/adding.rs": text("""
            #[macro_use]
            extern crate calc;

            use calc::add;

            #[test]
            fn small() {
                assert_eq!(add(2, 3), 5);
            }

            #[test]
            fn zero() {
                assert!(add(7, 0) == 7);
            }
        """),
    },
    {"tests": "cargo test --offline"},
    programs=("cargo", "cc"),
)
"""The test program uses the macros that the product exports."""
