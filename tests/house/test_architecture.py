"""The import rules hold, and the programs that keep them bite: each is run on a copy with a planted offence.

The rules stand in pyproject.toml; this module knows none of them but the ones that it breaks on purpose. Only
rings between single modules, and between the children of any package, are looked for here.
"""

import ast
import shutil
import subprocess
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(sys.executable).parent


def run(program: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a program of this environment on the package of its working directory."""
    environment = {"PATH": str(PROGRAMS), "PYTHONPATH": str(cwd / "src"), "COLUMNS": "200"}
    command = [str(PROGRAMS / program), *arguments]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


def lint_imports(cwd: Path) -> subprocess.CompletedProcess[str]:
    return run("lint-imports", "--no-logo", "--no-cache", cwd=cwd)


def ruff_complaints(cwd: Path, file: str) -> str:
    return run("ruff", "check", "--no-cache", "--output-format=concise", file, cwd=cwd).stdout


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the settings and the source of this repository, to plant offences in."""
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def plant(copy: Path, file: str, text: str) -> None:
    path = copy / "src" / "donewhen" / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(f'"""Planted here by a test, to be found."""\n\n{text}\n')


def test_the_import_rules_hold_in_this_repository() -> None:
    result = lint_imports(ROOT)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(
    "text",
    [
        "import donewhen.cli",
        "def later() -> None:\n    import donewhen.cli",
        "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    import donewhen.cli",
    ],
    ids=["at the top", "inside a function", "for types only"],
)
def test_a_package_that_imports_to_its_left_is_refused(copy: Path, text: str) -> None:
    plant(copy, "workspace/planted.py", text)
    result = lint_imports(copy)
    assert result.returncode == 1
    assert "donewhen.workspace.planted -> donewhen.cli" in result.stdout


def test_an_undeclared_package_is_refused(copy: Path) -> None:
    plant(copy, "annex/__init__.py", "")
    result = lint_imports(copy)
    assert result.returncode == 1
    assert "annex" in result.stdout


def test_a_copy_with_nothing_planted_in_it_is_accepted(copy: Path) -> None:
    assert lint_imports(copy).returncode == 0


def test_starting_a_process_outside_its_one_place_is_refused(copy: Path) -> None:
    for text in ("import subprocess", "from subprocess import run", "import os\n\nos.system('true')"):
        plant(copy, "session/planted.py", text)
        assert "TID251" in ruff_complaints(copy, "src/donewhen/session/planted.py")


def test_the_one_place_that_starts_processes_may_do_so(copy: Path) -> None:
    plant(copy, "workspace/process/launch.py", "import subprocess")
    complaints = ruff_complaints(copy, "src/donewhen/workspace/process/launch.py")
    assert "F401" in complaints
    assert "TID251" not in complaints


def test_catching_everything_is_refused(copy: Path) -> None:
    plant(copy, "session/planted.py", "try:\n    import donewhen\nexcept Exception:\n    donewhen = None")
    assert "BLE001" in ruff_complaints(copy, "src/donewhen/session/planted.py")


# -- cycles --


def modules(src: Path) -> dict[str, tuple[str, str]]:
    """Each module's dotted name with the package of its relative imports, and its text."""
    found: dict[str, tuple[str, str]] = {}
    for path in sorted(src.rglob("*.py")):
        *package, name = path.relative_to(src).with_suffix("").parts
        module = package if name == "__init__" else [*package, name]
        found[".".join(module)] = (".".join(package), path.read_text())
    return found


def imports(package: str, text: str) -> Iterator[str]:
    """Return what a module imports anywhere in it; `from a import b` may mean the module `a.b`."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                above = package.split(".")[: len(package.split(".")) - level + 1] if level else []
                origin = ".".join([*above, *([module] if module else [])])
                yield from (f"{origin}.{alias.name}" for alias in names)
            case ast.Call(func=func, args=[ast.Constant(value=str(target)), *_]):
                if ast.unparse(func).endswith("import_module"):
                    yield target
            case _:
                pass


def import_ring(src: Path) -> list[str]:
    """Return the modules of one cycle, if there is any."""
    known = modules(src)
    graph: dict[str, set[str]] = {}
    for name, (package, text) in known.items():
        targets = {target if target in known else target.rpartition(".")[0] for target in imports(package, text)}
        graph[name] = targets & known.keys()
    return ring_in(graph)


def ring_in(graph: dict[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def sibling_ring(src: Path) -> list[str]:
    """The packages or modules of one ring inside one package, if there is any, where each counts with all below it."""
    known = modules(src)
    found = [(name, target) for name, (package, text) in known.items() for target in imports(package, text)]
    for parent in sorted({above for name in known for above in packages_above(name)}):
        graph: dict[str, set[str]] = {}
        for one, other in found:
            if one.startswith(f"{parent}.") and other.startswith(f"{parent}."):
                child, sibling = (f"{parent}.{each.removeprefix(f'{parent}.').split('.')[0]}" for each in (one, other))
                if child != sibling and sibling in known:
                    graph.setdefault(child, set()).add(sibling)
        if ring := ring_in(graph):
            return ring
    return []


def packages_above(module: str) -> Iterator[str]:
    parts = module.split(".")
    yield from (".".join(parts[:count]) for count in range(1, len(parts)))


def test_no_modules_import_each_other_in_a_cycle() -> None:
    assert import_ring(ROOT / "src") == []


def test_no_packages_of_one_package_import_each_other_in_a_ring() -> None:
    assert sibling_ring(ROOT / "src") == []


def test_a_ring_of_packages_is_found_where_no_two_modules_form_one(tmp_path: Path) -> None:
    for package in ("p", "p/left", "p/right"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").touch()
    (tmp_path / "p/left/a.py").write_text("from p.right.b import x")
    (tmp_path / "p/right/b.py").touch()
    (tmp_path / "p/right/c.py").touch()
    (tmp_path / "p/left/d.py").touch()
    assert sibling_ring(tmp_path) == []
    (tmp_path / "p/right/c.py").write_text("from ..left import d")
    assert import_ring(tmp_path) == []
    assert {"p.left", "p.right"} <= set(sibling_ring(tmp_path))


@pytest.mark.parametrize(
    "back",
    [
        "import p.a",
        "from p import a",
        "from p.a import x",
        "from . import a",
        "from .a import x",
        "from .deep import c",
        "def f():\n    from p.a import x",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from p.a import x",
        "importlib.import_module('p.a')",
    ],
)
def test_a_cycle_is_found_however_the_import_is_written(tmp_path: Path, back: str) -> None:
    (tmp_path / "p" / "deep").mkdir(parents=True)
    (tmp_path / "p" / "__init__.py").touch()
    (tmp_path / "p" / "deep" / "__init__.py").touch()
    (tmp_path / "p" / "deep" / "c.py").write_text("from ..a import x")
    (tmp_path / "p" / "a.py").write_text("from p.b import y")
    (tmp_path / "p" / "b.py").write_text("from p import version")
    assert import_ring(tmp_path) == []
    (tmp_path / "p" / "b.py").write_text(back)
    assert {"p.a", "p.b"} <= set(import_ring(tmp_path))
