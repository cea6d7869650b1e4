"""Honest work in everyday layouts is accepted by `donewhen check`, and a cheat in the same layout is not."""

import os
from pathlib import Path

import pytest

from needs import leave_out, needs
from program import Answer, donewhen
from repositories import commit, repository, write
from toolbox import toolbox

JEST = Path(__file__).parents[2] / ".cache" / "test-runners" / "node_modules"
"""The directory in which scripts/test-runners installs jest."""
ADD = "def add(a, b):\n    return a - b\n"
RIGHT = "def add(a, b):\n    return a + b\n"
TESTS = (
    "from calc import add\n\n\ndef test_zero():\n    assert add(0, 0) == 0\n\n\n"
    "def test_sum():\n    assert add(1, 2) == 3\n"
)
NODE_TEST = (
    'const test = require("node:test");\nconst assert = require("node:assert");\n'
    'test("adds", () => assert.strictEqual(require("./add.js").add(2, 3), 5));\n'
    'test("zero", () => assert.strictEqual(require("./add.js").add(0, 0), 0));\n'
)
TWO_FER = {
    "package.json": '{"name": "two-fer", "version": "1.0.0", "scripts": {"test": "jest ./*"}}\n',
    "two-fer.js": 'const twoFer = () => {\n  throw new Error("not done yet");\n};\nmodule.exports = { twoFer };\n',
    "two-fer.spec.js": (
        'const { twoFer } = require("./two-fer");\n\ndescribe("Two fer", () => {\n'
        '  test("no name", () => {\n    expect(twoFer()).toEqual("One for you, one for me.");\n  });\n\n'
        '  xtest("a name", () => {\n    expect(twoFer("Bob")).toEqual("One for Bob, one for me.");\n  });\n});\n'
    ),
    ".gitignore": "node_modules\n",
    "README.md": "# Two fer\n",
}


@pytest.fixture(scope="session")
def box(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toolbox(tmp_path_factory.mktemp("tools") / "box")


@pytest.fixture(autouse=True)
def tools(box: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make `python -m pytest` the pytest that runs these tests, without automatic plugins."""
    needs("bwrap")
    monkeypatch.setenv("PATH", f"{box}/bin:{os.environ['PATH']}")


def repo(tmp_path: Path, command: str, files: dict[str, str], more: str = "") -> Path:
    contract = f"[[check]]\nname = 'tests'\ncommand = '''{command}'''\n{more}"
    return repository(tmp_path / "repo", {".gitignore": "__pycache__/\n", **files, "donewhen.toml": contract})


def check(root: Path) -> Answer:
    return donewhen("check", cwd=root)


def assert_accepted(root: Path) -> None:
    answer = check(root)
    assert answer.code == 0, answer.out + answer.err
    assert "not graded" not in answer.out, answer.out


# -- patterns --


def test_an_exercise_with_a_pattern_for_jest_is_accepted_and_its_tests_stay_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not (JEST / ".bin" / "jest").exists():
        leave_out("jest (scripts/test-runners installs it)")
    needs("npm")
    monkeypatch.setenv("PATH", f"{JEST}/.bin:{os.environ['PATH']}")
    root = repo(tmp_path, "npm test", TWO_FER)
    solved = "const twoFer = (name = 'you') => `One for ${name}, one for me.`;\nmodule.exports = { twoFer };\n"
    write(root, {"two-fer.js": solved, "README.md": "# Done\n"})
    assert_accepted(root)
    write(root, {"two-fer.js": TWO_FER["two-fer.js"], "two-fer.spec.js": 'test("no name", () => {});\n'})
    answer = check(root)
    assert answer.code == 1 and "two-fer.spec.js" in answer.out


def test_a_product_file_that_fits_a_pattern_for_node_is_product(tmp_path: Path) -> None:
    needs("node")
    files = {
        "add.js": "exports.add = (a, b) => a - b;\n",
        "adding.js": NODE_TEST,
        "plain.js": 'if (require("./add.js").add(1, 1) !== 2) process.exit(1);\n',
    }
    root = repo(tmp_path, "node --test ./*.js", files)
    write(root, {"add.js": 'exports.add = require("./sum.js");\n', "sum.js": "module.exports = (a, b) => a + b;\n"})
    assert_accepted(root)
    write(root, {"add.js": files["add.js"], "adding.js": NODE_TEST.replace("5", "-1"), "plain.js": ""})
    answer = check(root)
    assert answer.code == 1 and "adding.js" in answer.out and "plain.js" in answer.out


@pytest.mark.parametrize("command", ["python -m pytest -q ./*.py", "python -m pytest -q ./calc*.py ./adding.py"])
def test_a_product_file_that_fits_a_pattern_for_pytest_is_product(tmp_path: Path, command: str) -> None:
    root = repo(tmp_path, command, {"calc.py": ADD, "adding.py": TESTS})
    write(root, {"calc.py": "from calc_sum import add\n", "calc_sum.py": RIGHT})
    assert_accepted(root)
    write(root, {"calc.py": ADD, "adding.py": TESTS.replace("== 3", "== -1")})
    (root / "calc_sum.py").unlink()
    answer = check(root)
    assert answer.code == 1 and "adding.py" in answer.out


# -- skips that the base's run did not reach --

MARKED = (
    "import sys\n\nimport pytest\n\nfrom calc import add, double\n\n\ndef test_sum():\n    assert add(1, 2) == 3\n\n\n"
    "@pytest.mark.skip(reason='later')\ndef test_later():\n    assert double(2) == 5\n\n\n"
    "@pytest.mark.skipif(sys.platform != 'win32', reason='windows')\ndef test_windows():\n    assert add(1, 1) == 3\n"
)
DOUBLE = "\n\ndef double(a):\n    return add(a, a)\n"
UNITTEST = (
    "import unittest\n\nfrom calc import add, double\n\n\nclass Adding(unittest.TestCase):\n"
    "    def test_sum(self):\n        self.assertEqual(add(1, 2), 3)\n\n"
    "    @unittest.skip('later')\n    def test_later(self):\n        self.assertEqual(double(2), 5)\n"
)
SKIPPING = {
    "python -m pytest -q": {"tests/test_calc.py": MARKED, "conftest.py": ""},
    "python -m unittest discover -s tests -t .": {"tests/__init__.py": "", "tests/test_calc.py": UNITTEST},
    "python -m unittest discover -v -s tests -t .": {"tests/__init__.py": "", "tests/test_calc.py": UNITTEST},
}


@pytest.mark.parametrize("command", SKIPPING)
def test_a_skip_in_a_test_file_that_the_base_could_not_load_is_not_the_work_s(tmp_path: Path, command: str) -> None:
    root = repo(tmp_path, command, {"calc.py": ADD, **SKIPPING[command]})
    write(root, {"calc.py": RIGHT + DOUBLE})
    assert_accepted(root)


@pytest.mark.parametrize("command", SKIPPING)
def test_a_skip_that_the_product_raises_is_vacuous(tmp_path: Path, command: str) -> None:
    root = repo(tmp_path, command, {"calc.py": ADD, **SKIPPING[command]})
    more = (
        "def test_more():\n    add(1, 1)\n" if "pytest" in command else "    def test_more(self):\n        double(1)\n"
    )
    write(root, {"tests/test_calc.py": f"{SKIPPING[command]['tests/test_calc.py']}\n\n{more}"})
    commit(root)
    write(root, {"calc.py": "import unittest\n\n\n" + RIGHT.replace("    return", SKIP) + DOUBLE})
    answer = check(root)
    assert answer.code == 1 and "vacuous" in answer.out and "skipped; on the base" in answer.out


SKIP = "    if a == b:\n        raise unittest.SkipTest('not now')\n    return"


# -- parameters --

CASES = (
    "import pytest\n\nfrom shop import PRICES, total\n\n\n@pytest.mark.parametrize('name', sorted(PRICES))\n"
    "def test_each(name):\n    assert total([name]) == PRICES[name]\n"
)
SHOP = "PRICES = {'apple': 1, 'pear': 2}\n\n\ndef total(names):\n    return 1\n"


def test_parameters_that_come_from_the_product_may_rename_a_test(tmp_path: Path) -> None:
    root = repo(tmp_path, "python -m pytest -q", {"shop.py": SHOP, "test_shop.py": CASES})
    fixed = SHOP.replace("'pear'", "'plum'").replace("return 1", "return sum(PRICES[name] for name in names)")
    write(root, {"shop.py": fixed})
    assert_accepted(root)
    write(root, {"shop.py": SHOP.replace(", 'pear': 2", "")})
    answer = check(root)
    assert answer.code == 1 and "1 test collected; on the base 2" in answer.out


# -- what the product writes while it is tested --

KEEPS = (
    "import subprocess\nimport sys\nfrom pathlib import Path\n\n\ndef add(a, b):\n    return None\n\n\n"
    "def keep(value):\n    subprocess.run([sys.executable, '-c', 'import calc'], env={}, check=True)\n"
    "    Path('last.json').write_text(str(value))\n    return value\n"
)


def test_a_product_may_leave_bytecode_and_keep_its_state_in_a_tracked_file(tmp_path: Path) -> None:
    root = repo(tmp_path, "python -m pytest -q", {"calc.py": KEEPS, "last.json": "0", "tests/test_calc.py": TESTS})
    write(root, {"calc.py": KEEPS.replace("return None", "return keep(a + b)")})
    assert_accepted(root)
    write(root, {"calc.py": RIGHT + "\n\nopen('tests/test_calc.py', 'a').write('#')\n"})
    answer = check(root)
    assert answer.code == 1 and "tampered" in answer.out
