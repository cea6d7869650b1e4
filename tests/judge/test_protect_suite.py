"""The base's own settings: test directories, modules loaded into the runner, named files."""

from pathlib import Path

import pytest
from protection import Made, contract, scene

pytestmark = pytest.mark.anyio

SETTINGS = {
    "pyproject.toml": (
        '[tool.pytest.ini_options]\ntestpaths = ["checks"]\npython_files = "check_*.py"\naddopts = "-q -p reporting"\n'
    ),
    "pytest.ini": "[pytest]\ntestpaths = checks\npython_files = check_*.py\naddopts = -q -p reporting\n",
    "setup.cfg": "[tool:pytest]\ntestpaths =\n    checks\npython_files = check_*.py\naddopts = -p reporting\n",
}
PROJECT = {
    "calc.py": "",
    "reporting.py": "",
    "support/marks.py": "",
    "conftest.py": 'pytest_plugins: list[str] = ["support.marks"]\n',
    "checks/check_add.py": "",
    "checks/sums.json": "[]",
    "app/check_in.py": "",
    "app/models.py": "",
}


@pytest.mark.parametrize("name", SETTINGS)
async def test_the_settings_of_the_base_decide_which_files_are_tests(tmp_path: Path, name: str) -> None:
    attacks: dict[str, Made] = {
        "checks/check_add.py": "x", "checks/sums.json": "x", "checks/conftest.py": "", "checks/__init__.py": "",
        "checks/calc.py": "", "reporting.py": "x", "support/marks.py": "x", "app/check_in.py": "x",
    }  # fmt: skip
    honest: dict[str, Made] = {
        "calc.py": "x",
        "app/models.py": "x",
        "checks/check_more.py": "x",
        "support/more.py": "x",
    }
    async with scene(tmp_path, {**PROJECT, name: SETTINGS[name]}) as project:
        outcome = await project.judge({**attacks, **honest})
        assert set(outcome.edits) == set(attacks)
        assert outcome.control["checks/check_more.py"] == "x"


async def test_directories_given_to_a_runner_hold_tests_unless_they_hold_the_product(tmp_path: Path) -> None:
    files = {"checks/a.json": "", "pkg/__init__.py": "", "pkg/a.json": "", "src/a.json": "", "more/a.json": ""}
    async with scene(
        tmp_path, files, contract("pytest checks pkg src", "python -m unittest discover -s more")
    ) as project:
        outcome = await project.judge(dict.fromkeys(files, "x"))
        assert set(outcome.edits) == {"checks/a.json", "more/a.json"}


async def test_files_named_by_settings_are_settings_too(tmp_path: Path) -> None:
    files = {
        "pyproject.toml": '[project]\nreadme = "README.md"\n[tool.ruff]\nextend = "style/rules.toml"\n',
        "style/rules.toml": "", "README.md": "", "src/index.ts": "", "style/other.toml": "",
        "jest.config.js": "module.exports = { setupFilesAfterEach: ['<rootDir>/jest/after.js'], x: 'src/index.ts' }\n",
        "jest/after.js": "",
    }  # fmt: skip
    made: dict[str, Made] = dict.fromkeys(files.keys() - {"pyproject.toml", "jest.config.js"}, "x")
    async with scene(tmp_path, files, "ruff check . && npx jest") as project:
        assert set((await project.judge(made)).edits) == {"style/rules.toml", "jest/after.js"}


async def test_helpers_imported_by_a_protected_script_are_protected_and_the_product_is_not(tmp_path: Path) -> None:
    files = {
        "tasks.py": "import pytest\nfrom task_settings import A\nimport calc\n", "task_settings.py": "", "calc.py": "",
        "ci/ask.py": "import answers\nimport pkg\n", "ci/answers.py": "", "pkg/__init__.py": "", "ci/unrelated.py": "",
    }  # fmt: skip
    async with scene(tmp_path, files, contract("python -m tasks", "python ci/ask.py")) as project:
        outcome = await project.judge(dict.fromkeys(files, "x = 1\n"))
        assert set(outcome.edits) == {"tasks.py", "task_settings.py", "ci/ask.py", "ci/answers.py"}


HANDED = {
    "pytest -q qa/a.py": {"qa/a.py", "qa/help.py"},
    "uv run --with x python -m pytest qa/a.py::test_x": {"qa/a.py", "qa/help.py"},
    "coverage run -m pytest qa/a.py": {"qa/a.py", "qa/help.py"},
    "cd qa && pytest a.py": {"qa/a.py", "qa/help.py"},
    "tox -- qa/a.py": {"qa/a.py", "qa/help.py"},
    "python -m unittest more.b": {"more/b.py"},
    "python -m unittest more/b.py": {"more/b.py"},
    "python -m unittest more.b.Case.test_x": {"more/b.py"},
    "node --test more/c.mjs": {"more/c.mjs"},
    "node --test 'more/*.mjs'": {"more/c.mjs"},
    "npx jest 'more/*'": set[str](),
    "pytest ./*.py more/*.py": set[str](),
    "npm test -- more/c.mjs": {"more/c.mjs"},
    "yarn test more/c.mjs": {"more/c.mjs"},
    "npx jest more/c.mjs": {"more/c.mjs"},
    "bundle exec rspec more/d.rb:12": {"more/d.rb"},
    "vendor/bin/phpunit more/e.php": {"more/e.php"},
    "npx jest src/parts": set[str](),
    "pytest --doctest-modules calc.py": set[str](),
    "npm run lint -- more/c.mjs": set[str](),
    "ruff check -- calc.py": set[str](),
    "pytest --cov calc.py": set[str](),
}


@pytest.mark.sample(5)
@pytest.mark.parametrize(("command", "tests"), HANDED.items(), ids=HANDED)
async def test_a_file_passed_to_a_runner_is_a_test(tmp_path: Path, command: str, tests: set[str]) -> None:
    files = {
        "calc.py": "", "qa/a.py": "import help\nimport calc\n", "qa/help.py": "", "more/b.py": "", "more/c.mjs": "",
        "more/d.rb": "", "more/e.php": "", "more/product.py": "", "src/parts/a.js": "",
    }  # fmt: skip
    async with scene(tmp_path, files, command) as project:
        outcome = await project.judge(dict.fromkeys(files, "x = 1\n"))
        assert set(outcome.edits) == tests


PASSED_BY_PATTERN: dict[str, tuple[dict[str, str], set[str]]] = {
    "jest ./*": (
        {
            "two-fer.js": "export const twoFer = () => {};\n", "two-fer.spec.js": "", "README.md": "",
            "unusual.js": 'describe("x", () => { it("y", () => {}) });\n', "each.js": "test.each([1])('a %i', f);\n",
            "index.js": "class A {\n  test(value) {\n    return /a/.test(value);\n  }\n}\n",
        },
        {"two-fer.spec.js", "unusual.js", "each.js"},
    ),
    "node --test ./*.js": (
        {
            "add.js": "exports.add = 1;\n", "sums.js": 'const t = require("node:test"); t("a", () => {});\n',
            "plain.js": 'if (require("./add") !== 1) process.exit(1);\n',
        },
        {"sums.js", "plain.js"},
    ),
    "pytest ./*.py": (
        {
            "calc.py": "def add(a, b): return a\n", "main.py": "from calc import add\n",
            "one.py": "def test_a(): pass\n", "two.py": "class Adding(TestCase):\n    pass\n",
            "three.py": "class TestIt:\n    def a(self): pass\n",
            "four.py": "async def test_a(): pass\n", "five.py": "def check_a(): pass\n",
            "pytest.ini": "[pytest]\npython_functions = check_*\n",
        },
        {"one.py", "two.py", "three.py", "four.py", "five.py", "pytest.ini"},
    ),
    "rspec ./*.rb": ({"a.rb": "class A; end\n", "b.rb": "require './a'\nRSpec.describe A do\nend\n"}, {"b.rb"}),
}  # fmt: skip


@pytest.mark.parametrize("command", PASSED_BY_PATTERN)
async def test_of_the_files_that_fit_a_pattern_only_those_that_define_tests_are_tests(
    tmp_path: Path, command: str
) -> None:
    files, tests = PASSED_BY_PATTERN[command]
    async with scene(tmp_path, files, command) as project:
        assert set((await project.judge(dict.fromkeys(files, "x = 1\n"))).edits) == tests


async def test_a_new_file_that_fits_a_pattern_is_a_test_if_it_defines_tests(tmp_path: Path) -> None:
    async with scene(tmp_path, {"calc.py": "", "one.py": "def test_a(): pass\n"}, "pytest ./*.py") as project:
        outcome = await project.judge({"two.py": "def test_b(): pass\n", "product.py": "A = 1\n", "calc.py": "x"})
        assert outcome.judged.edits == ()
        assert set(outcome.control) == {"calc.py", "one.py", "two.py"}
        assert outcome.judged.loaded == ("product.py",)
        plugins = await project.judge({"product.py": "pytest_plugins = ['calc']\n"})
        assert set(plugins.edits) == {"product.py"}


async def test_a_file_passed_to_a_runner_that_the_base_lacks_is_a_new_test(tmp_path: Path) -> None:
    async with scene(tmp_path, {"calc.py": "", "qa/a.py": ""}, "pytest qa/a.py qa/b.py") as project:
        outcome = await project.judge({"calc.py": "x", "qa/b.py": "x"})
        assert outcome.judged.edits == ()
        assert outcome.control == {"calc.py": "", "qa/a.py": "", "qa/b.py": "x"}


async def test_modules_next_to_a_file_passed_to_a_runner_may_not_shadow_others(tmp_path: Path) -> None:
    async with scene(tmp_path, {"calc.py": "", "qa/a.py": ""}, "pytest qa/a.py") as project:
        outcome = await project.judge({"qa/calc.py": "", "qa/json.py": "", "qa/new.py": ""})
        assert set(outcome.edits) == {"qa/calc.py"}
        assert len(outcome.judged.shadows) == 1


PYTHONPATH = {
    "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["code"]\n',
    "pytest.ini": "[pytest]\npythonpath = code\n",
    "setup.cfg": "[tool:pytest]\npythonpath =\n    code\n",
    "tox.ini": "[pytest]\npythonpath = code more\n",
}


@pytest.mark.parametrize("name", PYTHONPATH)
async def test_the_product_directory_may_be_named_only_by_the_test_settings(tmp_path: Path, name: str) -> None:
    files = {"code/calc.py": "", "tests/test_a.py": "", name: PYTHONPATH[name]}
    async with scene(tmp_path, files) as project:
        outcome = await project.judge({"tests/calc.py": "", "tests/words/__init__.py": "", "code/json.py": ""})
        assert set(outcome.edits) == {"tests/calc.py"}
        assert len(outcome.judged.shadows) == 1


IGNORED = {
    ".gitignore": ("*.pyc\npkg/\n", True),
    ".ignore": ("pkg/calc.py\n", True),
    "pkg/.gitignore": ("calc.py\n", True),
    "docs/.gitignore": ("calc.py\n", False),
}


@pytest.mark.parametrize(("path", "row"), IGNORED.items(), ids=IGNORED)
async def test_an_ignore_file_that_hides_the_product_from_a_linter_is_protected(
    tmp_path: Path, path: str, row: tuple[str, bool]
) -> None:
    files = {"pkg/calc.py": "", "docs/a.md": "", ".gitignore": "*.pyc\n"}
    text, hides = row
    async with scene(tmp_path, files, "ruff check .") as project:
        assert bool((await project.judge({path: text})).judged.edits) == hides
        honest = await project.judge({path: "*.pyc\nnode_modules/\n# pkg\n!pkg\nout/*\n"})
        assert honest.judged.edits == ()
        assert (await project.judge({path: text}, contract("pytest"))).judged.edits == ()


async def test_step_definitions_beside_scenarios_are_tests(tmp_path: Path) -> None:
    tests = [
        "features/environment.py", "features/steps/adding.py", "features/steps/deep/more.py", "features/a.feature",
        "web/features/step_definitions/adding.js", "web/features/support/world.ts", "web/features/shop/b.feature",
    ]  # fmt: skip
    product = ["src/features/support/tickets.tsx", "src/features/steps/counter.py", "features/notes.md", "steps/a.py"]
    async with scene(tmp_path, dict.fromkeys((*tests, *product), ""), contract("make acceptance")) as project:
        outcome = await project.judge(dict.fromkeys((*tests, *product), "x"))
        assert set(outcome.edits) == set(tests)
        new = await project.judge({"features/steps/new.py": "x", "features/new.feature": "x"})
        assert new.edits == {}
        assert new.control["features/steps/new.py"] == "x"


async def test_hooks_and_settings_of_scenarios_are_not_graded_even_if_they_are_new(tmp_path: Path) -> None:
    async with scene(tmp_path, {"features/a.feature": "", "a.py": ""}, contract("behave", "cucumber-js")) as project:
        names = ("features/environment.py", "behave.ini", "cucumber.js")
        assert set((await project.judge(dict.fromkeys(names, "x"))).edits) == set(names)


ROBOT = """\
*** Settings ***
Library    Collections
Library    ../lib/Adding.py    WITH NAME    A
Library    ${CURDIR}/words.py
Library    ${EXECDIR}/tools/keywords/
| Resource | common.resource |
Variables  values.yaml

*** Test Cases ***
Small
    Library    src/calc.py
"""


@pytest.mark.parametrize("command", ["robot acceptance", "python -m robot acceptance/sums.robot", "robot ."])
async def test_libraries_that_a_robot_suite_names_by_path_are_tests(tmp_path: Path, command: str) -> None:
    tests = [
        "lib/Adding.py", "acceptance/words.py", "tools/keywords/more.py", "acceptance/common.resource",
        "acceptance/values.yaml", "other/late.robot",
    ]  # fmt: skip
    product = ["src/calc.py", "lib/Other.py", "Collections.py"]
    files = {**dict.fromkeys((*tests, *product), ""), "acceptance/sums.robot": ROBOT}
    async with scene(tmp_path, files, contract(command)) as project:
        outcome = await project.judge(dict.fromkeys((*tests, *product), "x"))
        assert set(outcome.edits) == set(tests)
    async with scene(tmp_path / "unused", files, contract("pytest")) as project:
        assert set((await project.judge({"lib/Adding.py": "x"})).edits) == set()
