"""Finds the packages of a repository: every directory with a manifest that no other package already covers."""

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase

from donewhen.judge.detect import go_jvm_dotnet, javascript, php_ruby_elixir, python, rust
from donewhen.judge.detect.ci_commands import CiCommand
from donewhen.judge.detect.package import Package, Programs
from donewhen.judge.detect.proposal import FoundCheck, Hint
from donewhen.judge.detect.survey import Survey, is_within, table, texts
from donewhen.records import frozen

MOST_PACKAGES = 24
MOST_LEVELS = 3
NO_PACKAGES = {
    "test", "tests", "__tests__", "spec", "testdata", "fixtures", "fixture", "examples", "example", "samples", "docs",
    "doc", "templates", "template", "third_party", "external", "bench", "benches", "benchmark", "benchmarks", "demo",
}  # fmt: skip
"""Directories whose manifests are test data or examples, not packages of the project."""
TEST_DIRECTORIES = {"test", "tests", "__tests__", "spec"}
WHOLE_BUILDS = {"gradle": ("settings.gradle", "settings.gradle.kts"), "dotnet": ("*.sln", "*.slnx")}
"""Files that make everything below them one build."""

Finder = Callable[[Package], Iterator[FoundCheck | Hint]]


@frozen
class Ecosystem:
    manifests: tuple[str, ...]
    find: Finder


ECOSYSTEMS: Mapping[str, Ecosystem] = {
    "python": Ecosystem(python.MANIFESTS, python.find),
    "javascript": Ecosystem(javascript.MANIFESTS, javascript.find),
    "rust": Ecosystem(rust.MANIFESTS, rust.find),
    "go": Ecosystem(go_jvm_dotnet.GO_MANIFESTS, go_jvm_dotnet.find_go),
    "maven": Ecosystem(go_jvm_dotnet.MAVEN_MANIFESTS, go_jvm_dotnet.find_maven),
    "gradle": Ecosystem(go_jvm_dotnet.GRADLE_MANIFESTS, go_jvm_dotnet.find_gradle),
    "dotnet": Ecosystem(go_jvm_dotnet.DOTNET_MANIFESTS, go_jvm_dotnet.find_dotnet),
    "php": Ecosystem(php_ruby_elixir.PHP_MANIFESTS, php_ruby_elixir.find_php),
    "ruby": Ecosystem(php_ruby_elixir.RUBY_MANIFESTS, php_ruby_elixir.find_ruby),
    "elixir": Ecosystem(php_ruby_elixir.ELIXIR_MANIFESTS, php_ruby_elixir.find_elixir),
}


def find_all(survey: Survey, called: tuple[CiCommand, ...], programs: Programs) -> Iterator[FoundCheck | Hint]:
    """Yield the checks and hints of the packages of every ecosystem, the root first."""
    for name, ecosystem in ECOSYSTEMS.items():
        found = (directory for directory in survey.files if next(survey.named(directory, *ecosystem.manifests), ""))
        near = (directory for directory in found if directory.count("/") < MOST_LEVELS)
        usual = [directory for directory in near if not NO_PACKAGES & set(directory.split("/"))]
        directories = sorted(usual, key=lambda directory: (directory.count("/") if directory != "." else -1, directory))
        if name == "python" and "." not in directories and _has_other_python_tests(survey, directories):
            directories.insert(0, ".")
        packages = [Package(survey, one, _inside(one, directories), called, programs) for one in directories]
        covered = {inner for package in packages for inner in _covered_packages(name, package, directories)}
        for package in packages[:MOST_PACKAGES]:
            if package.dir not in covered:
                yield from ecosystem.find(package)
        if len(packages) > MOST_PACKAGES:
            yield Hint(f"{len(packages)} {name} packages found; only the first {MOST_PACKAGES} were examined")


def _has_other_python_tests(survey: Survey, directories: list[str]) -> bool:
    """Return True if there are tests, in any directory, that belong to no package with a manifest."""
    tests = (path.split("/")[:-1] for path in survey.below(".", *python.TEST_FILES))
    own = ("/".join(parts) for parts in tests if (NO_PACKAGES - TEST_DIRECTORIES).isdisjoint(parts))
    return any(not any(is_within(path, directory) for directory in directories) for path in own)


def _inside(directory: str, directories: list[str]) -> tuple[str, ...]:
    return tuple(other for other in directories if other != directory and is_within(other, directory))


def _covered_packages(ecosystem: str, package: Package, directories: list[str]) -> Iterator[str]:
    """Yield the packages whose checks are already part of the checks of this one."""
    inner = _inside(package.dir, directories)
    if ecosystem == "rust":
        yield from _matching(package, inner, rust.members(package))
        return
    if ecosystem == "javascript":
        if javascript.covers_members(package):
            yield from _matching(package, inner, javascript.members(package))
        return
    if ecosystem == "python":
        paths = texts(table(package.toml("pyproject.toml"), "tool", "pytest", "ini_options").get("testpaths"))
        yield from (directory for directory in inner if any(_covers(package, pattern, directory) for pattern in paths))
        return
    if ecosystem == "maven":
        modules = re.findall(r"<module>\s*([^<\s]+)\s*</module>", package.text("pom.xml"))
        yield from _matching(package, inner, tuple(modules))
    elif next(package.survey.named(package.dir, *WHOLE_BUILDS.get(ecosystem, ())), ""):
        yield from inner


def _matching(package: Package, directories: tuple[str, ...], patterns: tuple[str, ...]) -> Iterator[str]:
    for directory in directories:
        path = posixpath.relpath(directory, package.dir)
        if any(fnmatchcase(path, pattern.removeprefix("./").rstrip("/")) for pattern in patterns):
            yield directory


def _covers(package: Package, pattern: str, directory: str) -> bool:
    """Return True if a path that pytest collects is inside of a package, or contains it."""
    path = posixpath.relpath(directory, package.dir)
    parts, pattern_parts = path.split("/"), pattern.removeprefix("./").rstrip("/").split("/")
    shorter = min(len(parts), len(pattern_parts))
    return all(fnmatchcase(*pair) for pair in zip(parts[:shorter], pattern_parts[:shorter], strict=True))
