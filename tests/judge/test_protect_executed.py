"""What the checks run is protected: scripts, what they call, what would run instead, and nothing of the product."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import pytest
from protection import Made, Program, contract, scene

from donewhen.errors import BadInput
from donewhen.judge.contract import Check
from donewhen.judge.protect import Guard
from donewhen.judge.protect.base_files import BaseFiles
from donewhen.judge.protect.commands.commands import all_words, named_files
from donewhen.judge.protect.commands.scripts_run import find_scripts_run
from donewhen.judge.protect.names.test_names import is_test, is_test_module
from donewhen.workspace.beneath import Root
from repositories import repository

pytestmark = pytest.mark.anyio

FILES = {
    "app.py": "print(1)\n",
    "server.py": "",
    "scripts/test.sh": (
        "#!/bin/sh\n[ -f .local ] && . ./.local.sh\n. scripts/settings.sh\npython tools/run.py\nscripts/test.sh\n"
    ),
    "scripts/settings.sh": "export A=b\n",
    "tools/run.py": "import subprocess\nsubprocess.run(['python', 'server.py'])\n",
    "tasks.py": "import pytest\npytest.main()\n",
    "gate": "#!/usr/bin/env bash\nexit 1\n",
    "bin/greet": "#!/usr/bin/env python3\nprint('hello')\n",
    "manage.py": "",
    "plugins/extra.py": "",
    "ci.toml": "",
    "Makefile": "include config.make\n-include local.make\ntest: lint\n\t@./scripts/test.sh\nlint:\n\truff check .\n",
    "config.make": "",
    "sub/package.json": '{"scripts": {"test": "npm run build && mocha", "build": "node build.js", "docs": "typedoc"}}',
    "sub/build.js": "",
    "sub/x.txt": "",
    "qa/all.sh": '#!/bin/sh\nDIR=$(dirname "$0")\nsource "$(dirname "$0")/common.sh"\n"$DIR"/one.sh\n${DIR}/hook.sh\n',
    "qa/common.sh": "",
    "qa/one.sh": "",
}

ROWS: list[tuple[str, set[str], set[str]]] = [
    (
        "./scripts/test.sh",
        {"scripts/test.sh", "scripts/settings.sh", "tools/run.py", ".local.sh"},
        {"server.py", "app.py"},
    ),
    ("sh -c 'bash scripts/test.sh | tee out'", {"scripts/test.sh", "scripts/settings.sh"}, {"out"}),
    ("python app.py --json", set(), {"app.py"}),
    ("bin/greet | grep hello", set(), {"bin/greet"}),
    ("./gate", {"gate"}, set()),
    ("python -m tasks", {"tasks.py", "tasks/__init__.py", "tasks/__main__.py"}, set()),
    ("A=b timeout 10 uv run python tools/run.py", {"tools/run.py"}, {"server.py"}),
    ("python manage.py test", {"manage.py"}, set()),
    ("python manage.py serve", set(), {"manage.py"}),
    ("pytest -p plugins.extra -c ci.toml", {"plugins/extra.py", "ci.toml"}, set()),
    (
        "make test",
        {"Makefile", "GNUmakefile", "makefile", "config.make", "local.make", "more.mk", "scripts/test.sh", "ruff.toml"},
        set(),
    ),
    ("cd sub && npm test", set(), {"sub/x.txt"}),
    ("qa/all.sh", {"qa/all.sh", "qa/common.sh", "qa/one.sh", "qa/hook.sh"}, {"qa/notes.txt"}),
    ("sh build-it.sh", set(), {"build-it.sh"}),
    ("cc -c app.py && test -f server.py && cp -r sub out", set(), {"app.py", "server.py", "sub/x.txt"}),
    ("gradle test", set(), {"build.gradle"}),
    ("ruff check .", {"ruff.toml", "sub/.ruff.toml"}, {".flake8"}),
]  # fmt: skip


@pytest.mark.sample(5)
@pytest.mark.parametrize(("command", "judging", "product"), ROWS, ids=[row[0] for row in ROWS])
async def test_files_that_a_command_runs_are_protected_and_the_product_is_not(
    tmp_path: Path, command: str, judging: set[str], product: set[str]
) -> None:
    async with scene(tmp_path, FILES, command) as project:
        outcome = await project.judge(dict.fromkeys(judging | product, "changed\n"))
        assert set(outcome.edits) == judging
        assert {path for path in product if outcome.files[path] == "changed\n"} == product


async def test_the_mode_of_a_script_is_protected_like_its_content(tmp_path: Path) -> None:
    async with scene(tmp_path, FILES, "./gate") as project:
        outcome = await project.judge({"gate": Program(FILES["gate"])})
        assert [edit.reason for edit in outcome.judged.edits] == ["check 'check0' runs it"]


async def test_a_check_in_a_subdirectory_finds_its_scripts_there(tmp_path: Path) -> None:
    files = {"packages/a/check.sh": "exit 1\n", "check.sh": "exit 1\n", "packages/a/x.py": ""}
    async with scene(tmp_path, files, contract("./check.sh", where="packages/a")) as project:
        outcome = await project.judge({"packages/a/check.sh": "", "packages/a/x.py": "x"})
        assert set(outcome.edits) == {"packages/a/check.sh"}


async def test_a_first_build_file_is_accepted_as_work(tmp_path: Path) -> None:
    made: Mapping[str, Made] = {"Makefile": "test:\n", "package.json": '{"scripts": {"test": "jest"}, "jest": {}}'}
    async with scene(tmp_path, {"a.py": ""}, "make test && npm test") as project:
        assert (await project.judge(made)).judged.edits == ()


FIRST_OF_A_TOOL = {
    "mvn test": ("pom.xml", ".mvn/maven.config"),
    "dotnet test": ("src/App.csproj", "src/Directory.Build.props"),
    "cabal test": ("app.cabal", "cabal.project"),
}


@pytest.mark.parametrize("command", FIRST_OF_A_TOOL)
async def test_another_file_of_a_build_tool_is_not_its_first_one(tmp_path: Path, command: str) -> None:
    there, new = FIRST_OF_A_TOOL[command]
    async with scene(tmp_path, {there: "", "src/a": ""}, command) as project:
        assert set((await project.judge({new: "x"})).edits) == {new}


async def test_a_link_to_a_script_is_protected_with_its_target(tmp_path: Path) -> None:
    root = repository(tmp_path / "made", {"real.sh": "exit 1\n", "a.py": ""})
    (root / "run").symlink_to("real.sh")
    (root / "ring").symlink_to("ring")
    guard = Guard(contract("./run && sh ring"), Root(root))
    assert guard.protects("run")
    assert guard.protects("real.sh")
    assert not guard.protects("a.py")


async def test_scripts_that_call_each_other_in_a_cycle_are_all_found(tmp_path: Path) -> None:
    files = {f"s{number}.sh": f"sh s{(number + 1) % 50}.sh\n" for number in range(50)}
    async with scene(tmp_path, files, "sh s0.sh") as project:
        outcome = await project.judge(dict.fromkeys(files, ""))
        assert set(outcome.edits) == set(files)


async def test_a_check_may_write_caches_and_reports_while_it_runs(tmp_path: Path) -> None:
    files = {
        "calc.py": "", "tests/test_a.py": "", "pyproject.toml": "", "src/lib.rs": "#[cfg(test)]\nmod tests {}\n",
        "src/main.rs": "fn main() {}\n", "Cargo.toml": "",
    }  # fmt: skip
    async with scene(tmp_path, files, "pytest -q") as project:
        guard = project.guard(contract("pytest -q", protect=["golden/**"], editable=["tests/made/**"]))
        for path in ("tests/test_a.py", "tests/conftest.py", "conftest.py", "pytest.ini", "pyproject.toml", "golden/a",
                     "golden/__pycache__/a.pyc", "src/lib.rs", "tests/__init__.py", "donewhen.toml"):  # fmt: skip
            assert guard.protects(path), path
        for path in ("out/report.xml", ".coverage", ".pytest_cache/x", "__pycache__/a.pyc", "tests/__pycache__/a.pyc",
                     "calc.py", "src/main.rs", "target/debug/x", "a.egg-info/PKG-INFO", "tests/output/x.txt",
                     "tests/made/conftest.py", "calc.cpython-311-x86_64-linux-gnu.so"):  # fmt: skip
            assert guard.protects(path) == "", path


async def test_an_invalid_pattern_is_refused_before_anything_is_judged(tmp_path: Path) -> None:
    async with scene(tmp_path, FILES) as project:
        with pytest.raises(BadInput, match=r"'\.\./x'"):
            await project.judge({}, contract("true", editable=["*", "../x"]))


@pytest.mark.parametrize(
    "path",
    ["src/testing_tools/a.py", "latest.py", "contest/a.py", "attest.go", "api/spec/openapi.yaml", "django/testing/x.py",
     "inspector.ts", "ColumnSpec.java", "AUDIT.java", "FontSpec.swift", "src/protest/index.js",
     "greatest.rs", "fixtures.py", "app/fixtures/initial.json", "testimony.md"],
)  # fmt: skip
def test_names_that_only_resemble_test_names_are_product(path: str) -> None:
    assert not is_test(path)


def test_data_files_among_tests_are_protected_but_not_test_modules() -> None:
    assert is_test("tests/data/a.json")
    assert not is_test_module("tests/data/a.json")
    assert is_test_module("tests/it.rs")
    assert not is_test_module("tests/common/mod.rs")


@pytest.mark.parametrize("command", ["", "'", '"a', "$((", "a | | b", "\\", "`", "&& ||", "sh -c", "python -m", "-c"])
def test_a_command_with_invalid_shell_syntax_is_read_without_an_error(command: str) -> None:
    assert all_words(command) is not None
    assert list(named_files(command)) is not None


class Counting(BaseFiles):
    """A base that records its requests."""

    asked: ClassVar[list[tuple[str, str]]] = []

    def has(self, path: str) -> bool:
        self.asked.append(("has", path))
        return super().has(path)

    def is_directory(self, path: str) -> bool:
        self.asked.append(("is_directory", path))
        return super().is_directory(path)

    def read(self, path: str) -> str | None:
        self.asked.append(("read", path))
        return super().read(path)


@pytest.mark.parametrize(
    "command",
    [
        "true;" * 2000,
        "cd tools; ./scripts/test.sh; cd tools && " * 500 + "true",
        "pytest sub tools sub nothing.py; " * 500,
        "; ".join(f"./scripts/test.sh sub tools {number}" for number in range(500)),
    ],
    ids=["one word", "a directory", "tests", "other arguments"],
)
def test_a_word_that_a_command_repeats_is_looked_up_once(tmp_path: Path, command: str) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    Counting.asked.clear()
    found = find_scripts_run([Check(name="a", command=command)], Counting(Root(tmp_path)))
    repeated = [question for question, times in Counter(Counting.asked).items() if times > 1]
    assert not repeated and Counting.asked
    assert ("scripts/settings.sh" in found.scripts) is ("test.sh" in command)


def test_a_word_repeated_in_another_directory_is_looked_up_there_too(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "cases").mkdir()
    found = find_scripts_run([Check(name="a", command="pytest cases; cd sub; pytest cases")], BaseFiles(Root(tmp_path)))
    assert found.test_directories == {"sub/cases"}
