"""The syntax trees of several versions of one text, each with the places where it differs from base."""

from collections.abc import Sequence
from dataclasses import field
from itertools import accumulate

from tree_sitter import Tree

from donewhen.records import frozen
from donewhen.syntax.grammar import LanguageName, parse
from donewhen.syntax.merging.lines import diff_lines, number_lines, split_lines


@frozen
class Span:
    """The bytes that one change replaced, and the bytes that replace them."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


@frozen
class Version:
    """A text, its tree, and where it differs from base."""

    text: bytes
    tree: Tree
    spans: Sequence[Span]

    @property
    def is_readable(self) -> bool:
        return not self.tree.root_node.has_error


@frozen
class BaseVersion:
    """The version with which the others are compared."""

    language: LanguageName
    text: bytes
    tree: Tree
    known: dict[bytes, Version] = field(default_factory=dict[bytes, Version])

    @staticmethod
    def of(language: LanguageName, text: bytes) -> "BaseVersion":
        return BaseVersion(language, text, parse(language, text))

    @property
    def is_readable(self) -> bool:
        return not self.tree.root_node.has_error

    def version(self, text: bytes) -> Version:
        """Return the version for a text. Each text is parsed only once."""
        if text == self.text:
            return Version(text, self.tree, ())
        if text not in self.known:
            self.known[text] = Version(
                text, parse(self.language, text), _spans(split_lines(self.text), split_lines(text))
            )
        return self.known[text]


def _spans(old: Sequence[bytes], new: Sequence[bytes]) -> list[Span]:
    before, after = (list(accumulate(map(len, lines), initial=0)) for lines in (old, new))
    return [
        Span(before[hunk.old_start], before[hunk.old_end], after[hunk.new_start], after[hunk.new_end])
        for hunk in diff_lines(*number_lines(old, new))
    ]
