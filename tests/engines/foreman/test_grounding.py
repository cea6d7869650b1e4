"""Plans checked against real repositories: unknown names are reported; new or unknowable ones are not."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from donewhen.engines.foreman.plan_check import repository_issues
from donewhen.engines.foreman.subtask_plan import MOST_ISSUES, plan_of
from donewhen.syntax.grammar import MOST_BYTES
from donewhen.union.parser_client import BOOTED, ParserClient
from donewhen.workspace.sandbox import level
from donewhen.workspace.state_dir import state_root
from repositories import add_and_commit, git, opened, repository, write

pytestmark = pytest.mark.anyio
FILES = {
    "src/shop.py": "RATE = 1\n\n\nclass Shop:\n    def total(self):\n        return 1\n",
    "src/deep/cart.ts": "export class Cart {\n  total(): number { return 1; }\n}\nexport const rate = 2;\n",
    "cmd/main.go": "package main\n\ntype Shop struct{}\n\nfunc (s *Shop) Total() int { return 1 }\n",
    "java/Shop.java": "class Shop {\n  int total() { return 1; }\n}\n",
    "README.md": "# Shop\n",
    "one/index.ts": "",
    "two/index.ts": "",
    "three/index.ts": "",
    "four/index.ts": "",
}


def subtask(id: str, *files: str, writes: tuple[str, ...] = (), reads: tuple[str, ...] = ()) -> dict[str, Any]:
    """A subtask with symbols written as `file` or `file: symbol`."""
    return {"id": id, "prompt": "do it", "files": files, "writes": places(writes), "reads": places(reads)}


def places(told: tuple[str, ...]) -> list[dict[str, str]]:
    return [{"file": file, "symbol": symbol} for file, _, symbol in (one.partition(": ") for one in told)]


def reading(*reads: str) -> dict[str, Any]:
    return subtask("a", "README.md", reads=reads)


async def issues_in(root: Path, *subtasks: dict[str, Any], boot: str = BOOTED) -> tuple[list[str], int]:
    """Return the issues of a plan, and the number of parser processes."""
    told = [{**one, "files": list(one["files"])} for one in subtasks]
    async with opened(root, root.parent / "store") as store:
        probe = await level.recorded_probe(store.bare.launcher, state_root(os.environ))
        reader = ParserClient(store.bare.launcher, probe, boot)
        found = await repository_issues(plan_of(told), git(root, "rev-parse", "main^{tree}"), store, reader)
    assert all(issue.isprintable() for issue in found)
    return found, reader.processes


async def issues(
    tmp_path: Path, *subtasks: dict[str, Any], files: Mapping[str, str | bytes] | None = None
) -> list[str]:
    return (await issues_in(repository(tmp_path / "repo", {**FILES, **(files or {})}), *subtasks))[0]


def with_link_and_submodule(root: Path) -> Path:
    repository(root, FILES)
    (root / "link").symlink_to("src")
    add_and_commit(root, "a link")
    git(root, "update-index", "--add", "--cacheinfo", f"160000,{git(root, 'rev-parse', 'HEAD')},vendor/lib")
    git(root, "commit", "--quiet", "-m", "a submodule")
    return root


# -- read symbols --


async def test_existing_symbols_of_every_language_are_found_by_one_process(tmp_path: Path) -> None:
    reads = (
        "src/shop.py: Shop.total", "src/shop.py: RATE", "src/shop.py: total", "src/shop.py", "src/deep/cart.ts: Cart",
        "src/deep/cart.ts: Cart#total", "src/deep/cart.ts: rate", "cmd/main.go: (*Shop).Total", "cmd/main.go: Shop",
        "java/Shop.java: Shop.total()",
    )  # fmt: skip
    assert await issues_in(repository(tmp_path / "repo", FILES), reading(*reads)) == ([], 1)


@pytest.mark.parametrize(
    ("read", "near"),
    [
        ("src/shop.py: Shop.totals", "Shop.total"),
        ("src/deep/cart.ts: Basket.total", "Cart.total"),
        ("cmd/main.go: Shop.Totl", "Shop.Total"),
        ("java/Shop.java: Shop.totale", "Shop.total"),
    ],
)
async def test_a_missing_symbol_is_an_issue_with_the_nearest_names(tmp_path: Path, read: str, near: str) -> None:
    (issue,) = await issues(tmp_path, reading(read))
    assert issue.startswith(f"'a' reads {read}, but there is no such symbol; there is {near}")


@pytest.mark.parametrize("write", ["src/shop.py", "src/shop.py: Shop", "src/shop.py: Shop.gift", "src/shop.py: gift"])
async def test_a_symbol_made_by_another_subtask_may_be_read(tmp_path: Path, write: str) -> None:
    maker = subtask("b", writes=(write,))
    assert await issues(tmp_path, reading("src/shop.py: Shop.gift"), maker) == []


async def test_a_symbol_that_no_subtask_makes_must_exist_in_its_file(tmp_path: Path) -> None:
    (issue,) = await issues(tmp_path, reading("src/shop.py: Shop.gift"), subtask("b", writes=("src/shop.py: Toy",)))
    assert "'a' reads src/shop.py: Shop.gift" in issue


async def test_a_symbol_among_the_subtask_s_own_writes_need_not_exist(tmp_path: Path) -> None:
    own = subtask("a", writes=("src/shop.py: Shop.gift",), reads=("src/shop.py: Shop.gift",))
    assert await issues(tmp_path, own) == []


async def test_a_subtask_that_writes_a_whole_file_cannot_read_a_symbol_that_was_never_in_it(tmp_path: Path) -> None:
    (issue,) = await issues(tmp_path, subtask("a", "src/shop.py", reads=("src/shop.py: Shop.gift",)))
    assert "no such symbol" in issue


async def test_symbols_of_files_that_cannot_be_parsed_are_accepted(tmp_path: Path) -> None:
    files = {"large.py": b"x = 1\n" + b"#" * MOST_BYTES, "data.csv": "a,b\n"}
    reads = ("README.md: Usage", "data.csv: a", "large.py: never")
    root = repository(tmp_path / "repo", {**FILES, **files})
    assert await issues_in(root, subtask("a", "src/shop.py", reads=reads)) == ([], 0)


async def test_symbols_are_accepted_if_the_parser_crashes_on_a_file(tmp_path: Path) -> None:
    reads = ("src/shop.py: Nothing", "cmd/main.go: Nothing")
    root = repository(tmp_path / "repo", FILES)
    assert await issues_in(root, reading(*reads), boot="import os; os.abort()") == ([], 2)
    assert len((await issues_in(root, reading(*reads)))[0]) == 2


# -- read files --


@pytest.mark.parametrize(
    ("read", "near"),
    [
        ("lib/shop.py", "; there is src/shop.py"),
        ("src/shopp.py: Shop", "; there is src/shop.py"),
        ("src/shop.py/x.py", ""),
        ("nowhere/quite-unlike.zig", ""),
        (":(exclude)x", ""),
        ("\u202eodd.py", ""),
    ],
)
async def test_a_missing_file_is_an_issue_with_the_nearest_paths(tmp_path: Path, read: str, near: str) -> None:
    (issue,) = await issues(tmp_path, reading(read))
    assert issue.startswith("'a' reads ")
    assert issue.endswith(f", which does not exist and which no subtask writes{near}")


async def test_a_file_made_by_another_subtask_may_be_read(tmp_path: Path) -> None:
    assert await issues(tmp_path, reading("src/new.py: f"), subtask("b", "src/new.py")) == []
    root = tmp_path / "repo"
    assert (await issues_in(root, reading("src/new.py"), subtask("b", writes=("src/new.py: g",))))[0] == []


async def test_a_directory_or_submodule_is_an_issue_and_a_path_behind_a_link_is_accepted(
    tmp_path: Path,
) -> None:
    root = with_link_and_submodule(tmp_path / "repo")
    assert (await issues_in(root, reading("link", "link/shop.py: Shop", "link/nothing.py")))[0] == []
    found, _ = await issues_in(root, reading("src", "vendor/lib", "vendor/lib/x.c"))
    assert found == [
        "'a' reads src, but src is a directory; name the files in it",
        "'a' reads vendor/lib, but vendor/lib is a submodule, which is another repository",
        "'a' reads vendor/lib/x.c, but vendor/lib is a submodule, which is another repository",
    ]


# -- written files --


@pytest.mark.parametrize(
    "files",
    [
        ("src/shop.py",),
        ("new.py",),
        ("src/new.py",),
        ("src/README.md",),
        ("brand/new/thing.py",),
        ("pkg/shop.py", "pkg/other.py"),
        ("five/index.ts",),
    ],
    ids=[
        "a known file",
        "at the root",
        "in a known directory",
        "a namesake in a known directory",
        "a new name in a new directory",
        "two files of a new directory",
        "a name that many have",
    ],
)
async def test_a_new_file_is_accepted(tmp_path: Path, files: tuple[str, ...]) -> None:
    assert await issues(tmp_path, subtask("a", *files, writes=(f"{files[0]}: brand_new",))) == []


async def test_an_existing_file_name_in_a_new_directory_is_an_issue_that_names_the_existing_file(
    tmp_path: Path,
) -> None:
    (issue,) = await issues(tmp_path, subtask("a", "lib/shop.py", "README.md"), subtask("b", "lib/other.py"))
    assert issue.startswith("'a' writes lib/shop.py, whose directory does not exist; there is src/shop.py.")


@pytest.mark.parametrize(
    ("file", "why"),
    [
        ("src", "src is a directory; name the files in it"),
        ("link", "link is a symbolic link; name the file itself"),
        ("link/shop.py", "link is a symbolic link; name the file itself"),
        ("vendor/lib", "vendor/lib is a submodule, which is another repository"),
        ("vendor/lib/x.c", "vendor/lib is a submodule, which is another repository"),
        ("README.md/part/one.md", "README.md is a file"),
    ],
)
async def test_a_write_to_a_path_that_cannot_be_a_file_is_an_issue(tmp_path: Path, file: str, why: str) -> None:
    root = with_link_and_submodule(tmp_path / "repo")
    assert (await issues_in(root, subtask("a", file, "new.py")))[0] == [f"'a' writes {file}, but {why}"]


# -- whole plans --


async def test_very_many_issues_are_counted_and_every_subtask_is_named(tmp_path: Path) -> None:
    lost = [subtask(f"s{number}", f"src/{number}.py", reads=("lib/shop.py",)) for number in range(MOST_ISSUES + 5)]
    found = await issues(tmp_path, *lost)
    assert len(found) == MOST_ISSUES + 1
    assert found[0].startswith("'s0' reads lib/shop.py")
    assert found[-1] == "and 5 more"


async def test_a_plan_is_checked_against_its_tree_and_not_against_the_checkout(tmp_path: Path) -> None:
    root = repository(tmp_path / "repo", FILES)
    write(root, {"src/late.py": "def f(): ...\n"})
    (issue,) = (await issues_in(root, reading("src/late.py")))[0]
    assert "src/late.py, which does not exist" in issue
