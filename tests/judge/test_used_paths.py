"""Which paths of the tree a run used, from the record of an observer."""

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from donewhen.judge.used_paths import UsedPaths, used_paths
from donewhen.workspace.process.launcher.messages import FOUND, LISTED, MISSED, READ, WRITTEN
from donewhen.workspace.process.observed import NO_PARENT, Observed, ProgramRun

ROOT = "/home/me/repo"
BASE = {"calc.py", "include", "include/add.h", "proofs", "proofs/all.awk", "package.json", "test"}


def run(
    seen: Mapping[str, int], *argv: str, program: str = "/usr/bin/tool", parent: int = NO_PARENT, directory: str = ROOT
) -> ProgramRun:
    return ProgramRun(
        parent=parent,
        program=program,
        interpreter="",
        argv=("tool", *argv),
        directory=directory,
        exit_code=0,
        seen=seen,
    )


def used(*runs: ProgramRun, complete: bool = True) -> UsedPaths:
    return used_paths(Observed(complete, runs), ROOT, BASE.__contains__, {})


def test_files_of_the_base_that_a_program_read_are_used() -> None:
    seen = {f"{ROOT}/calc.py": READ, f"{ROOT}/made.o": READ, "/usr/lib/x.so": READ, f"{ROOT}/include": LISTED}
    assert used(run(seen)).read == ("calc.py",)
    assert used(run({f"{ROOT}/calc.py": WRITTEN})).read == ()


def test_a_path_that_is_not_found_is_answered_by_the_next_file_of_that_name() -> None:
    seen = {
        f"{ROOT}/include/assert.h": MISSED,
        "/usr/local/include/assert.h": MISSED,
        "/usr/include": FOUND,
        "/usr/include/assert.h": READ,
    }
    assert used(run(seen)).missed == {"include/assert.h": "/usr/include/assert.h"}


def test_an_answer_in_the_tree_is_relative_to_its_root() -> None:
    seen = {f"{ROOT}/test/package.json": MISSED, f"{ROOT}/package.json": READ}
    assert used(run(seen)).missed == {"test/package.json": "package.json"}


def test_a_file_of_the_same_name_that_is_read_later_is_no_answer() -> None:
    seen = {f"{ROOT}/index.js": MISSED, f"{ROOT}/calc.py": READ, "/usr/lib/other/index.js": READ}
    assert used(run(seen)).missed == {"index.js": ""}


def test_another_program_does_not_answer() -> None:
    first, second = run({f"{ROOT}/assert.h": MISSED}), run({"/usr/include/assert.h": READ})
    assert used(first, second).missed == {"assert.h": ""}


def test_the_git_directory_and_paths_outside_are_not_looked_for_in_the_tree() -> None:
    assert used(run({f"{ROOT}/.git/config": MISSED, "/etc/foorc": MISSED})).missed == {}


def test_words_that_are_paths_of_the_base_are_relative_to_its_root() -> None:
    found = used(run({}, "-x", "all.awk", "numbers", directory=f"{ROOT}/proofs"))
    assert found.commands == (("tool", "proofs/all.awk", "numbers"),)
    assert used(run({}, program=f"{ROOT}/calc.py")).commands == (("./calc.py",),)


def test_only_the_first_program_that_names_a_path_counts_as_the_checks_own() -> None:
    shell = run({}, "-c", "awk -f proofs/all.awk")
    inner = run({}, "-f", "calc.py", parent=0)
    assert used(shell, inner).named == ("proofs/all.awk",)
    assert used(run({}, "check"), inner).named == ("calc.py",)
    assert used(run({}, ".read proofs/all.awk")).named == ("proofs/all.awk",)


def test_a_file_that_is_neither_a_word_nor_in_a_list_was_chosen_by_the_program() -> None:
    seen = {f"{ROOT}/calc.py": READ, f"{ROOT}/proofs/all.awk": READ}
    assert used(run(seen)).chosen == ("calc.py", "proofs/all.awk")
    assert used(run(seen, "calc.py")).chosen == ("proofs/all.awk",)
    assert used(run({ROOT: LISTED, **seen})).chosen == ("proofs/all.awk",)
    assert used(run({f"{ROOT}/proofs": LISTED, **seen})).chosen == ("calc.py",)


def test_a_record_that_is_not_complete_says_so() -> None:
    assert used(run({})).is_complete
    assert not used(run({}), complete=False).is_complete


PATHS = st.sampled_from([f"{ROOT}/{name}" for name in (*BASE, "new", "a/b", ".git/x")] + ["/usr/a", "/usr/new", ROOT])
DEEDS = st.integers(1, 31)


@given(st.lists(st.dictionaries(PATHS, DEEDS), max_size=4), st.lists(st.text(max_size=20), max_size=4))
def test_nothing_outside_the_tree_and_nothing_that_the_base_has_is_missed(
    runs: list[dict[str, int]], words: list[str]
) -> None:
    found = used(*(run(seen, *words) for seen in runs))
    assert set(found.read) <= BASE
    assert not set(found.missed) & BASE
    assert all(not path.startswith("/") for path in (*found.missed, *found.named))
