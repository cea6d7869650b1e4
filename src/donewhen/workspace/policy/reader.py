"""Turns a script into steps: every simple command that would run, in order, at any nesting depth.

It follows `cd`, pipes and here-documents, because they decide what a later command means. It does not look into the
arguments of a command that runs another one (see `unwrap`), and it makes no decisions.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace

from tree_sitter import Node

from donewhen.workspace.policy.assignments import assignments
from donewhen.workspace.policy.expand import EXPANSIONS, Expander, substitutions
from donewhen.workspace.policy.grammar import Parse, Parsed, Unread
from donewhen.workspace.policy.naming import command
from donewhen.workspace.policy.paths import HOME, resolved
from donewhen.workspace.policy.printed import output_of
from donewhen.workspace.policy.redirection import REDIRECTS, Channels, Redirections
from donewhen.workspace.policy.step import UNKNOWN_TEXT, Nested, PipedText, Step, Word, WorkingDir, doubt, plain

DEEPEST = 40
"""Limit for statements within statements. No person could read a command that is nested deeper."""
MOST_STEPS = 2000

RESERVED = frozenset(
    {
        "!",
        "[[",
        "case",
        "do",
        "done",
        "elif",
        "else",
        "esac",
        "fi",
        "for",
        "function",
        "if",
        "select",
        "then",
        "until",
        "while",
    }
)

NONE = Channels()


def read(script: Nested, parse: Parse) -> list[Step]:
    """Return the steps of a script. A part that cannot be understood becomes a step too: a doubt."""
    try:
        return ScriptReader(script, parse).all_steps(Channels(script.stdin))
    except Unread as error:
        return [doubt(error.kind, script.text, script.working_dir)]


class ScriptReader:
    def __init__(self, script: Nested, parse: Parse) -> None:
        self.parse = parse
        self.parsed: Parsed = parse(script.text)
        self.steps: list[Step] = []
        self.depth = 0
        self.expander = Expander(self.parsed, self.substitution, script.parameters, script.working_dir)
        self.redirections = Redirections(self.parsed, self.expander)

    def all_steps(self, channels: Channels) -> list[Step]:
        if any(sign in self.parsed.source for sign in (b"=", b" in ", b"read", b"printf")):
            self.expander.assigned = assignments(self.parsed)
        if any(sign in self.parsed.source for sign in (b"set", b"shift", b"()", b"function")):
            # The positional parameters may have changed by the time they are used.
            self.expander.parameters = {}
        self.visit(self.parsed.root, channels)
        # A here-document was cut out but not met in the tree: it was not where it seemed to be.
        if len(self.redirections.found_bodies) != len(self.parsed.bodies):
            raise Unread("unparsed")
        for script in self.redirections.scripts:
            self.steps += read(Nested(script, self.expander.working_dir), self.parse)
        return self.steps

    def visit(self, node: Node, channels: Channels) -> None:
        visitor = _VISITORS.get(node.type)
        if visitor:
            self.enter()
            visitor(self, node, channels)
            self.depth -= 1
        elif node.type in EXPANSIONS:
            self.expander.words(node)
        elif node.is_named:
            # A test or a word, not a command: only the substitutions in it run.
            for inner in substitutions(node, self.parsed.text(node)):
                self.substitution(inner)

    def enter(self) -> None:
        """Go one level deeper. Only `read` catches what is raised here, so `depth` need not be restored then."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise Unread("too-deep")
        if len(self.steps) > MOST_STEPS:
            raise Unread("too-long")

    @contextmanager
    def subshell(self) -> Generator[None]:
        """Restore the working directory afterwards: a `cd` inside has no effect outside."""
        working_dir = self.expander.working_dir
        yield
        self.expander.working_dir = working_dir

    def substitution(self, node: Node) -> list[Step]:
        """Return the steps of `$(…)` or `<(…)`, which run before the command that contains them."""
        before = len(self.steps)
        self.enter()
        with self.subshell():
            for child in node.children:
                self.visit(child, NONE)
        self.depth -= 1
        return self.steps[before:]

    def compound(self, node: Node, channels: Channels) -> None:
        if channels.words:
            raise Unread("unparsed")
        if channels.redirects:
            self.steps.append(_only_redirects(self.parsed.text(node), channels, self.expander.working_dir))
        for child in node.children:
            self.visit(child, Channels(channels.stdin))

    def statements(self, node: Node, channels: Channels) -> None:
        """Visit the parts of `a && b && c`, which the grammar nests to the left."""
        parts: list[Node] = []
        while node.type == "list":
            parts.extend(child for child in reversed(node.children[1:]) if child.is_named and child.type != "comment")
            node = node.children[0]
        parts.append(node)
        while len(parts) > 1:
            self.visit(parts.pop(), Channels(channels.inherited_stdin))
        self.visit(parts[0], channels)

    def pipeline(self, node: Node, channels: Channels, upstream: PipedText | None = None) -> None:
        parts = [child for child in node.children if child.is_named and child.type != "comment"]
        for part in parts:
            before = len(self.steps)
            outer = channels if part is parts[-1] else NONE
            with self.subshell():
                self.visit(part, replace(outer, inherited_stdin=upstream or channels.inherited_stdin))
            made = output_of(self.steps[before:])
            upstream = replace(made, producers=(*(upstream.producers if upstream else ()), *made.producers))

    def function(self, node: Node, channels: Channels) -> None:
        before = len(self.steps)
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is None or body is None:
            raise Unread("unparsed")
        with self.subshell():
            self.visit(body, self.redirections.channels(node.children, channels))
        if any(step.name == self.parsed.text(name) for step in self.steps[before:]):
            self.steps.append(doubt("calls-itself", self.parsed.text(node), self.expander.working_dir))

    def simple(self, node: Node, channels: Channels) -> None:
        words: list[Word] = []
        for child in node.children:
            if child.type in _VISITORS and child.type != "variable_assignment":
                raise Unread("unparsed")
            if child.type not in REDIRECTS and child.type not in ("variable_assignment", "comment"):
                keyword = not child.is_named and child.type != "$"
                words += [plain(child.type)] if keyword else self.expander.words(child)
        own = self.redirections.channels(node.children, channels)
        words += own.words
        if words and (words[0].raw in RESERVED or any(word.raw in ("{", "}") for word in words)):
            # The grammar misread this without an error: after `!`, `time`, `coproc` it expects no compound command.
            raise Unread("unparsed")
        text, working_dir = channels.shown(self.parsed.text(node)), self.expander.working_dir
        self.steps.append(command(tuple(words), text, working_dir, self.assigned(node), own.redirects, own.stdin))
        self.expander.working_dir = _working_dir_after(words, working_dir)

    def assigned(self, node: Node) -> tuple[tuple[str, Word], ...]:
        found: list[tuple[str, Word]] = []
        for child in [node] if node.type == "variable_assignment" else node.children:
            if child.type == "variable_assignment":
                name, value = child.children[0], child.child_by_field_name("value")
                for inner in substitutions(name, self.parsed.text(name)):
                    self.substitution(inner)
                found.append((self.parsed.text(name), self.expander.value(value) if value else plain("")))
        return tuple(found)

    def only_assignments(self, node: Node, channels: Channels) -> None:
        text, working_dir = channels.shown(self.parsed.text(node)), self.expander.working_dir
        self.steps.append(Step("", (), text, working_dir, self.assigned(node), channels.redirects))

    def redirected(self, node: Node, channels: Channels) -> None:
        body = node.child_by_field_name("body")
        before = len(self.steps)
        own = self.redirections.channels(node.children, channels)
        if body is None:
            self.steps.append(_only_redirects("", own, self.expander.working_dir))
        else:
            self.visit(body, own)
        # The grammar places the rest of the line that opens a here-document below the here-document node.
        for child in (child for heredoc in node.children if heredoc.type in REDIRECTS for child in heredoc.children):
            if child.type == "pipeline":
                self.pipeline(child, NONE, output_of(self.steps[before:]))
            elif child.type in _VISITORS:
                self.visit(child, NONE)


def _subshell(reader: ScriptReader, node: Node, channels: Channels) -> None:
    with reader.subshell():
        reader.compound(node, channels)


def _only_redirects(text: str, channels: Channels, working_dir: WorkingDir) -> Step:
    return Step("", (), channels.shown(text), working_dir, redirects=channels.redirects)


def _working_dir_after(words: list[Word], working_dir: WorkingDir) -> WorkingDir:
    """Return the working directory of the shell after a command."""
    while words and words[0].text in ("command", "builtin"):
        words = words[1:]
    if not words or words[0].text not in ("cd", "pushd", "popd"):
        return working_dir
    target = next((word for word in words[1:] if not word.text.startswith("-") or word.text == "-"), None)
    if target is None:
        return WorkingDir(working_dir.root, HOME if words[0].text == "cd" else UNKNOWN_TEXT)
    known = target.text != "-" and not target.has_glob and not target.is_alternative
    return WorkingDir(working_dir.root, resolved(target.text, working_dir.cwd) if known else UNKNOWN_TEXT)


_VISITORS: dict[str, Callable[[ScriptReader, Node, Channels], None]] = {
    "command": ScriptReader.simple,
    "declaration_command": ScriptReader.simple,
    "unset_command": ScriptReader.simple,
    "variable_assignment": ScriptReader.only_assignments,
    "variable_assignments": ScriptReader.only_assignments,
    "list": ScriptReader.statements,
    "pipeline": ScriptReader.pipeline,
    "redirected_statement": ScriptReader.redirected,
    "subshell": _subshell,
    "function_definition": ScriptReader.function,
    **dict.fromkeys(
        (
            "program",
            "compound_statement",
            "do_group",
            "negated_command",
            "if_statement",
            "elif_clause",
            "else_clause",
            "while_statement",
            "for_statement",
            "c_style_for_statement",
            "case_statement",
            "case_item",
        ),
        ScriptReader.compound,
    ),
}
