"""Redirections: what a statement reads and where its output goes. Files, here-documents, here-strings."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tree_sitter import Node

from donewhen.records import frozen
from donewhen.workspace.policy.expand import Expander
from donewhen.workspace.policy.grammar import CUT, Parsed, Unread
from donewhen.workspace.policy.step import UNKNOWN_TEXT, PipedText, Redirect, Word

REDIRECTS = frozenset({"file_redirect", "heredoc_redirect", "herestring_redirect"})

_DELIMITER = re.compile(r"(['\"]?)[\w.+-]+\1|\\\w+", re.ASCII)
"""ASCII only: the grammar keeps one byte per character of a delimiter, so beyond ASCII it ends at a wrong line."""
_BACKTICKS = re.compile(r"(?<!\\)`((?:[^`\\]|\\.)*)`", re.DOTALL)
_PLACEHOLDER = re.compile(rf"{CUT}\d+")


@frozen
class Channels:
    """Input, redirections and extra words that a statement gets from its surroundings."""

    inherited_stdin: PipedText | None = None
    """What it reads unless it is redirected. In a pipeline, this is the input of the first part."""
    redirected_stdin: PipedText | None = None
    """The input it is redirected to. For a list or a pipeline, this is the input of the last part."""
    redirects: tuple[Redirect, ...] = ()
    words: tuple[Word, ...] = ()
    """Words of the command itself that the grammar places below a redirection: `git >log push`."""

    @property
    def stdin(self) -> PipedText | None:
        return self.redirected_stdin or self.inherited_stdin

    def shown(self, text: str) -> str:
        """Return a statement with its redirections, as it is shown to a person."""
        text = _PLACEHOLDER.sub("…", text) if CUT in text else text
        more = [f"{redirect.operator} {redirect.target.raw}" for redirect in self.redirects]
        return " ".join([text, *(word.raw for word in self.words), *more]).strip()


@dataclass(slots=True)
class Redirections:
    parsed: Parsed
    expander: Expander
    found_bodies: set[int] = field(default_factory=set[int])
    """Indexes of the cut-out here-documents that were found at their places in the tree."""
    scripts: list[str] = field(default_factory=list[str])
    """Scripts between backticks in here-documents, which the grammar does not recognise."""

    def channels(self, nodes: list[Node], outer: Channels) -> Channels:
        channels = outer
        for node in nodes:
            match node.type:
                case "heredoc_redirect":
                    files = [child for child in node.children if child.type == "file_redirect"]
                    words = self._words(node.children_by_field_name("argument"))
                    channels = replace(self.channels(files, channels), redirected_stdin=self._heredoc(node))
                    channels = replace(channels, words=(*channels.words, *words))
                case "herestring_redirect":
                    value = self.expander.value(node.children[-1])
                    channels = replace(
                        channels, redirected_stdin=PipedText(value.text, value.producers, tuple(value.text.split()))
                    )
                case "file_redirect":
                    channels = self._file(node, channels)
                case _:
                    pass
        return channels

    def _file(self, node: Node, channels: Channels) -> Channels:
        operator = next((child.type for child in node.children if not child.is_named), "")
        destinations = node.children_by_field_name("destination")
        targets = self._words(destinations[:1])
        stdin = channels.redirected_stdin
        if operator in ("<", "<&"):
            # Input from a descriptor that was opened elsewhere is unknown.
            stdin = next((target.stream for target in targets), None) or PipedText(
                None, () if operator == "<" else (operator,)
            )
        redirects = (*channels.redirects, *(Redirect(operator, target) for target in targets))
        return replace(
            channels,
            redirected_stdin=stdin,
            redirects=redirects,
            words=(*channels.words, *self._words(destinations[1:])),
        )

    def _words(self, nodes: Sequence[Node]) -> list[Word]:
        return [word for node in nodes for word in self.expander.words(node)]

    def _heredoc(self, node: Node) -> PipedText:
        start = next((child for child in node.children if child.type == "heredoc_start"), node)
        delimiter = self.parsed.text(start)
        body = next((child for child in node.children if child.type == "heredoc_body"), None)
        # The grammar uses everything up to the next blank, or up to the second quote, as the delimiter. The shell does
        # neither.
        glued = any(word.start_byte == start.end_byte for word in node.children_by_field_name("argument"))
        if glued or not _DELIMITER.fullmatch(delimiter):
            raise Unread("unparsed")
        text = self.parsed.text(body) if body else ""
        if text.startswith(CUT):
            self.found_bodies.add(int(text[1:]))
            text = self.parsed.bodies[int(text[1:])]
        elif body and delimiter[0] not in "'\"\\":
            self.scripts += _BACKTICKS.findall(text)
            text = self.expander.value(body).text
        return PipedText(text, (), tuple(text.split()) or (UNKNOWN_TEXT,))
