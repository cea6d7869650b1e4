"""How much work a regular expression can be made to do: a check on the automaton behind a pattern.

A backtracking matcher tries every path through the automaton before it gives up, or before it takes a path that it
prefers less. The number of paths for a text of n characters is bounded by a power of n, or it is exponential. `growth`
computes which (Weber and Seidl's criteria for ambiguity). Character classes, word boundaries, line starts, possessive
repeats and look-arounds of one character are modelled exactly. A longer look-ahead counts as one more path that always
fails; a longer look-behind is ignored. Counted repeats up to COUNTED are constant factors and do not count.

A search tries at every character, so that a repeat which has to be left without a match costs one power more. A search
for one match ends with the first. A search for every match goes on behind each, and pays again for what it read behind
the end of that match.
"""

import importlib
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from typing import Any, cast

sre: Any = importlib.import_module("re._constants")
parser: Any = importlib.import_module("re._parser")

EXPONENTIAL = 1000
"""The growth of a pattern without a polynomial bound."""

COUNTED = 256
"""A repeat with a larger upper limit counts as one without a limit."""

MOST_ROUTES = 20_000
SAMPLES = [*map(chr, range(256)), "\u0131", "\u0663", "\u2028", "\u3000", "\u6f22", "\U0001f600"]
END, START = -1, -2

Chars = frozenset[int]
Guard = Chars | None


class TooComplicated(Exception):
    """The automaton is too large to be examined."""


def growth(pattern: str | bytes, flags: int = 0, how: str = "search") -> int:
    """Return the exponent k of the n**k steps that it may take, or EXPONENTIAL.

    `how`: fullmatch, match, search (one match) or finditer (every match).
    """
    return _Analysis(_Automaton(pattern, flags, how)).growth()


def wrong_before_3_11_5(pattern: str | bytes, flags: int = 0) -> bool:
    """Whether older versions of Python match a pattern wrong: one with a possessive repeat of more than a character.

    They lose matches when they have to go back inside the repeat. `(?>(?:...)*)` means the same and works everywhere.
    """
    single = (sre.LITERAL, sre.NOT_LITERAL, sre.IN, sre.ANY)
    repeats = [value for kind, value in _items(parser.parse(pattern, flags)) if kind is sre.POSSESSIVE_REPEAT]
    return any(len(body) != 1 or body[0][0] not in single for _, _, body in repeats)


def _items(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Every item of a parsed pattern, at any depth."""
    if isinstance(tree, parser.SubPattern):
        for kind, value in cast("Iterable[tuple[Any, Any]]", tree):
            yield kind, value
            yield from _items(value)
    elif isinstance(tree, tuple | list):
        for one in cast("Iterable[Any]", tree):
            yield from _items(one)


@dataclass
class _Node:
    """A state of the automaton. It reads one of `chars`, or nothing when that is None."""

    chars: Guard = None
    before: Guard = None
    """The classes of which the last character read must be one; START for the start of the text."""
    ahead: Guard = None
    """The classes of which the next character must be one; END for the end of the text."""
    is_doubtful: bool = False
    """Behind a condition that is not modelled, so that the matcher may not come here."""
    is_last: bool = False
    """Behind what the matcher does not shorten again, so that it may come here only at a later character."""
    to: list[int] = field(default_factory=list[int])


class _Automaton:
    def __init__(self, pattern: str | bytes, flags: int, how: str) -> None:
        self.tree = parser.parse(pattern, flags)
        self.flags: int = self.tree.state.flags
        self.sets: list[Callable[[str], bool]] = []
        self.nodes: list[_Node] = []
        self.groups: dict[int, Any] = {}
        self.classes = self._classes(is_text=isinstance(pattern, str))
        self.start, self.accept = self._node(), self._node()
        self.how = how
        self.prefix = -1
        """The node that reads what a search passes over."""
        first = self.start
        if how not in ("match", "fullmatch"):
            # After a match a search for every match goes on, so nothing comes before its passing over a character.
            first = self._loop(self.start, self._pass_over, is_lazy=how == "search")
        self.nodes[self._sequence(first, self.tree, self.flags)].to.append(self.accept)

    def _classes(self, *, is_text: bool) -> list[str]:
        """One character for each class of characters that this pattern treats alike."""
        sets: list[Callable[[str], bool]] = [str.isspace, lambda char: char == "\n", _word(self.flags)]
        samples = set(SAMPLES if is_text else SAMPLES[:256])
        for kind, value, flags in _character_sets(self.tree, self.flags):
            sets.append(_membership(kind, _hashable(value), flags))
            samples.update(char for char in _edges(kind, value) if is_text or ord(char) < 256)
        by_answers: dict[tuple[bool, ...], str] = {}
        for char in sorted(samples):
            by_answers.setdefault(tuple(holds(char) for holds in sets), char)
        return list(by_answers.values())

    def _matching(self, holds: Callable[[str], bool]) -> Chars:
        return frozenset(at for at, char in enumerate(self.classes) if holds(char))

    def _node(self, **given: Any) -> int:
        self.nodes.append(_Node(**given))
        return len(self.nodes) - 1

    def _after(self, at: int, **given: Any) -> int:
        new = self._node(**given)
        self.nodes[at].to.append(new)
        return new

    def _read(self, at: int, chars: Chars) -> int:
        return self._after(at, chars=chars)

    def _pass_over(self, at: int) -> int:
        self.prefix = self._read(at, frozenset(range(len(self.classes))))
        return self.prefix

    def _loop(
        self,
        at: int,
        body: Callable[[int], int],
        ahead: Iterable[int] = (),
        *,
        is_lazy: bool = False,
        is_last: bool = False,
    ) -> int:
        """A repeat without a limit. `ahead`: what a possessive one cannot be followed by."""
        head = self._after(at)
        end = body(head)
        self.nodes[end].to.append(head)
        taken = frozenset(ahead)
        every = frozenset({*range(len(self.classes)), END})
        left = self._after(head, ahead=every - taken if taken else None, is_last=is_last)
        if is_lazy:
            self.nodes[head].to.reverse()
        return left

    def _sequence(self, at: int, tree: Any, flags: int) -> int:
        for kind, value in tree:
            at = self._item(at, kind, value, flags)
        return at

    def _item(self, at: int, kind: Any, value: Any, flags: int) -> int:
        if kind in (sre.LITERAL, sre.NOT_LITERAL, sre.IN, sre.ANY):
            return self._read(at, self._matching(_membership(kind, _hashable(value), flags)))
        if kind is sre.SUBPATTERN:
            group, added, removed, inner = value
            self.groups[group] = (inner, (flags | added) & ~removed)
            return self._sequence(at, inner, (flags | added) & ~removed)
        if kind is sre.ATOMIC_GROUP:
            if [one for one, _ in value] == [sre.MAX_REPEAT]:
                return self._repeat(at, sre.POSSESSIVE_REPEAT, value[0][1], flags)
            return self._after(self._sequence(at, value, flags), is_last=True)
        if kind is sre.BRANCH:
            end = self._node()
            for one in value[1]:
                self.nodes[self._sequence(self._after(at), one, flags)].to.append(end)
            return end
        if kind in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            return self._repeat(at, kind, value, flags)
        if kind is sre.GROUPREF:
            inner, inside = self.groups[value]
            return self._after(self._sequence(at, inner, inside), is_doubtful=True)
        if kind is sre.GROUPREF_EXISTS:
            end = self._node()
            for one in cast("list[Any]", [value[1], value[2] or ()]):
                self.nodes[self._sequence(self._after(at), one, flags)].to.append(end)
            return end
        if kind is sre.AT:
            return self._position(at, value, flags)
        assert kind in (sre.ASSERT, sre.ASSERT_NOT), kind
        return self._looking(at, kind, value, flags)

    def _repeat(self, at: int, kind: Any, value: Any, flags: int) -> int:
        least, most, body = value
        is_open = most is sre.MAXREPEAT or most > COUNTED
        for _ in range(min(least, 1 if is_open else 2)):
            at = self._sequence(at, body, flags)
        if is_open:
            keeps = kind is sre.POSSESSIVE_REPEAT and not _has_assertion(body)
            taken = self._first(body, flags) if keeps else ()
            is_lazy = kind is sre.MIN_REPEAT
            is_last = kind is sre.POSSESSIVE_REPEAT and not keeps
            return self._loop(
                at, lambda head: self._sequence(head, body, flags), taken, is_lazy=is_lazy, is_last=is_last
            )
        end = self._node()
        for _ in range(min(most - least, 2)):
            once = self._after(at)
            self.nodes[at].to.insert(0 if kind is sre.MIN_REPEAT else 1, end)
            at = self._sequence(once, body, flags)
        self.nodes[at].to.append(end)
        return end

    def _first(self, body: Any, flags: int) -> Chars:
        """The characters that `body` may start with."""
        start = self._node()
        end = self._after(self._sequence(start, body, flags))
        seen, todo, found = {end}, [start], set[int]()
        while todo:
            at = todo.pop()
            if at in seen:
                continue
            seen.add(at)
            chars = self.nodes[at].chars
            if chars is None:
                todo += self.nodes[at].to
            else:
                found |= chars
        return frozenset(found)

    def _position(self, at: int, value: Any, flags: int) -> int:
        newline, word = self._matching(lambda char: char == "\n"), self._matching(_word(flags))
        every = frozenset(range(len(self.classes)))
        if value is sre.AT_BEGINNING_STRING or (value is sre.AT_BEGINNING and not flags & re.MULTILINE):
            return self._after(at, before=frozenset({START}))
        if value is sre.AT_BEGINNING:
            return self._after(at, before=newline | {START})
        if value is sre.AT_END_STRING or (value is sre.AT_END and not flags & re.MULTILINE):
            # `$` also holds before a line feed at the end of the text, where a match can be one character longer.
            return self._after(at, ahead=frozenset({END}))
        if value is sre.AT_END:
            return self._after(at, ahead=newline | {END})
        assert value in (sre.AT_BOUNDARY, sre.AT_NON_BOUNDARY), value
        end = self._node()
        outside = (every - word) | {START, END}
        pairs = [(word, outside), (outside, word)] if value is sre.AT_BOUNDARY else [(word, word), (outside, outside)]
        for before, ahead in pairs:
            self.nodes[self._after(at, before=before, ahead=ahead)].to.append(end)
        return end

    def _looking(self, at: int, kind: Any, value: Any, flags: int) -> int:
        direction, inner = value
        single = next(iter(inner)) if len(inner) == 1 else (None, None)
        if single[0] in (sre.LITERAL, sre.NOT_LITERAL, sre.IN, sre.ANY):
            chars = self._matching(_membership(single[0], _hashable(single[1]), flags))
            if kind is sre.ASSERT_NOT:
                chars = frozenset({*range(len(self.classes)), START, END}) - chars
            return self._after(at, ahead=chars) if direction > 0 else self._after(at, before=chars)
        if direction > 0:
            self._sequence(self._after(at), inner, flags)  # a path of its own that never accepts
        return self._after(at, is_doubtful=True)


class _Analysis:
    """The states that read a character, each with what was read last where a guard asks for that."""

    def __init__(self, automaton: _Automaton) -> None:
        self.automaton, self.nodes = automaton, automaton.nodes
        kinds = [node.before for node in self.nodes if node.before is not None]
        classes = range(len(automaton.classes))
        self.last = {at: tuple(at in kind for kind in kinds) for at in (*classes, START)}
        self.example = {kind: at for at, kind in self.last.items()}
        self.ids: dict[tuple[int, tuple[bool, ...]], int] = {}
        self.steps: list[dict[int, dict[int, int]]] = []
        """By state, by class of the next character: the next states, and over how many routes."""
        self.certain: list[dict[int, set[int]]] = []
        """The same without the routes that the matcher may not take."""
        self.ends: list[Chars] = []
        """By state, what may come next if the match ends here."""
        self.prefixes: set[int] = set()
        """The states of a search that passes over characters."""
        self._explore()
        self.component = self._components()
        self.accepting = self._accepting()
        """The states from which there is a match, whatever comes next."""

    def growth(self) -> int:
        members: dict[int, list[int]] = defaultdict(list)
        for state, component in enumerate(self.component):
            members[component].append(state)
        loops = {c: states for c, states in members.items() if any(self._inside(s, c) for s in states)}
        if any(self._is_exponential(c, states) for c, states in loops.items()):
            return EXPONENTIAL
        reach = {c: self._reachable(states) for c, states in loops.items()}
        depth: dict[int, int] = {}

        def chain(component: int) -> int:
            if component not in depth:
                later = [c for c in loops if c != component and members[c][0] in reach[component]]
                depth[component] = max((chain(c) + self._overlap(component, c, loops, reach) for c in later), default=0)
            return depth[component]

        return 1 + max(map(chain, loops), default=0)

    def _explore(self) -> None:
        todo = [self._state(self.automaton.start, self.last[START])]
        done = 0
        keys = [(self.automaton.start, self.last[START])]
        while done < len(todo):
            node, last = keys[done]
            found: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
            routes, ends = self._routes(node, last)
            self.ends.append(ends)
            self.prefixes.update([done] if node == self.automaton.prefix else [])
            for target, allowed, is_certain in routes:
                for char in (self.nodes[target].chars or frozenset()) & allowed:
                    key = (target, self.last[char])
                    if key not in self.ids:
                        todo.append(self._state(*key))
                        keys.append(key)
                    found[char][self.ids[key]] += 1
                    if is_certain:
                        self.certain[done].setdefault(char, set()).add(self.ids[key])
            self.steps[done] = {char: dict(to) for char, to in found.items()}
            done += 1
            if done > 3000:
                raise TooComplicated(f"more than {done} states")

    def _state(self, node: int, last: tuple[bool, ...]) -> int:
        self.ids[node, last] = len(self.steps)
        self.steps.append({})
        self.certain.append({})
        return self.ids[node, last]

    def _routes(self, start: int, last: tuple[bool, ...]) -> tuple[list[tuple[int, Chars, bool]], Chars]:
        """The reading nodes after this one that are tried before the match is over, once for each route.

        And what may come next if it is over.
        """
        every = frozenset({*range(len(self.automaton.classes)), END})
        found: list[tuple[int, Chars, bool]] = []
        ends: Chars = frozenset()
        todo = [(to, every, frozenset[int]()) for to in reversed(self.nodes[start].to)]
        for _ in range(MOST_ROUTES):
            if not todo or ends == every:
                return found, ends
            at, allowed, passed = todo.pop()
            node = self.nodes[at]
            if at in passed or (node.before is not None and self.example[last] not in node.before):
                continue
            allowed = allowed if node.ahead is None else allowed & node.ahead
            is_doubtful = any(self.nodes[one].is_doubtful for one in passed)
            if node.chars is not None:
                found.append((at, allowed, not is_doubtful and not any(self.nodes[one].is_last for one in passed)))
            elif at == self.automaton.accept:
                if not is_doubtful:
                    ends |= allowed & {END} if self.automaton.how == "fullmatch" else allowed
            elif allowed:
                todo += [(to, allowed, passed | {at}) for to in reversed(node.to)]
        raise TooComplicated(f"more than {MOST_ROUTES} routes")

    def _accepting(self) -> set[int]:
        found = set(range(len(self.steps)))
        every = frozenset({*range(len(self.automaton.classes)), END})
        while True:
            goes_on = {
                state: {char for char, targets in self.certain[state].items() if not found.isdisjoint(targets)}
                for state in found
            }
            failing = {state for state in found if every - self.ends[state] - goes_on[state]}
            if not failing:
                return found - self.prefixes
            found -= failing

    def _inside(self, state: int, component: int) -> bool:
        return any(self.component[to] == component for targets in self.steps[state].values() for to in targets)

    def _components(self) -> list[int]:
        graph = [sorted({to for targets in step.values() for to in targets}) for step in self.steps]
        return _strongly_connected(graph)

    def _reachable(self, states: list[int]) -> set[int]:
        seen, todo = set(states), list(states)
        while todo:
            for targets in self.steps[todo.pop()].values():
                todo += [to for to in targets if to not in seen]
                seen.update(targets)
        return seen

    def _is_exponential(self, component: int, states: list[int]) -> bool:
        """True if two different routes lead from a state back to itself over the same text.

        Where both routes could end the match, the one that is tried first does.
        """
        ids: dict[tuple[int, int], int] = {}
        order: list[tuple[int, int]] = []
        graph: list[list[int]] = []
        doubled: list[tuple[int, int]] = []

        def number(pair: tuple[int, int]) -> int:
            if pair not in ids:
                ids[pair] = len(order)
                order.append(pair)
                graph.append([])
            return ids[pair]

        for state in states:
            if state not in self.accepting:
                number((state, state))
        at = 0
        while at < len(order):
            one, other = order[at]
            for char, targets in self.steps[one].items():
                inside = [to for to in targets if self.component[to] == component]
                also = [to for to in self.steps[other].get(char, ()) if self.component[to] == component]
                pairs = [pair for pair in product(inside, also) if not self.accepting.issuperset(pair)]
                graph[at] += [number(pair) for pair in pairs]
                if one == other:
                    doubled += [(at, number((to, to))) for to, _ in pairs if (to, to) in pairs and targets[to] > 1]
            at += 1
            if at > 200_000:
                raise TooComplicated("too many pairs of states")
        component_of = _strongly_connected(graph)
        groups: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for pair, group in zip(order, component_of, strict=True):
            groups[group].append(pair)
        return any(component_of[start] == component_of[end] for start, end in doubled) or any(
            any(one == other for one, other in pairs) and any(one != other for one, other in pairs)
            for pairs in groups.values()
        )

    def _overlap(self, first: int, second: int, loops: dict[int, list[int]], reach: dict[int, set[int]]) -> int:
        """1 if some text runs through both loops and also from the one to the other, else 0."""
        return int(any(self._meets(p, q, first, second, reach[first]) for p in loops[first] for q in loops[second]))

    def _meets(self, p: int, q: int, first: int, second: int, between: set[int]) -> bool:
        passes_over = p in self.prefixes
        only_once = passes_over and self.automaton.how == "search"
        seen, todo = {(p, p, q)}, [(p, p, q)]
        while todo:
            one, middle, other = todo.pop()
            # The first of the routes that come to the end of a match ends it. finditer goes on behind that match.
            is_over = only_once or (one in self.accepting and not passes_over)
            if other in self.accepting or (middle in self.accepting and is_over):
                continue
            for char in self.steps[one].keys() & self.steps[middle].keys() & self.steps[other].keys():
                ones = [to for to in self.steps[one][char] if self.component[to] == first]
                others = [to for to in self.steps[other][char] if self.component[to] == second]
                for triple in product(ones, self.steps[middle][char], others):
                    if triple == (p, q, q):
                        return True
                    if triple not in seen and triple[1] in between:
                        seen.add(triple)
                        todo.append(triple)
        return False


def _strongly_connected(graph: list[list[int]]) -> list[int]:
    """The component of each node (Tarjan, without recursion)."""
    index, low, component = [-1] * len(graph), [0] * len(graph), [-1] * len(graph)
    stack: list[int] = []
    count = components = 0
    for root in range(len(graph)):
        if index[root] >= 0:
            continue
        index[root] = low[root] = count
        count += 1
        stack.append(root)
        work = [(root, iter(graph[root]))]
        while work:
            node, following = work[-1]
            for to in following:
                if index[to] < 0:
                    index[to] = low[to] = count
                    count += 1
                    stack.append(to)
                    work.append((to, iter(graph[to])))
                    break
                if component[to] < 0:
                    low[node] = min(low[node], index[to])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    while component[node] < 0:
                        component[stack.pop()] = components
                    components += 1
    return component


def _character_sets(tree: Any, flags: int) -> Iterator[tuple[Any, Any, int]]:
    for kind, value in tree:
        if kind in (sre.LITERAL, sre.NOT_LITERAL, sre.IN, sre.ANY):
            yield kind, value, flags
        elif kind is sre.SUBPATTERN:
            yield from _character_sets(value[3], (flags | value[1]) & ~value[2])
        elif kind is sre.BRANCH:
            for one in value[1]:
                yield from _character_sets(one, flags)
        elif kind in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            yield from _character_sets(value[2], flags)
        elif kind in (sre.ASSERT, sre.ASSERT_NOT):
            yield from _character_sets(value[1], flags)
        elif kind is sre.ATOMIC_GROUP:
            yield from _character_sets(value, flags)
        elif kind is sre.GROUPREF_EXISTS:
            for one in cast("list[Any]", [value[1], value[2] or ()]):
                yield from _character_sets(one, flags)


def _has_assertion(tree: Any) -> bool:
    """True if there is a condition in `tree`, so that its first character alone does not decide whether it matches."""
    return "ASSERT" in repr(tree) or "GROUPREF" in repr(tree)


def _hashable(value: Any) -> Any:
    return tuple(cast("list[Any]", value)) if isinstance(value, list) else value


def _edges(kind: Any, value: Any) -> Iterator[str]:
    for part, what in value if kind is sre.IN else ((kind, value),):
        if part in (sre.LITERAL, sre.NOT_LITERAL):
            yield chr(what)
        elif part is sre.RANGE:
            yield from (chr(what[0]), chr(what[1]))


@cache
def _membership(kind: Any, value: Any, flags: int) -> Callable[[str], bool]:
    if kind is sre.ANY:
        return lambda char: bool(flags & re.DOTALL) or char != "\n"
    items = value if kind is sre.IN else ((kind, value),)
    negated = items[0][0] is sre.NEGATE or kind is sre.NOT_LITERAL

    @cache
    def holds(char: str) -> bool:
        cases = {char, char.lower(), char.upper()} if flags & re.IGNORECASE else {char}
        return negated != any(_covers(part, what, case, flags) for part, what in items for case in cases)

    return holds


def _covers(part: Any, what: Any, char: str, flags: int) -> bool:
    if part in (sre.LITERAL, sre.NOT_LITERAL):
        return char == chr(what)
    if part is sre.RANGE:
        return len(char) == 1 and what[0] <= ord(char) <= what[1]
    if part is sre.CATEGORY:
        letter = {"digit": r"\d", "space": r"\s", "word": r"\w"}[str(what).lower().rsplit("_", 1)[1]]
        is_in = re.fullmatch(letter, char, flags & re.ASCII) is not None
        return is_in != ("_not_" in str(what).lower())
    return False


@cache
def _word(flags: int) -> Callable[[str], bool]:
    return lambda char: re.fullmatch(r"\w", char, flags & re.ASCII) is not None
