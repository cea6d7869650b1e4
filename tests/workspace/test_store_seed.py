"""The small git directory of a tree: enough to work with, nothing to steal, nothing to break."""

from pathlib import Path

import pytest

from donewhen.workspace.git.store import Store
from donewhen.workspace.git.store.seed import History
from repositories import commit, git, lfs_repository, opened, repository, try_git, write

pytestmark = pytest.mark.anyio


def three_commits(root: Path) -> list[str]:
    repository(root, {"a.txt": "1\n", "d/b.txt": "b\n"})
    git(root, "tag", "-a", "v1", "-m", "one")
    for number in (2, 3):
        write(root, {"a.txt": f"{number}\n"})
        commit(root, f"commit {number}")
    git(root, "tag", "light", "HEAD~1")
    return git(root, "rev-list", "--reverse", "HEAD").split()


async def tree_with_git_dir(store: Store, commit_id: str, into: Path, history: History = "base") -> Path:
    await store.check_out(commit_id, into)
    await store.seed_git_dir(commit_id, history, into / ".git")
    return into


async def test_a_tree_is_clean_at_once_and_has_the_base_s_history_and_tags(tmp_path: Path) -> None:
    root = tmp_path / "r"
    commits = three_commits(root)
    async with opened(root, tmp_path / "state") as store:
        tree = await tree_with_git_dir(store, commits[2], tmp_path / "tree")
    assert git(tree, "status", "--porcelain=v2", "--branch").splitlines() == [
        f"# branch.oid {commits[2]}",
        "# branch.head main",
    ]
    assert git(tree, "rev-list", "--reverse", "HEAD").split() == commits
    assert git(tree, "describe", "--tags") == git(root, "describe", "--tags")
    assert git(tree, "cat-file", "-t", "v1") == "tag"
    git(tree, "fsck", "--strict", "--full")


async def test_the_tree_s_git_directory_holds_only_the_base_s_history(tmp_path: Path) -> None:
    root = tmp_path / "r"
    commits = three_commits(root)
    git(root, "checkout", "--quiet", "-b", "solution")
    write(root, {"solution.txt": "the answer"})
    answer = commit(root)
    git(root, "tag", "v2")
    git(root, "checkout", "--quiet", "main")
    write(root, {"a.txt": "stashed"})
    git(root, "stash", "--quiet")
    git(root, "gc", "--quiet")
    git(root, "config", "remote.origin.url", "https://user:token@example.invalid/")
    git(root, "config", "core.hooksPath", "/tmp")
    async with opened(root, tmp_path / "state") as store:
        tree = await tree_with_git_dir(store, commits[1], tmp_path / "tree")
    reachable = git(root, "rev-list", "--objects", "--no-object-names", commits[1], "v1").split()
    inside = git(tree, "cat-file", "--batch-check=%(objectname)", "--batch-all-objects").split()
    assert set(inside) == {*reachable, git(root, "rev-parse", "v1")}
    assert try_git(tree, "cat-file", "-e", answer).returncode != 0
    assert git(tree, "for-each-ref", "--format=%(refname)").split() == ["refs/tags/light", "refs/tags/v1"]
    assert try_git(tree, "symbolic-ref", "-q", "HEAD").returncode == 1, "another commit than HEAD is detached"
    assert git(tree, "remote") == ""
    assert sorted(path.name for path in (tree / ".git").iterdir()) == [
        "HEAD", "config", "index", "info", "objects", "packed-refs", "refs"
    ]  # fmt: skip
    assert "token" not in (tree / ".git" / "config").read_text()


async def test_the_tree_s_git_directory_shares_no_file_with_store_or_repository(tmp_path: Path) -> None:
    root = tmp_path / "r"
    commits = three_commits(root)
    git(root, "gc", "--quiet")
    async with opened(root, tmp_path / "state") as store:
        for history in ("base", "none"):
            await store.seed_git_dir(commits[2], history, tmp_path / history)
            files = [path for path in (tmp_path / history).rglob("*") if path.is_file()]
            assert {path.stat().st_nlink for path in files} == {1}


async def test_without_history_there_is_one_commit_with_the_base_s_date_and_nearest_tag(tmp_path: Path) -> None:
    root = tmp_path / "r"
    commits = three_commits(root)
    async with opened(root, tmp_path / "state") as store:
        tree = await tree_with_git_dir(store, commits[2], tmp_path / "tree", "none")
    assert git(tree, "status", "--porcelain") == ""
    assert git(tree, "rev-list", "--count", "HEAD") == "1"
    assert git(tree, "log", "-1", "--format=%ci %T") == git(root, "log", "-1", "--format=%ci %T", commits[2])
    assert git(tree, "describe", "--tags") == "light"
    inside = git(tree, "cat-file", "--batch-check=%(objecttype)", "--batch-all-objects").split()
    assert inside.count("commit") == 1
    assert "Tester" not in git(tree, "log", "--format=%an %cn %B")


async def test_a_repository_without_tags_has_none_in_either_form(tmp_path: Path) -> None:
    root = repository(tmp_path / "r")
    async with opened(root, tmp_path / "state") as store:
        for history in ("base", "none"):
            tree = await tree_with_git_dir(store, store.repo.head, tmp_path / history, history)
            assert git(tree, "tag") == ""
            assert git(tree, "status", "--porcelain") == ""


async def test_an_engine_can_commit_in_the_tree_s_git_directory(tmp_path: Path) -> None:
    root = tmp_path / "r"
    commits = three_commits(root)
    async with opened(root, tmp_path / "state") as store:
        tree = await tree_with_git_dir(store, commits[2], tmp_path / "tree")
        write(tree, {"a.txt": "work\n", "new.txt": "n\n"})
        assert git(tree, "status", "--porcelain").split() == ["M", "a.txt", "??", "new.txt"]
        made = commit(tree, "work")
        git(tree, "gc", "--quiet", "--prune=now")
    assert git(tree, "rev-parse", "HEAD~1") == commits[2]
    assert try_git(root, "cat-file", "-e", made).returncode != 0


async def test_history_grows_by_small_packs(tmp_path: Path) -> None:
    root = tmp_path / "r"
    commits = three_commits(root)
    async with opened(root, tmp_path / "state") as store:
        for number, commit_id in enumerate(commits):
            await store.seed_git_dir(commit_id, "base", tmp_path / str(number))
        last = await tree_with_git_dir(store, commits[2], tmp_path / "tree")
        assert len(list((store.path / "history").glob("*.pack"))) == 3
    git(last, "fsck", "--full")
    assert git(last, "rev-list", "--reverse", "HEAD").split() == commits


async def test_history_of_a_side_branch_does_not_bring_the_other_branch(tmp_path: Path) -> None:
    root = tmp_path / "r"
    commits = three_commits(root)
    git(root, "checkout", "--quiet", "-b", "side", commits[0])
    write(root, {"side.txt": "s"})
    side = commit(root, "aside")
    async with opened(root, tmp_path / "state") as store:
        await store.seed_git_dir(commits[2], "base", tmp_path / "first")
        tree = await tree_with_git_dir(store, side, tmp_path / "tree")
    assert try_git(tree, "cat-file", "-e", commits[2]).returncode != 0
    assert git(tree, "log", "--format=%s").splitlines() == ["aside", "the first commit"]


async def test_a_shallow_clone_and_the_sha256_format_give_working_git_directories(tmp_path: Path) -> None:
    three_commits(tmp_path / "origin")
    git(tmp_path, "clone", "--quiet", "--depth=2", f"file://{tmp_path / 'origin'}", "shallow")
    repository(tmp_path / "long", {"a": "a"}, "--object-format=sha256")
    for name, count in (("shallow", "2"), ("long", "1")):
        async with opened(tmp_path / name, tmp_path / f"state of {name}") as store:
            tree = await tree_with_git_dir(store, store.repo.head, tmp_path / f"tree of {name}")
        assert git(tree, "status", "--porcelain") == ""
        assert git(tree, "rev-list", "--count", "HEAD") == count
        git(tree, "fsck", "--full")


async def test_a_partial_clone_gives_a_tree_without_history(tmp_path: Path) -> None:
    origin = tmp_path / "origin"
    three_commits(origin)
    git(origin, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "--quiet", "--filter=blob:none", f"file://{origin}", "r")
    async with opened(tmp_path / "r", tmp_path / "state") as store:
        tree = await tree_with_git_dir(store, store.repo.head, tmp_path / "tree")
    assert git(tree, "rev-list", "--count", "HEAD") == "1"
    git(tree, "fsck", "--full")


async def test_lfs_content_does_not_look_like_a_change(tmp_path: Path) -> None:
    root, here = lfs_repository(tmp_path / "r")
    async with opened(root, tmp_path / "state") as store:
        tree = await tree_with_git_dir(store, store.repo.head, tmp_path / "tree")
    assert (tree / "here.bin").read_bytes() == here
    assert git(tree, "status", "--porcelain") == ""
