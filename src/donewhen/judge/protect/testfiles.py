"""Which paths are tests, by their names alone: test modules, and the data, snapshots and helpers that lie among them.

Whether a path exists in the base, and whether it is therefore protected, is decided elsewhere.
"""

import re

from donewhen.judge.protect.tables import listed

ANYWHERE = listed(
    "tests test __tests__ __test__ __snapshots__ __mocks__ __fixtures__ testdata test_data test-data testthat"
    " integrationtest functionaltest androidtest testfixtures goldens golden integration-tests integration_tests"
    " unit-tests unit_tests e2e-tests e2e_tests"
)
"""Directories whose whole content is taken for tests, at any depth; compared in lower case."""
AT_THE_ROOT = frozenset({"testing", "spec", "specs", "fixtures", "snapshots", "e2e", "cypress", "t"})
"""These only at the root: `django/testing` or `api/spec` are products."""
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
            r".*\.bats|.*\.t|.*\.feature|test-.*\.R|runtests\.jl|.*_test\.zig",
        )
    )
)
BESIDE = re.compile(
    r"conftest\.py|.*\.snap(?:shot)?|.*\.(?:ambr|golden)|spec_helper\.rb|rails_helper\.rb|test_helper\.\w+"
)
"""What belongs to tests without being one, wherever it lies."""
LISTED_BY_PLACE = re.compile(rf"(?:.*/)?(?:tests/[^/]+\.rs|__tests__/(?:.*/)?[^/]+\.{JS})")
"""Files that a runner takes for tests because of their directory."""


def is_test(path: str) -> bool:
    """Whether a path is a test or lies among tests."""
    *directories, name = path.split("/")
    return bool(MODULES.fullmatch(name) or BESIDE.fullmatch(name)) or is_test_directory(directories) or _named(name)


def is_test_module(path: str) -> bool:
    """Whether a runner would look for tests in this file."""
    return bool(MODULES.fullmatch(path.rpartition("/")[2]) or LISTED_BY_PLACE.fullmatch(path))


def is_test_directory(directories: list[str]) -> bool:
    return any(_named(name) or DOTNET_PROJECT.fullmatch(name) for name in directories) or (
        bool(directories) and directories[0].lower() in AT_THE_ROOT
    )


def _named(name: str) -> bool:
    return name.lower() in ANYWHERE
