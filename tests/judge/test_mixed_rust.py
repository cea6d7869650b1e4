"""Cargo.toml by keys, and tests inside Rust sources: tests of the base are restored, new ones and the product stay."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from protection import scene

from donewhen.judge.protect.contents.accepted_part import AcceptedPart, FileUnreadable
from donewhen.judge.protect.contents.mixed_contents import accepted_part
from donewhen.judge.protect.contents.rust_items import items, masked
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
    return accepted_part("src/lib.rs", base.encode(), new.encode(), ())


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
