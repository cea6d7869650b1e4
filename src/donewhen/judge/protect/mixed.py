"""Which files have to be looked into: by name alone, so that most changes cost nothing. What is inside is `inside`."""

import re

MANIFESTS = frozenset({
    "pyproject.toml", "Cargo.toml", "package.json", "composer.json", "setup.cfg", "go.mod", "Gemfile", "pom.xml",
})  # fmt: skip
TEST_MODULE = re.compile(
    r"#\s*\[\s*cfg(?:_attr)?\s*\((?:[^\]#]|#(?!\s*\[))*\btest\b|#\s*\[\s*(?:\w+\s*::\s*)*(?:test|rstest|test_case)\b"
)

REASONS = {
    "conftest.py": "reaches tests beyond its directory",
    ".gitattributes": "changes the content of other files",
}


def is_manifest(path: str) -> bool:
    """Whether a file mixes what is product and what decides about checks."""
    name = path.rpartition("/")[2]
    return name in MANIFESTS or name.endswith((".csproj", ".fsproj", ".vbproj"))


def looks_at(path: str, exists: bool, in_old_directory: bool, is_test: bool) -> bool:
    """Whether the content of a changed file must be seen; most files are ordinary by name."""
    name = path.rpartition("/")[2]
    if name == "conftest.py":
        return not exists and not in_old_directory
    if name.endswith(".py"):
        return not exists and is_test
    if name.endswith("_test.go"):
        return not exists and in_old_directory
    if name.endswith(".rs"):
        return exists
    return (is_manifest(path) or name == ".gitattributes") and (exists or in_old_directory)


def reason(path: str) -> str:
    """Why not all of such a file is taken."""
    name = path.rpartition("/")[2]
    if name.endswith(".rs"):
        return "holds existing tests"
    if name not in REASONS and name.endswith(".py"):
        return "may load plugins into every test of the run"
    return REASONS.get(name) or (
        "takes over the tests beside it" if name.endswith("_test.go") else "configures the checks"
    )
