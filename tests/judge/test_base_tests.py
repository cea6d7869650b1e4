"""What the base's test files say about skipped tests and about parameters."""

from pathlib import Path

import pytest

from donewhen.judge.base_tests import BaseTests
from donewhen.workspace.beneath import Root
from repositories import write

PYTHON = """
import os
import sys
import unittest

import pytest

import calc
from calc import CASES

try:
    import yaml
    HAS_YAML = True
except ImportError:
    HAS_YAML = False
try:
    from calc import fast
    HAS_FAST = True
except ImportError:
    HAS_FAST = False
on_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="linux")
NAMES = ["a", "b"]


@pytest.mark.skip
def test_marked(): ...
@pytest.mark.skipif(sys.version_info < (4, 0), reason="new")
def test_on_version(): ...
@pytest.mark.skipif(not HAS_YAML, reason="yaml")
def test_with_yaml(): ...
@on_linux
def test_alias(): ...
@pytest.mark.xfail(reason="later")
def test_expected(): ...
def test_inside():
    if not os.environ.get("DATABASE"):
        pytest.skip("no database")
def test_import():
    pytest.importorskip("yaml")
@pytest.mark.skipif(not HAS_FAST, reason="fast")
def test_by_product(): ...
@pytest.mark.skipif(calc.SLOW, reason="slow")
def test_by_attribute(): ...
def test_inside_by_product():
    result = calc.add(1, 2)
    if result is None:
        pytest.skip("nothing")
def test_import_of_product():
    pytest.importorskip("calc.fast")
def test_plain():
    assert calc.add(1, 2) == 3


class Case(unittest.TestCase):
    @unittest.skip("later")
    def test_a(self): ...
    def test_b(self):
        self.skipTest("not here")
    def test_c(self): ...


@pytest.mark.parametrize("name", CASES)
def test_cases(name): ...
@pytest.mark.parametrize("name", NAMES)
def test_names(name): ...
@pytest.mark.parametrize("name", [case.name for case in calc.all_cases()])
def test_listed(name): ...
"""
SKIPPED = (
    "test_marked", "test_on_version", "test_with_yaml", "test_alias", "test_expected", "test_inside", "test_import",
    "test_marked[a.b]", "Case.test_a", "Case.test_b",
)  # fmt: skip
NOT_SKIPPED = (
    "test_by_product", "test_by_attribute", "test_inside_by_product", "test_import_of_product", "test_plain",
    "Case.test_c", "test_missing",
)  # fmt: skip


@pytest.fixture
def base(tmp_path: Path) -> BaseTests:
    (tmp_path / "site" / "yaml").mkdir(parents=True)
    write(tmp_path / "base", {"sub/tests/test_it.py": PYTHON, "sub/calc.py": ""})
    return BaseTests(Root(tmp_path / "base"), "sub", [tmp_path / "site"])


def test_a_skip_that_the_product_does_not_decide_is_the_base_s(base: BaseTests) -> None:
    assert [name for name in SKIPPED if not base.skips(f"tests.test_it.{name}")] == []
    assert base.skips("test_a (tests.test_it.Case)") and base.skips("test_a (tests.test_it.Case.test_a)")


def test_a_skip_that_the_product_decides_is_not(base: BaseTests) -> None:
    assert [name for name in NOT_SKIPPED if base.skips(f"tests.test_it.{name}")] == []


def test_the_file_is_found_if_the_runner_starts_in_another_directory(base: BaseTests) -> None:
    assert base.skips("test_it.test_marked")
    assert not base.skips("test_other.test_marked")


def test_skipped_tests_of_a_module_are_counted(base: BaseTests) -> None:
    assert base.skipped_in("tests.test_it") == len(SKIPPED) - 1
    assert base.skipped_in("tests.test_other") == 0


def test_parameters_of_the_product_are_told_from_those_of_the_file(base: BaseTests) -> None:
    assert base.takes_foreign_parameters("tests.test_it.test_cases")
    assert base.takes_foreign_parameters("tests.test_it.test_listed")
    assert not base.takes_foreign_parameters("tests.test_it.test_names")
    assert not base.takes_foreign_parameters("tests.test_other.test_cases")


SCRIPT = """
describe('adding', () => {
  it.skip('large numbers', () => {});
  xit("small numbers", () => {});
  it('odd', () => {});
});
describe.skip('other', () => { it('x', () => {}); });
test("windows", { skip: true }, () => {});
"""


def test_skips_in_scripts_are_found_by_title(tmp_path: Path) -> None:
    write(tmp_path, {"a.test.js": SCRIPT, "only.test.js": "it.only('a', f);\nit('b', f);\n"})
    base = BaseTests(Root(tmp_path), ".", [])
    for title in ("adding large numbers", "adding small numbers", "other x", "windows"):
        assert base.skips(f"/home/me/r/a.test.js > {title}"), title
    assert not base.skips("/home/me/r/a.test.js > adding odd")
    assert base.skips("/home/me/r/only.test.js > b")
    assert not base.skips("/home/me/r/missing.test.js > adding large numbers")


def test_skips_in_go_are_found_if_the_machine_decides(tmp_path: Path) -> None:
    text = (
        'package calc\n\nfunc TestA(t *testing.T) {\n\tt.Skip("later")\n}\n\n'
        'func TestB(t *testing.T) {\n\tif testing.Short() {\n\t\tt.Skip("slow")\n\t}\n}\n\n'
        'func TestC(t *testing.T) {\n\tif Add(1, 2) != 3 {\n\t\tt.Skip("later")\n\t}\n}\n'
    )
    write(tmp_path, {"calc/calc_test.go": text})
    base = BaseTests(Root(tmp_path), ".", [])
    found = [name for name in ("TestA", "TestB", "TestC", "TestD") if base.skips(f"example.org/x/calc.{name}")]
    assert found == ["TestA", "TestB"]
