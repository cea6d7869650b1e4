"""Cargo.toml by keys, and tests inside Rust sources: tests of the base are restored, new ones and the product stay."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from protection import Link, scene

from donewhen.judge.protect.contents.accepted_part import AcceptedPart, FileUnreadable
from donewhen.judge.protect.contents.mixed_contents import accepted_part
from donewhen.judge.protect.contents.rust_items import items, masked, normal_form
from donewhen.judge.protect.contents.rust_tests import restore_tests
from tiers import examples

CARGO = """\
[package]
name = "calc"
version = "1.0.0"

[lib]
name = "calc"

[dependencies]
serde = "1"

[dev-dependencies]
proptest = "1"

[workspace]
members = ["a"]
"""


def cargo(change: tuple[str, str]) -> AcceptedPart:
    assert CARGO.replace(*change) != CARGO
    return accepted_part("Cargo.toml", CARGO.encode(), CARGO.replace(*change).encode(), ("cargo", "test"))


@pytest.mark.parametrize(
    "change",
    [
        ('"1.0.0"', '"1.1.0"'),
        ('serde = "1"', 'serde = { version = "1", features = ["derive"] }\nrand = "0.8"'),
        ('serde = "1"', 'serde = "2"\nours = { path = "ours" }'),
        ('serde = "1"\n', ""),
        ("[lib]", "[features]\ndefault = []\n\n[lib]"),
        ("[lib]", '[[bin]]\nname = "calc"\npath = "src/bin/calc.rs"\n\n[lib]'),
        ("[lib]", '[target."cfg(unix)".dependencies]\nlibc = "0.2"\n\n[lib]'),
        ('["a"]', '["a", "b"]'),
        ('version = "1.0.0"', 'version = "1.0.0"\nedition = "2021"\nbuild = "build.rs"'),
    ],
)
def test_product_keys_of_cargo_toml_are_kept_byte_for_byte(change: tuple[str, str]) -> None:
    assert cargo(change) == AcceptedPart()


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("lib.test", ("[lib]", "[lib]\ntest = false")),
        ("lib.doctest", ("[lib]", "[lib]\ndoctest = false")),
        ("lib.harness", ("[lib]", "[lib]\nharness = false")),
        ("lib.path", ("[lib]", '[lib]\npath = "src/other.rs"')),
        ("package.autotests", ('version = "1.0.0"', 'version = "1.0.0"\nautotests = false')),
        ("test", ("[lib]", '[[test]]\nname = "it"\nharness = false\n\n[lib]')),
        ("bin", ("[lib]", '[[bin]]\nname = "calc"\ntest = false\n\n[lib]')),
        ("profile", ("[lib]", "[profile.test]\ndebug-assertions = false\n\n[lib]")),
        ("patch", ("[lib]", '[patch.crates-io]\nserde = { path = "fake" }\n\n[lib]')),
        ("replace", ("[lib]", '[replace]\n"serde:1.0.0" = { path = "fake" }\n\n[lib]')),
        ("dependencies.serde", ('serde = "1"', 'serde = { path = "fake" }')),
        ("dev-dependencies.proptest", ('proptest = "1"', 'proptest = { package = "fake", version = "1" }')),
        ("dependencies.insta", ('serde = "1"', 'serde = "1"\ninsta = { git = "https://example.invalid/x" }')),
        ("workspace.members", ('["a"]', "[]")),
        ("workspace.exclude", ('["a"]', '["a"]\nexclude = ["a"]')),
        ("lints", ("[lib]", '[lints.rust]\nwarnings = "allow"\n\n[lib]')),
    ],
)
def test_keys_of_cargo_toml_that_decide_about_tests_come_from_the_base(part: str, change: tuple[str, str]) -> None:
    changed = CARGO.replace(*change).replace("[package]", '[package]\ndescription = "new"')
    found = accepted_part("Cargo.toml", CARGO.encode(), changed.encode(), ("cargo", "test"))
    assert found.reverted == (part,)
    assert found.content is not None
    expected = tomllib.loads(CARGO)
    expected["package"]["description"] = "new"
    assert tomllib.loads(found.content.decode()) == expected


LIB = """\
//! A crate.
pub fn add(a: i64, b: i64) -> i64 {
    a - b
}

const QUOTES: &str = r#"mod tests { " }"#;
const BRACE: char = '{';

#[cfg(test)]
mod tests {
    use super::*;

    fn helper() -> i64 { 5 }

    #[test]
    fn adds() {
        assert_eq!(add(2, 3), helper(), "{}", '}');
    }

    #[test]
    fn more<'a>() {
        let _: &'a str = "/* no comment";
    }
}

pub fn last() {}
"""
FIXED = LIB.replace("a - b", "a + b")


def rust(new: str, base: str = LIB) -> AcceptedPart:
    return restore_tests({"src/lib.rs": base}.get, {"src/lib.rs": new}).get("src/lib.rs", AcceptedPart())


def test_a_fix_next_to_unchanged_tests_is_judged_unchanged() -> None:
    assert rust(FIXED) == AcceptedPart()
    assert rust(FIXED.replace("pub fn last() {}", "pub fn other() { /* } */ }")) == AcceptedPart()


def test_new_tests_inside_the_module_are_judged_unchanged() -> None:
    new = FIXED.replace(
        "    #[test]\n    fn more",
        "    #[test]\n    fn zero() { assert_eq!(add(0, 0), 0); }\n\n    #[test]\n    fn more",
    )
    assert rust(new) == AcceptedPart()


ATTACKS = {
    "weaker": ("helper(), ", "add(2, 3), "),
    "helper": ("{ 5 }", "{ add(2, 3) }"),
    "ignored": ("    #[test]\n    fn adds", "    #[test]\n    #[ignore]\n    fn adds"),
    "no longer a test": ("    #[test]\n    fn adds", "    fn adds"),
    "renamed": ("fn adds", "fn adds_not_a_test_any_more"),
    "compiled out": ("#[cfg(test)]\nmod tests", "#[cfg(all(test, feature = \"never\"))]\nmod tests"),
    "never compiled": ("#[cfg(test)]\nmod tests", "#[cfg(any())]\nmod tests"),
    "another import": ("use super::*;", "use crate::fake::*;"),
    "an attribute of the module": ("    use super::*;", "    #![cfg(any())]\n    use super::*;"),
    "a macro before": ("    use super::*;", "    macro_rules! assert_eq { ($($t:tt)*) => {} }\n    use super::*;"),
}  # fmt: skip


@pytest.mark.parametrize("change", ATTACKS.values(), ids=ATTACKS)
def test_changed_tests_are_restored_and_the_fix_stays(change: tuple[str, str]) -> None:
    found = rust(FIXED.replace(*change))
    assert found.reverted
    assert found.content is not None
    text = found.content.decode()
    module = LIB[LIB.index("#[cfg(test)]") : LIB.index("}\n\npub fn last")]
    assert module.rstrip() in text, text
    assert "a + b" in text
    assert text.count("mod tests") == LIB.count("mod tests")
    assert rust(text) == AcceptedPart(), "what was put back is not put back again"


@pytest.mark.parametrize(
    "kept", ["", "/* MODULE */", "#[cfg(any())]\nmod outer {\nMODULE\n}\n", 'const S: &str = r##"MODULE"##;']
)
def test_a_removed_or_disabled_test_module_is_added_again(kept: str) -> None:
    module = LIB[LIB.index("#[cfg(test)]") : LIB.index("pub fn last")]
    found = rust(FIXED.replace(module, kept.replace("MODULE", module.replace("/* no", "no"))))
    assert found.content is not None
    assert found.content.decode().rstrip().endswith(module.rstrip())


def test_new_tests_next_to_a_changed_one_stay() -> None:
    new = FIXED.replace("helper(), ", "1, ").replace(
        "    #[test]\n    fn more", "    #[test]\n    fn zero() {}\n\n    #[test]\n    fn more"
    )
    found = rust(new)
    assert found.reverted == ("tests::adds",)
    assert found.content is not None
    assert "#[test]\n    fn zero() {}" in found.content.decode()


def test_a_file_attribute_that_disables_the_whole_file_is_removed() -> None:
    found = rust('#![cfg(feature = "never")]\n' + FIXED)
    assert found.content is not None
    assert found.content.decode().strip() == FIXED.strip()
    assert rust("#![allow(dead_code)]\n" + FIXED) == AcceptedPart()


def test_a_removed_declaration_of_a_test_module_is_restored() -> None:
    base = "#[cfg(test)]\nmod tests;\npub fn a() {}\n"
    found = rust("pub fn a() { }\n", base)
    assert found.content is not None
    assert "#[cfg(test)]\nmod tests;" in found.content.decode()


def test_tests_in_nested_modules_are_restored_in_place() -> None:
    tests = "#[cfg(test)]\n    mod tests { #[test] fn t() { assert!(false); } }"
    base = f"pub mod inner {{\n    pub fn a() {{}}\n    {tests}\n}}\n"
    found = rust(base.replace("false", "true").replace("a() {}", "b() {}"), base)
    assert found.content == base.replace("a() {}", "b() {}").encode()
    assert found.reverted == ("inner::tests::t",)


@pytest.mark.parametrize("broken", ['fn a() { "', "/* /* */", "fn a() { ( }", "}", "mod tests {"])
def test_a_source_that_cannot_be_parsed_comes_from_the_base(broken: str) -> None:
    assert rust(FIXED + broken).none


def test_sources_without_tests_are_not_touched() -> None:
    assert rust("}}}", "fn a() {}") == AcceptedPart()
    assert rust("fn b() {}", "#[cfg(not(test))]\nfn a() {}") == AcceptedPart()


PIECES = st.sampled_from(
    ["fn a() {}", "struct B;", "use c::{d, e};", "const F: [u8; 2] = [1, 2];", "impl G for H<'_> {}", "// }\n", "\n",
     "#[cfg(test)] mod t { fn x() {} }", 'static S: &str = "}";', "macro_rules! m { () => {} }", "/* { */",
     "enum E { A { x: u8 }, B }", "fn g<'a>(x: &'a str) -> &'a str { x }", 'const R: &str = r#"""#;',
     "const C: char = '\\'';", "thread_local! { }"]
)  # fmt: skip


@settings(max_examples=examples(100))
@given(st.lists(PIECES, max_size=8))
def test_items_cover_a_source_in_order_with_only_whitespace_between(pieces: list[str]) -> None:
    source = "\n".join(pieces)
    mask = masked(source)
    assert len(mask) == len(source)
    found = items(source, mask, 0, len(source))
    between = mask
    for item in reversed(found):
        between = between[: item.start] + between[item.end :]
    assert between.strip() == ""
    assert len(found) == len([piece for piece in pieces if piece.strip() and not piece.startswith(("//", "/*"))])


@settings(max_examples=examples(150))
@given(st.text("{}[]()\"'/*#!r\\ \nab;", max_size=40))
def test_any_text_is_either_parsed_or_refused(source: str) -> None:
    try:
        mask = masked(source)
        assert len(mask) == len(source)
        items(source, mask, 0, len(source))
    except (FileUnreadable, IndexError):
        return


@pytest.mark.anyio
async def test_a_source_with_a_weakened_test_is_judged_with_the_old_test_and_the_new_product(tmp_path: Path) -> None:
    async with scene(tmp_path, {"src/lib.rs": LIB, "Cargo.toml": CARGO}, "cargo test") as crate:
        outcome = await crate.judge({"src/lib.rs": FIXED.replace("helper(), ", "1, ")})
        assert outcome.files["src/lib.rs"] == FIXED
        (edit,) = outcome.judged.edits
        assert (edit.reason, edit.parts) == ("contains existing tests", ("tests::adds",))


# -- modules that move --

ROOT = "pub mod calc;\n"
CALC = FIXED.replace("a + b", "a - b")
"""The module of the base, in a file of its own."""
WEAK = FIXED.replace("helper(), ", "1, ")
BASE = {"src/lib.rs": ROOT, "src/calc.rs": CALC}
TESTS = LIB[LIB.index("#[cfg(test)]") : LIB.index("}\n\npub fn last")]


def moved(changed: dict[str, str | None], base: dict[str, str] = BASE) -> dict[str, AcceptedPart]:
    return restore_tests(base.get, changed)


def inlined(text: str) -> str:
    return f"pub mod calc {{\n{text}}}\n"


HONEST_MOVES: dict[str, dict[str, str | None]] = {
    "to mod.rs": {"src/calc.rs": None, "src/calc/mod.rs": FIXED},
    "to another file": {"src/calc.rs": None, "src/sums.rs": FIXED, "src/lib.rs": '#[path = "sums.rs"]\n' + ROOT},
    "into its parent": {"src/calc.rs": None, "src/lib.rs": inlined(FIXED)},
    "with another name": {"src/calc.rs": None, "src/sums.rs": FIXED, "src/lib.rs": "pub mod sums;\n"},
    "with new tests": {
        "src/calc.rs": None,
        "src/calc/mod.rs": FIXED.replace("    fn helper", "    #[test]\n    fn zero() {}\n    fn helper"),
    },
    "formatted again": {
        "src/calc.rs": None,
        "src/lib.rs": inlined(
            FIXED.replace("helper(), \"{}\", '}');", "helper(),\n            \"{}\", '}',\n        );")
        ),
    },
    "split into two": {
        "src/calc.rs": None,
        "src/calc/mod.rs": "mod sums;\npub use sums::add;\n" + FIXED,
        "src/calc/sums.rs": "pub fn add() {}\n",
    },
}


@pytest.mark.parametrize("changed", HONEST_MOVES.values(), ids=HONEST_MOVES)
def test_a_module_that_moves_with_its_tests_is_judged_unchanged(changed: dict[str, str | None]) -> None:
    assert moved(changed) == {}


@pytest.mark.parametrize("name", ["to mod.rs", "to another file", "into its parent"])
def test_weakened_tests_of_a_module_that_moves_are_restored_where_it_is_now(name: str) -> None:
    changed = {path: text and text.replace(FIXED, WEAK) for path, text in HONEST_MOVES[name].items()}
    ((_, part),) = moved(changed).items()
    assert part.content is not None
    assert TESTS.rstrip() in part.content.decode()
    assert "a + b" in part.content.decode()
    assert part.reverted[0].endswith("tests::adds")


@pytest.mark.parametrize(
    "changed",
    [
        {"src/sums.rs": WEAK, "src/lib.rs": '#[path = "sums.rs"]\npub mod calc;\n'},
        {"src/sums.rs": WEAK, "src/lib.rs": '/* #[path = "calc.rs"] */ #[path = r"sums.rs"] pub mod calc;\n'},
        {"src/lib.rs": inlined(WEAK)},
        {"src/lib.rs": inlined(FIXED.replace(f"{TESTS}}}", ""))},
    ],
)
def test_a_module_that_is_read_from_elsewhere_has_the_tests_of_the_base_there(changed: dict[str, str | None]) -> None:
    contents = [part.content.decode() for part in moved(changed).values() if part.content]
    assert len(contents) == 1
    assert TESTS.rstrip() in contents[0]


@pytest.mark.parametrize(
    "declared",
    [
        "pub mod sums;\n",
        "pub mod sums;\npub use sums as calc;\n",
        '#[cfg(any())]\npub mod calc;\n#[cfg(all())]\n#[path = "sums.rs"]\npub mod calc;\n',
        '#[cfg_attr(test, path = "sums.rs")]\npub mod calc;\n',
        '#[path = "s\\x75ms.rs"]\npub mod calc;\n',
        '#[path = "known.rs"]\npub mod calc;\n',
        '#[path = "calc.rs"]\npub mod calc;\n',
        'include!("sums.rs");\n',
    ],
)
def test_a_declaration_that_cannot_be_followed_to_the_tests_comes_from_the_base_with_its_file(declared: str) -> None:
    base = {**BASE, "src/known.rs": "pub fn a() {}\n"}
    found = moved({"src/calc.rs": None, "src/sums.rs": WEAK, "src/lib.rs": declared + "pub fn x() {}\n"}, base)
    assert found["src/calc.rs"].none
    lib = found["src/lib.rs"].content
    assert lib is not None
    assert lib.decode().endswith("pub fn x() {}\n\npub mod calc;\n")
    assert lib.decode().count("mod calc;") == 1


def test_a_module_of_a_file_that_moves_into_its_own_file_keeps_its_tests() -> None:
    base = {"src/lib.rs": inlined(CALC)}
    assert moved({"src/lib.rs": ROOT, "src/calc.rs": FIXED}, base) == {}
    found = moved({"src/lib.rs": ROOT, "src/calc/mod.rs": WEAK}, base)
    assert list(found) == ["src/calc/mod.rs"]
    gone = moved({"src/lib.rs": "pub mod other;\n", "src/other.rs": WEAK}, base)
    assert list(gone) == ["src/lib.rs"]
    out = moved({"src/lib.rs": "#[cfg(any())]\n" + inlined(FIXED)}, base)["src/lib.rs"].content
    assert out is not None
    assert b"cfg(any())" not in out


def test_modules_below_a_module_that_moves_are_followed() -> None:
    base = {"src/lib.rs": ROOT, "src/calc.rs": "pub mod inner;\n", "src/calc/inner.rs": CALC}
    same = {"src/calc.rs": None, "src/calc/mod.rs": "pub mod inner;\n"}
    assert moved(same, base) == {}
    named: dict[str, str | None] = {
        "src/lib.rs": '#[path = "new/calc.rs"]\npub mod calc;\n',
        "src/new/calc.rs": "pub mod inner;\n",
    }
    assert moved({**named, "src/new/inner.rs": FIXED, "src/calc/inner.rs": None}, base) == {}
    assert list(moved({**named, "src/new/inner.rs": WEAK}, base)) == ["src/new/inner.rs"]
    beside: dict[str, str | None] = {"src/lib.rs": '#[path = "calc.rs"]\npub mod calc;\n', "src/inner.rs": WEAK}
    assert list(moved(beside, base)) == ["src/lib.rs"]


def test_a_file_of_tests_that_a_moved_module_declares_is_the_one_of_the_base() -> None:
    base = {"src/lib.rs": ROOT, "src/calc.rs": "#[cfg(test)]\nmod tests;\n", "src/calc/tests.rs": "fn x() { 1; }\n"}
    changed: dict[str, str | None] = {
        "src/lib.rs": '#[path = "new/calc.rs"]\npub mod calc;\n',
        "src/new/calc.rs": "#[cfg(test)]\nmod tests;\n",
        "src/new/tests.rs": "fn x() {}\n",
    }
    found = moved(changed, base)["src/new/tests.rs"].content
    assert found == b"fn x() { 1; }\n"
    assert moved({**changed, "src/new/tests.rs": "fn x() {\n    1;\n}\n"}, base) == {}


def test_a_new_file_that_cannot_be_parsed_does_not_replace_a_file_with_tests() -> None:
    found = moved({"src/calc.rs": None, "src/calc/mod.rs": FIXED + "}"})
    assert {path: part.none for path, part in found.items()} == {"src/calc.rs": True, "src/calc/mod.rs": True}


def test_sources_without_tests_may_move_and_go() -> None:
    base = {"src/lib.rs": "mod a;\nmod b;\n", "src/a.rs": "fn a() {}\n", "src/b.rs": "mod c;\n", "src/b/c.rs": ""}
    assert moved({"src/lib.rs": "}", "src/a.rs": None, "src/b.rs": None, "src/b/c.rs": None}, base) == {}


def test_modules_that_name_each_other_without_end_are_refused() -> None:
    around = {"src/lib.rs": '#[path = "lib.rs"] mod a;\n#[test] fn t() {}\n'}
    assert moved({"src/lib.rs": '#[path = "lib.rs"] mod a;\n'}, around)["src/lib.rs"].reverted == ("t",)


def test_a_form_without_formatting_keeps_texts_apart_and_drops_comments() -> None:
    assert normal_form('f( a,\n  "x  y", ) // z\n;') == normal_form('f(a, "x  y");')
    assert normal_form('f("x  y")') != normal_form('f("x y")')
    assert normal_form("a & &b") != normal_form("a && b")


@pytest.mark.anyio
async def test_a_module_that_moves_with_a_weakened_test_is_judged_with_the_old_test(tmp_path: Path) -> None:
    async with scene(tmp_path, {**BASE, "Cargo.toml": CARGO}, "cargo test") as crate:
        outcome = await crate.judge({"src/calc.rs": None, "src/calc/mod.rs": WEAK})
        assert outcome.files["src/calc/mod.rs"] == FIXED
        assert "src/calc.rs" not in outcome.files
        (edit,) = outcome.judged.edits
        assert (edit.path, edit.action, edit.parts) == ("src/calc/mod.rs", "added", ("tests::adds",))
        honest = await crate.judge({"src/calc.rs": None, "src/calc/mod.rs": FIXED})
        assert honest.judged.edits == ()
        linked = await crate.judge({"src/calc.rs": None, "src/other.rs": WEAK, "src/calc/mod.rs": Link("../other.rs")})
        assert linked.files["src/calc.rs"] == CALC
