"""Declarations of sources in eleven languages: names, kinds, spans, conditions, and that any text can be read."""

import json
from dataclasses import asdict

import pytest
from declared_sources import SOURCES
from hypothesis import given, settings
from hypothesis import strategies as st

from donewhen.syntax.declarations import Declaration, declarations_of
from donewhen.syntax.grammar import LANGUAGES, MOST_BYTES, LanguageName, SourceUnreadable
from tables import every_row
from tiers import examples

TABLE: list[tuple[LanguageName, str, str]] = [(language, *case) for language in LANGUAGES for case in SOURCES[language]]
EVERYTHING: dict[LanguageName, bytes] = {
    language: "\n".join(source for source, _ in SOURCES[language]).replace("\n<?php", "").encode()
    for language in LANGUAGES
}
"""All sources of a language in one text."""


def only(language: LanguageName, text: str) -> Declaration:
    (found,) = declarations_of(language, text.encode())
    return found


@every_row(TABLE)
def test_a_source_declares_what_its_language_says(row: tuple[LanguageName, str, str]) -> None:
    language, source, expected = row
    found = [f"{one.name} {one.kind}" for one in declarations_of(language, source.encode())]
    assert found == [line for line in expected.split(", ") if line]


def test_a_function_made_by_a_macro_is_named_as_written() -> None:
    assert only("cpp", "TEST(Suite, Name) { }").name == "TEST(Suite, Name)"


@pytest.mark.parametrize("language", LANGUAGES)
def test_there_are_a_dozen_sources_for_each_language(language: LanguageName) -> None:
    assert len(SOURCES[language]) >= 12


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("python", "@a\n@b(1)\ndef f():\n    pass"),
        ("typescript", "@D()\nexport class A {}"),
        ("typescript", "export default function f() {}"),
        ("typescript", "declare function f(): void;"),
        ("rust", "#[derive(A)]\n#[b]\npub struct S;"),
        ("java", "@A\npublic class S {}"),
        ("cpp", "template <class T>\nT f(T a) { return a; }"),
        ("php", "#[A]\nfinal class S {}"),
    ],
)
def test_a_span_includes_everything_of_a_declaration(language: LanguageName, text: str) -> None:
    before, after = ("<?php\n" if language == "php" else "\n\n"), "\n"
    found = only(language, before + text + after)
    assert (before + text + after)[found.start : found.end] == text
    assert found.start_line == before.count("\n") + 1


def test_attributes_above_a_comment_belong_to_the_next_declaration() -> None:
    found = only("rust", "#[a]\n// why\nfn f() {}\n")
    assert found.start == 0


def test_one_of_several_declarators_has_a_span_of_its_own() -> None:
    text = b"export const a = 1, b = 2;"
    assert [text[one.start : one.end] for one in declarations_of("javascript", text)] == [b"a = 1", b"b = 2"]


@pytest.mark.parametrize(
    ("language", "text", "conditions"),
    [
        ("python", "if A:\n    def f(): pass\nelif B:\n    def f(): pass\nelse:\n    def f(): pass",
         ["if A", "if A / elif B", "if A / else"]),
        ("python", "try:\n    x = 1\nexcept E:\n    x = 2", ["try", "try / except E"]),
        ("c", "#ifdef X\nint a;\n#else\nint a;\n#endif\n", ["#ifdef X", "#ifdef X / #else"]),
        ("rust", "#[cfg(unix)]\nfn f() {}", ["#[cfg(unix)]"]),
        ("php", "<?php if (X) { function f() {} } else { function f() {} }", ["if (X)", "if (X) / else"]),
        ("ruby", "if X\n  def f; end\nend\ndef g; end if Y", ["if X", "if Y"]),
        ("javascript", "if (x) { function f() {} }", ["if (x)"]),
        ("cpp", "#ifndef A_H\n#define A_H\nint a;\n#endif\n", ["", ""]),
    ],
)  # fmt: skip
def test_a_condition_names_the_branches_around_a_declaration(
    language: LanguageName, text: str, conditions: list[str]
) -> None:
    assert [one.condition for one in declarations_of(language, text.encode())] == conditions


def test_the_content_of_a_branch_does_not_change_its_condition() -> None:
    one, other = (only("python", f"if A:\n    def f():\n        {body}\n") for body in ("pass", "return 1"))
    assert one.condition == other.condition


@pytest.mark.parametrize(
    ("language", "text", "signature"),
    [
        ("java", "void f(final List<String> a, int... b) {}", "(List, int[])"),
        ("java", "void f(int a[], Map<K, List<V>>[] b) {}", "(int[], Map[])"),
        ("cpp", "void f(const A &a, char *b[], int c = 3) {}", "(const A&, char*[], int)"),
        ("cpp", "void f(void) {}", "()"),
        ("cpp", "template <class T> T f(T a) {}", "<class T>(T) -> T"),
        ("python", "def f(a: int): pass", ""),
        ("c", "void f(int a) {}", ""),
    ],
)
def test_parameter_types_are_given_where_they_distinguish_overloads(
    language: LanguageName, text: str, signature: str
) -> None:
    wrapped = f"class A {{ {text} }}" if language == "java" else text
    assert declarations_of(language, wrapped.encode())[-1].signature == signature


@pytest.mark.parametrize(
    ("language", "text", "names"),
    [
        ("python", "def a(): pass\nx = = 1\ndef b(): pass\n", {"a", "b"}),
        ("go", "package p\nfunc A() {}\nfunc ) {\nfunc B() {}\n", {"A"}),
        ("typescript", "function f() {}\nlet x = = 1;\nclass A { m() {} }\n", {"f", "A", "A.m"}),
    ],
)
def test_a_text_with_errors_gives_what_can_be_read(language: LanguageName, text: str, names: set[str]) -> None:
    assert names <= {one.name for one in declarations_of(language, text.encode())}


@pytest.mark.parametrize(
    ("language", "opening", "closing"),
    [
        ("python", b"(", b")"),
        ("javascript", b"[", b"]"),
        ("typescript", b"namespace a {", b"}"),
        ("go", b"{", b"}"),
        ("rust", b"mod m {", b"}"),
        ("java", b"class A {", b"}"),
        ("c", b"#if X\n", b"#endif\n"),
        ("cpp", b"namespace a {", b"}"),
        ("ruby", b"module A\n", b"end\n"),
        ("php", b"if (x) {", b"}"),
    ],
)
def test_endless_nesting_is_read_without_recursion(language: LanguageName, opening: bytes, closing: bytes) -> None:
    start = b"<?php " if language == "php" else b""
    declarations_of(language, start + opening * 10_000 + closing * 10_000)


def test_classes_inside_classes_are_named_down_to_a_depth_and_no_further() -> None:
    found = declarations_of("java", b"class A {" * 3000 + b"}" * 3000)
    assert 50 < len(found) < 100


def test_an_overlong_text_is_refused_with_a_reason() -> None:
    with pytest.raises(SourceUnreadable, match="more than the parser accepts"):
        declarations_of("python", b"x" * (MOST_BYTES + 1))


def test_a_declaration_is_plain_data() -> None:
    (found,) = declarations_of("java", b"class A {}")
    assert Declaration(**json.loads(json.dumps(asdict(found)))) == found


@given(st.sampled_from(LANGUAGES), st.binary(max_size=200))
@settings(max_examples=examples(60))
def test_any_bytes_can_be_read(language: LanguageName, text: bytes) -> None:
    assert_in_order_and_nested(declarations_of(language, text))


@given(st.sampled_from(LANGUAGES), st.data())
@settings(max_examples=examples(60))
def test_a_damaged_real_source_can_be_read(language: LanguageName, data: st.DataObject) -> None:
    text = EVERYTHING[language]
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 40)))
    patch = data.draw(st.sampled_from([b"", b"{", b"}", b"(", b"\n", b'"', b"\xff", b"class ", text[end : end + 30]]))
    assert_in_order_and_nested(declarations_of(language, text[:start] + patch + text[end:]))


@pytest.mark.parametrize("language", LANGUAGES)
def test_spans_are_ordered_and_nested_or_separate(language: LanguageName) -> None:
    assert_in_order_and_nested(declarations_of(language, EVERYTHING[language]))


def assert_in_order_and_nested(found: list[Declaration]) -> None:
    opened: list[int] = []
    last = 0
    for one in found:
        assert last <= one.start <= one.end
        while opened and opened[-1] <= one.start:
            opened.pop()
        assert not opened or one.end <= opened[-1]
        opened.append(one.end)
        last = one.start
