"""Tests inside of Rust sources: test items of the base are restored verbatim, new ones stay, the product is unchanged.

A test item is an item behind `cfg(test)`, or a function with an attribute that ends in `test`. If a source cannot be
followed, the whole file is restored from the base.
"""

import re
from collections import Counter

from donewhen.judge.protect.contents.accepted_part import ALL, NOTHING, AcceptedPart, FileUnreadable
from donewhen.judge.protect.contents.rust_items import RustItem, items, masked
from donewhen.judge.protect.names.mixed_files import holds_tests

NOT_TEST = re.compile(r"\bnot\s*\(\s*test\s*\)")
COMPILES_OUT = re.compile(r"#!\s*\[\s*cfg")


def accepted_part(base: bytes | None, candidate: bytes | None) -> AcceptedPart:
    """Return how much of a changed source is accepted."""
    if base is None or candidate is None:
        return ALL
    try:
        old, new = base.decode(), candidate.decode()
        if not holds_tests(old):
            return ALL
        return _merged(old, new)
    except (UnicodeDecodeError, FileUnreadable, IndexError, RecursionError):
        return NOTHING


def _merged(old: str, new: str) -> AcceptedPart:
    level = _Level(old, masked(old), new, masked(new))
    changes = level.changes((0, len(old)), (0, len(new)), "")
    if not changes:
        return ALL
    for start, end, text, _ in sorted(changes, key=lambda change: change[:2], reverse=True):
        new = new[:start] + text + new[end:]
    return AcceptedPart(new.encode(), tuple(dict.fromkeys(part for *_, part in changes)))


Span = tuple[int, int]
Replacement = tuple[int, int, str, str]
"""Start, end and new text of a span in the source of the candidate, and its label."""


class _Level:
    """The items of two sources, at any depth of modules."""

    def __init__(self, old: str, old_mask: str, new: str, new_mask: str) -> None:
        self.old, self.old_mask = old, old_mask
        self.new, self.new_mask = new, new_mask

    def changes(self, old_span: Span, new_span: Span, above: str) -> list[Replacement]:
        """Return the replacements that restore the tests of the base in the source of the candidate."""
        before = items(self.old, self.old_mask, *old_span)
        after = _by_key(items(self.new, self.new_mask, *new_span))
        found = self._attributes(before, after, above)
        missing: list[tuple[str, str]] = []
        for key, item in _by_key(before).items():
            other = after.get(key)
            label = f"{above}{item.name}"
            if is_test_item(item):
                if other is None:
                    missing.append((item.text(self.old), label))
                else:
                    found += self._restore_test(item, other, label)
            elif item.body and other and other.body:
                found += self.changes(item.body, other.body, f"{label}::")
        end = new_span[1]
        return [*found, *((end, end, f"\n{text}\n", label) for text, label in missing)]

    def _attributes(
        self, before: list[RustItem], after: dict[tuple[str, str, int], RustItem], above: str
    ) -> list[Replacement]:
        """Return replacements that remove new attributes of a file or module that would compile it out."""
        known = {item.name for item in before if item.kind == "inner attribute"}
        if not any(is_test_item(item) for item in before):
            return []
        return [
            (item.start, item.end, "", f"{above}{item.name}")
            for item in after.values()
            if item.kind == "inner attribute" and COMPILES_OUT.match(item.name) and item.name not in known
        ]

    def _restore_test(self, item: RustItem, other: RustItem, label: str) -> list[Replacement]:
        text = item.text(self.old)
        if other.text(self.new) == text:
            return []
        if not item.body or not other.body:
            return [(other.start, other.end, text, label)]
        inner = _by_key(items(self.old, self.old_mask, *item.body))
        added = _by_key(items(self.new, self.new_mask, *other.body))
        changed = [key for key, one in inner.items() if not self._is_kept(one, added.get(key))]
        new_items = [one for key, one in added.items() if key not in inner]
        last = max((added[key].start for key in inner if key in added), default=0)
        harmless = not any(_affects_others(one, last) for one in new_items)
        if not changed and harmless and item.attributes.split() == other.attributes.split():
            return []
        label = f"{label}::{changed[0][1]}" if len(changed) == 1 else label
        return [(other.start, other.end, self._with_new_items(item, new_items), label)]

    def _is_kept(self, one: RustItem, other: RustItem | None) -> bool:
        return other is not None and one.text(self.old) == other.text(self.new)

    def _with_new_items(self, item: RustItem, new_items: list[RustItem]) -> str:
        """Return the module of the base with new items of the candidate at its end, where their macros affect no old
        item.
        """
        assert item.body is not None
        more = "".join(f"\n    {one.text(self.new)}\n" for one in new_items if one.kind != "inner attribute")
        if not more:
            return item.text(self.old)
        close = item.body[1]
        return self.old[item.start : close].rstrip() + "\n" + more + self.old[close : item.end]


def is_test_item(item: RustItem) -> bool:
    return holds_tests(NOT_TEST.sub("", item.attributes))


def _affects_others(item: RustItem, last: int) -> bool:
    """Return True if a new item affects others: an attribute of the module, or a macro before an old item."""
    return item.kind == "inner attribute" or (item.kind == "macro_rules" and item.start < last)


def _by_key(found: list[RustItem]) -> dict[tuple[str, str, int], RustItem]:
    """Return items by kind and name. Items with the same name are numbered."""
    seen: Counter[tuple[str, str]] = Counter()
    result: dict[tuple[str, str, int], RustItem] = {}
    for item in found:
        result[(*item.key, seen[item.key])] = item
        seen[item.key] += 1
    return result
