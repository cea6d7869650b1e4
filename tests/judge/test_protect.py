"""The judged tree of a candidate: protected paths from the base, ordinary work unchanged."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from protection import Link, Made, Program, contract, scene

pytestmark = pytest.mark.anyio

PYTHON = {
    "calc.py": "def add(a, b): return a - b\n",
    "app/__init__.py": "",
    "app/testing_tools/run.py": "x = 1\n",
    "latest.py": "",
    "contest/entry.py": "",
    "tests/test_calc.py": "def test_add(): ...\n",
    "tests/helpers.py": "",
    "tests/data/sums.json": "[]\n",
    "tests/conftest.py": "import pytest\n",
    "docs/index.md": "",
    "tool.sh": "echo\n",
    "pyproject.toml": "[project]\nname = 'calc'\n",
}
JS = {
    "package.json": '{"name": "calc", "scripts": {"test": "jest"}}\n',
    "src/add.js": "",
    "src/add.test.js": "",
    "src/__snapshots__/add.test.js.snap": "",
    "tests/helpers/index.js": "",
    "tests/tools.ts": "",
    "tests/a.spec.ts": "",
}

ATTACKS: dict[str, Mapping[str, Made]] = {
    "an existing test": {"tests/test_calc.py": "def test_add(): pass\n"},
    "its data": {"tests/data/sums.json": "[1]\n"},
    "its helper": {"tests/helpers.py": "assert 0\n"},
    "a deleted test": {"tests/test_calc.py": None},
    "the settings of the tests": {"tests/conftest.py": "collect_ignore = ['test_calc.py']\n"},
    "new settings at the root": {"conftest.py": "collect_ignore = ['tests']\n"},
    "new settings as a link": {"conftest.py": Link("docs/index.md")},
    "new settings among sources": {"app/conftest.py": ""},
    "pytest.ini": {"pytest.ini": "[pytest]\n"},
    ".pytest.ini": {".pytest.ini": "[pytest]\n"},
    "pytest.toml": {"pytest.toml": ""},
    "tox.ini": {"tox.ini": "[pytest]\n"},
    "noxfile": {"noxfile.py": ""},
    "coverage": {".coveragerc": ""},
    "variables": {".env": "A=b\n"},
    "variables of a stage": {".env.test": "A=b\n"},
    "variables of the shell": {".envrc": ""},
    "another interpreter": {".python-version": "2.7\n"},
    "start of the interpreter": {"sitecustomize.py": ""},
    "start of the interpreter below": {"app/usercustomize.py": ""},
    "path file": {"x.pth": "import os\n"},
    "entry points": {"helper.egg-info/entry_points.txt": "[pytest11]\n"},
    "entry points of a wheel": {"helper-1.dist-info/entry_points.txt": "[pytest11]\n"},
    "bytecode": {"__pycache__/calc.cpython-311.pyc": b"\0"},
    "bytecode beside": {"calc.pyc": b"\0"},
    "the cache of the runner": {".pytest_cache/v/cache/lastfailed": "{}"},
    "an environment": {".venv/bin/pytest": Program("#!/bin/sh\n")},
    "an environment as a link": {".venv": Link("docs")},
    "installed modules": {"node_modules/.bin/jest": Program("#!/bin/sh\n")},
    "a binary beside the source": {"calc.cpython-311-x86_64-linux-gnu.so": b"\x7fELF"},
    "a runner at the root": {"pytest": Program("#!/bin/sh\n")},
    "a runner in bin": {"bin/pytest": Program("#!/bin/sh\n")},
    "a package file among tests": {"tests/__init__.py": "import calc\n"},
    "a package instead of a helper": {"tests/helpers/__init__.py": ""},
    "a product beside the tests": {"tests/calc.py": "def add(a, b): return a + b\n"},
    "a product package beside the tests": {"tests/calc/__init__.py": ""},
    "the contract": {"donewhen.toml": "[contract]\n"},
    "git hooks": {".husky/pre-commit": "exit 0\n"},
    "attributes": {".gitattributes": "tests/** text eol=crlf\n"},
    "settings of cargo": {".cargo/config.toml": "[build]\n"},
    "settings of cargo through a link": {".cargo": Link("docs")},
    "hooks in a new directory": {"tests/new/conftest.py": "def pytest_collection_modifyitems(items): items.clear()\n"},
    "hooks imported in a new directory": {"tests/new/conftest.py": "from evil import *\n"},
    "hooks made at run time": {"tests/new/conftest.py": "globals()['py' + 'test_configure'] = print\n"},
    "a path in a new directory": {"tests/new/conftest.py": "import sys\nsys.path.insert(0, 'right')\n"},
}
HONEST: dict[str, Mapping[str, Made]] = {
    "a fix": {"calc.py": "def add(a, b): return a + b\n"},
    "a new test": {"tests/test_more.py": "def test_it(): ...\n"},
    "a new test directory with fixtures": {
        "tests/more/conftest.py": (
            "import pytest\nimport pytest_asyncio\n\n\n@pytest.fixture\n"
            "def a(monkeypatch):\n    monkeypatch.setattr('x.y', 1)\n"
        ),
        "tests/more/test_more.py": "",
        "tests/more/__init__.py": "",
        "tests/more/data.json": "{}",
    },
    "new data for a new test": {"tests/data/more.json": "[]\n"},
    "a new helper": {"tests/other_helpers.py": ""},
    "a renamed module": {"calc.py": None, "sums.py": "def add(a, b): return a + b\n"},
    "a package split": {"calc.py": None, "calc/__init__.py": "from calc.adding import add\n", "calc/adding.py": ""},
    "names that only sound like tests": {"app/testing_tools/run.py": "", "latest.py": "x", "contest/entry.py": "x"},
    "Unicode names": {"app/größe.py": "", "docs/e\u0301t\u00e9.md": "", "docs/\udcff.md": ""},
    "a mode": {"tool.sh": Program("echo\n")},
    "generated files": {"dist/bundle.js": "x", "build/out.txt": "", "app/_version.py": ""},
    "lock files": {"uv.lock": "", "poetry.lock": "", "requirements.txt": "", "package-lock.json": "{}"},
    "examples of variables": {".env.example": "A=\n"},
    "an ignore file": {".gitignore": "*.pyc\n"},
    "a workflow": {".github/workflows/ci.yml": ""},
    "attributes about languages": {".gitattributes": "docs/** linguist-documentation\n*.lock -diff\n"},
    "the settings of a new package": {"packages/new/jest.config.js": "", "packages/new/tsconfig.json": "{}"},
    "a linter that no check runs": {"ruff.toml": "line-length = 100\n", ".flake8": ""},
    "a Makefile that no check runs": {"Makefile": "all:\n"},
    "a case twin": {"Tests.md": "", "Conftest.py": ""},
}


async def test_every_attack_on_a_python_project_is_restored_and_listed(tmp_path: Path) -> None:
    wrong: list[str] = []
    async with scene(tmp_path, PYTHON) as python:
        base = await python.content(await python.store.tree_of(python.store.repo.head))
        for says, made in ATTACKS.items():
            outcome = await python.judge(made)
            if outcome.files != base or set(outcome.edits) != set(made):
                wrong.append(f"{says}: {outcome.judged.edits}")
    assert wrong == []


async def test_honest_work_on_a_python_project_is_judged_unchanged(tmp_path: Path) -> None:
    wrong: list[str] = []
    async with scene(tmp_path, PYTHON) as python:
        for says, made in HONEST.items():
            outcome = await python.judge(made)
            if outcome.judged.edits or outcome.judged.tree != await python.candidate(made) or outcome.judged.shadows:
                wrong.append(f"{says}: {outcome.judged.edits} {outcome.judged.shadows}")
    assert wrong == []


JS_ATTACKS: dict[str, Mapping[str, Made]] = {
    "a test beside the source": {"src/add.test.js": "x"},
    "a snapshot": {"src/__snapshots__/add.test.js.snap": "x"},
    "a file instead of a directory": {"tests/helpers.js": ""},
    "another suffix": {"tests/tools.js": ""},
    "settings of the runner": {"jest.config.mjs": ""},
    "settings of the runner below": {"src/vitest.config.ts": ""},
    "settings of the compiler": {"babel.config.js": "", ".babelrc": "{}"},
    "settings of npm": {".npmrc": "script-shell=/bin/true\n"},
    "another node": {".nvmrc": "4\n"},
    "paths": {"tsconfig.json": "{}"},
    "a binary module": {"src/add.node": b"\x7fELF"},
}
JS_HONEST: dict[str, Mapping[str, Made]] = {
    "a new test": {"src/more.test.js": "", "src/__snapshots__/more.test.js.snap": ""},
    "a new helper": {"tests/others.js": ""},
    "a new module": {"src/sub/index.js": "", "src/sub.ts": ""},
    "a test in another language": {"tests/a.spec.js": ""},
}


@pytest.mark.parametrize(("rows", "honest"), [(JS_ATTACKS, False), (JS_HONEST, True)], ids=["attacks", "honest work"])
async def test_a_javascript_project_is_protected_by_its_own_names(
    tmp_path: Path, rows: dict[str, Mapping[str, Made]], honest: bool
) -> None:
    wrong: list[str] = []
    async with scene(tmp_path, JS, "npm test") as js:
        for says, made in rows.items():
            outcome = await js.judge(made)
            if set(outcome.edits) != (set[str]() if honest else set(made)):
                wrong.append(f"{says}: {outcome.judged.edits}")
    assert wrong == []


OTHERS = {
    "Cargo.toml": "[package]\nname = 'a'\n", "src/lib.rs": "", "tests/it.rs": "", "build.rs": "",
    "go.mod": "module a\n", "a_test.go": "package a\n", "testdata/x.txt": "", "pkg/b.go": "",
    "module/src/test/java/ATest.java": "", "module/src/main/java/A.java": "", "spec/a_spec.rb": "", ".rspec": "",
    "App.Tests/ATests.cs": "", "t/basic.t": "", "test/test_helper.exs": "", "src/Controller/ATest.php": "",
}  # fmt: skip


@pytest.mark.parametrize(
    "path",
    [
        "tests/it.rs", "a_test.go", "testdata/x.txt", "module/src/test/java/ATest.java", "spec/a_spec.rb", ".rspec",
        "App.Tests/ATests.cs", "t/basic.t", "test/test_helper.exs", "src/Controller/ATest.php",
    ],
)  # fmt: skip
async def test_existing_tests_of_other_languages_come_from_the_base(tmp_path: Path, path: str) -> None:
    async with scene(tmp_path, OTHERS, "cargo test") as others:
        outcome = await others.judge({path: "changed\n"})
        assert outcome.files[path] == OTHERS[path]
        assert [edit.action for edit in outcome.judged.edits] == ["modified"]


async def test_settings_and_caches_of_other_languages_are_protected_and_their_products_are_not(tmp_path: Path) -> None:
    attacks: dict[str, Made] = {
        "rust-toolchain.toml": "", "target/debug/a": "", "go.work": "", ".simplecov": "", "phpunit.xml": "",
        "b_test.go": "package a\nfunc TestMain(m *testing.M) { os.Exit(0) }\n", ".config/nextest.toml": "",
    }  # fmt: skip
    honest: dict[str, Made] = {
        "build.rs": "fn main() {}", "pkg/b.go": "package pkg\n", "tests/more.rs": "", "c_test.go": "package a\n",
        "module/src/main/java/A.java": "class A {}", "Cargo.lock": "", "go.sum": "", "docs/target/x.md": "",
    }  # fmt: skip
    async with scene(tmp_path, OTHERS, "cargo test") as others:
        outcome = await others.judge({**attacks, **honest})
        assert set(outcome.edits) == set(attacks)
        assert {path: outcome.files[path] for path in honest} == honest


async def test_paths_protected_by_the_contract_come_from_the_base_including_new_files(tmp_path: Path) -> None:
    strict = contract("pytest -q", protect=["tests/**", "calc.py", "docs"], editable=["tests/test_new.py"])
    made: dict[str, Made] = {
        "tests/test_more.py": "", "tests/test_new.py": "", "calc.py": "x", "docs/new.md": "", "app/calc.py": "",
    }  # fmt: skip
    async with scene(tmp_path, PYTHON, strict) as python:
        outcome = await python.judge(made)
        assert set(outcome.edits) == {"tests/test_more.py", "calc.py", "docs/new.md"}
        assert "'tests/**'" in outcome.edits["tests/test_more.py"].reason


async def test_an_editable_path_is_graded_even_if_it_is_protected_by_default(tmp_path: Path) -> None:
    lenient = contract("pytest -q", editable=["tests/test_calc.py", "conftest.py", "pyproject.toml", "donewhen.toml"])
    made: dict[str, Made] = {
        "tests/test_calc.py": "changed", "conftest.py": "x", "pyproject.toml": "[tool.pytest]\n", "donewhen.toml": "",
    }  # fmt: skip
    async with scene(tmp_path, PYTHON, lenient) as python:
        outcome = await python.judge(made)
        assert set(outcome.edits) == {"donewhen.toml"}, "the contract is never editable"
        assert outcome.files["tests/test_calc.py"] == "changed"
        assert outcome.control["tests/test_calc.py"] == "changed"
        assert outcome.control["conftest.py"] == "x"


async def test_a_protected_path_replaces_anything_in_its_way(tmp_path: Path) -> None:
    scenes: dict[str, Mapping[str, Made]] = {
        "a file for a directory": {"tests": "no tests\n"},
        "a link for a directory": {"tests": Link("docs")},
        "a directory for a file": {"tests/test_calc.py/note.txt": "x", "tests/test_calc.py/more/deep.txt": "x"},
        "a mode": {"tests/test_calc.py": Program(PYTHON["tests/test_calc.py"])},
        "a link for a file": {"tests/test_calc.py": Link("../calc.py")},
    }
    async with scene(tmp_path, PYTHON) as python:
        base = await python.store.tree_of(python.store.repo.head)
        for says, made in scenes.items():
            outcome = await python.judge(made)
            assert outcome.judged.tree == base, says
            assert set(made) <= set(outcome.edits), says
            assert "tests/test_calc.py" in outcome.edits, says


async def test_a_renamed_test_is_restored_and_the_new_name_stays(tmp_path: Path) -> None:
    async with scene(tmp_path, PYTHON) as python:
        test = PYTHON["tests/test_calc.py"]
        outcome = await python.judge({"tests/test_calc.py": None, "tests/test_sums.py": test})
        assert outcome.edits["tests/test_calc.py"].action == "deleted"
        assert outcome.files["tests/test_calc.py"] == outcome.files["tests/test_sums.py"] == test


async def test_the_control_has_the_new_tests_and_none_of_the_product(tmp_path: Path) -> None:
    made: dict[str, Made] = {
        "calc.py": None, "calc/__init__.py": "", "calc/test_inner.py": "", "tests/new/conftest.py": "",
        "tests/new/test_b.py": "", "tests/new/data.json": "", "app/more.py": "", "tests/test_calc.py": "no",
    }  # fmt: skip
    async with scene(tmp_path, PYTHON) as python:
        outcome = await python.judge(made)
        new = {"calc/test_inner.py", "tests/new/conftest.py", "tests/new/test_b.py", "tests/new/data.json"}
        assert outcome.control == {**PYTHON, **dict.fromkeys(new, "")}


async def test_two_thousand_changed_files_are_judged_unchanged(tmp_path: Path) -> None:
    made: dict[str, Made] = {f"app/part{number % 40}/module{number}.py": f"x = {number}\n" for number in range(2000)}
    async with scene(tmp_path, PYTHON) as python:
        outcome = await python.judge({**made, "tests/test_calc.py": None})
        assert set(outcome.edits) == {"tests/test_calc.py"}
        assert len(outcome.files) == len(PYTHON) + 2000


async def test_an_unchanged_candidate_is_judged_as_the_base(tmp_path: Path) -> None:
    async with scene(tmp_path, PYTHON) as python:
        outcome = await python.judge({})
        base = await python.store.tree_of(python.store.repo.head)
        assert (outcome.judged.tree, outcome.judged.control) == (base, base)
        assert outcome.judged.edits == outcome.judged.shadows == ()
