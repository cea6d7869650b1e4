"""Names from a planner are looked up: found as people write them, or answered with similar ones."""

import pytest

from donewhen.syntax.grammar import MOST_BYTES
from donewhen.syntax.symbol_index import Index

SHOP = b"""VERSION = 1

class Shop:
    timeout = 3
    def total(self): ...
    class Item:
        price = 1

def checkout(): ...
"""
FILES = {
    "src/shop.py": SHOP,
    "src/cart.go": b"package p\ntype Cart struct{ n int }\nfunc (c *Cart) Add() {}\n",
    "src/box.cpp": b"namespace a { template <class T> struct Box { T get() { return t; } bool operator==(int); }; }\n",
    "src/user.php": b"<?php class User { public $name; function save() {} }\n",
    "src/view.ts": b"export class View { #secret = 1; draw() {} }\nexport default function () {}\n",
    "notes.txt": b"hello\n",
    "big.py": b"#" * (MOST_BYTES + 1),
}


@pytest.fixture
def index() -> Index:
    return Index(FILES.items())


@pytest.mark.parametrize(
    ("path", "symbol", "name"),
    [
        ("src/shop.py", "Shop.total", "Shop.total"),
        ("./src/shop.py", "total", "Shop.total"),
        ("src/shop.py", "total()", "Shop.total"),
        ("src/shop.py", "Shop::total", "Shop.total"),
        ("src/shop.py", "Shop#total", "Shop.total"),
        ("src/shop.py", " `def total(self)` ", "Shop.total"),
        ("src/shop.py", "class Shop", "Shop"),
        ("src/shop.py", "VERSION", "VERSION"),
        ("src/shop.py", "Shop.timeout", "Shop.timeout"),
        ("src/shop.py", "Item.price", "Shop.Item.price"),
        ("src/shop.py", "shop.checkout", "checkout"),
        ("src/shop.py", "src.shop.Shop.total", "Shop.total"),
        ("src/cart.go", "(*Cart).Add", "Cart.Add"),
        ("src/cart.go", "(Cart).Add()", "Cart.Add"),
        ("src/box.cpp", "a::Box<T>::get", "a.Box.get"),
        ("src/box.cpp", "operator==", "a.Box.operator=="),
        ("src/user.php", "User::$name", "User.name"),
        ("src/user.php", "User->save()", "User.save"),
        ("src/view.ts", "View.prototype.draw", "View.draw"),
        ("src/view.ts", "default", "default"),
    ],
)
def test_a_symbol_is_found_as_people_write_it(index: Index, path: str, symbol: str, name: str) -> None:
    found = index.find(path, symbol)
    assert found.answer == "found"
    assert {one.name for one in found.declarations} == {name}


def test_an_exact_name_comes_before_the_end_of_a_longer_one() -> None:
    index = Index([("a.py", b"def f(): ...\nclass A:\n    def f(self): ...\n")])
    assert [one.name for one in index.find("a.py", "f").declarations] == ["f"]


def test_a_star_means_the_whole_file(index: Index) -> None:
    assert index.find("notes.txt", "*").answer == "found"
    assert index.find("src/shop.py", "*").answer == "found"


def test_an_unknown_file_is_reported_with_similar_paths(index: Index) -> None:
    found = index.find("lib/shop.py", "Shop")
    assert found.answer == "no such file"
    assert found.near[0] == "src/shop.py"
    assert index.find("lib/shop.py", "*").answer == "no such file"


@pytest.mark.parametrize(
    ("symbol", "near"), [("Shop.totel", "Shop.total"), ("Store.total", "Shop.total"), ("chekout", "checkout")]
)
def test_an_unknown_symbol_is_reported_with_similar_names(index: Index, symbol: str, near: str) -> None:
    found = index.find("src/shop.py", symbol)
    assert found.answer == "no such symbol"
    assert near in found.near
    assert len(found.near) <= 3


@pytest.mark.parametrize("symbol", ["", "()", ".", "Shop.", "no.such.thing", "$", "\n", "Shop" * 1000])
def test_odd_names_are_answered_as_not_found(index: Index, symbol: str) -> None:
    assert index.find("src/shop.py", symbol).answer in ("no such symbol", "found")
    assert symbol == "Shop." or index.find("src/shop.py", symbol).answer == "no such symbol"


def test_a_file_without_a_grammar_or_too_long_for_one_says_so(index: Index) -> None:
    assert index.find("notes.txt", "hello").answer == "no grammar"
    assert "more than the parser" in index.find("big.py", "f").why
