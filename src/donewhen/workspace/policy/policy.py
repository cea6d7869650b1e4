"""The policy: applies rules to a command and returns a ruling. Reads no files, runs nothing, raises for no command.

It gives early feedback to the author of the command. It is not a security boundary: text can always be disguised
better than any reader can follow, and the sandbox confines whatever the policy allows.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache

from donewhen.records import frozen
from donewhen.workspace.policy.grammar import Parse, as_typed, parse
from donewhen.workspace.policy.narrowing import Pattern, patterns
from donewhen.workspace.policy.paths import NOWHERE, tree_root
from donewhen.workspace.policy.plain import NotPlain, PlainParser, unreadable
from donewhen.workspace.policy.rules.built_in import BUILT_IN
from donewhen.workspace.policy.rules.rule import Rule
from donewhen.workspace.policy.ruling import Decision, Ruling, shown
from donewhen.workspace.policy.step import UNKNOWN_TEXT, Step, WorkingDir
from donewhen.workspace.policy.walk import every_step

_CONTINUED = re.compile(r"(?<!\\)((?:\\\\)*)\\\n")


@frozen
class Policy:
    working_dir: WorkingDir
    patterns: tuple[Pattern, ...]

    @classmethod
    def load(cls, deny: Sequence[str] = (), ask: Sequence[str] = (), root: str = NOWHERE) -> "Policy":
        """Return a policy for the tree at `root`. The operator's entries can only make it stricter."""
        path = tree_root(root)
        return cls(WorkingDir(path, path), (*patterns(deny, Decision.DENY), *patterns(ask, Decision.ASK)))

    def entries(self, decision: Decision) -> list[str]:
        """Return the operator's entries with this decision, as they were given."""
        return [pattern.source for pattern in self.patterns if pattern.decision is decision]

    def decide_plain(self, command: str) -> Ruling | None:
        """Return the ruling of `decide` if the parser is sure to be fast and not to crash; None for other commands."""
        if any(pattern.expression for pattern in self.patterns):
            return None  # a regular expression may take any time
        try:
            return self.decide(command, PlainParser())
        except NotPlain:
            return None

    def decide_unread(self, command: str) -> Ruling:
        """Return the ruling for text that could not be read."""
        return replace(self, patterns=()).decide(command, unreadable)

    def decide(self, command: str, parse: Parse = parse) -> Ruling:
        """Return the strictest ruling of any rule on any part of the command; of equally strict ones, the first.

        Some text takes the parser minutes or crashes the process: see `decide_plain` and `workspace.policy_process`.
        """
        best = Ruling(Decision.ALLOW, "none", "no rule matches", shown(command.strip()))
        for ruling in self._rulings(command, parse):
            if ruling.decision is Decision.DENY:
                return ruling
            if ruling.decision.strictness > best.decision.strictness:
                best = ruling
        return best

    def _rulings(self, command: str, parse: Parse) -> Iterator[Ruling]:
        for pattern in self.patterns:
            if pattern.in_text(command):
                yield Ruling(pattern.decision, pattern.key, pattern.reason, shown(command.strip()))
        for step in steps_of(command, self.working_dir, parse):
            for rule in rules_for(step.name):
                if rule.matches(step):
                    yield Ruling(rule.decision, rule.id, rule.reason, _shown(step))
            for pattern in self.patterns:
                yield Ruling(pattern.for_step(step), pattern.key, pattern.reason, _shown(step))


def _shown(step: Step) -> str:
    return shown(as_typed(step.text.replace(UNKNOWN_TEXT, "…").strip()))


def steps_of(command: str, working_dir: WorkingDir, parse: Parse = parse) -> Iterator[Step]:
    yield from every_step(command, working_dir, parse)
    # For a word continued on the next line by a backslash, the grammar sees two words; the shell sees one.
    if "\\\n" in command:
        yield from every_step(_CONTINUED.sub(r"\1", command), working_dir, parse)


@cache
def _by_name() -> dict[str, tuple[Rule, ...]]:
    names = {name for rule in BUILT_IN for name in rule.names}
    return {name: tuple(rule for rule in BUILT_IN if not rule.names or name in rule.names) for name in names}


@cache
def _for_any() -> tuple[Rule, ...]:
    return tuple(rule for rule in BUILT_IN if not rule.names)


def rules_for(name: str) -> tuple[Rule, ...]:
    return _by_name().get(name) or _for_any()
