"""pyproject.toml and setup.cfg: product keys are accepted, all others come from the base and are named."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from protection import scene

from donewhen.judge.protect.contents.accepted_part import AcceptedPart
from donewhen.judge.protect.contents.mixed_contents import accepted_part
from tiers import examples

BASE = """\
# the project
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "calc"  # short
version = "1.0"
dependencies = ["click>=8"]

[project.optional-dependencies]
dev = ["pytest>=8"]

[tool.pytest.ini_options]
addopts = "-q"  # quiet

[tool.ruff]
line-length = 100

[tool.uv.workspace]
members = ["packages/*"]
"""
WORDS = ("pytest", "-q")


def merged(change: tuple[str, str] | str, base: str = BASE, words: tuple[str, ...] = WORDS) -> AcceptedPart:
    new = change if isinstance(change, str) else base.replace(*change)
    assert new != base
    return accepted_part("pyproject.toml", base.encode(), new.encode(), words)


HONEST = {
    "a version": ('version = "1.0"', 'version = "2.0"'),
    "a dependency": ('"click>=8"', '"click>=8", "rich>=13"'),
    "a dependency from a repository": ('"click>=8"', '"click>=8", "fresh @ git+https://example.invalid/fresh"'),
    "another version of the runner": ('"pytest>=8"', '"pytest>=9"'),
    "a group": ('[tool.ruff]', '[dependency-groups]\nlint = ["ruff", {include-group = "dev"}]\n\n[tool.ruff]'),
    "a script": ("[project.opt", '[project.scripts]\ncalc = "calc:main"\n\n[project.opt'),
    "an entry point": ("[project.opt", '[project.entry-points."calc.parts"]\na = "calc:a"\n\n[project.opt'),
    "a linter that no check runs": ("line-length = 100", "line-length = 120"),
    "a new member": ('["packages/*"]', '["packages/*", "extra"]'),
    "a source for a new name": ("[tool.uv.w", '[tool.uv.sources]\nfresh = { path = "fresh" }\n\n[tool.uv.w'),
    "packages": ("[tool.ruff]", '[tool.setuptools]\npackages = ["calc"]\n\n[tool.ruff]'),
    "a wheel": ("[tool.ruff]", '[tool.hatch.build.targets.wheel]\npackages = ["calc"]\n\n[tool.ruff]'),
    "poetry": ("[tool.ruff]", '[tool.poetry.dependencies]\nrich = { version = "13", extras = ["x"] }\n\n[tool.ruff]'),
    "comments": ("# the project", "# our project"),
}  # fmt: skip


@pytest.mark.parametrize("change", HONEST.values(), ids=HONEST)
def test_a_change_of_product_keys_only_is_kept_byte_for_byte(change: tuple[str, str]) -> None:
    assert merged(change) == AcceptedPart()


ATTACKS = {
    "tool.pytest.ini_options.addopts": ('addopts = "-q"', 'addopts = "-k nothing"'),
    "tool.pytest": ("[tool.pytest.ini_options]", "[tool.other]"),
    "tool.pytest.addopts": ("[tool.pytest.ini_options]", "[tool.pytest]\naddopts = []\n\n[tool.pytest.ini_options]"),
    "tool.coverage": ("[tool.ruff]", "[tool.coverage.run]\nomit = ['*']\n\n[tool.ruff]"),
    "project.entry-points.pytest11": ("[project.opt", '[project.entry-points.pytest11]\na = "a"\n\n[project.opt'),
    "project.scripts.pytest": ("[project.opt", '[project.scripts]\npytest = "calc:main"\n\n[project.opt'),
    "project.optional-dependencies.dev": ('"pytest>=8"', '"pytest @ file:///fake"'),
    "project.dependencies": ('"click>=8"', '"click @ git+https://example.invalid/c"'),
    "tool.uv.sources.pytest": ("[tool.uv.w", '[tool.uv.sources]\npytest = { path = "fake" }\n\n[tool.uv.w'),
    "tool.uv.sources.click": ("[tool.uv.w", '[tool.uv.sources]\nclick = { path = "fake" }\n\n[tool.uv.w'),
    "tool.uv.workspace.members": ('["packages/*"]', "[]"),
    "tool.uv.index": ("[tool.uv.w", '[[tool.uv.index]]\nurl = "x"\n\n[tool.uv.w'),
    "tool.hatch.envs": ("[tool.ruff]", "[tool.hatch.envs.test]\nscripts.test = 'true'\n\n[tool.ruff]"),
    "tool.hatch.build.hooks": ("[tool.ruff]", "[tool.hatch.build.hooks.custom]\npath = 'x'\n\n[tool.ruff]"),
    "tool.poetry.dependencies.pytest": ("[tool.r", '[tool.poetry.dependencies]\npytest = { path = "x" }\n\n[tool.r'),
    "tool.poetry.dependencies.Click": ("[tool.r", '[tool.poetry.dependencies]\nClick = { path = "x" }\n\n[tool.r'),
    "build-system.build-backend": ('"hatchling.build"', '"ours"'),
    "build-system.backend-path": ('"hatchling.build"', '"hatchling.build"\nbackend-path = ["."]'),
    "unheard-of": ("[tool.ruff]", "[unheard-of]\na = 1\n\n[tool.ruff]"),
}  # fmt: skip


@pytest.mark.parametrize(("part", "change"), ATTACKS.items(), ids=ATTACKS)
def test_a_protected_key_stays_while_a_product_key_next_to_it_changes(part: str, change: tuple[str, str]) -> None:
    found = merged(BASE.replace(*change).replace('version = "1.0"', 'version = "2.0"'))
    assert any(reverted == part for reverted in found.reverted), found
    assert found.content is not None
    expected = tomllib.loads(BASE.replace('version = "1.0"', 'version = "2.0"'))
    read = tomllib.loads(found.content.decode())
    assert {**read, "tool": without_empty(read["tool"])} == expected
    assert '"-q"  # quiet' in found.content.decode()


def without_empty(tables: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in tables.items() if value != {}}


def test_the_table_of_a_linter_that_a_check_runs_is_protected() -> None:
    found = merged(("line-length = 100", "exclude = ['*']"), words=("ruff", "check"))
    assert found.reverted == ("tool.ruff.line-length", "tool.ruff.exclude")


@pytest.mark.parametrize("text", ["not toml [", '[project]\nname = "a"\nname = "b"\n', "\0", "[project\n"])
def test_a_file_that_cannot_be_parsed_comes_from_the_base(text: str) -> None:
    assert merged(text).none


def test_a_new_mixed_file_keeps_only_its_product_keys() -> None:
    new = b'[project]\nname = "a"\n\n[tool.pytest.ini_options]\naddopts = "-k loud"\n'
    found = accepted_part("pyproject.toml", None, new, WORDS)
    assert found.content is not None
    assert tomllib.loads(found.content.decode()) == {"project": {"name": "a"}}
    assert found.reverted == ("tool.pytest",)


def test_a_file_may_be_deleted_if_it_holds_nothing_protected() -> None:
    assert accepted_part("setup.cfg", b"[metadata]\nname = a\n", None, WORDS) == AcceptedPart()
    assert accepted_part("pyproject.toml", BASE.encode(), None, WORDS).none


VALUES = st.recursive(
    st.booleans() | st.integers(0, 3) | st.sampled_from(["a", "b @ file:///x"]),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["name", "pytest", "x"]), inner, max_size=2)
    ),
    max_leaves=4,
)
DOCUMENTS = st.dictionaries(
    st.sampled_from(["project", "tool", "other"]),
    st.dictionaries(
        st.sampled_from(["version", "dependencies", "scripts", "pytest", "ruff", "poetry"]), VALUES, max_size=3
    ),
    max_size=3,
)


@settings(max_examples=examples(80))
@given(DOCUMENTS, DOCUMENTS)
def test_protected_tables_stay_for_any_candidate(old: dict[str, object], new: dict[str, object]) -> None:
    import tomlkit

    base, candidate = tomlkit.dumps(old), tomlkit.dumps(new)
    found = accepted_part("pyproject.toml", base.encode(), candidate.encode(), ("ruff",))
    text = base if found.none else candidate if found.content is None else found.content.decode()
    result = tomllib.loads(text)
    before = tomllib.loads(base)
    for table in ("pytest", "ruff"):
        assert result.get("tool", {}).get(table) == before.get("tool", {}).get(table)
    assert result.get("other") == before.get("other")


CFG = (
    "[metadata]\nname = calc\nversion = 1\n\n[options]\ninstall_requires =\n    click\n\n[tool:pytest]\naddopts = -q\n"
)


def cfg(change: tuple[str, str], words: tuple[str, ...] = WORDS) -> AcceptedPart:
    return accepted_part("setup.cfg", CFG.encode(), CFG.replace(*change).encode(), words)


def test_sections_of_setup_cfg_about_the_package_are_product() -> None:
    assert cfg(("version = 1", "version = 2")) == AcceptedPart()
    assert cfg(("    click\n", "    click\n    rich\n")) == AcceptedPart()
    assert (
        cfg(("[tool:p", "[options.entry_points]\nconsole_scripts =\n    calc = calc:main\n\n[tool:p")) == AcceptedPart()
    )
    assert cfg(("[tool:p", "[flake8]\nmax-line-length = 100\n\n[tool:p")) == AcceptedPart()


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("tool:pytest", ("addopts = -q", "addopts = -k nothing")),
        ("aliases", ("[tool:p", "[aliases]\ntest = true\n\n[tool:p")),
        ("options.entry_points", ("[tool:p", "[options.entry_points]\npytest11 =\n    a = a\n\n[tool:p")),
        ("options.entry_points", ("[tool:p", "[options.entry_points]\nconsole_scripts =\n    pytest = a:b\n\n[tool:p")),
        ("coverage:run", ("[tool:p", "[coverage:run]\nomit = *\n\n[tool:p")),
    ],
)
def test_other_sections_of_setup_cfg_come_from_the_base(part: str, change: tuple[str, str]) -> None:
    changed = CFG.replace(*change).replace("version = 1", "version = 2")
    found = accepted_part("setup.cfg", CFG.encode(), changed.encode(), WORDS)
    assert found.reverted == (part,)
    assert found.content == CFG.replace("version = 1", "version = 2").encode()


def test_a_linter_s_section_is_protected_if_a_check_runs_it() -> None:
    assert cfg(("[tool:p", "[flake8]\nexclude = *\n\n[tool:p"), words=("flake8",)).reverted == ("flake8",)


@pytest.mark.parametrize("trick", ["  [tool:pytest]\naddopts = x\n", "[metadata]\nname = twice\n", "no section\n = \n"])
def test_an_ambiguous_setup_cfg_comes_from_the_base(trick: str) -> None:
    assert accepted_part("setup.cfg", CFG.encode(), (trick + CFG).encode(), WORDS).none


@pytest.mark.parametrize("end", ["\f", "\v", "\r", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"])
def test_a_setup_cfg_with_unusual_line_endings_comes_from_the_base(end: str) -> None:
    base = CFG.partition("[tool:pytest]")[0]
    hidden = base.replace("version = 1", f"version = 2{end}[tool:pytest]{end}addopts = -p helper")
    assert accepted_part("setup.cfg", base.encode(), hidden.encode(), WORDS).none


def test_a_setup_cfg_may_have_windows_line_endings() -> None:
    assert accepted_part("setup.cfg", CFG.encode(), CFG.replace("\n", "\r\n").encode(), WORDS) == AcceptedPart()


@pytest.mark.parametrize(
    "text",
    [
        'pytest_plugins = ["helper"]', 'pytest_plugins: list[str] = ["helper"]', 'pytest_plugins += ["helper"]',
        "from helper import pytest_plugins", "from helper import names as pytest_plugins",
        'globals()["pytest_plugins"] = ["helper"]', 'pytest_plugin\u017f = ["helper"]', "pytest_plugins = [",
        "if True:\n    (pytest_plugins, b) = 1, 2",
    ],
)  # fmt: skip
def test_a_new_test_module_that_names_plugins_is_not_graded(text: str) -> None:
    assert accepted_part("tests/test_new.py", None, f"{text}\n".encode(), WORDS).none


def test_an_encoding_does_not_hide_the_name_of_plugins() -> None:
    assert accepted_part("tests/test_new.py", None, b"# coding: utf-7\n+AHA-ytest_plugins = ['helper']\n", WORDS).none


@pytest.mark.parametrize(
    "text",
    ["def test_a():\n    assert 1\n", "from calc import *\n", "# no pytest_plugins here\n",
     "x = 'the pytest_plugins'\n", "# coding: latin-1\n# \xe9\n", "def newer[T](x: T): ...\n"],
)  # fmt: skip
def test_other_new_test_modules_are_accepted(text: str) -> None:
    assert accepted_part("tests/test_conftest.py", None, text.encode("latin-1"), WORDS) == AcceptedPart()


@pytest.mark.anyio
async def test_a_new_test_with_plugins_is_removed_and_one_without_stays(tmp_path: Path) -> None:
    names = 'pytest_plugins = ["helper"]\n'
    async with scene(tmp_path, {"a.py": "", "tests/test_a.py": ""}) as project:
        made = {"tests/test_b.py": names, "tests/more/__init__.py": names, "tests/test_c.py": "", "helper.py": names}
        assert set((await project.judge(made)).edits) == {"tests/test_b.py", "tests/more/__init__.py"}


@pytest.mark.anyio
async def test_a_mixed_change_is_judged_with_its_product_part(tmp_path: Path) -> None:
    async with scene(tmp_path, {"pyproject.toml": BASE, "a.py": ""}) as project:
        outcome = await project.judge({"pyproject.toml": BASE.replace('"-q"', '"-x"').replace('"1.0"', '"2.0"')})
        assert outcome.files["pyproject.toml"] == BASE.replace('"1.0"', '"2.0"')
        (edit,) = outcome.judged.edits
        assert (edit.action, edit.parts) == ("modified", ("tool.pytest.ini_options.addopts",))
