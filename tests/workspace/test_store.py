"""The private store: mirroring, updates, revisions, differences, pins and cleanup."""

import os
import shutil
import tempfile
from pathlib import Path

import anyio
import pytest

from donewhen.errors import BadInput, MachineryBroke
from donewhen.workspace.git.objects import Size
from donewhen.workspace.git.repo import open_repo
from donewhen.workspace.git.store import Store
from donewhen.workspace.process.launch import Launcher
from needs import leave_out, needs_root
from repositories import commit, digest, git, opened, repository, try_git, write

pytestmark = pytest.mark.anyio


def objects_in(git_dir: Path) -> set[str]:
    listing = git(git_dir, "--git-dir=.", "cat-file", "--batch-check", "--batch-all-objects")
    return {line.split()[0] for line in listing.splitlines()}


def history(root: Path, commits: int = 3) -> list[str]:
    return [(write(root, {"a.txt": f"{n}\n"}), commit(root, f"commit {n}"))[1] for n in range(commits)]


async def test_the_store_is_private_and_holds_every_object_by_hard_link(tmp_path: Path) -> None:
    root = repository(tmp_path / "r")
    history(root)
    git(root, "gc", "--quiet")
    write(root, {"b.txt": "loose"})
    commit(root)
    async with opened(root, tmp_path / "state") as store:
        assert store.path.stat().st_mode & 0o077 == 0
        assert objects_in(store.bare.git_dir) == objects_in(root / ".git")
        theirs = {path.stat().st_ino for path in (root / ".git" / "objects").rglob("*") if path.is_file()}
        ours = [path for path in (store.bare.git_dir / "objects").rglob("*") if path.is_file()]
        assert {path.stat().st_ino for path in ours} <= theirs


async def test_stored_objects_survive_the_user_s_garbage_collection(tmp_path: Path) -> None:
    root = repository(tmp_path / "r")
    write(root, {"b.txt": "b"})
    doomed = commit(root)
    async with opened(root, tmp_path / "state") as store:
        tree = await store.tree_of(doomed)
    git(root, "reset", "--quiet", "--hard", "HEAD~1")
    git(root, "reflog", "expire", "--expire=now", "--all")
    git(root, "gc", "--quiet", "--prune=now")
    assert try_git(root, "cat-file", "-e", doomed).returncode != 0
    async with opened(root, tmp_path / "state") as store:
        assert await store.resolve(doomed) == doomed
        assert await store.tree_of(doomed) == tree


@pytest.mark.parametrize("packing", [(), ("gc", "--quiet"), ("repack", "-a", "-d", "--quiet")])
async def test_the_store_follows_new_commits_branches_and_packs(tmp_path: Path, packing: tuple[str, ...]) -> None:
    root = repository(tmp_path / "r")
    git(root, "branch", "gone")
    async with opened(root, tmp_path / "state") as store:
        assert await store.resolve("gone") == store.repo.head
    git(root, "branch", "-D", "gone")
    newest = history(root)[-1]
    git(root, "tag", "-a", "v1", "-m", "one")
    if packing:
        git(root, *packing)
    async with opened(root, tmp_path / "state") as store:
        assert await store.resolve("main") == await store.resolve("v1") == newest
        assert objects_in(store.bare.git_dir) >= objects_in(root / ".git")
        with pytest.raises(BadInput):
            await store.resolve("gone")


async def test_a_commit_made_right_after_a_refresh_is_seen_at_the_next_one(tmp_path: Path) -> None:
    """Directory times are too coarse, so directories that changed a moment ago are read again."""
    root = repository(tmp_path / "r")
    async with Launcher.open() as launcher:
        for number in range(8):
            write(root, {"a.txt": str(number)})
            made = commit(root)
            store = await Store.open(launcher, await open_repo(launcher, root), tmp_path / "state")
            assert await store.tree_of(await store.resolve("HEAD")) == git(root, "rev-parse", f"{made}^{{tree}}")


async def test_replace_references_and_our_own_references_are_not_mirrored(tmp_path: Path) -> None:
    root = repository(tmp_path / "r")
    first, *_, last = history(root)
    git(root, "update-ref", "refs/donewhen/theirs", first)
    git(root, "replace", last, first)
    async with opened(root, tmp_path / "state") as store:
        assert await store.tree_of(last) != await store.tree_of(first)
        with pytest.raises(BadInput):
            await store.resolve("refs/donewhen/theirs")


async def test_objects_of_alternates_are_found_and_copied(tmp_path: Path) -> None:
    origin = repository(tmp_path / "origin")
    history(origin)
    git(tmp_path, "clone", "--quiet", "--shared", "origin", "middle")
    git(tmp_path, "clone", "--quiet", "--shared", "middle", "r")
    async with opened(tmp_path / "r", tmp_path / "state") as store:
        shutil.rmtree(origin)
        assert await store.check_out(store.repo.head, tmp_path / "out") == ()
        assert (tmp_path / "out" / "a.txt").read_text() == "2\n"


async def test_objects_are_copied_where_they_cannot_be_linked(tmp_path: Path) -> None:
    root = repository(tmp_path / "r")
    git(root, "gc", "--quiet")
    write(root, {"b.txt": "loose"})
    commit(root)
    if not Path("/dev/shm").is_dir() or Path("/dev/shm").stat().st_dev == tmp_path.stat().st_dev:
        leave_out("a second file system")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as elsewhere:
        async with opened(root, Path(elsewhere, "state")) as store:
            assert objects_in(store.bare.git_dir) == objects_in(root / ".git")


async def test_a_store_prepared_by_another_user_is_not_used(tmp_path: Path) -> None:
    needs_root()
    root = repository(tmp_path / "r")
    (tmp_path / "state" / "sha1").mkdir(parents=True)
    os.chown(tmp_path / "state" / "sha1", 65534, 65534)
    async with Launcher.open() as launcher:
        with pytest.raises(MachineryBroke, match="belongs to another user"):
            await Store.open(launcher, await open_repo(launcher, root), tmp_path / "state")


async def test_many_processes_may_open_a_store_at_once(tmp_path: Path) -> None:
    root = repository(tmp_path / "r")
    history(root)
    seen: list[str] = []

    async def open_and_resolve() -> None:
        async with Launcher.open() as launcher:
            store = await Store.open(launcher, await open_repo(launcher, root), tmp_path / "state")
            seen.append(await store.resolve("main"))

    async with anyio.create_task_group() as tasks:
        for _ in range(4):
            tasks.start_soon(open_and_resolve)
    assert set(seen) == {git(root, "rev-parse", "main")}


async def test_scratch_files_of_a_dead_process_are_removed(tmp_path: Path) -> None:
    root = repository(tmp_path / "r")
    async with opened(root, tmp_path / "state") as store:
        leftover = store.path / "scratch" / "999999999-abc"
    leftover.mkdir()
    (leftover / "index").touch()
    async with opened(root, tmp_path / "state"):
        assert not leftover.exists()


# -- revisions --


EXPRESSIONS = (
    "HEAD", "@", "main", "main~2", "HEAD^", "heads/main", "refs/heads/main", "v1", "v1^{}", "v1~1", ":/commit 1",
    "HEAD^{/commit 0}", "main@{1}", "HEAD@{2}", "@{upstream}", "main@{u}", "origin/main", "origin", "side@{upstream}",
    "ORIG_HEAD", "FETCH_HEAD", "stash", "stash@{0}", "v1-1-gSHORT", "SHORT", "caf\u00e9", "@{-1}",
)  # fmt: skip


async def test_every_revision_expression_means_the_same_as_in_the_user_s_git(tmp_path: Path) -> None:
    root = repository(tmp_path / "r")
    history(root)
    git(root, "tag", "-a", "v1", "-m", "one", "HEAD~1")
    git(root, "branch", "caf\u00e9", "HEAD~1")
    git(tmp_path, "clone", "--quiet", "r", "clone")
    clone = tmp_path / "clone"
    git(clone, "checkout", "--quiet", "-b", "side", "--track", "origin/main")
    git(clone, "checkout", "--quiet", "main")
    git(clone, "branch", "caf\u00e9", "HEAD~1")
    write(clone, {"a.txt": "stashed"})
    git(clone, "stash", "--quiet")
    history(clone, 2)
    git(clone, "reset", "--quiet", "--hard", "HEAD~1")
    git(clone, "fetch", "--quiet")
    short = git(clone, "rev-parse", "--short", "HEAD")
    expressions = [expression.replace("SHORT", short) for expression in EXPRESSIONS]
    async with opened(clone, tmp_path / "state") as store:
        ours = {expression: await store.resolve(expression) for expression in expressions}
    theirs = {each: git(clone, "rev-parse", each) for each in expressions}
    assert ours == {each: git(clone, "rev-parse", f"{id}^{{commit}}") for each, id in theirs.items()}


async def test_a_branch_below_or_above_the_name_of_a_removed_one_has_its_reflog(tmp_path: Path) -> None:
    root = repository(tmp_path / "r")
    for name in ("a", "a/b", "a"):
        git(root, "branch", name)
        async with opened(root, tmp_path / "state") as store:
            assert await store.resolve(f"{name}@{{0}}") == git(root, "rev-parse", "HEAD")
        git(root, "branch", "--quiet", "-D", name)


@pytest.mark.parametrize("ref", ["nope", "", "-x", "--all", "HEAD^{tree}", "a b", "HEAD\nx", "HEAD..main", "v\0"])
async def test_a_revision_that_is_not_a_commit_is_refused_by_name(tmp_path: Path, ref: str) -> None:
    root = repository(tmp_path / "r")
    async with opened(root, tmp_path / "state") as store:
        with pytest.raises(BadInput) as refused:
            await store.resolve(ref)
    said = str(refused.value)
    assert said.endswith(f"is not a commit of {root}")
    assert "\n" not in said
    assert "\0" not in said


async def test_linked_worktrees_share_a_store_and_keep_their_own_head(tmp_path: Path) -> None:
    root = repository(tmp_path / "r")
    git(root, "worktree", "add", "--quiet", "-b", "side", "../linked")
    write(tmp_path / "linked", {"b.txt": "b"})
    side = commit(tmp_path / "linked")
    write(tmp_path / "linked", {"c.txt": "uncommitted"})
    async with opened(root, tmp_path / "state") as main, opened(tmp_path / "linked", tmp_path / "state") as linked:
        assert main.path == linked.path
        assert await linked.resolve("HEAD") == side == await main.resolve("side")
        assert await main.resolve("HEAD") == git(root, "rev-parse", "HEAD")
        assert [change.path for change in await linked.uncommitted()] == ["c.txt"]
        assert await main.uncommitted() == []


# -- incomplete clones --


def partial_clone(tmp_path: Path, *options: str) -> Path:
    origin = repository(tmp_path / "origin", {"a.txt": "a", "d/b.txt": "b"})
    history(origin)
    git(origin, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "--quiet", "--filter=blob:none", *options, f"file://{origin}", "r")
    return tmp_path / "r"


async def test_a_partial_clone_with_the_files_of_head_works(tmp_path: Path) -> None:
    root = partial_clone(tmp_path)
    async with opened(root, tmp_path / "state") as store:
        await store.check_out(store.repo.head, tmp_path / "out")
        assert (tmp_path / "out" / "d" / "b.txt").read_text() == "b"
        assert store.repo.partial
        with pytest.raises(BadInput, match="is a partial clone that lacks files of"):
            await store.check_out(await store.resolve("HEAD~1"), tmp_path / "older")


async def test_a_partial_clone_without_the_files_of_head_says_how_to_get_them(tmp_path: Path) -> None:
    root = partial_clone(tmp_path, "--no-checkout")
    async with Launcher.open() as launcher:
        repo = await open_repo(launcher, root)
        with pytest.raises(BadInput, match=r"is a partial clone that lacks files of .*: git fetch --refetch"):
            await Store.open(launcher, repo, tmp_path / "state")


# -- differences --


async def test_a_difference_is_available_as_changes_numbers_and_patch(tmp_path: Path) -> None:
    before = {"same": "s", "edited": "1\n2\n3\n", "gone": "g\n", "binary": b"\0\1", "turns": "file\n"}
    root = repository(tmp_path / "r", before)
    write(root, {"edited": "1\ntwo\n3\n4\n", "binary": b"\0\2", "new\nline": "n\n"})
    (root / "gone").unlink()
    (root / "turns").unlink()
    (root / "turns").symlink_to("same")
    commit(root)
    async with opened(root, tmp_path / "state") as store:
        old, new = [await store.tree_of(await store.resolve(ref)) for ref in ("HEAD~1", "HEAD")]
        kinds = {change.path: change.kind for change in await store.diff(old, new)}
        size = await store.diffstat(old, new)
        patch = await store.patch(old, new)
    assert kinds == {
        "binary": "modified", "edited": "modified", "gone": "deleted", "new\nline": "added", "turns": "modified"
    }  # fmt: skip
    assert size == Size(files=5, insertions=4, deletions=3)
    git(root, "checkout", "--quiet", "HEAD~1")
    git(root, "apply", "--index", given=patch)
    assert git(root, "write-tree") == new


async def test_attributes_cannot_hide_parts_of_a_patch(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", {".gitattributes": "*.py -diff\n", "a.py": "1\n"})
    write(root, {"a.py": "2\n"})
    commit(root)
    async with opened(root, tmp_path / "state") as store:
        trees = [await store.tree_of(await store.resolve(ref)) for ref in ("HEAD~1", "HEAD")]
        assert b"+2\n" in await store.patch(trees[0], trees[1])


# -- pins and disk space --


async def abandoned_store(tmp_path: Path) -> tuple[Path, str]:
    """A repository whose store has a commit that the user has deleted since."""
    root = repository(tmp_path / "r")
    write(root, {"big": os.urandom(100_000)})
    doomed = commit(root)
    git(root, "repack", "-a", "-d", "--quiet")
    async with opened(root, tmp_path / "state") as store:
        assert await store.resolve("HEAD") == doomed
    git(root, "reset", "--quiet", "--hard", "HEAD~1")
    git(root, "reflog", "expire", "--expire=now", "--all")
    git(root, "repack", "-a", "-d", "--quiet")
    git(root, "prune", "--expire=now")
    return root, doomed


async def test_kept_objects_survive_every_cleanup_and_are_removed_when_released(tmp_path: Path) -> None:
    root, doomed = await abandoned_store(tmp_path)
    async with opened(root, tmp_path / "state") as store:
        await store.keep("sessions/7/base", doomed)
        await store.tidy()
        assert await store.resolve(doomed) == doomed
        await store.release("sessions/7/base")
        await store.tidy()
        with pytest.raises(BadInput):
            await store.resolve(doomed)
        assert await store.resolve("HEAD") == store.repo.head


async def test_the_cleanup_removes_only_packs_that_the_user_no_longer_has(tmp_path: Path) -> None:
    root, _ = await abandoned_store(tmp_path)
    history(root)
    git(root, "gc", "--quiet")
    async with opened(root, tmp_path / "state") as store:
        packs = store.bare.git_dir / "objects" / "pack"
        assert len(list(packs.glob("*.pack"))) == 2
        await store.tidy()
        theirs = {path.name for path in (root / ".git" / "objects" / "pack").glob("*.pack")}
        assert {path.name for path in packs.glob("*.pack")} == theirs
        assert not list(packs.glob("*.keep"))
        await store.check_out(store.repo.head, tmp_path / "out")


async def test_an_object_of_any_kind_can_be_kept(tmp_path: Path) -> None:
    root = repository(tmp_path / "r")
    async with opened(root, tmp_path / "state") as store:
        tree = store.bare.write("tree", b"")
        await store.keep("candidate", tree)
        assert git(store.bare.git_dir, "--git-dir=.", "rev-parse", "refs/donewhen/candidate") == tree
        with pytest.raises(ValueError, match="is not a valid reference name"):
            await store.keep("../heads/main", tree)


async def test_no_operation_changes_foreign_locks_and_files(tmp_path: Path) -> None:
    root = repository(tmp_path / "r")
    for name in ("index.lock", "HEAD.lock", "packed-refs.lock", "gc.pid"):
        (root / ".git" / name).write_text("somebody's")
    write(root, {"b.txt": "new"})
    before = digest(root)
    async with opened(root, tmp_path / "state") as store:
        commit_id = await store.snapshot()
        await store.keep("x", commit_id)
        await store.seed_git_dir(commit_id, "base", tmp_path / "seed")
        await store.tidy()
    assert digest(root) == before
