"""The gate for a single patch. It accepts a patch only with positive evidence. Cheap tests come first.

    applies, not empty · parses · stays in its footprint · no duplicate declaration · patch rules · breaks no check

A test that could not be made never counts in favour of a patch. Whether the patches together reach the goal is judged
on the union only. Texts are compared with the tree on which the patch was made, so a patch is not blamed for earlier
work of others. Checks judge the whole tree.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from donewhen.errors import DonewhenError
from donewhen.records import frozen
from donewhen.syntax.grammar import MOST_BYTES, language_of
from donewhen.union import patch_rules
from donewhen.union.check_delta import CheckDeltas, Judging
from donewhen.union.parser_client import ParserClient, ParserRequest
from donewhen.union.patch import Footprint, Patch
from donewhen.union.reasons import Reason, Status
from donewhen.workspace.git.objects import FILE, LINK, PROGRAM, Change, TreeEntry
from donewhen.workspace.git.store import Store

LARGEST_SCANNED = 16 << 20
"""Size limit of a file that is searched for secrets."""


@frozen(kw_only=True)
class Gated:
    """The gate's result for one patch."""

    patch: Patch
    status: Status
    reasons: tuple[Reason, ...] = ()
    notes: tuple[str, ...] = ()
    """What was not examined, and why; one line each."""
    files: frozenset[str] = frozenset()
    symbols: frozenset[tuple[str, str]] = frozenset()
    """The (file, symbol) pairs that it changes, in files that have a grammar."""
    check_deltas: CheckDeltas | None = None


@frozen(kw_only=True)
class PatchGate:
    store: Store
    base: str
    """The base commit's tree id."""
    parser: ParserClient
    judging: Judging
    allowed: Callable[[str], bool] = field(default=lambda _: False)
    """Returns whether the contract declares a path editable."""

    async def gate_one(self, patch: Patch) -> Gated:
        (facts,) = await self.collect_facts([patch])
        return await self.judge(facts)

    async def collect_facts(self, patches: Sequence[Patch]) -> list["PatchFacts"]:
        """Find parse errors, changed symbols and duplicate declarations of all patches, with one parser client call."""
        collected = [
            PatchFacts(patch, await self.store.diff(patch.on or self.base, patch.tree) if patch.tree else ())
            for patch in patches
        ]
        requests = [await self._parser_requests(facts) for facts in collected]
        answers = iter(await self.parser.ask([one for some in requests for one in some]))
        for facts, own_requests in zip(collected, requests, strict=True):
            for request in own_requests:
                facts.read(request.path, next(answers))
        return collected

    async def judge(self, facts: "PatchFacts") -> Gated:
        if facts.patch.apply_problem:
            return facts.refuse([Reason("does_not_apply", facts.patch.apply_problem)])
        if not facts.changes:
            return facts.refuse([Reason("empty", "changes nothing")])
        for reasons in ([*facts.broken, *_stray_changes(facts), *facts.duplicates], await self._rule_violations(facts)):
            if reasons:
                return facts.refuse(reasons)
        return await self._judge_checks(facts)

    async def _parser_requests(self, facts: "PatchFacts") -> list[ParserRequest]:
        sizes = await self._sizes(facts.changes)
        parsed = [c for c in facts.changes if language_of(c.path) and not patch_rules.is_link(c)]
        small = [c for c in parsed if max(sizes[c.old], sizes[c.new]) <= MOST_BYTES]
        for change in parsed:
            if change not in small:
                facts.broken.append(Reason("unreadable", f"is larger than {MOST_BYTES >> 20} MiB", change.path))
        others = len(facts.changes) - len(parsed)
        if others:
            facts.notes.append(
                f"{others} of {len(facts.changes)} changed files have no grammar; only the checks cover them"
            )
        texts = await self._texts(small)
        return [ParserRequest("change", c.path, {"before": texts[c.old], "after": texts[c.new]}) for c in small]

    async def _rule_violations(self, facts: "PatchFacts") -> list[Reason]:
        found = list(patch_rules.violations(facts.changes, self.allowed))
        if any(patch_rules.is_link(change) for change in facts.changes):
            before, after = facts.patch.on or self.base, facts.patch.tree
            found += patch_rules.bad_links(await self._links(before), await self._links(after))
        sizes = await self._sizes(facts.changes)
        files = [change for change in facts.changes if _is_text(change.new)]
        scanned = [c for c in files if max(sizes[c.old], sizes[c.new]) <= LARGEST_SCANNED]
        if len(scanned) < len(files):
            facts.notes.append(f"{len(files) - len(scanned)} files are too large to be searched for secrets")
        texts = await self._texts(scanned)
        for change in scanned:
            found += patch_rules.secrets(change.path, texts[change.old], texts[change.new])
        return found

    async def _judge_checks(self, facts: "PatchFacts") -> Gated:
        try:
            check_deltas = await self.judging(facts.patch.tree, "gate")
        except DonewhenError as error:
            return facts.result("error", [Reason("machinery", str(error))])
        if check_deltas.restored:
            return facts.result("rejected", [Reason("protected", text) for text in check_deltas.restored], check_deltas)
        broken = [delta for delta in check_deltas.deltas if delta.kind == "turned"]
        if broken:
            reasons = [
                Reason("check_turned", delta.detail or f"{delta.name} is {delta.status}", check=delta.name)
                for delta in broken
            ]
            return facts.result("rejected", reasons, check_deltas)
        if check_deltas.unknown:
            reasons = [
                Reason("check_unknown", f"{delta.name}: {delta.detail}", check=delta.name)
                for delta in check_deltas.unknown
            ]
            return facts.result("inconclusive", reasons, check_deltas)
        if not check_deltas.has_evidence:
            text = "no check was green on the base, and nothing could be built: nothing proves that it is harmless"
            return facts.result("inconclusive", [Reason("no_evidence", text)], check_deltas)
        return facts.result("accepted", [], check_deltas)

    async def _sizes(self, changes: Sequence[Change]) -> dict[TreeEntry | None, int]:
        """Return the size of each side of the changes; 0 for anything except a file."""
        sides = list(dict.fromkeys(side for change in changes for side in (change.old, change.new)))
        request = [side for side in sides if side is not None and side.mode in (FILE, PROGRAM)]
        found = dict(zip(request, await self.store.bare.sizes([side.id for side in request]), strict=True))
        return {side: found.get(side, 0) if side is not None else 0 for side in sides}

    async def _texts(self, changes: Sequence[Change]) -> dict[TreeEntry | None, bytes | None]:
        entries = list(dict.fromkeys(side for c in changes for side in (c.old, c.new) if _is_text(side)))
        found = await self.store.bare.contents([entry.id for entry in entries if entry is not None])
        texts: dict[TreeEntry | None, bytes | None] = dict(zip(entries, found, strict=True))
        for change in changes:
            texts.setdefault(change.old, None)
            texts.setdefault(change.new, None)
        return texts

    async def _links(self, tree: str) -> dict[bytes, bytes]:
        """Return all links of a tree. Needed only if a patch changes a link."""
        from donewhen.workspace.git.objects import parse_ls_tree

        answer = await self.store.bare.run("ls-tree", "-r", "-z", "--full-tree", tree)
        links = {path: entry.id for path, entry in parse_ls_tree(answer) if entry.mode == LINK}
        targets = await self.store.bare.contents(list(links.values()))
        return dict(zip(links, targets, strict=True))


@dataclass(slots=True)
class PatchFacts:
    """What is known about a patch so far."""

    patch: Patch
    changes: Sequence[Change]
    notes: list[str] = field(default_factory=list[str])
    broken: list[Reason] = field(default_factory=list[Reason])
    duplicates: list[Reason] = field(default_factory=list[Reason])
    touched: dict[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    """By file: the changed symbols, in the form that `syntax.changes` returns."""

    def read(self, path: str, answer: Mapping[str, Any]) -> None:
        if "unreadable" in answer:
            self.broken.append(Reason("unreadable", str(answer["unreadable"]), path))
            return
        parse = answer["parse"]
        if parse["state"] == "broke":
            fault = parse["fault"]
            self.broken.append(Reason("does_not_parse", f"line {fault['line']}: {fault['message']}", path))
        elif parse["state"] != "parses":
            self.notes.append(f"{path} did not parse before either")
        self.touched[path] = answer["symbols"]
        for one in answer["duplicates"]:
            text = f"is declared {len(one['lines'])} times (lines {', '.join(map(str, one['lines']))})"
            self.duplicates.append(Reason("duplicate_declaration", text, path, one["name"]))

    def refuse(self, reasons: Sequence[Reason]) -> Gated:
        is_unreadable = bool(reasons) and all(reason.code == "unreadable" for reason in reasons)
        return self.result("inconclusive" if is_unreadable else "rejected", reasons)

    def result(self, status: Status, reasons: Sequence[Reason], check_deltas: CheckDeltas | None = None) -> Gated:
        return Gated(
            patch=self.patch,
            status=status,
            reasons=tuple(reasons),
            notes=tuple(self.notes),
            files=frozenset(change.path for change in self.changes),
            symbols=frozenset(
                (path, name)
                for path, symbols in self.touched.items()
                for kind in ("added", "removed", "modified")
                for name in symbols[kind]
            ),
            check_deltas=check_deltas,
        )


def _stray_changes(facts: PatchFacts) -> list[Reason]:
    """Return changes outside the declared footprint. A new symbol only needs its file to be declared."""
    footprint = facts.patch.footprint
    if footprint is None:
        return []
    found = [
        Reason("outside_footprint", "is not among the declared files", change.path)
        for change in facts.changes
        if change.path not in footprint.files
    ]
    found += [
        Reason("outside_footprint", "is or was a link, which cannot contain a symbol", change.path)
        for change in facts.changes
        if patch_rules.is_link(change) and footprint.symbols_of(change.path)
    ]
    for path, symbols in facts.touched.items():
        if path in footprint.files:
            found += _stray_symbols(footprint, path, symbols)
    return found


def _stray_symbols(footprint: Footprint, path: str, symbols: Mapping[str, Any]) -> list[Reason]:
    declared = footprint.symbols_of(path)
    if not declared:
        return []
    changed = [*symbols["removed"], *symbols["modified"]]
    strays = [name for name in changed if not any(_covers(one, name) for one in declared)]
    found = [Reason("outside_footprint", "was changed and is not declared", path, name) for name in strays]
    if symbols["outside"]["statements"]:
        found.append(Reason("outside_footprint", "statements outside the declared symbols were changed", path))
    return found


def _covers(declared: str, name: str) -> bool:
    """A declared class covers its members. A declared bare member name matches the last part of a qualified name."""
    return name == declared or name.startswith(f"{declared}.") or name.endswith(f".{declared}")


def _is_text(side: TreeEntry | None) -> bool:
    return side is not None and side.mode in (FILE, PROGRAM)
