"""Setup commands see the base's files, and of a candidate only data that is accepted."""

from pathlib import Path

import pytest
from protection import Link, Made, scene

from donewhen.judge.protect.contents.setup_manifests import accepted_part, new_package
from donewhen.judge.protect.rules.setup_files import setup_tree

pytestmark = pytest.mark.anyio
NODE = '{"name": "a", "version": "1.0.0", "scripts": {"test": "jest"}, "dependencies": {"left-pad": "^1.0.0"}}\n'
NODE_LOCK = '{"packages": {"node_modules/left-pad": {"version": "1.0.0"}}}\n'
PYTHON = '[project]\nname = "a"\nversion = "1"\ndependencies = ["idna"]\n'
CFG = "[metadata]\nname = a\n\n[options]\ninstall_requires =\n    idna\n"
BASE = {
    "package.json": NODE,
    "package-lock.json": NODE_LOCK,
    "pyproject.toml": PYTHON,
    "setup.py": "base\n",
    "setup.cfg": CFG,
    "requirements.txt": "idna==3\n",
    "requirements-dev.txt": "pytest==8\n",
    "Cargo.toml": '[package]\nname = "a"\nversion = "1.0.0"\n\n[dependencies]\nitoa = "1"\n',
    "go.mod": "module a\n\ngo 1.22\n",
    "go.sum": "a v1 h1:aa\n",
    "Gemfile": 'source "https://rubygems.org"\ngem "rack"\n',
    "build.gradle": "base\n",
    "mix.exs": "base\n",
    "mix.lock": "%{}\n",
    "a.gemspec": "base\n",
    "src/calc.py": "base\n",
    "tests/test_a.py": "base\n",
}


async def seen(directory: Path, made: dict[str, Made]) -> dict[str, str]:
    """What setup commands see that differs from the base."""
    async with scene(directory, BASE, "pytest -q") as place:
        base = await place.store.tree_of(place.store.repo.head)
        tree = await setup_tree(place.store, base, await place.candidate(made), place.guard())
        return {path: content for path, content in (await place.content(tree)).items() if BASE.get(path) != content}


async def test_versions_and_new_names_from_a_registry_are_seen(tmp_path: Path) -> None:
    made: dict[str, Made] = {
        "package.json": NODE.replace("^1.0.0", "^1.1.0"),
        "package-lock.json": NODE_LOCK.replace("1.0.0", "1.1.0"),
        "pyproject.toml": PYTHON.replace('"idna"', '"idna", "iniconfig>=2"'),
        "setup.cfg": CFG + "    iniconfig\n",
        "requirements.txt": "idna==3.1\niniconfig\n",
        "requirements/docs.txt": "sphinx\n",
        "Cargo.toml": BASE["Cargo.toml"] + 'ryu = "1"\n',
        "go.mod": BASE["go.mod"] + "require b v1.0.0\n",
        "go.sum": BASE["go.sum"] + "b v1 h1:bb\n",
        "Gemfile": BASE["Gemfile"] + 'gem "puma", "~> 6"\n',
    }
    assert await seen(tmp_path, made) == made


async def test_code_and_unknown_files_are_the_base_s(tmp_path: Path) -> None:
    made: dict[str, Made] = {
        **dict.fromkeys(("setup.py", "build.gradle", "mix.exs", "mix.lock", "a.gemspec", "src/calc.py"), "changed\n"),
        **dict.fromkeys(("build.rs", "conanfile.py", "Package.swift", ".pnpmfile.cjs", "unknown.lock"), "new\n"),
        "settings.gradle": "new\n",
        "binding.gyp": "new\n",
        "new/pyproject.toml": PYTHON,
        "new/Cargo.toml": BASE["Cargo.toml"],
        "Gemfile": BASE["Gemfile"] + "system 'true'\n",
    }
    assert await seen(tmp_path, made) == {}


async def test_scripts_of_a_package_are_the_base_s_and_its_dependencies_are_not(tmp_path: Path) -> None:
    made = NODE.replace('{"test"', '{"postinstall": "sh x", "test"').replace("^1.0.0", "^1.1.0")
    found = await seen(tmp_path, {"package.json": made, "package-lock.json": NODE_LOCK.replace("1.0.0", "1.1.0")})
    assert found.keys() == {"package.json", "package-lock.json"}
    assert "postinstall" not in found["package.json"]
    assert "^1.1.0" in found["package.json"]


async def test_files_of_a_language_are_seen_together_or_not_at_all(tmp_path: Path) -> None:
    linked = NODE_LOCK.replace('"version": "1.0.0"', '"resolved": "fake", "link": true')
    made: dict[str, Made] = {
        "package.json": NODE.replace("^1.0.0", "^1.1.0"),
        "package-lock.json": linked,
        "requirements.txt": "idna @ file:///fake\n",
        "requirements-dev.txt": "pytest==9\n",
    }
    assert await seen(tmp_path, made) == {"requirements-dev.txt": "pytest==9\n"}


async def test_links_removed_files_and_protected_files_are_the_base_s(tmp_path: Path) -> None:
    made: dict[str, Made] = {
        "requirements.txt": Link("src/calc.py"),
        "requirements-dev.txt": None,
        "node_modules/x/package.json": NODE,
        "src/calc.py/package.json": NODE,
    }
    assert await seen(tmp_path, made) == {}


async def test_a_new_member_of_the_project_is_seen_without_scripts_and_programs(tmp_path: Path) -> None:
    new = '{"name": "b", "version": "1.0.0", "scripts": {"install": "sh x"}, "bin": {"jest": "x.js"}}'
    found = await seen(tmp_path, {"packages/b/package.json": new})
    assert found.keys() == {"packages/b/package.json"}
    assert "install" not in found["packages/b/package.json"]
    assert "bin" not in found["packages/b/package.json"]


@pytest.mark.parametrize("name", ["jest", "left-pad"])
def test_a_new_member_may_not_have_the_name_of_a_tool_or_of_a_dependency(name: str) -> None:
    assert new_package(f'{{"name": "{name}"}}'.encode(), {"left-pad"}, ()).none


CODE = [
    ("pyproject.toml", PYTHON, PYTHON + '[build-system]\nrequires = ["b @ file:///fake"]\n'),
    ("pyproject.toml", PYTHON, PYTHON + '[tool.hatch.version]\nsource = "code"\nexpression = "exit()"\n'),
    ("pyproject.toml", PYTHON, PYTHON + '[tool.setuptools_scm]\ngit_describe_command = "sh x"\n'),
    (
        "pyproject.toml",
        PYTHON,
        PYTHON + '[[tool.setuptools.ext-modules]]\nname = "x"\nextra-compile-args = ["-wrapper", "x"]\n',
    ),
    ("pyproject.toml", PYTHON, PYTHON + '[tool.pdm.version]\nsource = "call"\ngetter = "x:y"\n'),
    ("pyproject.toml", PYTHON, PYTHON.replace('"idna"', '"idna", "b @ git+https://x.example/b"')),
    ("pyproject.toml", PYTHON, PYTHON + '[tool.uv.sources]\nb = { path = "fake" }\n'),
    ("pyproject.toml", PYTHON, PYTHON + '[tool.poetry.dependencies]\nb = { path = "fake" }\n'),
    ("package.json", NODE, NODE.replace('"left-pad"', '"b": "file:fake", "left-pad"')),
    ("package.json", NODE, NODE.replace('"left-pad"', '"b": "user/repo", "left-pad"')),
    ("composer.json", '{"require": {"a/b": "1"}}', '{"require": {"a/b": "1", "a/c": "file:fake"}}'),
    ("Cargo.toml", BASE["Cargo.toml"], BASE["Cargo.toml"] + 'b = { path = "fake" }\n'),
    (
        "Cargo.toml",
        BASE["Cargo.toml"],
        BASE["Cargo.toml"] + '[build-dependencies]\nb = { git = "https://x.example" }\n',
    ),
    ("Pipfile", '[packages]\nidna = "*"\n', '[packages]\nidna = "*"\nb = { path = "fake" }\n'),
    ("Pipfile", '[packages]\nidna = "*"\n', '[packages]\nidna = "*"\n[scripts]\nx = "sh x"\n'),
    ("setup.cfg", CFG, CFG + "    b @ file:///fake\n"),
    ("setup.cfg", CFG, CFG + "\n[build_ext]\nswig = ./x\n"),
    ("go.mod", BASE["go.mod"], BASE["go.mod"] + "replace b => ./fake\n"),
    ("build.gradle", "base", "new"),
]


def test_what_an_installation_would_execute_or_take_from_elsewhere_is_not_seen() -> None:
    rows = [(path, new) for path, old, new in CODE if not accepted_part(path, old.encode(), new.encode(), ()).none]
    assert rows == []


DATA = [
    ("composer.json", '{"require": {"a/b": "1"}}', '{"require": {"a/b": "2", "a/c": "^1.0"}}'),
    ("Pipfile", '[packages]\nidna = "*"\n', '[packages]\nidna = "*"\niniconfig = ">=2"\n'),
    ("pyproject.toml", PYTHON, PYTHON + '[tool.poetry.dependencies]\nb = { version = "1", optional = true }\n'),
    ("pyproject.toml", PYTHON, PYTHON + '[dependency-groups]\ndev = ["pytest", {include-group = "x"}]\n'),
    ("pyproject.toml", PYTHON, PYTHON + '[tool.setuptools]\npackages = ["a"]\n'),
    ("package.json", NODE, NODE.replace('"left-pad"', '"b": "workspace:*", "left-pad"')),
]


def test_dependencies_from_a_registry_and_the_layout_of_packages_are_seen() -> None:
    rows = [(path, new) for path, old, new in DATA if not accepted_part(path, old.encode(), new.encode(), ()).is_all]
    assert rows == []


def test_settings_of_a_linter_do_not_hide_a_new_dependency() -> None:
    new = PYTHON.replace('"idna"', '"idna", "b"') + "[tool.ruff]\nline-length = 90\n"
    found = accepted_part("pyproject.toml", PYTHON.encode(), new.encode(), ())
    assert found.content is not None
    assert b'"b"' in found.content
    assert b"ruff" not in found.content
