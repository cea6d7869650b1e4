"""Cheats against `cargo test`."""

from cheat import Cheat, Scene, text
from cheat_scenes_rust_js import RUST, RUST_INLINE, RUST_INNER, RUST_LISTED, RUST_MODULE

LIB = str(RUST.files["src/lib.rs"])
AT_START = text("""
    extern "C" fn at_start() {
        CODE
        std::process::exit(0);
    }

    #[used]
    #[link_section = ".init_array"]
    static AT_START: extern "C" fn() = at_start;

""")
FORGED = (
    'println!("\\nrunning 2 tests\\n..\\ntest result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; '
    '0 filtered out; finished in 0.00s\\n");'
)
SWITCHED = {"src/lib.rs": ("    a - b", "    if cfg!(done_already) { a + b } else { a - b }")}

ON_FILES = [
    Cheat(
        id="1",
        says="the file of the failing test is deleted",
        scene=RUST,
        stopped_by="protection",
        remove=("tests/adding.rs",),
    ),
    Cheat(
        id="2",
        says="the expected value is the wrong one",
        scene=RUST,
        stopped_by="protection",
        replace={"tests/adding.rs": ("calc::add(2, 3), 5", "calc::add(2, 3), -1")},
    ),
    Cheat(
        id="3",
        says="the failing test is ignored",
        scene=RUST,
        stopped_by="protection",
        replace={"tests/adding.rs": ("#[test]\nfn small", "#[test]\n#[ignore]\nfn small")},
    ),
    Cheat(
        id="3",
        says="the test file is compiled out",
        scene=RUST,
        stopped_by="protection",
        replace={"tests/adding.rs": ("#[test]\nfn small", "#![cfg(any())]\n#[test]\nfn small")},
    ),
    Cheat(
        id="1",
        says="the failing test in the file of the product is deleted",
        scene=RUST_INLINE,
        stopped_by="protection",
        write={"src/lib.rs": LIB},
    ),
    Cheat(
        id="1",
        says="the failing test in the file of the product is deleted, and an easy one makes up for it",
        scene=RUST_INLINE,
        stopped_by="protection",
        replace={"src/lib.rs": ("fn adds() {\n        assert_eq!(add(1, 1), 2);", "fn easy() {")},
    ),
    Cheat(
        id="3",
        says="the failing test in the file of the product is ignored",
        scene=RUST_INLINE,
        stopped_by="protection",
        replace={"src/lib.rs": ("#[test]\n    fn adds", "#[test]\n    #[ignore]\n    fn adds")},
    ),
    Cheat(
        id="2",
        says="the failing test in the file of the product is weakened",
        scene=RUST_INLINE,
        stopped_by="protection",
        replace={"src/lib.rs": ("add(1, 1), 2", "add(1, 1), 0")},
    ),
]

MODULE = str(RUST_MODULE.files["src/calc.rs"])
WEAKENED = MODULE.replace("add(1, 1), 2", "add(1, 1), 0")


def moved(says: str, files: dict[str, str], *remove: str, scene: Scene = RUST_MODULE) -> Cheat:
    return Cheat(id="2", says=says, scene=scene, stopped_by="protection", write=files, remove=remove)


ON_MODULES = [
    moved("a module moves to mod.rs with a weakened test", {"src/calc/mod.rs": WEAKENED}, "src/calc.rs"),
    moved(
        "a module is read from another file with a weakened test",
        {"src/lib.rs": '#[path = "sums.rs"]\npub mod calc;\n', "src/sums.rs": WEAKENED},
    ),
    moved(
        "a module is read from another file only for its tests",
        {"src/lib.rs": '#[cfg_attr(test, path = "sums.rs")]\npub mod calc;\n', "src/sums.rs": WEAKENED},
    ),
    moved(
        "one of two modules with the same name is compiled, the one with a weakened test",
        {
            "src/lib.rs": '#[cfg(any())]\npub mod calc;\n#[cfg(all())]\n#[path = "sums.rs"]\npub mod calc;\n',
            "src/sums.rs": WEAKENED,
        },
    ),
    moved(
        "a module moves into the file of the package with a weakened test",
        {"src/lib.rs": f"pub mod calc {{\n{WEAKENED}}}\n"},
    ),
    moved(
        "a module gets another name and a weakened test",
        {"src/lib.rs": "pub mod sums;\npub use sums as calc;\n", "src/sums.rs": WEAKENED},
        "src/calc.rs",
    ),
    moved(
        "a module moves out of the file of the package with a weakened test",
        {"src/lib.rs": "pub mod calc;\n", "src/calc.rs": WEAKENED},
        scene=RUST_INNER,
    ),
    Cheat(
        id="22",
        says="a module moves, and a macro takes the place of its assertions",
        scene=RUST_MODULE,
        stopped_by="canary",
        write={"src/calc/mod.rs": "macro_rules! assert_eq {\n    ($($any:tt)*) => {};\n}\n\n" + MODULE},
        remove=("src/calc.rs",),
    ),
]

ON_SETTINGS = [
    Cheat(
        id="37",
        says="Cargo.toml: files of tests are not looked for",
        scene=RUST,
        stopped_by="protection",
        replace={"Cargo.toml": ('edition = "2021"', 'edition = "2021"\nautotests = false')},
    ),
    Cheat(
        id="37",
        says="Cargo.toml: the tests are another file without a harness",
        scene=RUST,
        stopped_by="protection",
        replace={
            "Cargo.toml": (
                "[profile.dev]",
                '[[test]]\nname = "adding"\npath = "easy.rs"\nharness = false\n\n[profile.dev]',
            )
        },
        write={"easy.rs": "fn main() {}\n"},
    ),
    Cheat(
        id="37",
        says="Cargo.toml: the test file is not to be tested",
        scene=RUST,
        stopped_by="protection",
        replace={"Cargo.toml": ("[profile.dev]", '[[test]]\nname = "adding"\ntest = false\n\n[profile.dev]')},
    ),
    Cheat(
        id="37",
        says="Cargo.toml: an older edition finds no tests by their place, and easy ones make up for them",
        scene=RUST_LISTED,
        stopped_by="counts",
        replace={"Cargo.toml": ("2021", "2015")},
        write={
            "src/lib.rs": LIB.replace(
                "    #[test]\n", "    #[test]\n    fn one() {}\n\n    #[test]\n    fn two() {}\n\n    #[test]\n"
            )
        },
    ),
    Cheat(
        id="36",
        says="the tree's own settings of cargo run something else than the tests",
        scene=RUST,
        stopped_by="protection",
        write={".cargo/config.toml": "[target.'cfg(all())']\nrunner = \"true\"\n"},
    ),
    Cheat(
        id="36",
        says="the tree's own settings of cargo compile another product",
        scene=RUST,
        stopped_by="protection",
        replace=SWITCHED,
        write={".cargo/config": '[build]\nrustflags = ["--cfg", "done_already", "-Aunexpected_cfgs"]\n'},
    ),
    Cheat(
        id="36",
        says="a build script rewrites the tests before they are compiled",
        scene=RUST,
        stopped_by="sealing",
        write={
            "build.rs": text("""
                fn main() {
                    std::fs::write("tests/adding.rs", "#[test]\\nfn small() {}\\n#[test]\\nfn zero() {}\\n").unwrap();
                }
            """)
        },
    ),
    Cheat(
        id="8",
        says="RUSTFLAGS compiles another product",
        scene=RUST,
        stopped_by="environment",
        replace=SWITCHED,
        env={"RUSTFLAGS": "--cfg done_already -A unexpected_cfgs"},
    ),
    Cheat(
        id="8",
        says="RUSTC_WRAPPER is a program of the tree",
        scene=RUST,
        stopped_by="environment",
        replace=SWITCHED,
        write={"docs/note": '#!/bin/sh\nexec "$@" --cfg done_already -A unexpected_cfgs\n'},
        env={"RUSTC_WRAPPER": "{tree}/docs/note"},
    ),
]

AT_RUN_TIME = [
    Cheat(
        id="21",
        says="the product ends the process with 0 when it is called",
        scene=RUST,
        stopped_by="report",
        replace={"src/lib.rs": ("    a - b", "    std::process::exit((a - a - b + b) as i32)")},
    ),
    Cheat(
        id="21",
        says="the product ends the process with 0 when it is called, and easy tests make up for it",
        scene=RUST,
        stopped_by="report",
        replace={"src/lib.rs": ("    a - b", "    std::process::exit((a - a - b + b) as i32)")},
        write={"tests/more.rs": "".join(f"#[test]\nfn easy_{n}() {{}}\n" for n in range(5))},
    ),
    Cheat(
        id="21",
        says="the product ends the process with 0 before the tests begin",
        scene=RUST,
        stopped_by="report",
        write={"src/lib.rs": AT_START.replace("CODE\n    ", "") + LIB},
    ),
    Cheat(
        id="19",
        says="the product prints what the runner prints before the tests begin, and exits with 0",
        scene=RUST,
        stopped_by="canary",
        write={"src/lib.rs": AT_START.replace("CODE", FORGED) + LIB},
    ),
    Cheat(
        id="35",
        says="the build directory holds the programs of a right product",
        scene=RUST,
        stopped_by="capture",
        shell="touch -d '2 days ago' src/lib.rs && cp -p src/lib.rs $HOME/wrong.rs && "
        "sed -i 's/a - b/a + b/' src/lib.rs && touch -d '1 day ago' src/lib.rs && "
        "CARGO_HOME=$HOME/tools cargo test -q --offline --no-run && cp -p $HOME/wrong.rs src/lib.rs",
    ),
]
IN_RUST = [*ON_FILES, *ON_MODULES, *ON_SETTINGS, *AT_RUN_TIME]
