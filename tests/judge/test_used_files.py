"""Which changes count, by what the checks used on the base: product by layout, entry points, look-ups, data."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from protection import contract

from donewhen.judge.protect import Guard, UsedFiles
from donewhen.judge.used_paths import UsedPaths
from donewhen.workspace.beneath import Root

LOOKED_FOR = "a check looks for it, and it is not product"
BY_ITSELF = "a tool of a check looks for it by itself"
USED = "a check uses it, and it is not product"


CHOSEN = {"noxfile.py", "tool.config.js"}
"""Files that a tool reads by a name of its own."""


class Base:
    """A base on disk, and what its checks used."""

    def __init__(self, root: Path, files: Mapping[str, str]) -> None:
        self.root = root
        self.files = files
        for path, content in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(content)

    def used(
        self,
        *commands: tuple[str, ...],
        read: Iterable[str] = (),
        missed: Mapping[str, str] | None = None,
        product: tuple[str, ...] = (),
        command: str = "unknown-tool",
    ) -> UsedFiles:
        paths = UsedPaths(
            read=tuple(read or self.files),
            commands=commands,
            chosen=tuple(path for path in self.files if path in CHOSEN),
            missed=missed or {},
            is_complete=True,
        )
        guard = Guard(replace(contract(command), product=product), Root(self.root))
        return UsedFiles(guard, [paths])


def reason(used: UsedFiles, path: str, removed: Iterable[str] = ()) -> str:
    exists = (Path(used.guard.base.root.location) / path).exists()
    return used.reason(path, exists, frozenset(removed).__contains__)


def product_of(used: UsedFiles, paths: Iterable[str]) -> list[str]:
    return [path for path in paths if used.product.covers(path)]


LAYOUTS = {
    "usual directories, with data among the sources": (
        {"src/calc/add.py": "", "src/calc/units.json": "", "lib/x.rb": "", "tests/test_add.py": "import calc"},
        (),
        ["src/calc/add.py", "src/calc/units.json", "lib/x.rb"],
    ),
    "a file at the root that a linter finds in a list": ({"calc.py": "", "other.py": ""}, (), ["calc.py", "other.py"]),
    "modules at the root that tests name": (
        {"calc.py": "", "test_calc.py": "from calc import add", "noxfile.py": "session"},
        (),
        ["calc.py"],
    ),
    "packages, and a directory that only tests name": (
        {"shop/__init__.py": "", "shop/a.py": "", "vectors/load.py": "", "tests/test_a.py": "import shop.a, vectors"},
        (),
        ["shop/__init__.py", "shop/a.py"],
    ),
    "directories that sources of the product name": (
        {"app.js": "require('./routes/one')", "routes/one.js": "require('../models/two')", "models/two.js": "",
         "stubs/three.js": "", "test/a.test.js": "require('../stubs/three')"},
        (),
        ["app.js", "routes/one.js", "models/two.js"],
    ),
    "any directory, in a language whose builds name each source": (
        {"sum/sum.go": "", "server/s.go": "", "sum/sum_test.go": ""},
        (),
        ["sum/sum.go", "server/s.go"],
    ),
    "everything that is left, if nothing is usual": (
        {"programs/gcd.py": "", "cases/test_gcd.py": "import gcd"},
        (),
        ["programs/gcd.py"],
    ),
    "helpers among tests of something else are not product": (
        {"programs/gcd.py": "", "cases/test_gcd.py": "import gcd, load", "cases/test_b.py": "", "cases/load.py": ""},
        (),
        ["programs/gcd.py"],
    ),
    "a module beside its tests is product": (
        {"pkg/core.py": "", "pkg/test_a.py": "import core", "pkg/test_b.py": "import core"},
        (),
        ["pkg/core.py"],
    ),
    "a script directory is not product": (
        {"src/a.py": "", "scripts/check.py": ""},
        (("python3", "scripts/check.py"),),
        ["src/a.py"],
    ),
    "the entry point of a check is not": (
        {"src/a.py": "", "proofs/main.py": "import a", "proofs/cases.py": ""},
        (("python3", "proofs/main.py"),),
        ["src/a.py"],
    ),
    "a module by its dotted name is not": (
        {"a.py": "", "proofs/__main__.py": "import a"},
        (("python3", "proofs"),),
        ["a.py"],
    ),
    "a class by its name is not": (
        {"Calc.java": "", "Proof.java": "Calc.add()"},
        (("javac", "Calc.java", "Proof.java"), ("java", "out", "Proof")),
        ["Calc.java"],
    ),
    "a package of go run is not": (
        {"sum/sum.go": "", "internal/proof/main.go": "calc/sum"},
        (("go", "run", "internal/proof"),),
        ["sum/sum.go"],
    ),
    "a package that is only built is": (
        {"sum/sum.go": "", "server/main.go": "calc/sum"},
        (("go", "build", "server"),),
        ["sum/sum.go", "server/main.go"],
    ),
    "a script that tests name is product": (
        {"tool.py": "import lib_", "lib_.py": "", "tests/test_tool.py": "run('tool.py')"},
        (("python3", "tool.py"),),
        ["tool.py", "lib_.py"],
    ),
    "the only script is product": ({"tool.py": ""}, (("python3", "tool.py", "2"),), ["tool.py"]),
    "the usual main file is product": (
        {"main.py": "import lib_", "lib_.py": ""},
        (("python3", "main.py"),),
        ["main.py", "lib_.py"],
    ),
    "what a linter or compiler gets is product": (
        {"calc.py": "import util", "util.py": ""},
        (("ruff", "check", "calc.py"),),
        ["calc.py", "util.py"],
    ),
    "data that a source names is product": (
        {"app/a.py": "open('rates.csv')", "rates.csv": "", "expected.csv": "", "tests/test_a.py": "expected.csv"},
        (),
        ["app/a.py", "rates.csv"],
    ),
    "data in a directory that a source names is product": (
        {"app/a.py": "glob('plugins/*')", "plugins/one.yaml": "", "vectors/one.yaml": ""},
        (),
        ["app/a.py", "plugins/one.yaml"],
    ),
    "documentation is product": ({"README.md": "", "docs/a.md": "", "spec.txt": "", "src/a.py": ""}, (),
        ["README.md", "docs/a.md", "src/a.py"]),
    "data, if the checks use no source": ({"answer.txt": "", "expected.txt": ""}, (("grep", "right", "answer.txt"),),
        ["answer.txt"]),
    "a language that no table knows": ({"rules/a.foo": "", "expected.txt": ""}, (), ["rules/a.foo"]),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYOUTS)
def test_the_product_is_inferred_from_the_layout(name: str, tmp_path: Path) -> None:
    files, commands, product = LAYOUTS[name]
    found = product_of(Base(tmp_path, files).used(*commands), files)
    assert sorted(found) == sorted(product)


def test_a_used_file_that_is_not_product_is_judged_as_the_base_has_it(tmp_path: Path) -> None:
    base = Base(tmp_path, {"src/a.py": "", "vectors/one.json": "", "notes.txt": "", "Tupfile": ""})
    used = base.used(read=("src/a.py", "vectors/one.json", "Tupfile"))
    assert reason(used, "vectors/one.json") == USED
    assert reason(used, "Tupfile") == USED
    assert reason(used, "src/a.py") == ""
    assert reason(used, "notes.txt") == "", "no check uses it"
    assert reason(used, "ci/new.yml") == "", "no check looks for it"


def test_declared_patterns_decide_alone(tmp_path: Path) -> None:
    base = Base(tmp_path, {"src/a.py": "", "rules/one.json": ""})
    used = base.used(product=("rules/**",), missed={"rules/two.json": "", "src/b.py": ""})
    assert reason(used, "rules/one.json") == ""
    assert reason(used, "src/a.py") == "a check uses it, and [contract] product does not cover it"
    assert reason(used, "rules/two.json") == ""
    assert reason(used, "src/b.py") == "a check looks for it, and [contract] product does not cover it"


def test_manifests_and_lock_files_are_left_to_the_rules_about_their_content(tmp_path: Path) -> None:
    base = Base(
        tmp_path, {"src/a.py": "", "pyproject.toml": "", "uv.lock": "", "requirements.txt": "", ".gitignore": ""}
    )
    used = base.used()
    assert [path for path in base.files if reason(used, path)] == []


def test_a_new_file_that_answers_for_another_is_not_graded(tmp_path: Path) -> None:
    base = Base(tmp_path, {"include/add.h": "", "src/add.c": "", "proofs/t.c": "", "src/util.py": ""})
    missed = {"include/assert.h": "/usr/include/assert.h", "include/util.py": "src/util.py", "src/t.c": "proofs/t.c"}
    used = base.used(("prover", "proofs/t.c"), missed=missed)
    assert reason(used, "include/assert.h") == "would be used instead of /usr/include/assert.h"
    assert reason(used, "src/t.c") == "would be used instead of proofs/t.c"
    assert reason(used, "src/t.c", removed=["proofs/t.c"]) != "would be used instead of proofs/t.c"
    assert "instead of" not in reason(used, "include/util.py"), "product in place of product"


def test_a_new_directory_that_a_tool_looked_for_counts_with_all_that_is_in_it(tmp_path: Path) -> None:
    used = Base(tmp_path, {"main.go": ""}).used(missed={"vendor": ""})
    assert reason(used, "vendor/testing/testing.txt") == LOOKED_FOR
    assert reason(used, "other/testing.txt") == ""


def test_a_new_setting_that_a_tool_looks_for_is_not_graded(tmp_path: Path) -> None:
    base = Base(tmp_path, {"src/a.js": "", "test/a.test.js": "require('../src/b')"})
    missed = {".toolrc": "", "tool.config.js": "", "src/b.js": "", "tests_list": ""}
    used = base.used(missed=missed)
    assert reason(used, ".toolrc") == LOOKED_FOR
    assert reason(used, "tool.config.js") == BY_ITSELF
    assert reason(used, "src/b.js") == "", "a test names it: it is work to be done"


def test_a_new_file_that_the_check_itself_names_is_work_to_be_done(tmp_path: Path) -> None:
    used = Base(tmp_path, {"src/a.py": ""}).used(missed={"dist/list.txt": ""}, command="test -f dist/list.txt")
    assert reason(used, "dist/list.txt") == ""


def test_a_part_of_a_word_in_a_command_names_nothing(tmp_path: Path) -> None:
    used = Base(tmp_path, {"src/a.py": ""}).used(missed={"rc": "", "list": ""}, command="search --all ./list src")
    assert reason(used, "rc") == LOOKED_FOR, "it is only a part of another word"
    assert reason(used, "list") == ""


def test_a_file_in_which_the_check_itself_searches_is_what_it_judges(tmp_path: Path) -> None:
    base = Base(tmp_path, {"src/a.py": "", "answer.txt": "", "list.txt": ""})
    commands = (("grep", "right", "answer.txt"), ("grep", "right", "list.txt"))
    used = base.used(*commands, command="python3 src/a.py && grep -qx right answer.txt && make lists")
    assert reason(used, "answer.txt") == ""
    assert reason(used, "list.txt") == USED, "a part of the check searches there"


def test_the_first_file_of_a_build_tool_is_work_to_be_done(tmp_path: Path) -> None:
    used = Base(tmp_path, {"src/a.py": ""}).used(missed={"Makefile": ""}, command="make test")
    assert reason(used, "Makefile") == ""


def test_a_new_test_is_not_restored_because_a_check_looked_for_it(tmp_path: Path) -> None:
    used = Base(tmp_path, {"src/a.py": ""}).used(missed={"tests/test_b.py": ""})
    assert reason(used, "tests/test_b.py") == ""


def test_editable_paths_are_free(tmp_path: Path) -> None:
    base = Base(tmp_path, {"src/a.py": "", "vectors/one.json": ""})
    guard = Guard(contract("tool", editable=["vectors/**"]), Root(base.root))
    assert reason(UsedFiles(guard, [UsedPaths(read=tuple(base.files))]), "vectors/one.json") == ""


def test_a_declared_pattern_for_the_root_does_not_cover_a_file_that_a_tool_finds_by_itself(tmp_path: Path) -> None:
    base = Base(tmp_path, {"calc.js": "", "calc.test.js": "require('./calc')"})
    missed = {"judge.config.js": ""}
    assert reason(base.used(missed=missed, product=("*.js",)), "judge.config.js") == BY_ITSELF
    assert reason(base.used(missed=missed, product=("*.js", "judge.config.js")), "judge.config.js") == ""


NAMES = st.sampled_from(
    ["src", "lib", "a", "b.py", "c.js", "d.json", "tests", "test_x.py", ".rc", "Makefile", "é", "x y"]
)
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)


@given(st.dictionaries(PATHS, st.text(max_size=30), max_size=8), st.lists(PATHS, max_size=4), PATHS)
def test_any_layout_gets_an_answer_and_the_contract_is_never_product(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, str], words: list[str], path: str
) -> None:
    sound = {path: text for path, text in files.items() if not any(other.startswith(f"{path}/") for other in files)}
    sound = {path: text for path, text in sound.items() if text.isprintable()}
    used = Base(tmp_path_factory.mktemp("base"), sound).used(("tool", *words), missed={path: ""})
    assert isinstance(reason(used, path), str)
    assert used.guard.contract_reason("donewhen.toml")
    assert used.guard.contract_reason(".donewhen/loops/a.toml")
