"""Turns words of the syntax tree into words as a program would get them: without quotes, with variables expanded.

Only the text of the script is used. A variable that it never sets, an array or a pattern substitution is unknown
(`UNKNOWN_TEXT`). Commands inside a word are passed to `run`, which the reader provides; this module reads no commands.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from tree_sitter import Node

from donewhen.workspace.policy.assignments import Values
from donewhen.workspace.policy.fields import GLOB, MOST_CHOICES, Part, combinations, fields
from donewhen.workspace.policy.grammar import MOST_TEXT, Parsed, Unread
from donewhen.workspace.policy.paths import HOME
from donewhen.workspace.policy.printed import output_of
from donewhen.workspace.policy.quoting import ansi_c, double_quoted, unquoted
from donewhen.workspace.policy.step import UNKNOWN_TEXT, PipedText, Step, Word, WorkingDir

NUMBERS = frozenset({"?", "$", "#"})
"""Variables that always have a value, in every shell."""
SUBSTITUTIONS = frozenset({"command_substitution", "process_substitution"})
EXPANSIONS = SUBSTITUTIONS | {"simple_expansion", "expansion", "arithmetic_expansion"}


@dataclass(slots=True)
class WordSources:
    """The sources of a word besides its text."""

    variables: list[str] = field(default_factory=list[str])
    producers: list[str] = field(default_factory=list[str])
    stream: PipedText | None = None


class Expander:
    def __init__(
        self, parsed: Parsed, run: Callable[[Node], list[Step]], parameters: dict[str, str], working_dir: WorkingDir
    ) -> None:
        self.parsed = parsed
        self.run = run
        self.parameters = parameters
        """Values known from outside the script: the arguments of `sh -c`."""
        self.working_dir = working_dir
        self.assigned: Values = {}
        self._known_values: dict[str, tuple[str, ...]] = {}

    def words(self, node: Node) -> list[Word]:
        """Return the words that one word of the script expands to; none if it expands to nothing."""
        raw = self.parsed.text(node)
        if node.type == "word" and "\\" not in raw and raw[:1] != "~":
            return [Word(raw, raw, not GLOB.isdisjoint(raw))]
        sources = WordSources()
        parts = self.parts(node, sources)
        if len(parts) == 1 and not parts[0].is_expanded and not (parts[0].is_unquoted and raw[:1] in ("~", "{")):
            return [Word(parts[0].text, raw, parts[0].is_unquoted and not GLOB.isdisjoint(raw))]
        extra = (tuple(sources.variables), tuple(sources.producers), sources.stream)
        if "IFS" in self.assigned:
            # With another IFS it is unknown where such a word is split.
            parts = [part._replace(choices=(UNKNOWN_TEXT,)) if part.is_split else part for part in parts]
        chosen = combinations(parts)
        found = [field for choice in chosen for field in fields(choice, self.working_dir.cwd)]
        if len(found) > 4 * MOST_CHOICES:
            return [Word(UNKNOWN_TEXT, raw, False, False, *extra)]
        return [Word(text, raw, has_glob, len(chosen) > 1, *extra) for text, has_glob in found]

    def value(self, node: Node) -> Word:
        """Return one word without splitting: the value of an assignment, the body of a here-document, a here-string."""
        sources = WordSources()
        chosen = combinations(self.parts(node, sources))
        text = "".join(part.text for part in chosen[0]) if len(chosen) == 1 else UNKNOWN_TEXT
        raw = self.parsed.text(node)
        return Word(text, raw, False, False, tuple(sources.variables), tuple(sources.producers), sources.stream)

    def parts(self, node: Node, sources: WordSources) -> list[Part]:
        match node.type:
            case "word" | "number" | "variable_name" | "test_operator" | "extglob_pattern":
                return self._bare(self.parsed.text(node))
            case "raw_string":
                return [Part((self.parsed.text(node)[1:-1],))]
            case "ansi_c_string":
                return [Part((ansi_c(self.parsed.text(node)[2:-1]),))]
            case "string" | "heredoc_body":
                return self._string(node, sources)
            case "command_name" | "concatenation":
                return [part for child in node.children for part in self.parts(child, sources)]
            case "translated_string":
                return self.parts(node.children[-1], sources)
            case "brace_expression":
                return [Part((self.parsed.text(node),), is_unquoted=True)]
            case _:
                return [self._expansion(node, sources)]

    def _bare(self, text: str) -> list[Part]:
        if text.startswith("\n"):
            # The grammar treats a line that starts with a backslash as part of the line before.
            raise Unread("unparsed")
        return [Part((piece,), is_unquoted) for piece, is_unquoted in unquoted(text) if piece]

    def _string(self, node: Node, sources: WordSources) -> list[Part]:
        """Return the parts of text with expansions. The text between them comes from the source, not from the tree."""
        edge = 1 if node.type == "string" else 0
        start, end = node.start_byte + edge, node.end_byte - edge
        parts: list[Part] = []
        for child in node.named_children:
            if child.type in EXPANSIONS:
                # In `"$a $b"` the grammar treats the blank as part of the second variable.
                blanks = len(self.parsed.text(child)) - len(self.parsed.text(child).lstrip())
                parts.append(self._between(start, child.start_byte + blanks))
                parts.append(self._expansion(child, sources)._replace(is_unquoted=False))
                start = child.end_byte
        return [*parts, self._between(start, end)]

    def _between(self, start: int, end: int) -> Part:
        return Part((double_quoted(self.parsed.source[start:end].decode(errors="replace")),))

    def _expansion(self, node: Node, sources: WordSources) -> Part:
        text = self.parsed.text(node).lstrip()
        match node.type:
            case "simple_expansion":
                return self._variable(text[1:], sources)
            case "command_substitution":
                return self._substitution(node, sources)
            case "process_substitution":
                sources.stream = output_of(self.run(node))
                return Part(("/dev/fd/63",), is_expanded=True)
            case "$":
                return self._dollar(self.parsed.source[node.end_byte : node.end_byte + 1])
            case _:
                for inner in substitutions(node, text):
                    self.run(inner)
        if node.type == "expansion":
            return self._braced(text[2:-1], sources)
        return Part(("0" if node.type == "arithmetic_expansion" else UNKNOWN_TEXT,), is_unquoted=True, is_expanded=True)

    def _dollar(self, following: bytes) -> Part:
        """Handle a single dollar: itself, the start of a translated string, or an expansion that the grammar missed."""
        if following == b'"':
            return Part(("",), is_unquoted=True, is_expanded=True)
        if following.strip():
            raise Unread("unparsed")
        return Part(("$",), is_unquoted=True)

    def _substitution(self, node: Node, sources: WordSources) -> Part:
        stream = output_of(self.run(node))
        if stream.text is None or UNKNOWN_TEXT in stream.text:
            sources.producers.extend(stream.producers)
        text = stream.text.rstrip("\n") if stream.text is not None else UNKNOWN_TEXT
        return Part((text,), is_unquoted=True, is_expanded=True)

    def _braced(self, inside: str, sources: WordSources) -> Part:
        """Expand the inside of `${…}`. `:+` (is it set) and `#` (its length) do not reveal the variable's value."""
        if inside.isidentifier() or inside.isdecimal():
            return self._variable(inside, sources)
        if inside.startswith("#"):
            return Part(("0",), is_unquoted=True, is_expanded=True)
        if ":+" not in inside:
            sources.variables.append(inside.lstrip("!").partition(":")[0].partition("[")[0])
        return Part((UNKNOWN_TEXT,), is_unquoted=True, is_expanded=True)

    def _variable(self, name: str, sources: WordSources) -> Part:
        choices = self._values(name)
        if any(UNKNOWN_TEXT in choice for choice in choices):
            sources.variables.append(name)
        return Part(choices, is_unquoted=True, is_expanded=True)

    def _values(self, name: str) -> tuple[str, ...]:
        if name not in self._known_values and name in self.assigned:
            self._known_values[name] = (UNKNOWN_TEXT,)  # for a value that refers to itself
            texts = tuple(dict.fromkeys(text for node in self.assigned[name] for text in self._assigned_values(node)))
            small = len(texts) <= MOST_CHOICES and sum(map(len, texts)) <= MOST_TEXT
            self._known_values[name] = texts if small else (UNKNOWN_TEXT,)
        if name in self._known_values:
            return self._known_values[name]
        known = {"HOME": HOME, "PWD": self.working_dir.cwd, "TMPDIR": "/tmp", "IFS": " ", **self.parameters}
        return ("0",) if name in NUMBERS else (known.get(name, UNKNOWN_TEXT),)

    def _assigned_values(self, node: Node | str) -> list[str]:
        if isinstance(node, str):
            return [node]
        if node.type == "array":
            return [UNKNOWN_TEXT]
        if node.parent and node.parent.type == "for_statement":
            return [word.text for word in self.words(node)]
        return [self.value(node).text]


def substitutions(node: Node, text: str) -> list[Node]:
    """Return the outermost substitutions in a node, in order.

    The grammar treats some substitutions in `${…}` as text. Raise `Unread` then.
    """
    found: list[Node] = []
    waiting = list(reversed(node.children))
    while waiting:
        child = waiting.pop()
        if child.type in SUBSTITUTIONS:
            found.append(child)
        else:
            waiting.extend(reversed(child.children))
    if not found and ("`" in text or "$(" in text.removeprefix("$((")) and node.type not in ("raw_string", "comment"):
        raise Unread("unparsed")
    return found
