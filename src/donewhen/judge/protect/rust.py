"""Tests inside Rust sources: the base's test items come back verbatim, new ones stay, and the product is left alone.

A test item is one behind `cfg(test)`, or a function with an attribute that ends in `test`. Where a source cannot be
followed, the whole file comes from the base.
"""

import re
from collections import Counter

from donewhen.judge.protect.mixed import TEST_MODULE
from donewhen.judge.protect.rust_items import Item, items, masked
from donewhen.judge.protect.taken import ALL, WHOLE, Taken, Unreadable

NOT_TEST = re.compile(r"\bnot\s*\(\s*test\s*\)")
COMPILES_OUT = re.compile(r"#!\s*\[\s*cfg")


def taken(base: bytes | None, candidate: bytes | None) -> Taken:
    """What is taken of a changed source."""
    if base is None or candidate is None:
        return ALL
    try:
        old, new = base.decode(), candidate.decode()
        if not TEST_MODULE.search(old):
            return ALL
        return _merged(old, new)
    except (UnicodeDecodeError, Unreadable, IndexError, RecursionError):
        return WHOLE


def _merged(old: str, new: str) -> Taken:
    level = _Level(old, masked(old), new, masked(new))
    changes = level.changes((0, len(old)), (0, len(new)), "")
    if not changes:
        return ALL
    for start, end, text, _ in sorted(changes, key=lambda change: change[:2], reverse=True):
        new = new[:start] + text + new[end:]
    return Taken(new.encode(), tuple(dict.fromkeys(part for *_, part in changes)))


Span = tuple[int, int]
Replacement = tuple[int, int, str, str]
"""Start, end and new text of a place in the candidate's source, and what it is called."""


class _Level:
    """The items of two sources, at any depth of modules."""

    def __init__(self, old: str, old_mask: str, new: str, new_mask: str) -> None:
        self.old, self.old_mask = old, old_mask
        self.new, self.new_mask = new, new_mask

    def changes(self, old_span: Span, new_span: Span, above: str) -> list[Replacement]:
        """What must be done to the candidate's source so that the base's tests are in it."""
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
                    found += self._restored(item, other, label)
            elif item.body and other and other.body:
                found += self.changes(item.body, other.body, f"{label}::")
        end = new_span[1]
        return [*found, *((end, end, f"\n{text}\n", label) for text, label in missing)]

    def _attributes(self, before: list[Item], after: dict[tuple[str, str, int], Item], above: str) -> list[Replacement]:
        """Attributes of a whole file or module that would compile it out."""
        known = {item.name for item in before if item.kind == "inner attribute"}
        if not any(is_test_item(item) for item in before):
            return []
        return [
            (item.start, item.end, "", f"{above}{item.name}")
            for item in after.values()
            if item.kind == "inner attribute" and COMPILES_OUT.match(item.name) and item.name not in known
        ]

    def _restored(self, item: Item, other: Item, label: str) -> list[Replacement]:
        text = item.text(self.old)
        if other.text(self.new) == text:
            return []
        if not item.body or not other.body:
            return [(other.start, other.end, text, label)]
        inner = _by_key(items(self.old, self.old_mask, *item.body))
        added = _by_key(items(self.new, self.new_mask, *other.body))
        changed = [key for key, one in inner.items() if not self._is_kept(one, added.get(key))]
        fresh = [one for key, one in added.items() if key not in inner]
        last = max((added[key].start for key in inner if key in added), default=0)
        harmless = not any(_reaches(one, last) for one in fresh)
        if not changed and harmless and item.attributes.split() == other.attributes.split():
            return []
        return [(other.start, other.end, self._with(item, fresh), self._label(label, [key[1] for key in changed]))]

    def _is_kept(self, one: Item, other: Item | None) -> bool:
        return other is not None and one.text(self.old) == other.text(self.new)

    def _with(self, item: Item, fresh: list[Item]) -> str:
        """The base's module with the new items of the candidate's at its end, where no macro of theirs reaches back."""
        assert item.body is not None
        more = "".join(f"\n    {one.text(self.new)}\n" for one in fresh if one.kind != "inner attribute")
        if not more:
            return item.text(self.old)
        close = item.body[1]
        return self.old[item.start : close].rstrip() + "\n" + more + self.old[close : item.end]

    def _label(self, label: str, names: list[str]) -> str:
        return f"{label}::{names[0]}" if len(names) == 1 else label


def is_test_item(item: Item) -> bool:
    return bool(TEST_MODULE.search(NOT_TEST.sub("", item.attributes)))


def _reaches(item: Item, last: int) -> bool:
    """Whether a new item changes what others mean: an attribute of the module, or a macro with an old item after it."""
    return item.kind == "inner attribute" or (item.kind == "macro_rules" and item.start < last)


def _by_key(found: list[Item]) -> dict[tuple[str, str, int], Item]:
    """Items by what they are called; those of the same name are counted."""
    seen: Counter[tuple[str, str]] = Counter()
    result: dict[tuple[str, str, int], Item] = {}
    for item in found:
        result[(*item.key, seen[item.key])] = item
        seen[item.key] += 1
    return result
