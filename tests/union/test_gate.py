"""The gate alone: what a patch declared beforehand, and how verdicts count. The tests of the verb show the rest."""

import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest

from donewhen.errors import MachineryBroke
from donewhen.union.check_delta import CheckDelta, CheckDeltas, DeltaKind
from donewhen.union.gate import Gated, PatchGate
from donewhen.union.parser_client import ParserClient
from donewhen.union.patch import Footprint, Patch
from donewhen.workspace.sandbox import level
from donewhen.workspace.state_dir import state_root
from repositories import commit, git, opened, repository, write

pytestmark = pytest.mark.anyio
SHOP = """\
import os

RATE = 1


class Shop:
    def total(self):
        return 1

    def count(self):
        return 2
"""
FILES = {"shop.py": SHOP, "other.py": "X = 1\n", "one.py": "class One:\n    def a(self): ...\n"}


@dataclass(frozen=True, slots=True)
class Says:
    """A judge that always gives the same result."""

    stands: tuple[DeltaKind, ...] = ("kept",)
    breaks: str = ""
    asked: list[str] = field(default_factory=list[str])
    """The trees that were judged."""

    async def __call__(
        self,
        tree: str,
        phase: Literal["gate", "union"],
        first: Sequence[str] = (),
        *,
        fresh: bool = False,
        proven: bool = True,
    ) -> CheckDeltas:
        del phase, first, fresh, proven
        self.asked.append(tree)
        if self.breaks:
            raise MachineryBroke(self.breaks)
        return CheckDeltas(tuple(CheckDelta(name=f"c{n}", kind=s, status="x") for n, s in enumerate(self.stands)))


@asynccontextmanager
async def gate(root: Path, judging: Says) -> AsyncGenerator[PatchGate]:
    async with opened(root, root.parent / "store") as store:
        reader = ParserClient(
            store.bare.launcher, await level.recorded_probe(store.bare.launcher, state_root(os.environ))
        )
        yield PatchGate(store=store, base=git(root, "rev-parse", "main^{tree}"), parser=reader, judging=judging)


async def gated(
    tmp_path: Path, files: Mapping[str, str], footprint: Footprint | None = None, judging: Says | None = None
) -> Gated:
    root = repository(tmp_path / "repo", FILES)
    tree = made(root, "work", files)
    async with gate(root, judging or Says()) as here:
        return await here.gate_one(Patch(id="work", tree=tree, footprint=footprint))


def made(root: Path, name: str, files: Mapping[str, str]) -> str:
    """The tree of a new branch with these files, on top of the checkout."""
    git(root, "checkout", "--quiet", "-b", name)
    write(root, files)
    commit(root)
    return git(root, "rev-parse", f"{name}^{{tree}}")


def changed(old: str, new: str) -> dict[str, str]:
    assert old in SHOP
    return {"shop.py": SHOP.replace(old, new)}


ONLY_TOTAL = Footprint(frozenset({"shop.py"}), (("shop.py", "Shop.total"),))
ONLY_ONE = Footprint(frozenset({"one.py"}), (("one.py", "One.a"),))


@pytest.mark.parametrize(
    ("files", "footprint"),
    [
        (changed("return 1", "return 3"), ONLY_TOTAL),
        (changed("return 1", "return 3"), Footprint(frozenset({"shop.py"}))),
        (changed("return 1", "return 3"), Footprint(frozenset({"shop.py"}), (("shop.py", "*"),))),
        (changed("return 1", "return 3"), Footprint(frozenset({"shop.py"}), (("shop.py", "Shop"),))),
        (changed("return 1", "return 3"), Footprint(frozenset({"shop.py"}), (("shop.py", "total"),))),
        ({"shop.py": SHOP + "\n\ndef new():\n    return 1\n"}, ONLY_TOTAL),
        (changed("import os", "import os\nimport re"), ONLY_TOTAL),
        ({"one.py": "class One:\n    def a(self): ...\n\n    def b(self): ...\n"}, ONLY_ONE),
        ({"new.py": "A = 1\n"}, Footprint(frozenset({"new.py"}))),
    ],
    ids=[
        "its symbol",
        "its file",
        "all of it",
        "its class",
        "its last name",
        "a new symbol",
        "an import",
        "a second member",
        "a new file",
    ],
)
async def test_changes_inside_the_footprint_are_accepted(
    tmp_path: Path, files: Mapping[str, str], footprint: Footprint
) -> None:
    assert (await gated(tmp_path, files, footprint)).status == "accepted"


@pytest.mark.parametrize(
    ("files", "where"),
    [
        (changed("return 2", "return 3"), ("shop.py", "Shop.count")),
        (changed("RATE = 1", "RATE = 2"), ("shop.py", "RATE")),
        (changed("\n    def count(self):\n        return 2\n", ""), ("shop.py", "Shop.count")),
        ({"other.py": "X = 2\n"}, ("other.py", "")),
        ({"new.py": "A = 1\n"}, ("new.py", "")),
        ({"shop.py": SHOP + "\nprint(RATE)\n"}, ("shop.py", "")),
    ],
    ids=["another method", "a constant", "a removed method", "another file", "a new file", "a statement"],
)
async def test_changes_outside_the_footprint_are_rejected_by_file_and_symbol(
    tmp_path: Path, files: Mapping[str, str], where: tuple[str, str]
) -> None:
    found = await gated(tmp_path, files, ONLY_TOTAL)
    assert found.status == "rejected"
    assert [(reason.code, reason.path, reason.symbol) for reason in found.reasons] == [("outside_footprint", *where)]


@pytest.mark.parametrize(
    ("stands", "status"),
    [
        (("kept",), "accepted"),
        (("gained", "open"), "accepted"),
        (("kept", "turned"), "rejected"),
        (("kept", "unknown"), "inconclusive"),
        (("unknown", "turned"), "rejected"),
        (("open",), "inconclusive"),
        ((), "inconclusive"),
    ],
)
async def test_only_positive_evidence_accepts(tmp_path: Path, stands: tuple[DeltaKind, ...], status: str) -> None:
    found = await gated(tmp_path, changed("return 1", "return 3"), judging=Says(stands))
    assert found.status == status


async def test_a_judge_that_fails_is_an_error_without_a_traceback(tmp_path: Path) -> None:
    found = await gated(tmp_path, changed("return 1", "return 3"), judging=Says(breaks="the disk is full"))
    assert (found.status, [str(reason) for reason in found.reasons]) == ("error", ["the disk is full"])


async def test_an_overlarge_text_is_neither_accepted_nor_loaded(tmp_path: Path) -> None:
    found = await gated(tmp_path, {"large.py": "x = 1\n" * 400_000})
    assert (found.status, [reason.code for reason in found.reasons]) == ("inconclusive", ["unreadable"])


async def test_a_file_too_large_for_the_secret_search_is_reported(tmp_path: Path) -> None:
    found = await gated(tmp_path, {"large.bin": "x" * ((16 << 20) + 1)})
    assert found.status == "accepted"
    assert "1 files are too large to be searched for secrets" in found.notes


async def test_a_file_without_a_grammar_is_reported(tmp_path: Path) -> None:
    found = await gated(tmp_path, {"a.txt": "a\n"})
    assert found.status == "accepted"
    assert found.notes == ("1 of 1 changed files have no grammar; only the checks cover them",)


async def test_the_touched_symbols_of_a_patch_are_reported(tmp_path: Path) -> None:
    found = await gated(tmp_path, changed("return 1", "return 3"))
    assert found.symbols == {("shop.py", "Shop.total")}


# -- on another starting tree --

WORN = SHOP + "\n\ndef twice():\n    return 1\n\n\ndef twice():\n    return 2\n"
GROUNDS: list[tuple[str, dict[str, str]]] = [
    ("outside_footprint", {"other.py": "X = 2\n"}),
    ("outside_footprint", {"one.py": SHOP}),
    ("does_not_parse", {"shop.py": SHOP + "def (:\n"}),
    ("duplicate_declaration", {"shop.py": WORN}),
    ("control_file", {"AGENTS.md": "do as I say\n"}),
    ("secret", {"key.txt": "AKIA" + "ABCDEFGHIJKLMNOP"}),
]
"""What a starting tree may have that no patch may bring."""


async def gated_on(root: Path, ground: str, tree: str, footprint: Footprint | None) -> tuple[Gated, Gated]:
    """The gate's result for a patch on another starting tree, and for the same tree as a patch of the base."""
    async with gate(root, Says()) as here:
        on = await here.gate_one(Patch(id="work", tree=tree, footprint=footprint, on=ground))
        return on, await here.gate_one(Patch(id="work", tree=tree, footprint=footprint))


@pytest.mark.parametrize(("code", "ground"), GROUNDS)
async def test_a_patch_is_judged_by_its_own_changes_and_not_by_earlier_ones(
    tmp_path: Path, code: str, ground: Mapping[str, str]
) -> None:
    root = repository(tmp_path / "repo", FILES)
    under = made(root, "ground", ground)
    text = ground.get("shop.py", SHOP).replace("return 1", "return 3", 1)
    footprint = ONLY_TOTAL if code == "outside_footprint" else None
    on, alone = await gated_on(root, under, made(root, "work", {"shop.py": text}), footprint)
    assert (on.status, on.files, on.symbols) == ("accepted", {"shop.py"}, {("shop.py", "Shop.total")})
    assert (alone.status, {reason.code for reason in alone.reasons}) == ("rejected", {code})


async def test_a_link_in_place_of_a_file_is_outside_a_footprint_of_symbols(tmp_path: Path) -> None:
    root = repository(tmp_path / "repo", FILES)
    git(root, "checkout", "--quiet", "-b", "work")
    (root / "one.py").unlink()
    (root / "one.py").symlink_to("other.py")
    commit(root)
    tree = git(root, "rev-parse", "work^{tree}")
    async with gate(root, Says()) as here:
        by_symbol = await here.gate_one(Patch(id="work", tree=tree, footprint=ONLY_ONE))
        by_file = await here.gate_one(Patch(id="work", tree=tree, footprint=Footprint(frozenset({"one.py"}))))
    assert ("outside_footprint", "one.py") in [(reason.code, reason.path) for reason in by_symbol.reasons]
    assert by_file.status == "accepted"


async def test_a_link_of_the_starting_tree_is_not_a_new_outward_link(tmp_path: Path) -> None:
    root = repository(tmp_path / "repo", FILES)
    (root / "out").symlink_to("/etc/passwd")
    under = made(root, "ground", {})
    (root / "in").symlink_to("shop.py")
    on, alone = await gated_on(root, under, made(root, "work", {}), None)
    assert (on.status, on.files) == ("accepted", {"in"})
    assert [reason.code for reason in alone.reasons] == ["link"]


async def test_a_patch_without_changes_to_its_starting_tree_is_empty(tmp_path: Path) -> None:
    root = repository(tmp_path / "repo", FILES)
    under = made(root, "ground", {"other.py": "X = 2\n"})
    on, alone = await gated_on(root, under, under, None)
    assert ([reason.code for reason in on.reasons], alone.status) == (["empty"], "accepted")


async def test_reverting_everything_of_the_starting_tree_is_a_change(tmp_path: Path) -> None:
    root = repository(tmp_path / "repo", FILES)
    under = made(root, "ground", {"other.py": "X = 2\n"})
    on, alone = await gated_on(root, under, git(root, "rev-parse", "main^{tree}"), None)
    assert (on.files, [reason.code for reason in alone.reasons]) == ({"other.py"}, ["empty"])


async def test_with_another_starting_tree_the_whole_tree_is_judged(tmp_path: Path) -> None:
    root = repository(tmp_path / "repo", FILES)
    under = made(root, "ground", {"other.py": "X = 2\n"})
    tree, says = made(root, "work", {"new.py": "A = 1\n"}), Says()
    async with gate(root, says) as here:
        await here.gate_one(Patch(id="work", tree=tree, on=under))
    assert says.asked == [tree]
