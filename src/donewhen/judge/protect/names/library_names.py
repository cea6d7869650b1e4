"""Names of standard and test libraries, by language: a new file of such a name would be used instead of the library.

Where look-ups are observed, they show the same for any library. These tables are for what cannot be observed: classes
inside an archive, other levels of isolation, older kernels. Python has its own rules (`shadow_modules`).
"""

import re

from donewhen.judge.protect.names.sources import suffix
from donewhen.judge.protect.names.word_set import listed

C_HEADERS = listed("""
    assert.h complex.h ctype.h errno.h fenv.h float.h inttypes.h iso646.h limits.h locale.h math.h setjmp.h signal.h
    stdalign.h stdarg.h stdatomic.h stdbool.h stddef.h stdint.h stdio.h stdlib.h stdnoreturn.h string.h strings.h
    tgmath.h threads.h time.h uchar.h wchar.h wctype.h unistd.h
    check.h cmocka.h unity.h unity_internals.h criterion.h greatest.h munit.h tap.h minunit.h CUnit.h
    gtest.h gmock.h catch.hpp catch_all.hpp catch_amalgamated.hpp doctest.h boost/test
""")
CPP_HEADERS = listed("""
    cassert cstdlib cstdio cstring cmath algorithm vector string iostream sstream memory map set functional utility
""")
PLACES = r"(?:(?:lib|test|tests|spec|t)/)?"
FILES = {
    ".pm": re.compile(PLACES + r"(?:strict|warnings|Carp|Exporter|base|parent|constant|lib|utf8|overload|Test2?)\.pm"),
    ".rb": re.compile(PLACES + r"(?:minitest|rspec|test-unit|test/unit|set|json|time|date|bundler|rake|rubygems)\.rb"),
}
"""Single files of a library, where a language looks for modules first."""
JVM = listed("""
    junit org/junit org/testng org/hamcrest org/assertj org/mockito org/opentest4j org/apiguardian org/spockframework
    org/scalatest kotlin/test io/kotest com/google/common/truth spock
""")
DOTNET = listed("Xunit NUnit FluentAssertions Moq Shouldly Microsoft.VisualStudio.TestTools.UnitTesting")
PACKAGES = {
    ".pm": listed("Test Test2 TAP App/Prove"),
    ".rb": listed("minitest rspec test/unit"),
    ".php": listed("PHPUnit Mockery Pest Codeception Composer vendor/composer"),
    **dict.fromkeys((".java", ".kt", ".kts", ".scala", ".groovy", ".class"), JVM),
    **dict.fromkeys((".cs", ".fs", ".vb"), DOTNET),
}
"""Suffix → directories of the packages of test libraries."""
LISTS = ("vendor/modules.txt", "vendor/autoload.php")
"""The lists by which Go and PHP use copies of packages in the tree."""
SETTINGS = re.compile(
    r"(?:.*/)?(?:Directory\.(?:Build|Packages)\.(?:props|targets)|[^/]+\.runsettings|xunit\.runner\.json)"
)
"""Files that every project of .NET below them reads."""


def hides_library(path: str) -> bool:
    """Return True if a new file of this name would be used instead of a standard or test library."""
    name = path.rpartition("/")[2]
    is_header = name in C_HEADERS or (name in CPP_HEADERS and "include" in path.split("/"))
    pattern = FILES.get(suffix(path))
    return is_header or bool(pattern and pattern.fullmatch(path)) or SETTINGS.fullmatch(path) is not None


def is_in_library(path: str) -> bool:
    """Return True if a file belongs to the package of a test library. A project may have such a package itself."""
    directory = f"/{path.rpartition('/')[0]}/"
    packages = PACKAGES.get(suffix(path), frozenset[str]())
    return f"/{path}".endswith(tuple(f"/{name}" for name in LISTS)) or any(f"/{one}/" in directory for one in packages)
