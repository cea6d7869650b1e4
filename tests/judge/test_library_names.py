"""New files with the name of a standard or test library, where look-ups cannot show it."""

from pathlib import Path

import pytest
from protection import contract

from donewhen.judge.protect import Guard
from donewhen.judge.protect.names.library_names import hides_library, is_in_library
from donewhen.workspace.beneath import Root
from tables import every_row

HIDING = """
    include/assert.h src/stdio.h include/vector third_party/gtest.h lib/strict.pm t/Test.pm lib/set.rb minitest.rb
    test/rspec.rb Directory.Build.props src/a.runsettings
"""
INSIDE = """
    lib/Test/More.pm src/main/java/org/junit/Assert.java src/org/testng/A.kt src/main/kotlin/kotlin/test/Test.kt
    lib/minitest/autorun.rb
    src/PHPUnit/Framework/TestCase.php src/Xunit/Assert.cs vendor/modules.txt vendor/autoload.php
"""
HONEST = """
    include/add.h src/vector.c lib/Calc.pm lib/Calc/Set.pm lib/models/set.rb src/main/java/com/acme/Calc.java
    src/main/java/com/acme/time/Junit.java src/Calc.php src/Moq.cs vendor/readme.txt lib/testing.rb json.go
"""


@every_row(HIDING.split())
def test_a_file_that_hides_a_library_is_known_by_name(path: str) -> None:
    assert hides_library(path)


@every_row(INSIDE.split())
def test_a_file_in_the_package_of_a_test_library_is_known_by_name(path: str) -> None:
    assert is_in_library(path)


@every_row(HONEST.split())
def test_ordinary_names_hide_nothing(path: str) -> None:
    assert not hides_library(path)
    assert not is_in_library(path)


@pytest.mark.parametrize("path", ["include/assert.h", "src/main/java/org/junit/Assert.java", "vendor/modules.txt"])
def test_a_new_one_is_restored(path: str, tmp_path: Path) -> None:
    (tmp_path / "include").mkdir()
    assert "library" in Guard(contract("make"), Root(tmp_path)).reason(path, exists=False)


def test_a_project_may_extend_a_library_that_is_its_own(tmp_path: Path) -> None:
    (tmp_path / "src/org/junit").mkdir(parents=True)
    assert Guard(contract("make"), Root(tmp_path)).reason("src/org/junit/New.java", exists=False) == ""
