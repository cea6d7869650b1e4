"""Which files only held-out checks may see: their tests and scripts, and what only they use. Never the product."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from donewhen.errors import BadInput
from donewhen.session.check.judge_tree import held_out_files
from donewhen.session.workplace import open_workplace
from needs import needs
from repositories import repository

pytestmark = pytest.mark.anyio
FILES = {
    "calc.py": "def add(a, b):\n    return a - b\n",
    "app.py": "import sys\n\nfrom calc import add\n\nprint(add(*map(int, sys.argv[1:])))\n",
    "tests/test_add.py": "import unittest\nfrom calc import add\n\n\nclass T(unittest.TestCase):\n"
    "    def test_add(self):\n        self.assertEqual(add(2, 3), 5)\n",
    "tests/__init__.py": "",
    "hidden/run.sh": "python3 hidden/ask.py < hidden/expected.txt\n",
    "hidden/ask.py": "import sys\n\nsys.path.insert(0, '.')\nfrom calc import add\n\n"
    "sys.exit(add(20, 22) != int(input()))\n",
    "hidden/expected.txt": "42\n",
    "README.md": "# calc\n",
}
VISIBLE = "python3 -m unittest discover -s tests -t ."
ALL_OF_IT = frozenset({"hidden/run.sh", "hidden/ask.py", "hidden/expected.txt"})


def contract(held_out: str, visible: str = VISIBLE, more: str = "") -> str:
    return f"{more}[[check]]\nname = 'tests'\ncommand = '''{visible}'''\n\n" + (
        f"[[check]]\nname = 'sesame'\ncommand = '''{held_out}'''\nheld_out = true\n"
    )


async def hidden_files(root: Path, toml: str, files: Mapping[str, str] | None = None) -> frozenset[str]:
    needs("bwrap")
    repo = repository(root, {**FILES, **(files or {}), "donewhen.toml": toml})
    async with open_workplace(repo) as workplace:
        return await held_out_files(workplace, workplace.repo.head)


async def test_the_script_that_the_command_names_and_what_only_its_run_opens_are_hidden(tmp_path: Path) -> None:
    assert await hidden_files(tmp_path / "repo", contract("sh hidden/run.sh")) == ALL_OF_IT


async def test_a_directory_of_tests_that_the_command_names_is_hidden_as_a_whole(tmp_path: Path) -> None:
    files = {"hidden/test_more.py": FILES["tests/test_add.py"], "hidden/notes.txt": "20 and 22\n"}
    found = await hidden_files(tmp_path / "repo", contract("python3 -m pytest -q hidden"), files)
    assert found == ALL_OF_IT | files.keys()


@pytest.mark.parametrize("command", ["python3 -m suite_of_ours", "python3 suite_of_ours/__main__.py"])
async def test_a_module_in_a_directory_that_nothing_else_uses_is_hidden(tmp_path: Path, command: str) -> None:
    files = {"suite_of_ours/__main__.py": "from calc import add\n\nassert add(20, 22) == 42\n"}
    assert await hidden_files(tmp_path / "repo", contract(command), files) == files.keys()


@pytest.mark.parametrize("command", ['test "$(python3 app.py 20 22)" = 42', "python3 -c 'import calc; calc.add(2, 3)'"])
async def test_the_product_that_a_held_out_check_runs_is_not_hidden(tmp_path: Path, command: str) -> None:
    assert await hidden_files(tmp_path / "repo", contract(command)) == frozenset()


async def test_a_program_in_a_directory_that_a_manifest_names_is_the_product(tmp_path: Path) -> None:
    files = {"cli/main.py": FILES["app.py"], "README.md": "Run `python3 cli/main.py 2 3`.\n"}
    found = await hidden_files(tmp_path / "repo", contract('test "$(python3 cli/main.py 20 22)" = 42'), files)
    assert found == frozenset()


async def test_what_the_contract_makes_editable_is_not_hidden(tmp_path: Path) -> None:
    toml = contract("sh hidden/run.sh", more='[contract]\neditable = ["hidden/**"]\n\n')
    assert await hidden_files(tmp_path / "repo", toml) == frozenset()


async def test_tests_that_a_visible_check_names_as_well_are_not_hidden(tmp_path: Path) -> None:
    toml = contract("SEED=7 python3 -m unittest discover -s tests -t .")
    assert await hidden_files(tmp_path / "repo", toml) == frozenset()


@pytest.mark.parametrize("files", ["-r --include=*.py --include=*.sh --include=*.txt .", "$(git ls-files)"])
async def test_a_linter_that_reads_the_whole_tree_does_not_need_the_files(tmp_path: Path, files: str) -> None:
    linter = f"! grep -n FORBIDDEN {files}"
    assert await hidden_files(tmp_path / "repo", contract("sh hidden/run.sh", linter)) == ALL_OF_IT


async def test_a_visible_check_that_runs_the_files_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"^hidden/run\.sh belongs to .* 'sesame'.* check 'tests' needs it"):
        await hidden_files(tmp_path / "repo", contract("sh hidden/run.sh", 'for one in */run.sh; do sh "$one"; done'))


@pytest.mark.parametrize("line", ["import hidden.ask", "from hidden import ask", "open('hidden/run.sh')"])
async def test_a_product_that_names_one_of_the_files_is_bad_input(tmp_path: Path, line: str) -> None:
    files = {"calc.py": f"{FILES['calc.py']}\n\ndef later():\n    {line}\n"}
    with pytest.raises(BadInput, match=r"^hidden/\w+\.\w+ belongs to the held-out check 'sesame'.* calc\.py names it"):
        await hidden_files(tmp_path / "repo", contract("sh hidden/run.sh"), files)


async def test_the_result_is_kept_for_a_base_and_a_contract(tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo", {**FILES, "donewhen.toml": contract("sh hidden/run.sh")})
    async with open_workplace(repo) as workplace:
        found = await held_out_files(workplace, workplace.repo.head)
        (kept,) = (workplace.trees.directory / "held-out").iterdir()
        kept.write_text('["hidden/run.sh"]')
        assert await held_out_files(workplace, workplace.repo.head) == {"hidden/run.sh"} < found
