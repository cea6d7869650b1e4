"""Which changed files must be examined, by name alone, so that most changes cost nothing. `contents` reads them."""

import re

MANIFESTS = frozenset({
    "pyproject.toml", "Cargo.toml", "package.json", "composer.json", "setup.cfg", "go.mod", "Gemfile", "pom.xml",
    "Pipfile",
})  # fmt: skip
LOCKS = frozenset({
    "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "uv.lock", "poetry.lock", "pdm.lock",
    "Pipfile.lock", "Cargo.lock", "Gemfile.lock", "composer.lock",
})  # fmt: skip
ATTRIBUTE = re.compile(r"#\s*\[\s*")
OF_TESTS = re.compile(r"cfg(?:_attr)?\s*\([^\]]*\btest\b|(?:\w+\s*::\s*)*(?:test|rstest|test_case)\b")

REASONS = {
    "conftest.py": "affects tests outside its directory",
    ".gitattributes": "changes the content of other files",
}


def holds_tests(source: str) -> bool:
    """Return True if an attribute in Rust source marks tests. Each attribute is read up to the next one only."""
    return any(OF_TESTS.match(attribute) for attribute in ATTRIBUTE.split(source)[1:])


def is_manifest(path: str) -> bool:
    """Return True if a file contains both product and settings of checks."""
    name = path.rpartition("/")[2]
    return name in MANIFESTS or name.endswith((".csproj", ".fsproj", ".vbproj"))


def is_lock(path: str) -> bool:
    """Return True if a file says where dependencies come from: a lock file, or a list of Python requirements."""
    return path.rpartition("/")[2] in LOCKS or is_requirements(path)


def is_requirements(path: str) -> bool:
    """Return True for names of files that list Python requirements or constraints."""
    directory, _, name = path.rpartition("/")
    stem, _, ending = name.rpartition(".")
    is_listed = stem.startswith(("requirements", "constraints")) or directory.rpartition("/")[2] == "requirements"
    return (is_listed and ending in ("txt", "in")) or (stem.startswith("requirements") and ending == "lock")


def needs_examination(path: str, exists: bool, in_old_directory: bool, is_test: bool) -> bool:
    """Return True if the content of a changed file must be examined. Most files are ordinary by name."""
    name = path.rpartition("/")[2]
    if name == "conftest.py":
        return not exists and not in_old_directory
    if name.endswith(".py"):
        return not exists and is_test
    if name.endswith("_test.go"):
        return not exists and in_old_directory
    is_examined = is_manifest(path) or is_lock(path) or name == ".gitattributes"
    return is_examined and (exists or in_old_directory)


def reason(path: str) -> str:
    """Return why such a file is not accepted as a whole."""
    name = path.rpartition("/")[2]
    if name.endswith(".rs"):
        return "contains existing tests"
    if name not in REASONS and name.endswith(".py"):
        return "may load plugins into every test of the run"
    return REASONS.get(name) or (
        "changes how the tests beside it run" if name.endswith("_test.go") else "configures the checks"
    )
