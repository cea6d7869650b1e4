"""What a change of a file did to its symbols and to the text between them."""

import pytest
from declared_sources import SOURCES
from hypothesis import given, settings
from hypothesis import strategies as st

from donewhen.syntax.changes import OutsideChanges, SymbolChanges, symbol_changes
from donewhen.syntax.grammar import LANGUAGES, MOST_BYTES, LanguageName, SourceUnreadable
from tiers import examples

IMPORTS, STATEMENTS, TRIVIA = OutsideChanges(imports=True), OutsideChanges(statements=True), OutsideChanges(trivia=True)
SHOP = """import os

VERSION = 1


# about the shop
class Shop:
    '''A shop.'''

    timeout = 3

    def total(self):
        return 1

    # about closing
    def close(self):
        return 2


def checkout():
    return 3


print(checkout())
"""

EDITS: list[tuple[str, str, str, SymbolChanges]] = [
    ("a method", "return 1", "return 10", SymbolChanges(modified=("Shop.total",))),
    ("a constant", "VERSION = 1", "VERSION = 2", SymbolChanges(modified=("VERSION",))),
    ("an attribute", "timeout = 3", "timeout = 4", SymbolChanges(modified=("Shop.timeout",))),
    ("the docstring of a class", "A shop.", "The shop.", SymbolChanges(modified=("Shop",))),
    ("the header of a class", "class Shop:", "class Shop(Base):", SymbolChanges(modified=("Shop",))),
    ("a decorator", "def checkout", "@cached\ndef checkout", SymbolChanges(modified=("checkout",))),
    ("a new method", "    # about", "    def open(self):\n        return 0\n\n    # about",
     SymbolChanges(added=("Shop.open",))),
    ("a method less", "    def total(self):\n        return 1\n\n", "", SymbolChanges(removed=("Shop.total",))),
    ("a renamed method", "def total", "def sum", SymbolChanges(added=("Shop.sum",), removed=("Shop.total",))),
    ("an import", "import os", "import os\nimport sys", SymbolChanges(outside=IMPORTS)),
    ("a list of exports", "VERSION", "__all__ = ['Shop']\n\nVERSION", SymbolChanges(outside=IMPORTS)),
    ("a conditional import", "VERSION", "if TYPE_CHECKING:\n    import z\n\nVERSION",
     SymbolChanges(outside=OutsideChanges(imports=True, statements=True))),
    ("a statement", "print(checkout())", "print(checkout(), 1)", SymbolChanges(outside=STATEMENTS)),
    ("a comment between declarations", "# about the shop", "# about shops", SymbolChanges(outside=TRIVIA)),
    ("a comment between members", "# about closing", "# about it", SymbolChanges(outside=TRIVIA)),
    ("blank lines", "\n\n\ndef checkout", "\n\n\n\n\ndef checkout", SymbolChanges(outside=TRIVIA)),
    ("a comment inside a function", "return 3", "return 3  # three", SymbolChanges(modified=("checkout",))),
    ("an indentation", "        return 1", "            return 1", SymbolChanges(modified=("Shop.total",))),
    ("a condition", "def checkout():\n    return 3", "if X:\n    def checkout():\n        return 3",
     SymbolChanges(modified=("checkout",), outside=STATEMENTS)),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "expected"), [pytest.param(*edit[1:], id=edit[0]) for edit in EDITS])
def test_an_edit_counts_for_the_symbol_it_is_in(old: str, new: str, expected: SymbolChanges) -> None:
    assert SHOP.count(old) == 1 or old == "VERSION"
    assert symbol_changes("python", SHOP.encode(), SHOP.replace(old, new, 1).encode()) == expected


def test_a_new_file_adds_its_declarations_and_a_deleted_one_removes_them() -> None:
    names = ("VERSION", "Shop", "Shop.timeout", "Shop.total", "Shop.close", "checkout")
    assert symbol_changes("python", None, SHOP.encode()).added == names
    assert symbol_changes("python", SHOP.encode(), None).removed == names
    assert symbol_changes("python", None, SHOP.encode()).outside == OutsideChanges(True, True, True)
    assert symbol_changes("python", None, None) == SymbolChanges()


def test_a_moved_declaration_is_neither_added_nor_removed() -> None:
    one, two, three = (f"def {name}():\n    return 1\n\n\n".encode() for name in ("one", "two", "three"))
    assert symbol_changes("python", one + two + three, three + one + two) == SymbolChanges(moved=("three",))


def test_a_method_moved_inside_its_class_is_reported_as_moved() -> None:
    before, after = b"class A { a() {} b() {} c() {} }", b"class A { b() {} c() {} a() {} }"
    assert symbol_changes("javascript", before, after) == SymbolChanges(moved=("A.a",))


def test_a_class_that_moved_takes_its_members_with_it() -> None:
    before, after = (
        b"class A { m() {} }\nfunction f() {}\nfunction g() {}\n",
        b"function f() {}\nfunction g() {}\nclass A { m() {} }\n",
    )
    assert symbol_changes("javascript", before, after) == SymbolChanges(moved=("A",))


def test_a_statement_that_moved_past_declarations_is_a_change_of_statements() -> None:
    before, after = b"def f(): ...\ndef g(): ...\nf()\n", b"f()\ndef f(): ...\ndef g(): ...\n"
    assert symbol_changes("python", before, after) == SymbolChanges(outside=STATEMENTS)


@pytest.mark.parametrize(
    ("language", "before", "after", "expected"),
    [
        ("javascript", "function f() { return 1 }", "function f() {\n  return 1\n}", SymbolChanges(outside=TRIVIA)),
        ("javascript", "function f() { return a }", "function f() { return\na }", SymbolChanges(modified=("f",))),
        ("javascript", "const f = `a b`", "const f = `a  b`", SymbolChanges(modified=("f",))),
        ("javascript", "const a = require('a')", "const a = require('b')", SymbolChanges(outside=IMPORTS)),
        ("javascript", "module.exports = { a }", "module.exports = { a, b }", SymbolChanges(outside=IMPORTS)),
        ("typescript", "export class A { m() {} }", "export class A { m() {} n() {} }", SymbolChanges(added=("A.n",))),
        ("typescript", "export { a };", "export { a, b };", SymbolChanges(outside=IMPORTS)),
        ("typescript", "enum E { A, B }", "enum E { A, B, C }", SymbolChanges(added=("E.C",))),
        ("go", "package p\nfunc (s *S) m() {}\n", "package p\nfunc (s *S) m() { f() }\n",
         SymbolChanges(modified=("S.m",))),
        ("go", "package p\nconst (\n A = 1\n)\n", "package p\nconst (\n A = 1\n B = 2\n)\n",
         SymbolChanges(added=("B",))),
        ("go", "package p\nimport \"a\"\n", "package p\nimport \"b\"\n", SymbolChanges(outside=IMPORTS)),
        ("rust", "struct S;\n", "struct S;\nimpl D for S { fn f() {} }\n",
         SymbolChanges(added=("S.f",), modified=("S",))),
        ("rust", "impl S { fn a() {} }\n", "impl S { fn a() { b() } }\n", SymbolChanges(modified=("S.a",))),
        ("rust", "use a;\nfn f() {}\n", "use a;\nuse b;\nfn f() {}\n", SymbolChanges(outside=IMPORTS)),
        ("rust", "#[a]\nfn f() {}\n", "#[b]\nfn f() {}\n", SymbolChanges(modified=("f",))),
        ("java", "class A { void f(int a) {} }", "class A { void f(int a) {} void f(long a) {} }",
         SymbolChanges(modified=("A.f",))),
        ("java", "class A { static { f(); } }", "class A { static { g(); } }", SymbolChanges(modified=("A",))),
        ("c", "#include <a.h>\nint f(void) { return 1; }\n", "#include <b.h>\nint f(void) { return 2; }\n",
         SymbolChanges(modified=("f",), outside=IMPORTS)),
        ("c", "#define A 1\n", "#define A 2\n", SymbolChanges(modified=("A",))),
        ("cpp", "namespace a { void f() {} }", "namespace a { void f() {} void g() {} }",
         SymbolChanges(added=("a.g",))),
        ("cpp", "class A { int x; };", "class A { public: int x; };", SymbolChanges(modified=("A",))),
        ("ruby", "class A\n  def f; 1; end\nend\n", "class A\n  def f; 2; end\nend\n",
         SymbolChanges(modified=("A.f",))),
        ("ruby", "require 'a'\n", "require 'b'\n", SymbolChanges(outside=IMPORTS)),
        ("php", "<?php\nuse A;\nclass C { use T; }\n", "<?php\nuse B;\nclass C { use U; }\n",
         SymbolChanges(modified=("C",), outside=IMPORTS)),
        ("php", "<?php\nclass C { function f() {} }\n", "<?php\nclass C { private function f() {} }\n",
         SymbolChanges(modified=("C.f",))),
        ("java", "class A { int x; }", "class A {\r\n  int x;\r\n}", SymbolChanges(outside=TRIVIA)),
    ],
)  # fmt: skip
def test_changes_are_reported_in_the_terms_of_each_language(
    language: LanguageName, before: str, after: str, expected: SymbolChanges
) -> None:
    assert symbol_changes(language, before.encode(), after.encode()) == expected


def test_other_line_endings_do_not_change_python_functions() -> None:
    assert symbol_changes("python", SHOP.encode(), SHOP.replace("\n", "\r\n").encode()) == SymbolChanges(outside=TRIVIA)


def test_added_removed_and_changed_names_are_listed_together() -> None:
    found = symbol_changes("python", b"def a(): ...\ndef b(): ...\n", b"def b(): pass\ndef c(): ...\n")
    assert found.symbols == ("c", "a", "b")
    assert found and not symbol_changes("python", b"", b"")


def test_an_overlong_version_is_refused() -> None:
    with pytest.raises(SourceUnreadable):
        symbol_changes("python", b"", b"#" * (MOST_BYTES + 1))


NEW: dict[str, str] = {
    **dict.fromkeys(("javascript", "typescript", "tsx"), "\nfunction brandNew() { return 1 }\n"),
    **dict.fromkeys(("c", "cpp"), "\nint brandNew(int a) { return a; }\n"),
    "python": "\n\ndef brandNew():\n    return 1\n",
    "go": "\nfunc brandNew() {}\n",
    "rust": "\nfn brandNew() {}\n",
    "java": "\nclass brandNew {}\n",
    "ruby": "\ndef brandNew\n  1\nend\n",
    "php": "\nfunction brandNew() {}\n",
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_function_at_the_end_of_a_file_is_all_that_is_new(language: LanguageName) -> None:
    for source, _ in SOURCES[language]:
        before, after = source + "\n", source + "\n" + NEW[language]
        assert symbol_changes(language, before.encode(), after.encode()) == SymbolChanges(added=("brandNew",)), source
        assert symbol_changes(language, after.encode(), before.encode()) == SymbolChanges(removed=("brandNew",)), source


@given(st.sampled_from(LANGUAGES), st.binary(max_size=150))
@settings(max_examples=examples(60))
def test_a_text_equals_itself_and_no_difference_is_lost(language: LanguageName, text: bytes) -> None:
    assert not symbol_changes(language, text, text)
    assert symbol_changes(language, text, text + b"\n")


@given(st.sampled_from(LANGUAGES), st.data())
@settings(max_examples=examples(100))
def test_what_one_direction_adds_the_other_removes(language: LanguageName, data: st.DataObject) -> None:
    sources = [source for source, _ in SOURCES[language]]
    one, other = (data.draw(st.sampled_from(sources)).encode() for _ in range(2))
    there, back = symbol_changes(language, one, other), symbol_changes(language, other, one)
    assert (there.added, set(there.modified), there.outside) == (back.removed, set(back.modified), back.outside)
