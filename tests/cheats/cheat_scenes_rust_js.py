"""The repositories in Rust and JavaScript for cheats; see `cheat_scenes`."""

from cheat import Scene, text
from cheat_scenes import IGNORED

RUST_PRODUCT = {
    "Cargo.toml": text("""
        [package]
        name = "calc"
        version = "1.0.0"
        edition = "2021"

        [lib]
        doctest = false

        [profile.dev]
        debug = false
        incremental = false
    """),
    "Cargo.lock": 'version = 3\n\n[[package]]\nname = "calc"\nversion = "1.0.0"\n',
    "src/lib.rs": text("""
        pub fn add(a: i64, b: i64) -> i64 {
            a - b
        }

        pub fn twice(a: i64) -> i64 {
            a * 2
        }

        #[cfg(test)]
        mod tests {
            use super::*;

            #[test]
            fn doubles() {
                assert_eq!(twice(4), 8);
            }
        }
    """),
    ".gitignore": IGNORED,
}
RUST = Scene(
    "rust",
    "rust",
    {
        **RUST_PRODUCT,
        "tests/adding.rs": text("""
            #[test]
            fn small() {
                assert_eq!(calc::add(2, 3), 5);
            }

            #[test]
            fn zero() {
                assert_eq!(calc::add(7, 0), 7);
            }
        """),
    },
    {"tests": "cargo test --offline"},
    programs=("cargo", "cc"),
)
RUST_LISTED = Scene(
    "rust-listed",
    "rust",
    {
        **RUST.files,
        "Cargo.toml": RUST_PRODUCT["Cargo.toml"] + '\n[[test]]\nname = "quick"\npath = "tests/quick.rs"\n',
        "tests/quick.rs": "#[test]\nfn quick() {}\n",
    },
    {"tests": "cargo test --offline"},
    programs=("cargo", "cc"),
)
"""One test file is listed; the failing one is found by its location."""
RUST_INLINE = Scene(
    "rust-inline",
    "rust",
    {
        **RUST_PRODUCT,
        "examples/sum.rs": text("""
            fn main() {
                let given: Vec<i64> = std::env::args().skip(1).map(|word| word.parse().unwrap()).collect();
                println!("{}", calc::add(given[0], given[1]));
            }
        """),
        "src/lib.rs": str(RUST_PRODUCT["src/lib.rs"]).replace(
            "    #[test]\n", "    #[test]\n    fn adds() {\n        assert_eq!(add(1, 1), 2);\n    }\n\n    #[test]\n"
        ),
    },
    {"tests": "cargo test --offline --lib"},
    held_out={"sum": 'test "$(cargo run -q --offline --example sum 1234 8766)" = "$(expr 1234 + 8766)"'},
    programs=("cargo", "cc"),
)
"""The failing test is in the file of the product."""
RUST_MODULE = Scene(
    "rust-module",
    "rust",
    {
        **RUST_PRODUCT,
        "src/lib.rs": "pub mod calc;\n",
        "src/calc.rs": RUST_INLINE.files["src/lib.rs"],
    },
    {"tests": "cargo test --offline --lib"},
    programs=("cargo", "cc"),
)
"""The failing test is in a module with a file of its own."""
RUST_INNER = Scene(
    "rust-inner",
    "rust",
    {**RUST_PRODUCT, "src/lib.rs": f"pub mod calc {{\n{RUST_INLINE.files['src/lib.rs']}}}\n"},
    {"tests": "cargo test --offline --lib"},
    programs=("cargo", "cc"),
)
"""The failing test is in a module of the file of the package."""

JS_FILES = {
    "package.json": '{\n  "name": "calc",\n  "version": "1.0.0",\n  "scripts": {"test": "node --test"}\n}\n',
    "add.js": "exports.add = (a, b) => a - b;\n",
    "words.js": 'exports.shout = (word) => word.toUpperCase() + "!";\n',
    "test/add.test.js": text("""
        const test = require("node:test");
        const assert = require("node:assert");
        const { add } = require("../add.js");

        test("small", () => assert.strictEqual(add(2, 3), 5));
        test("negative", () => assert.strictEqual(add(-1, -4), -5));
        test("zero", () => assert.strictEqual(add(7, 0), 7));
    """),
    "test/a-words.test.js": text("""
        const test = require("node:test");
        const assert = require("node:assert");
        const { shout } = require("../words.js");

        test("loud", () => assert.strictEqual(shout("hey"), "HEY!"));
    """),
    ".gitignore": IGNORED,
}
ANOTHER_NODE = """test "$(node -p 'require("./add.js").add(1234, 8766)')" = "$(expr 1234 + 8766)\""""
NPM = Scene("npm", "js", JS_FILES, {"tests": "npm test"}, programs=("node", "npm"))
NODE = Scene(
    "node", "js", JS_FILES, {"tests": "node --test"}, held_out={"sum": ANOTHER_NODE}, programs=("node",)
)  # fmt: skip
JEST = Scene(
    "jest",
    "js",
    {
        **JS_FILES,
        "package.json": '{\n  "name": "calc",\n  "version": "1.0.0",\n  "scripts": {"test": "jest"}\n}\n',
        ".gitignore": IGNORED.replace("node_modules/\n", ""),
        "node_modules/.bin/jest": text("""
            #!/usr/bin/env node
            // Reads its configuration as the real one does, and leaves the rest to node.
            const fs = require("node:fs");
            const { spawnSync } = require("node:child_process");
            const config = fs.existsSync("jest.config.js") ? require(process.cwd() + "/jest.config.js") : {};
            const ignored = (config.testPathIgnorePatterns ?? []).map((pattern) => new RegExp(pattern));
            const found = fs.readdirSync("test").map((name) => "test/" + name);
            const wanted = found.filter((name) => !ignored.some((pattern) => pattern.test(name)));
            if (!wanted.length) process.exit(config.passWithNoTests ? 0 : 1);
            process.exit(spawnSync("node", ["--test", ...wanted], { stdio: "inherit" }).status);
        """),
    },
    {"tests": "npm test"},
    programs=("node", "npm"),
)
