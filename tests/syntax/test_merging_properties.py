"""Properties of any merge: an empty change changes nothing, sides can be swapped, and the result parses."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from merging_cases import Case, cases

from donewhen.syntax.declarations import declarations_of
from donewhen.syntax.grammar import LanguageName, language_of, parse
from donewhen.syntax.merging.merge import Conflict, MergedText, merge
from tables import every_row
from tiers import examples

PATHS = [
    "a.py", "a.js", "a.ts", "a.tsx", "a.go", "a.rs", "a.java", "a.c", "a.hpp", "a.rb", "a.php", "a.json", "a.toml",
    "a.yaml", "CHANGELOG.md", "NEWS.rst", "a.txt",
]  # fmt: skip
SNIPPETS = [
    b"import os\n", b"from a import b\n", b"def f(x=1):\n", b"    return {'a': 1}\n", b"class A:\n", b"    @x\n",
    b"import { a } from 'b';\n", b"const x = [\n", b"  a: 1,\n", b"];\n", b"\n", b"# c\n", b"// c\n", b"[a]\n", b"}\n",
    b"- item\n", b"## Head\n", b"a:\n", b"  - b\n", b"\xff\xfe\n", b"\t\r\n", b"'''\n", b"\"\n", b"/*\n", b"x", b"a,\n",
    b"k = 1\n",
]  # fmt: skip
texts = st.lists(st.sampled_from(SNIPPETS), max_size=12).map(b"".join) | st.binary(max_size=60)


@dataclass(frozen=True)
class Tongue:
    """How one language writes the generated modules."""

    path: str
    import_of: Callable[[str], str]
    function: Callable[[str, int], str]
    constant: Callable[[str, int], str]
    method: Callable[[str, int], str]
    shop: Callable[[str], str]


PYTHON = Tongue(
    "a.py",
    lambda name: f"import {name}\n",
    lambda name, value: f"\n\ndef {name}():\n    return {value}\n",
    lambda name, value: f"\n{name} = {value}\n",
    lambda name, value: f"\n    def {name}(self):\n        return {value}\n",
    lambda methods: f"\n\nclass Shop:\n    x = 1\n{methods}",
)
TYPESCRIPT = Tongue(
    "a.ts",
    lambda name: f'import * as {name} from "{name}";\n',
    lambda name, value: f"\nexport function {name}(): number {{\n  return {value};\n}}\n",
    lambda name, value: f"\nexport const {name} = {value};\n",
    lambda name, value: f"\n  {name}(): number {{\n    return {value};\n  }}\n",
    lambda methods: f"\nexport class Shop {{\n  x = 1;\n{methods}}}\n",
)

Change = tuple[int, str, int]
"""The part of the module, the kind of the addition, and its value."""
changes = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from(["function", "constant"]), st.integers(0, 9)), max_size=3
)


def module(tongue: Tongue, added: list[Change], methods: int, who: str) -> bytes:
    """Imports, then four functions and a class, with additions after some of them."""
    pieces = [tongue.import_of("first"), tongue.import_of(f"{who}_import") if methods else "", tongue.import_of("last")]
    for part in range(4):
        pieces.append(tongue.function(f"f{part}", part))
        for number, (at, kind, value) in enumerate(added):
            if at == part:
                make = tongue.function if kind == "function" else tongue.constant
                pieces.append(make(f"{who}_{number}", value))
    pieces.append(
        tongue.shop("".join(tongue.method(f"{who}_m{n}", n) for n in range(methods)) + tongue.method("last", 1))
    )
    return "".join(pieces).encode()


def names(language: LanguageName, text: bytes) -> list[str]:
    return sorted(one.name for one in declarations_of(language, text))


@pytest.mark.parametrize("tongue", [PYTHON, TYPESCRIPT], ids=["python", "typescript"])
@settings(max_examples=examples(40))
@given(ours=changes, theirs=changes, methods=st.tuples(st.integers(0, 2), st.integers(0, 2)))
def test_additions_of_both_sides_are_all_kept(
    tongue: Tongue, ours: list[Change], theirs: list[Change], methods: tuple[int, int]
) -> None:
    base = module(tongue, [], 0, "base")
    one, other = module(tongue, ours, methods[0], "ours"), module(tongue, theirs, methods[1], "theirs")
    language = language_of(tongue.path)
    assert language

    result, turned = merge(tongue.path, base, one, other), merge(tongue.path, base, other, one)

    assert isinstance(result, MergedText), result
    assert isinstance(turned, MergedText), turned
    before = names(language, base)
    expected = sorted(names(language, one) + [name for name in names(language, other) if name not in before])
    assert names(language, result.text) == names(language, turned.text) == expected
    assert not parse(language, result.text).root_node.has_error


@pytest.mark.parametrize("tongue", [PYTHON, TYPESCRIPT], ids=["python", "typescript"])
@settings(max_examples=25)
@given(ours=changes, theirs=changes)
def test_changes_in_different_places_give_the_same_bytes_in_either_order(
    tongue: Tongue, ours: list[Change], theirs: list[Change]
) -> None:
    base = module(tongue, [], 0, "base")
    one = module(tongue, [(at % 2, kind, value) for at, kind, value in ours], 0, "ours")
    other = module(tongue, [(2 + at % 2, kind, value) for at, kind, value in theirs], 0, "theirs")

    assert merge(tongue.path, base, one, other) == merge(tongue.path, base, other, one)


@settings(max_examples=examples(150))
@given(path=st.sampled_from(PATHS), base=texts, ours=texts, theirs=texts)
def test_any_bytes_give_a_text_that_parses_or_a_conflict(path: str, base: bytes, ours: bytes, theirs: bytes) -> None:
    result = merge(path, base, ours, theirs)

    language = language_of(path)
    if isinstance(result, Conflict):
        assert result.places
    elif language and all(not parse(language, text).root_node.has_error for text in (base, ours, theirs)):
        assert not parse(language, result.text).root_node.has_error


@settings(max_examples=examples(60))
@given(path=st.sampled_from(PATHS), base=texts, changed=texts)
def test_an_empty_change_and_an_equal_change_change_nothing(path: str, base: bytes, changed: bytes) -> None:
    assert merge(path, base, changed, base) == MergedText(changed)
    assert merge(path, base, base, changed) == MergedText(changed)
    assert merge(path, base, changed, changed) == MergedText(changed)


@every_row([case for case in cases() if case.merged is not None])
def test_merging_a_result_with_each_side_changes_nothing(case: Case) -> None:
    assert case.merged is not None
    assert merge(case.path, case.ours, case.merged, case.ours) == MergedText(case.merged)
    again = merge(case.path, case.base, case.merged, case.theirs)
    assert again == MergedText(case.merged, again.how if isinstance(again, MergedText) else ())


DEEP = 10_000


@pytest.mark.parametrize(
    ("path", "opening", "closing"),
    [("a.py", b"[", b"]"), ("a.ts", b"[", b"]"), ("a.json", b"[", b"]"), ("a.py", b"(", b")"), ("a.ts", b"{a:", b"}")],
)
def test_deep_nesting_ends_in_a_conflict(path: str, opening: bytes, closing: bytes) -> None:
    start = b"" if path.endswith("json") else b"x = "
    base, ours, theirs = (start + opening * DEEP + inner + closing * DEEP + b"\n" for inner in (b"1", b"2", b"3"))

    assert isinstance(merge(path, base, ours, theirs), Conflict)


def test_deeply_nested_blocks_do_not_prevent_a_merge_next_to_them() -> None:
    deep = b"x = " + b"[" * DEEP + b"]" * DEEP + b"\n"

    result = merge("a.py", deep + b"A = 1\n", deep + b"A = 1\nB = 2\n", deep + b"A = 1\nC = 3\n")

    assert result == MergedText(deep + b"A = 1\nB = 2\nC = 3\n", ("sibling definitions after A",))


def test_a_long_chain_of_alternatives_is_one_row() -> None:
    chain = b" | ".join(b"'k%d'" % number for number in range(3000))

    result = merge(
        "a.ts", b"type A = %b;\n" % chain, b"type A = %b | 'ours';\n" % chain, b"type A = %b | 'theirs';\n" % chain
    )

    assert result == MergedText(b"type A = %b | 'ours' | 'theirs';\n" % chain, ("alternatives of A",))


@pytest.mark.parametrize("quote", [b'"', b"'"])
def test_a_string_of_toml_may_end_in_its_own_quotes(quote: bytes) -> None:
    base = b"a = %s%s\nb = 1\n" % (quote * 3 + b"x", quote * 4)

    merged = merge("a.toml", base, base.replace(b"x", b"y"), b"n = 0\n" + base)

    assert merged == MergedText(b"n = 0\n" + base.replace(b"x", b"y"), ("entries",))
