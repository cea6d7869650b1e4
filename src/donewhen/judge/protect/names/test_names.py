"""Which paths are tests, by name alone: test modules, and the data, snapshots and helpers next to them.

Other modules decide if a path exists in the base and is therefore protected.
"""

import re

from donewhen.judge.protect.names.word_set import listed

ANYWHERE = listed(
    "tests test __tests__ __test__ __snapshots__ __mocks__ __fixtures__ testdata test_data test-data testthat"
    " integrationtest functionaltest androidtest testfixtures goldens golden integration-tests integration_tests"
    " unit-tests unit_tests e2e-tests e2e_tests"
)
"""Directories whose whole content counts as tests, at any depth. Compared in lower case."""
AT_THE_ROOT = frozenset({"testing", "spec", "specs", "fixtures", "snapshots", "e2e", "cypress", "t"})
"""These count at the root only: `django/testing` or `api/spec` belong to products."""
DOTNET_PROJECT = re.compile(r".+\.(?:\w*Tests?|Specs?)")

JS = r"(?:[cm]?[jt]sx?|vue|svelte)"
MODULES = re.compile(
    "|".join(
        (
            r"test_.*\.pyi?|.*_tests?\.py|tests?\.py",
            rf".*[.](?:test|spec|e2e|cy|test-d)\.{JS}|.*[-_](?:test|spec)\.{JS}|tests?\.{JS}",
            r".*_test\.go",
            r".*_tests?\.rs|test_.*\.rs|tests?\.rs",
            r"(?:.*(?:Test|Tests|TestCase|[a-z0-9]IT)|Test[A-Z].*)\.(?:java|kt|kts|scala|groovy)|.*Spec\.(?:scala|groovy|hs)",
            r".*Tests?\.(?:cs|fs|vb|swift|hs|m|mm)",
            r".*_(?:spec|test)\.(?:rb|exs|lua|dart|clj|cljs|cljc|ex|erl|sh)|test_.*\.(?:rb|sh|ml|lua|jl|R)",
            r".*(?:Test|Cest)\.php|.*_SUITE\.erl",
            r"test_.*\.(?:c|cc|cpp|cxx)|.*_(?:unit)?tests?\.(?:c|cc|cpp|cxx)",
            r".*\.bats|.*\.t|.*\.feature|.*\.robot|.*\.resource|test-.*\.R|runtests\.jl|.*_test\.zig",
        )
    )
)
HELPERS = re.compile(
    r"conftest\.py|.*\.snap(?:shot)?|.*\.(?:ambr|golden)|spec_helper\.rb|rails_helper\.rb|test_helper\.\w+"
)
"""Files that belong to tests without being tests, in any directory."""
SCRIPT = re.compile(rf".+\.{JS}")


def is_test(path: str) -> bool:
    """Return True if a path is a test or is in a directory of tests."""
    *directories, name = path.split("/")
    return bool(MODULES.fullmatch(name) or HELPERS.fullmatch(name)) or is_test_directory(directories) or _named(name)


def is_test_module(path: str) -> bool:
    """Return True if a runner would search for tests in this file, because of its name or its directory."""
    *directories, name = path.split("/")
    if directories[-1:] == ["tests"] and name.endswith(".rs") and name != ".rs":
        return True
    return bool(MODULES.fullmatch(name) or ("__tests__" in directories and SCRIPT.fullmatch(name)))


def is_test_directory(directories: list[str]) -> bool:
    return any(_named(name) or DOTNET_PROJECT.fullmatch(name) for name in directories) or (
        bool(directories) and directories[0].lower() in AT_THE_ROOT
    )


def _named(name: str) -> bool:
    return name.lower() in ANYWHERE
