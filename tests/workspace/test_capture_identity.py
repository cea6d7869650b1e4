"""Random edits: the capture is what git would record, and writing it back restores the files.

The edits are made inside real overlays, mounted by the launcher for one command as for an engine, and on full
copies. Plain git in a clone is the reference for what belongs to a candidate.
"""

import json
import shutil
import sys
import tempfile
from pathlib import Path

import anyio
from hypothesis import HealthCheck, Phase, event, given, settings
from hypothesis import strategies as st

import edits
from donewhen.workspace.git.repo import open_repo
from donewhen.workspace.git.store import Store
from donewhen.workspace.process.command import Command, Confinement
from donewhen.workspace.process.launch import Launcher
from donewhen.workspace.sandbox.view import Overlay
from donewhen.workspace.trees.capture import (
    CandidateRefused,
    capture_copy,
    capture_layer,
    stamp,
    write_files,
    write_layer,
)
from edits import Edit, Holding
from repositories import git, repository
from tiers import EVERYTHING

NAMES = ["a", "A", "b", "x.o", "build", "two\nlines", "caf\xe9", "sp ace", "cr\r", "d"]
CONTENTS = ["", "one\n", "two\n", "crlf\r\n", "\x00\xff"]
RULES = ["*.o\n", "build/\n!a\n", "/d\n*.o\n", "a\n"]


def edit(act: str, *rest: str) -> Edit:
    return [act, *rest]


names = st.sampled_from(NAMES)
paths = st.lists(names, min_size=1, max_size=3).map("/".join)
kinds = st.sampled_from(["file", "program"])
targets = st.lists(st.sampled_from([*NAMES, "..", "."]), min_size=1, max_size=3).map("/".join)
rule_paths = st.sampled_from([".gitignore", "d/.gitignore", "a/.gitignore"])
rule_files = st.builds(edit, st.just("write"), rule_paths, st.sampled_from(RULES), st.just("file"))
writes = st.builds(edit, st.just("write"), paths, st.sampled_from(CONTENTS), kinds)
links = st.builds(edit, st.just("link"), paths, targets)
removals = st.builds(edit, st.just("remove"), paths)
moves = st.builds(edit, st.just("move"), paths, names)
modes = st.builds(edit, st.just("mode"), paths, kinds)
bases = st.lists(st.one_of(writes, writes, writes, links, rule_files), min_size=1, max_size=12)
scripts = st.lists(st.one_of(writes, writes, links, removals, removals, moves, modes, rule_files), max_size=12)
quietly = settings(
    max_examples=15 if EVERYTHING else 4,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),  # shrinking would take minutes with real repositories
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


def make_repository(place: Path, base: list[Edit]) -> Path:
    """The base commit: everything in it is tracked, even what its own rules ignore."""
    root = repository(place / "r", {"always": "here\n"})
    edits.apply(str(root), base)
    git(root, "add", "--all", "--force")
    git(root, "commit", "--quiet", "--allow-empty", "-m", "base")
    return root


def oracle(place: Path, root: Path, final: Holding) -> str:
    """The tree that plain git makes of the same files."""
    clone = place / "oracle"
    git(place, "clone", "--quiet", "--no-checkout", str(root), str(clone))
    git(clone, "read-tree", "HEAD")
    edits.build(str(clone), final)
    git(clone, "add", "--all")
    return git(clone, "write-tree")


def without_ignored(root: Path, tree: str, final: Holding) -> Holding:
    tracked = git(root, "ls-tree", "-r", "-z", "--name-only", tree).split("\0")
    return {
        path: final[path] for path in (t.encode("utf-8", "surrogateescape").decode("latin-1") for t in tracked) if path
    }


async def in_overlay(
    launcher: Launcher, place: Path, lower: tuple[str, ...], upper: str, script: list[Edit]
) -> Holding:
    """Make the edits in an overlay that only this command sees; return its content."""
    for name in (upper, f"{upper}-work", "at"):
        (place / name).mkdir(exist_ok=True)
    overlay = Overlay(str(place), lower, upper, f"{upper}-work", str(place / "at"))
    argv = [sys.executable, "-I", edits.__file__, str(place / "at")]
    command = Command(
        argv=argv, cwd="/", env={}, stdin=json.dumps(script).encode(), confinement=Confinement(layers=(overlay.step(),))
    )
    finished = await launcher.run(command)
    assert finished.ok, (finished.reason, finished.stderr.whole())
    assert not finished.stdout.cut
    return {path: (kind, content) for path, (kind, content) in json.loads(finished.stdout.whole()).items()}


async def overlay_example(place: Path, base: list[Edit], script: list[Edit]) -> None:
    root = make_repository(place, base)
    async with Launcher.open() as launcher:
        store = await Store.open(launcher, await open_repo(launcher, root), place / "state")
        head = store.repo.head
        await store.check_out(head, place / "base")
        final = await in_overlay(launcher, place, ("base",), "upper", script)
        try:
            candidate = await capture_layer(store, head, place / "upper")
        except CandidateRefused as refused:
            assert {why for _, why in refused.offences} == {"links out of the tree"}
            event("refused because of a link")
            return
        assert candidate.tree == oracle(place, root, final)
        assert list(candidate.changes) == await store.diff(await store.tree_of(head), candidate.tree)
        kept = without_ignored(place / "oracle", candidate.tree, final)
        await write_layer(store, await store.tree_of(head), candidate.tree, place / "layer")
        assert await in_overlay(launcher, place, ("layer", "base"), "nothing", []) == kept
        assert (await capture_layer(store, head, place / "layer")).tree == candidate.tree
        event("something changed" if candidate.changes else "nothing changed")


async def copy_example(place: Path, base: list[Edit], script: list[Edit]) -> None:
    root = make_repository(place, base)
    async with Launcher.open() as launcher:
        store = await Store.open(launcher, await open_repo(launcher, root), place / "state")
        head = store.repo.head
        await store.check_out(head, place / "copy")
        shutil.copytree(place / "copy", place / "fresh", symlinks=True)
        await stamp(place / "copy", place / "stamp")
        edits.apply(str(place / "copy"), script)
        final = edits.holding(str(place / "copy"))
        try:
            candidate = await capture_copy(store, head, place / "copy", place / "stamp")
        except CandidateRefused as refused:
            assert {why for _, why in refused.offences} == {"links out of the tree"}
            return
        assert candidate.tree == oracle(place, root, final)
        assert list(candidate.changes) == await store.diff(await store.tree_of(head), candidate.tree)
        base_tree = await store.tree_of(head)
        await write_files(store, base_tree, candidate.tree, place / "fresh")
        kept = without_ignored(place / "oracle", candidate.tree, final)
        assert edits.holding(str(place / "fresh")) == kept


@quietly
@given(base=bases, script=scripts)
def test_capturing_an_overlay_and_writing_it_back_is_the_identity(base: list[Edit], script: list[Edit]) -> None:
    with tempfile.TemporaryDirectory() as name:
        anyio.run(overlay_example, Path(name), base, script)


@quietly
@given(base=bases, script=scripts)
def test_capturing_a_copy_and_writing_it_back_is_the_identity(base: list[Edit], script: list[Edit]) -> None:
    with tempfile.TemporaryDirectory() as name:
        anyio.run(copy_example, Path(name), base, script)
