"""Planted git settings run code through plain git, and never through the store.

One table of all vectors is printed: the plain git command that triggered it, and how often one of our operations
did. Every operation of repo, store and capture runs on the planted repository as the user's own, and on a tree with
the planted git directory and files. A refusal is a good result; running planted code is not.
"""

import os
import shutil
import subprocess
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from git_vectors import VECTORS, Evil, Vector, template

from donewhen.errors import DonewhenError
from donewhen.workspace.git.repo import open_repo
from donewhen.workspace.git.store import Store
from donewhen.workspace.process.launch import Launcher
from donewhen.workspace.trees.capture import capture_copy, capture_layer, stamp, write_files, write_layer
from needs import needs
from repositories import commit, contents, digest, environment, git, opened, repository, write
from tiers import sampled

pytestmark = pytest.mark.anyio
AT_ONCE = 3
FEWEST = 25


@dataclass
class Row:
    vector: Vector
    plain: str
    """The plain git command that did harm; empty if none did."""
    ours: list[str]
    """Our operations that did harm."""
    refused: int = 0
    untouched: bool = True


# -- the two arms --


def fire_through_plain_git(vector: Vector, root: Path, evil: Evil) -> str:
    for command in vector.commands:
        # Git must not wait: no terminal and an empty standard input.
        argv = ["timeout", "20", needs("git"), *command]
        settings = {**environment(), "GIT_TERMINAL_PROMPT": "0"}
        given = b"url=https://x.invalid\n\n" if command[0] == "credential" else b""
        subprocess.run(argv, cwd=root, env=settings, input=given, capture_output=True, check=False)
        if evil.harm():
            return " ".join(command)
    return ""


Operation = tuple[str, Callable[[], Awaitable[object]]]


def operations(store: Store, tree: Path, place: Path) -> Iterator[Operation]:
    """Run all operations of a store on the repository and on a tree that another program wrote."""
    head = store.repo.head
    yield "resolve", lambda: store.resolve("main@{0}")
    yield "resolve upstream", lambda: store.resolve("side")
    yield "check_out", lambda: store.check_out(head, place / "base")
    yield "uncommitted", store.uncommitted
    yield "snapshot", store.snapshot
    yield "keep", lambda: store.keep("x", head)
    yield "seed base", lambda: store.seed_git_dir(head, "base", place / "seed-base")
    yield "seed none", lambda: store.seed_git_dir(head, "none", place / "seed-none")
    yield "capture_layer", lambda: capture_layer(store, head, tree)
    yield "stamp", lambda: stamp(place / "base", place / "stamp")
    yield "plant in the copy", lambda: anyio.to_thread.run_sync(over, tree, place / "base")
    yield "capture_copy", lambda: capture_copy(store, head, place / "base", place / "stamp")
    yield "differences", lambda: differences(store, place)
    yield "tidy", store.tidy
    yield "release", lambda: store.release("x")


def over(tree: Path, copy: Path) -> None:
    shutil.copytree(tree, copy, symlinks=True, dirs_exist_ok=True)


async def differences(store: Store, place: Path) -> None:
    trees = [await store.tree_of(await store.resolve(ref)) for ref in ("main", "side")]
    await store.diff(trees[0], trees[1])
    await store.diffstat(trees[0], trees[1])
    await store.patch(trees[0], trees[1])
    await write_layer(store, trees[0], trees[1], place / "layer")
    await store.check_out(await store.resolve("main"), place / "plain")
    await write_files(store, trees[0], trees[1], place / "plain")


async def fire_through_our_git(row: Row, launcher: Launcher, root: Path, tree: Path, evil: Evil) -> None:
    place = root.parent
    before = digest(root)
    for start in (root / name for name in ("d", "nested", "module")):
        with suppress(DonewhenError):
            await open_repo(launcher, start)
        note_harm(row, "open_repo", evil)
    try:
        repo = await open_repo(launcher, root)
    except DonewhenError:
        row.refused += 1
        repo = await open_repo(launcher, place.parent / "template")  # then at least the tree is the planted one
    store = await Store.open(launcher, repo, place / "state")
    note_harm(row, "Store.open", evil)
    for name, operation in operations(store, tree, place):
        try:
            await operation()
        except DonewhenError:
            row.refused += 1
        note_harm(row, name, evil)
    row.untouched = digest(root) == before


def note_harm(row: Row, operation: str, evil: Evil) -> None:
    if evil.harm():
        row.ours.append(operation)
        evil.wipe()


async def run_vector(vector: Vector, clean: Path, place: Path, launcher: Launcher) -> Row:
    place.mkdir()
    evil = Evil.below(place)
    for name in ("control", "root", "tree"):
        await anyio.to_thread.run_sync(over, clean, place / name)
        await anyio.to_thread.run_sync(vector.plant, place / name, evil)
        evil.wipe()
    row = Row(vector, await anyio.to_thread.run_sync(fire_through_plain_git, vector, place / "control", evil), [])
    evil.wipe()
    await fire_through_our_git(row, launcher, place / "root", place / "tree", evil)
    return row


async def test_no_planted_git_setting_runs_code_through_the_store(
    tmp_path: Path, show_table: Callable[[str], None]
) -> None:
    clean = template(tmp_path / "template")
    rows: dict[str, Row] = {}
    tried = sampled(VECTORS, 6)
    limit = anyio.CapacityLimiter(AT_ONCE)

    async def one(vector: Vector) -> None:
        async with limit:
            rows[vector.id] = await run_vector(vector, clean, tmp_path / vector.id, launcher)

    async with Launcher.open() as launcher, anyio.create_task_group() as tasks:
        for vector in tried:
            tasks.start_soon(one, vector)
    ordered = [rows[vector.id] for vector in tried]
    show_table(table(ordered))
    assert [row.vector.id for row in ordered if not row.plain] == [], "a vector that does not fire proves nothing"
    assert len(VECTORS) >= FEWEST
    assert {row.vector.id: row.ours for row in ordered if row.ours} == {}
    assert [row.vector.id for row in ordered if not row.untouched] == []


def table(rows: list[Row]) -> str:
    lines = [f"{'':2}{'id':6}{'planted':32}{'fired through plain git':34}through our store"]
    for row in rows:
        plain = f"git {row.plain}" if row.plain else "did not fire"
        lines.append(f"{'':2}{row.vector.id:6}{row.vector.what:32}{plain[:32]:34}{len(row.ours)}")
    fired = sum(bool(row.plain) for row in rows)
    harm = sum(len(row.ours) for row in rows)
    return "\n".join([*lines, f"  {fired} of {len(rows)} fire through plain git; through our store: {harm}"])


# -- harm without a program --


async def test_a_change_hidden_by_the_tree_s_own_index_is_captured(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", {"a": "a\n", "b": "b\n", "c": "c\n"})
    tree = tmp_path / "tree"
    shutil.copytree(root, tree)
    write(tree, {"a": "hidden\n", "b": "hidden\n", "d": "hidden\n"})
    git(tree, "update-index", "--assume-unchanged", "a")
    git(tree, "update-index", "--skip-worktree", "b")
    (tree / ".git" / "info").mkdir(exist_ok=True)
    (tree / ".git" / "info" / "exclude").write_text("d\n")
    git(tree, "add", "--all")
    assert git(tree, "diff", "--cached", "--name-only") == "", "plain git sees nothing"
    async with opened(root, tmp_path / "state") as store:
        candidate = await capture_layer(store, store.repo.head, tree)
    assert [change.path for change in candidate.changes] == ["a", "b", "d"]


async def test_a_replaced_object_does_not_replace_the_base(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", {"test": "assert false\n"})
    base = git(root, "rev-parse", "HEAD")
    write(root, {"test": "assert true\n"})
    tampered = commit(root)
    git(root, "reset", "--quiet", "--hard", base)
    git(root, "replace", base, tampered)
    git(root, "checkout", "--quiet", "--force", "HEAD", "--", ".")
    assert (root / "test").read_text() == "assert true\n", "plain git restores what was put in its place"
    async with opened(root, tmp_path / "state") as store:
        await store.check_out(base, tmp_path / "out")
    assert (tmp_path / "out" / "test").read_text() == "assert false\n"


async def test_a_kept_base_survives_the_deletion_of_the_user_s_history(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", {"a": "a\n"})
    write(root, {"a": "b\n"})
    base = commit(root)
    async with opened(root, tmp_path / "state") as store:
        await store.keep("session/base", base)
    git(root, "update-ref", "refs/heads/main", "HEAD~1")
    git(root, "reflog", "expire", "--expire=now", "--all")
    git(root, "gc", "--quiet", "--prune=now")
    (root / ".git" / "packed-refs").write_text("# pack-refs with: peeled fully-peeled sorted \n")
    git(root, "update-ref", "refs/heads/main", git(root, "commit-tree", "-m", "x", git(root, "mktree")))
    async with opened(root, tmp_path / "state") as store:
        await store.tidy()
        await store.check_out(base, tmp_path / "out")
    assert contents(tmp_path / "out") == {b"a": ("file", b"b\n")}


async def test_a_commit_with_forged_or_odd_headers_is_read_as_data(tmp_path: Path) -> None:
    root = repository(tmp_path / "r")
    tree = git(root, "rev-parse", "HEAD^{tree}")
    person = b"\x1b]0;title\x07 <x@y> 99999999999999 +9999"
    content = b"tree %s\nauthor %s\ncommitter %s\n\n\x1b[31m\r\xff\n" % (tree.encode(), person, person)
    forged = git(root, "hash-object", "-w", "-t", "commit", "--literally", "--stdin", given=content)
    git(root, "update-ref", "refs/heads/main", forged)
    async with opened(root, tmp_path / "state") as store:
        assert await store.resolve("main") == forged
        await store.check_out(forged, tmp_path / "out")
        await store.seed_git_dir(forged, "base", tmp_path / "seed")
    assert os.listdir(tmp_path / "out") == ["a.txt"]
