"""New modules that would be imported instead of others: found only where Python would find them."""

from pathlib import Path

import pytest
from protection import Made, contract, scene

pytestmark = pytest.mark.anyio

FILES = {
    "pyproject.toml": '[project]\nname = "My-Calc"\n',
    "calc.py": "",
    "types.py": "",
    "src/pkg/__init__.py": "",
    "src/pkg/io.py": "",
    "tests/test_calc.py": "",
    "sub/tool.py": "",
}


def site(directory: Path) -> Path:
    for name in (
        "click/__init__.py",
        "six.py",
        "calc.py",
        "my_calc/__init__.py",
        "pkg/__init__.py",
        "docs/__init__.py",
    ):
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text("")
    (directory / "fast.cpython-311-x86_64-linux-gnu.so").write_bytes(b"")
    return directory


SHADOWS = [
    "random.py", "argparse/__init__.py", "pytest.py", "_pytest/__init__.py", "unittest/__init__.py", "pluggy.py",
    "pytest/__main__.py", "src/json.py", "tests/difflib.py", "click.py", "src/six.py", "click/__init__.py", "fast.py",
    "sub/logging/__init__.py",
]  # fmt: skip
ORDINARY = [
    "sums.py", "src/pkg/json.py", "src/pkg/random/__init__.py", "calc/__init__.py", "my_calc/__init__.py", "time.py",
    "docs/conf.py", "docs/__init__.py", "random/notes.txt", "platform/build.py", "types/__init__.py", "random.md",
    "examples/random.py", "src/pkg/io/x.py", "test/__init__.py", "pkg/__init__.py", "scripts/json.py",
]  # fmt: skip


@pytest.mark.parametrize("path", SHADOWS)
async def test_a_new_module_that_shadows_another_is_named_with_the_shadowed_one(tmp_path: Path, path: str) -> None:
    async with scene(tmp_path, FILES, contract("pytest", where="sub"), [site(tmp_path / "site")]) as project:
        (line,) = (await project.judge({path: ""})).judged.shadows
        assert line.startswith(f"{path} would be imported instead of the ")


async def test_modules_that_shadow_nothing_are_accepted(tmp_path: Path) -> None:
    async with scene(tmp_path, FILES, contract("pytest", where="sub"), [site(tmp_path / "site")]) as project:
        made: dict[str, Made] = dict.fromkeys(ORDINARY, "")
        assert (await project.judge(made)).judged.shadows == ()


async def test_a_module_next_to_new_tests_is_checked_too(tmp_path: Path) -> None:
    async with scene(tmp_path, FILES) as project:
        outcome = await project.judge({"more/test_it.py": "", "more/json.py": "", "other/json.py": ""})
        assert [line.split()[0] for line in outcome.judged.shadows] == ["more/json.py"]


async def test_a_directory_that_a_command_only_names_is_not_a_module_path(tmp_path: Path) -> None:
    async with scene(
        tmp_path, {**FILES, "pkg2/a.py": "", "pkg2/helpers.py": ""}, "ruff check pkg2 src && pytest"
    ) as project:
        outcome = await project.judge({"pkg2/json.py": "", "tests/helpers.py": ""})
        assert (outcome.judged.shadows, outcome.judged.edits) == ((), ())


@pytest.mark.parametrize("command", ["cd pkg2 && pytest", "PYTHONPATH=src:pkg2 pytest"])
async def test_a_directory_that_a_command_changes_to_is_a_module_path(tmp_path: Path, command: str) -> None:
    async with scene(tmp_path, {**FILES, "pkg2/a.py": "", "pkg2/helpers.py": ""}, command) as project:
        outcome = await project.judge({"pkg2/json.py": "", "tests/helpers.py": ""})
        assert len(outcome.judged.shadows) == 1
        assert set(outcome.edits) == {"tests/helpers.py"}


async def test_a_changed_module_of_the_base_shadows_nothing_new(tmp_path: Path) -> None:
    async with scene(tmp_path, FILES) as project:
        assert (await project.judge({"types.py": "x = 1\n"})).judged.shadows == ()
