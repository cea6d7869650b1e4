"""Tests inside of Rust sources: test items of the base are restored, new ones stay, the product is unchanged.

A test item is an item behind `cfg(test)`, or a function with an attribute that ends in `test`. It belongs to a module,
and must stay in that module, in whatever file the module is: if the module moves, its tests must have moved with it. A
module that is no longer there must have left its tests in another changed file. Otherwise they are put back. If a
source cannot be followed, the whole file is restored from the base.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property

from donewhen.judge.protect.contents.accepted_part import NOTHING, AcceptedPart, FileUnreadable
from donewhen.judge.protect.contents.rust_items import RustItem, items, normal_form
from donewhen.judge.protect.contents.rust_modules import (
    ReadSource,
    RustBody,
    body_of_file,
    conditions,
    module_body,
    other_file,
    path_attribute,
)
from donewhen.judge.protect.names.mixed_files import holds_tests

NOT_TEST = re.compile(r"\bnot\s*\(\s*test\s*\)")
COMPILES_OUT = re.compile(r"#!\s*\[\s*cfg")
MODULE = re.compile(r"\bmod\s")
UNREADABLE = (FileUnreadable, IndexError, RecursionError)
MOST_MODULES = 2_000
"""The number of modules that are followed for one module that moved."""
Replacement = tuple[int, int, str, str]
"""Start, end and new text of a span in a source of the candidate, and its label."""
Items = dict[tuple[str, str, int], RustItem]


def restore_tests(
    base: ReadSource, changed: Mapping[str, str | None], is_editable: Callable[[str], bool] = lambda _: False
) -> dict[str, AcceptedPart]:
    """Return how much of each changed source is accepted. Sources that are accepted as a whole are left out.

    `changed` has the sources of the candidate that differ from the base, with None for those that it does not have.
    """
    tests = _Tests(base, changed)
    considered = {path: base(path) for path in changed if not is_editable(path)}
    for path, old in considered.items():
        new = changed[path]
        if old is not None and new is not None and (holds_tests(old) or MODULE.search(old)):
            tests.compare_file(path, old, new)
    for path, old in considered.items():
        if old is not None and changed[path] is None and path not in tests.compared and holds_tests(old):
            tests.find_moved(path, old)
    return {path: part for path, part in tests.parts().items() if not is_editable(path)}


class _Tests:
    """The replacements in sources of the candidate that restore the tests of the base."""

    def __init__(self, base: ReadSource, changed: Mapping[str, str | None]) -> None:
        self._base, self._changed = base, changed
        self._replaced: dict[str, dict[Replacement, None]] = {}
        self._whole: set[str] = set()
        """Files that are restored as a whole: a new one is removed."""
        self.compared: set[str] = set()
        """Files of the base whose tests were searched."""

    def parts(self) -> dict[str, AcceptedPart]:
        found = dict.fromkeys(sorted(self._whole), NOTHING)
        for path, replaced in self._replaced.items():
            new = self._changed.get(path)
            if path not in self._whole and new is not None:
                for start, end, text, _ in sorted(replaced, key=lambda change: change[:2], reverse=True):
                    new = new[:start] + text + new[end:]
                found[path] = AcceptedPart(new.encode(), tuple(dict.fromkeys(part for *_, part in replaced)))
        return found

    def compare_file(self, path: str, old: str, new: str) -> None:
        """Compare two versions of a file at the same path."""
        try:
            self._compare(body_of_file(path, old), body_of_file(path, new), "")
        except UNREADABLE:
            if holds_tests(old) or self._declares_tests(path, old):
                self._whole.add(path)

    def _declares_tests(self, path: str, old: str) -> bool:
        try:
            return self._has_tests(body_of_file(path, old))
        except UNREADABLE:
            return False

    def find_moved(self, path: str, old: str) -> None:
        """Find the tests of a file that the candidate does not have: in the other file of its module, or elsewhere."""
        other = other_file(path)
        new = self._candidate(other)
        try:
            before = body_of_file(path, old)
            if new is not None and other in self._changed:
                self._compare(before, body_of_file(other, new), "")
            elif not self._are_elsewhere(before):
                self._restore_file(before)
        except UNREADABLE:
            self._whole.update({path, other} & self._changed.keys())

    def _candidate(self, path: str) -> str | None:
        return self._base(path) if path in self._whole or path not in self._changed else self._changed[path]

    def _replace(self, body: RustBody, *changes: Replacement) -> None:
        self._replaced.setdefault(body.source.path, {}).update(dict.fromkeys(changes))

    def _compare(self, before: RustBody, after: RustBody, above: str) -> None:
        """Compare the items of two versions of a module."""
        if not before.inside:
            self.compared.add(before.source.path)
        if above.count("::") > 100:
            raise FileUnreadable
        old, new = _by_key(before.items()), _by_key(after.items())
        known = {item.name for item in old.values() if item.kind == "inner attribute"}
        added = [item for item in new.values() if _compiles_out(item) and item.name not in known]
        if added and self._has_tests(before):
            self._replace(after, *((item.start, item.end, "", f"{above}{item.name}") for item in added))
        for key, item in old.items():
            other, label = new.get(key), f"{above}{item.name}"
            if is_test_item(item):
                if other is None:
                    self._append(after, item.text(before.source.text), label)
                else:
                    self._replace_test(before, after, (item, other), label)
                self._compare_test_file(before, after, item, label)
            elif item.kind == "mod":
                self._compare_module(before, after, (item, other), label)

    def _append(self, after: RustBody, text: str, label: str) -> None:
        self._replace(after, (after.end, after.end, f"\n{text}\n", label))

    def _compare_module(
        self, before: RustBody, after: RustBody, pair: tuple[RustItem, RustItem | None], label: str
    ) -> None:
        """Compare a module that is not a test item: its tests must be in what the candidate has for it."""
        item, other = pair
        path = path_attribute(before.source, item)
        module = module_body(before, item, path, self._base)
        if module is None:
            return
        if other is not None and conditions(before.source, item) == conditions(after.source, other):
            try:
                named = path_attribute(after.source, other)
                now = module_body(after, other, named, self._candidate)
                if now and not now.inside and (now.source.path, named) == (module.source.path, path):
                    return  # a change of this file is examined by itself
                if now and (now.inside or now.source.path in self._changed):
                    self._compare(module, now, f"{label}::")
                    return
            except UNREADABLE:
                pass  # the declaration of the base is restored
        if self._has_tests(module) and (other is not None or not self._are_elsewhere(module)):
            self._restore_module(before, after, item, label)
            if not module.inside:
                self._restore_file(module)

    def _restore_module(self, before: RustBody, after: RustBody, item: RustItem, label: str) -> None:
        """Put the declaration of the base in the place of all that the candidate has under its name."""
        named = [other for other in after.items() if other.key == item.key]
        self._replace(after, *((other.start, other.end, "", label) for other in named))
        for declared in before.items():
            if declared.key == item.key:
                self._append(after, declared.text(before.source.text), label)

    def _restore_file(self, module: RustBody) -> None:
        """Restore the file of a module, and those of its own modules that the candidate does not have."""
        waiting = [module]
        while waiting and len(self._whole) < MOST_MODULES:
            body = waiting.pop()
            path = body.source.path
            self.compared.add(path)
            if self._candidate(path) is None:
                self._whole.add(path)
            for item in body.items():
                inner = self._base_module(body, item)
                if inner and (inner.inside or self._candidate(inner.source.path) is None):
                    waiting.append(inner)

    def _base_module(self, around: RustBody, item: RustItem) -> RustBody | None:
        if item.kind != "mod":
            return None
        return module_body(around, item, path_attribute(around.source, item), self._base)

    def _compare_test_file(self, before: RustBody, after: RustBody, item: RustItem, label: str) -> None:
        """Restore the file of a test module (`#[cfg(test)] mod tests;`) where its place has changed."""
        module = self._base_module(before, item)
        if module is None or module.inside:
            return
        now = module_body(after, item, path_attribute(before.source, item), self._candidate)
        if now and now.source.path != module.source.path and now.source.path in self._changed:
            self.compared.add(module.source.path)
            if normal_form(now.source.text) != normal_form(module.source.text):
                self._replace(now, (0, len(now.source.text), module.source.text, label))

    def _has_tests(self, body: RustBody) -> bool:
        return any(True for _ in self._tests_of(body))

    def _tests_of(self, body: RustBody) -> Iterator[str]:
        """Yield the test items of a module of the base and of the modules below it, without their formatting."""
        waiting, seen = [body], set[tuple[str, int]]()
        while waiting and len(seen) < MOST_MODULES:
            each = waiting.pop()
            if (each.source.path, each.start) in seen:
                continue
            seen.add((each.source.path, each.start))
            for item in each.items():
                if is_test_item(item):
                    yield normal_form(item.text(each.source.text))
                elif inner := self._base_module(each, item):
                    waiting.append(inner)

    def _are_elsewhere(self, module: RustBody) -> bool:
        """Return True if other changed sources of the candidate have all tests of a module."""
        return all(test in self._tests_in_changed for test in self._tests_of(module))

    @cached_property
    def _tests_in_changed(self) -> frozenset[str]:
        found = set[str]()
        for path, text in self._changed.items():
            try:
                waiting = [body_of_file(path, text)] if text else []
                while waiting:
                    body = waiting.pop()
                    for item in body.items():
                        if is_test_item(item):
                            found.add(normal_form(item.text(body.source.text)))
                        elif item.body:
                            waiting.append(RustBody(body.source, *item.body))
            except UNREADABLE:
                continue
        return frozenset(found)

    def _replace_test(self, before: RustBody, after: RustBody, pair: tuple[RustItem, RustItem], label: str) -> None:
        item, other = pair
        old, new = before.source, after.source
        text = item.text(old.text)
        if _is_same(text, other.text(new.text)):
            return
        if not item.body or not other.body:
            self._replace(after, (other.start, other.end, text, label))
            return
        inner = _by_key(items(old.text, old.mask, *item.body))
        now = _by_key(items(new.text, new.mask, *other.body))
        changed = [
            key
            for key, one in inner.items()
            if key not in now or not _is_same(one.text(old.text), now[key].text(new.text))
        ]
        added = [one for key, one in now.items() if key not in inner]
        last = max((now[key].start for key in inner if key in now), default=0)
        harmless = not any(_affects_others(one, last) for one in added)
        if not changed and harmless and item.attributes.split() == other.attributes.split():
            return
        label = f"{label}::{changed[0][1]}" if len(changed) == 1 else label
        more = [one.text(new.text) for one in added if one.kind != "inner attribute"]
        self._replace(after, (other.start, other.end, _with_items(before, item, more), label))


def _with_items(before: RustBody, item: RustItem, more: list[str]) -> str:
    """Return a module of the base with new items of the candidate at its end, where their macros affect no old item."""
    assert item.body is not None
    text, close = before.source.text, item.body[1]
    if not more:
        return item.text(text)
    added = "".join(f"\n    {one}\n" for one in more)
    return text[item.start : close].rstrip() + "\n" + added + text[close : item.end]


def _is_same(one: str, other: str) -> bool:
    return one == other or normal_form(one) == normal_form(other)


def is_test_item(item: RustItem) -> bool:
    return holds_tests(NOT_TEST.sub("", item.attributes))


def _compiles_out(item: RustItem) -> bool:
    """Return True if an item is an attribute that may compile out the file or module that it is in."""
    return item.kind == "inner attribute" and bool(COMPILES_OUT.match(item.name))


def _affects_others(item: RustItem, last: int) -> bool:
    """Return True if a new item affects others: an attribute of the module, or a macro before an old item."""
    return item.kind == "inner attribute" or (item.kind == "macro_rules" and item.start < last)


def _by_key(found: list[RustItem]) -> Items:
    """Return items by kind and name. Items with the same name are numbered."""
    seen: Counter[tuple[str, str]] = Counter()
    result: Items = {}
    for item in found:
        result[(*item.key, seen[item.key])] = item
        seen[item.key] += 1
    return result
