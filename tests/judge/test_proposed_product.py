"""The proposal for `contract.product`: few patterns with reasons, which decide as the inference does."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from protection import contract

from donewhen.judge.protect import Guard, UsedFiles
from donewhen.judge.protect.rules.proposed_product import MOST_PATTERNS, propose_product
from donewhen.judge.used_paths import UsedPaths
from donewhen.workspace.beneath import Root

CHECKS = contract("unknown-tool")


def used_paths(root: Path, files: Mapping[str, str], *commands: tuple[str, ...]) -> UsedPaths:
    """Write the files, and return that a check used all of them."""
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content)
    return UsedPaths(read=tuple(files), commands=commands, is_complete=True)


def patterns(root: Path, files: Mapping[str, str], *commands: tuple[str, ...]) -> dict[str, str]:
    found = propose_product(CHECKS, Root(root), [used_paths(root, files, *commands)])
    return {one.pattern: one.reason for one in found}


def decisions(root: Path, used: UsedPaths, product: tuple[str, ...]) -> dict[str, bool]:
    """Return for each used path whether a change of it counts."""
    rules = UsedFiles(Guard(replace(CHECKS, product=product), Root(root)), [used])
    return {path: not (rules.guard.reason(path, True) or rules.is_judging(path)) for path in used.read}


def test_every_place_of_the_product_gets_one_pattern_with_a_reason(tmp_path: Path) -> None:
    files = {"src/a.py": "", "src/b/c.py": "", "shop/__init__.py": "", "calc.py": "", "tests/test_a.py": "calc"}
    assert patterns(tmp_path, files) == {
        "*.py": "sources at the root",
        "shop/**": "sources that the checks use",
        "src/**": "sources are usually here",
    }


def test_a_pattern_that_would_free_an_entry_point_is_replaced_by_the_files(tmp_path: Path) -> None:
    files = {"calc.py": "", "other.py": "", "verify.py": "import calc, other", "data/x.json": ""}
    found = patterns(tmp_path, files, ("python3", "verify.py"))
    assert sorted(found) == ["calc.py", "other.py"]


def test_many_files_of_one_directory_become_one_pattern(tmp_path: Path) -> None:
    tables = {f"tables/{name}.csv": "" for name in "abcde"}
    files = {"src/a.py": "open(f'tables/{name}.csv')", "extra/one.csv": "", "src/b.py": "'one.csv'", **tables}
    assert sorted(patterns(tmp_path, files)) == ["extra/one.csv", "src/**", "tables/**"]


def test_a_name_with_wildcards_stands_for_itself(tmp_path: Path) -> None:
    files = {"src/a.py": "open('[ab].csv')", "data/[ab].csv": "", "data/a.csv": ""}
    assert sorted(patterns(tmp_path, files)) == ["data/[[]ab].csv", "src/**"]


def test_more_patterns_than_a_person_reads_are_not_proposed(tmp_path: Path) -> None:
    names = [f"d{number}/file{number}.csv" for number in range(MOST_PATTERNS)]
    files = {"src/a.py": " ".join(names), **dict.fromkeys(names, "")}
    assert patterns(tmp_path, files) == {}


def test_nothing_is_proposed_if_the_checks_use_tests_alone(tmp_path: Path) -> None:
    assert patterns(tmp_path, {"tests/test_a.py": "", "pyproject.toml": ""}) == {}


NAMES = st.sampled_from(
    ["src", "lib", "a", "b.py", "C.PY", "c.js", "d.json", "tests", "test_x.py", "[x].js", "Makefile", "é", "x y", "run"]
)
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
TEXTS = st.lists(st.sampled_from(["b", "d.json", "a", "run", "c", "import"]), max_size=3).map(" ".join)


@given(st.dictionaries(PATHS, TEXTS, max_size=8), st.lists(PATHS, max_size=3))
def test_the_proposed_patterns_decide_as_the_inference_does(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, str], words: list[str]
) -> None:
    sound = {path: text for path, text in files.items() if not any(other.startswith(f"{path}/") for other in files)}
    root = tmp_path_factory.mktemp("base")
    used = used_paths(root, sound, ("tool", *words))
    proposed = tuple(one.pattern for one in propose_product(CHECKS, Root(root), [used]))
    if proposed:
        assert decisions(root, used, proposed) == decisions(root, used, ())
