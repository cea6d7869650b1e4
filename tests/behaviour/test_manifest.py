"""Keep in step: the table of promises, the tests that show them, and the list of promises that are not built yet.

Marks are read from the text of the test files, never by importing them, so the result does not depend on what pytest
collects. A reader must judge whether a test really shows its promise.
"""

import ast
import os
import re
import subprocess
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest

from needs import needs

ROOT = Path(__file__).parents[2]
PROMISES = "tests/behaviour/promises.toml"
NOT_BUILT = "tests/behaviour/not_built.txt"


@dataclass(frozen=True)
class Promise:
    id: str
    source: str
    text: str


@dataclass(frozen=True)
class Version:
    """The promises of one commit, and which of them were not built."""

    commit: str
    promised: frozenset[str]
    not_built: frozenset[str]


# -- reading --


def promises_in(text: str) -> list[Promise]:
    table = cast(list[dict[str, str]], tomllib.loads(text).get("promise", []))
    return [Promise(**line) for line in table]


def ids_in(text: str) -> list[str]:
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def is_promise_mark(node: ast.AST) -> bool:
    """`pytest.mark.promise`, called or not."""
    return isinstance(node, ast.Attribute) and ast.unparse(node) in ("pytest.mark.promise", "mark.promise")


def marks_in(source: str) -> tuple[list[str], list[str]]:
    """Return the ids that the tests of one file show, and the errors of all other marks in it."""
    tree = ast.parse(source)
    good: dict[ast.AST, str] = {}
    for test in ast.walk(tree):
        if isinstance(test, ast.FunctionDef | ast.AsyncFunctionDef) and test.name.startswith("test_"):
            for decorator in test.decorator_list:
                good.update(literal_marks(decorator))
    stray = [
        f"line {node.lineno}: a promise mark takes one literal id and stands on a test"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and is_promise_mark(node) and node not in good
    ]
    return list(good.values()), stray


def literal_marks(decorator: ast.expr) -> Iterator[tuple[ast.AST, str]]:
    for node in ast.walk(decorator):
        match node:
            case ast.Call(func=func, args=[ast.Constant(value=str(id))], keywords=[]) if is_promise_mark(func):
                yield func, id
            case _:
                pass


def shown_in(tests: Path) -> tuple[set[str], list[str]]:
    """Return the ids shown by the test files below a directory, and every misplaced mark."""
    shown: set[str] = set()
    stray: list[str] = []
    for file in sorted(tests.rglob("*.py")):
        ids, wrong = marks_in(file.read_text())
        if ids and not file.name.startswith("test_"):
            wrong = [*wrong, "pytest does not collect this file, so its marks show nothing"]
        stray += [f"{file.relative_to(tests)}: {problem}" for problem in wrong]
        shown.update(ids)
    return shown, stray


# -- comparing --


def mistakes_in_table(promises: list[Promise]) -> list[str]:
    twice = [id for id, times in Counter(promise.id for promise in promises).items() if times > 1]
    problems = [f"{id}: listed more than once" for id in twice]
    for promise in promises:
        if not re.fullmatch(r"[a-z0-9]+([.-][a-z0-9]+)*", promise.id):
            problems.append(f"{promise.id}: an id is lower-case words joined by dots and hyphens")
        if not re.fullmatch(r"interface [1-8]", promise.source):
            problems.append(f"{promise.id}: the source names a section of the interface, not {promise.source!r}")
        if not re.fullmatch(r".{20,200}\.", promise.text):
            problems.append(f"{promise.id}: the text is one sentence")
    return problems


def out_of_step(promised: set[str], shown: set[str], not_built: list[str]) -> list[str]:
    twice = [id for id, times in Counter(not_built).items() if times > 1]
    waiting = set(not_built)
    return sorted(
        [f"{id}: a test shows it, but {PROMISES} does not promise it" for id in shown - promised]
        + [f"{id}: in {NOT_BUILT}, but {PROMISES} does not promise it" for id in waiting - promised]
        + [f"{id}: neither a test nor a line in {NOT_BUILT}" for id in promised - shown - waiting]
        + [f"{id}: a test shows it now; remove it from {NOT_BUILT}" for id in promised & shown & waiting]
        + [f"{id}: listed more than once in {NOT_BUILT}" for id in twice]
    )


def came_back(not_built: set[str], older: list[Version]) -> list[str]:
    """Return ids that are listed as not built although an older commit had them built."""
    return sorted(
        f"{id}: was built at {version.commit[:12]} and is listed as not built again"
        for version in older
        for id in not_built & version.promised - version.not_built
    )


# -- history --


def git(root: Path, *arguments: str, given: str = "") -> subprocess.CompletedProcess[bytes]:
    """Run git on this directory alone: not on a surrounding repository, and not on one that a hook names."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment["GIT_CEILING_DIRECTORIES"] = str(root.parent)
    command = [needs("git"), "-c", "safe.directory=*", "-C", str(root), *arguments]
    return subprocess.run(command, input=given.encode(), capture_output=True, env=environment, check=False)


def older_versions(root: Path) -> list[Version] | None:
    """Return every version of the list in the history of HEAD, newest first; None without a repository."""
    if git(root, "rev-parse", "--git-dir").returncode != 0:
        return None
    if git(root, "rev-parse", "--verify", "--quiet", "HEAD").returncode != 0:
        return []
    log = git(root, "log", "--full-history", "--format=%H", "--", NOT_BUILT)
    assert log.returncode == 0, log.stderr.decode()
    commits = log.stdout.decode().split()
    files = iter(blobs(root, [f"{commit}:{path}" for commit in commits for path in (PROMISES, NOT_BUILT)]))
    return [version(commit, next(files), next(files)) for commit in commits]


def blobs(root: Path, names: list[str]) -> list[str]:
    """Return the text of each blob, empty for a missing one; one git process for all."""
    answer = git(root, "cat-file", "--batch", given="".join(f"{name}\n" for name in names)).stdout
    texts: list[str] = []
    for _ in names:
        header, _, answer = answer.partition(b"\n")
        size = 0 if header.endswith(b" missing") else int(header.split()[-1]) + 1
        texts.append(answer[:size].decode())
        answer = answer[size:]
    return texts


def version(commit: str, promises: str, not_built: str) -> Version:
    try:
        promised = frozenset(promise.id for promise in promises_in(promises))
    except (tomllib.TOMLDecodeError, TypeError):
        promised = frozenset[str]()  # an invalid table at that commit is ignored
    return Version(commit, promised, frozenset(ids_in(not_built)))


# -- this repository --


def test_the_table_of_promises_is_well_formed() -> None:
    assert mistakes_in_table(promises_in((ROOT / PROMISES).read_text())) == []


def test_every_promise_is_shown_by_a_test_or_listed_as_not_built() -> None:
    promised = {promise.id for promise in promises_in((ROOT / PROMISES).read_text())}
    shown, stray = shown_in(ROOT / "tests")
    assert stray == []
    assert out_of_step(promised, shown, ids_in((ROOT / NOT_BUILT).read_text())) == []


def test_the_list_of_unbuilt_promises_only_shrinks() -> None:
    older = older_versions(ROOT)
    if older is None:
        assert not (ROOT / ".git").exists(), "git cannot read this repository, so the list cannot be compared"
    assert came_back(set(ids_in((ROOT / NOT_BUILT).read_text())), older or []) == []


# -- the comparison itself --

MARKED = """
import pytest
@pytest.mark.promise("a.one")
@pytest.mark.promise("a.two")
async def test_it_is_so(): ...
@pytest.mark.parametrize("x", [pytest.param(1, marks=pytest.mark.promise("a.three"))])
def test_it_is_so_too(x): ...
"""


def test_promise_marks_are_read_from_decorators_and_parameters() -> None:
    assert marks_in(MARKED) == (["a.one", "a.two", "a.three"], [])


@pytest.mark.parametrize(
    "source",
    [
        'import pytest\npytestmark = pytest.mark.promise("a")',
        'import pytest\n@pytest.mark.promise("a")\ndef helper(): ...',
        "import pytest\n@pytest.mark.promise(NAME)\ndef test_it_is_so(): ...",
        'import pytest\n@pytest.mark.promise("a", "b")\ndef test_it_is_so(): ...',
        "import pytest\n@pytest.mark.promise\ndef test_it_is_so(): ...",
        "import pytest\nshows = pytest.mark.promise",
    ],
)
def test_a_promise_mark_on_something_other_than_a_test_is_an_error(source: str) -> None:
    ids, stray = marks_in(source)
    assert ids == []
    assert len(stray) == 1


def test_promise_marks_in_a_file_that_pytest_does_not_collect_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "scenes.py").write_text(MARKED)
    _, stray = shown_in(tmp_path)
    assert stray == ["scenes.py: pytest does not collect this file, so its marks show nothing"]


@pytest.mark.parametrize(
    ("promised", "shown", "not_built", "complaint"),
    [
        ({"a"}, {"a", "b"}, [], "b: a test shows it, but"),
        ({"a"}, {"a"}, ["b"], "b: in tests/behaviour/not_built.txt, but"),
        ({"a", "b"}, {"a"}, [], "b: neither a test nor a line"),
        ({"a"}, {"a"}, ["a"], "a: a test shows it now; remove it"),
        ({"a"}, set[str](), ["a", "a"], "a: listed more than once"),
    ],
)
def test_every_mismatch_between_promises_and_tests_is_named(
    promised: set[str], shown: set[str], not_built: list[str], complaint: str
) -> None:
    (found,) = out_of_step(promised, shown, not_built)
    assert found.startswith(complaint)


def test_every_error_in_the_table_of_promises_is_named() -> None:
    sentence = "Something is promised here."
    table = [
        Promise("a.one", "interface 2", sentence),
        Promise("a.one", "interface 2", sentence),
        Promise("Not An Id", "interface 2", sentence),
        Promise("a.two", "hearsay", sentence),
        Promise("a.three", "interface 2", "too short."),
    ]
    complaints = mistakes_in_table(table)
    assert [complaint.split(":")[0] for complaint in complaints] == ["a.one", "Not An Id", "a.two", "a.three"]


# -- the history, on repositories made for it --


def write(root: Path, promised: list[str], not_built: list[str]) -> None:
    (root / PROMISES).parent.mkdir(parents=True, exist_ok=True)
    lines = [f'{{ id = "{id}", source = "interface 2", text = "Something is promised." }},' for id in promised]
    (root / PROMISES).write_text("promise = [\n" + "\n".join(lines) + "\n]\n")
    (root / NOT_BUILT).write_text("# not yet\n" + "\n".join(not_built) + "\n")


def commit(root: Path, message: str) -> None:
    identity = ("-c", "user.name=Tester", "-c", "user.email=tester@example.invalid")
    assert git(root, "add", "--all").returncode == 0
    assert git(root, *identity, "commit", "--quiet", "--allow-empty", "-m", message).returncode == 0


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    assert git(tmp_path, "init", "--quiet").returncode == 0
    return tmp_path


def test_a_built_promise_cannot_be_listed_as_unbuilt_again(repository: Path) -> None:
    write(repository, ["a", "b"], ["a", "b"])
    commit(repository, "nothing is built")
    write(repository, ["a", "b"], ["b"])
    commit(repository, "a is built")
    commit(repository, "something else")
    (complaint,) = came_back({"a", "b"}, older_versions(repository) or [])
    assert complaint.startswith("a: was built at ")


def test_a_new_promise_may_start_as_unbuilt(repository: Path) -> None:
    write(repository, ["a", "b"], ["b"])
    commit(repository, "a is built")
    assert came_back({"b", "c"}, older_versions(repository) or []) == []


def test_an_invalid_table_in_an_old_commit_does_not_stop_the_comparison(repository: Path) -> None:
    write(repository, ["a"], ["a"])
    (repository / PROMISES).write_text("promise = [")
    commit(repository, "a slip")
    write(repository, ["a", "b"], ["b"])
    commit(repository, "repaired")
    assert came_back({"a"}, older_versions(repository) or []) != []
    assert came_back({"b"}, older_versions(repository) or []) == []


def test_a_history_without_the_list_gives_nothing_to_compare(repository: Path) -> None:
    assert older_versions(repository) == []
    commit(repository, "the first commit, before the list")
    write(repository, ["a"], ["a"])
    assert older_versions(repository) == []


def test_a_directory_inside_a_repository_is_not_a_repository(repository: Path) -> None:
    commit(repository, "around it")
    inside = repository / "unpacked"
    write(inside, ["a"], ["a"])
    assert older_versions(inside) is None


def test_a_fresh_clone_has_the_same_history(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    write(repository, ["a", "b"], ["b"])
    commit(repository, "a is built")
    clone = tmp_path_factory.mktemp("clone") / "repository"
    assert git(repository, "clone", "--quiet", "--no-hardlinks", str(repository), str(clone)).returncode == 0
    assert older_versions(clone) == older_versions(repository) != []
