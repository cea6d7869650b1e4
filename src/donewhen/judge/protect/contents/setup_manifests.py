"""Manifests as setup commands see them: which keys may come from the candidate because they are data.

A setup command may execute what a manifest says: scripts, compilers with options, expressions for a version. So this
is an allow-list: names, versions, layout, and dependencies that come from a registry. All other keys have the base's
values. If a key that decides what is installed is not accepted, the whole manifest is the base's.
"""

import re
from collections.abc import Callable, Collection

from donewhen.judge.protect.contents import cargo, dependencies, package_json, pyproject
from donewhen.judge.protect.contents.accepted_part import ALL, NOTHING, AcceptedPart
from donewhen.judge.protect.contents.json_text import read_json
from donewhen.judge.protect.contents.line_files import changed_sections, gemfile, go_mod
from donewhen.judge.protect.contents.manifests import Reader, Words, merge_json, merge_toml, read_with
from donewhen.judge.protect.contents.markup import project_file
from donewhen.judge.protect.contents.table_merge import Path, Policy, Side, Table
from donewhen.judge.protect.names.judging_tools import TOOLS
from donewhen.judge.protect.names.word_set import listed

Allowed = Callable[[Path, object, object], bool]
NODE = listed("name version private type engines os cpu workspaces") | {*package_json.NODE_LISTS}
COMPOSER = listed("name description version type license autoload minimum-stability prefer-stable")
SETUPTOOLS = pyproject.SETUPTOOLS - {"ext-modules", "script-files"}
UNBUILT = re.compile(
    r"(?!tool\.(?:setuptools|hatch|poetry|pdm|uv|flit|maturin|scikit-build|meson-python|versioneer|versioningit"
    r"|setuptools[_-]scm)(?:\.|$))tool\."
)
"""Matches keys of a pyproject.toml that no build of a package uses."""
SECTIONS = listed(
    "metadata options options.packages.find options.package_data options.exclude_package_data options.extras_require"
    " options.entry_points"
)


def accepted_part(path: str, base: bytes, candidate: bytes, words: Words) -> AcceptedPart:
    """Return what setup commands see of a changed manifest."""
    reader = READERS.get(path.rpartition("/")[2])
    return read_with(reader, base, candidate, words) if reader else NOTHING


def new_package(candidate: bytes, known: Collection[str], words: Words) -> AcceptedPart:
    """Return what setup commands see of a package.json in a new directory: a new member of the project.

    Its name may not be the name of a tool or of a dependency, because it would be installed instead.
    """

    def reader(base: str, text: str, words: Words) -> AcceptedPart:
        name = read_json(text).get("name")
        return NOTHING if name in TOOLS or name in known else _node(base, text, words)

    return read_with(reader, b"", candidate, words)


def _narrowed(policy: Policy, allowed: Allowed) -> Policy:
    def side(path: Path, old: object, new: object) -> Side:
        found = policy(path, old, new)
        return Side.JUDGE if found is Side.PRODUCT and not allowed(path, old, new) else found

    return side


def _unless(found: AcceptedPart, deciding: Collection[str]) -> AcceptedPart:
    """Return nothing if something below a deciding key was restored."""
    return NOTHING if any(key.partition(".")[0] in deciding for key in found.reverted) else found


def _node(base: str, candidate: str, words: Words) -> AcceptedPart:
    def allowed(path: Path, old: object, new: object) -> bool:
        if path[0] in package_json.NODE_DEPENDENCIES:
            return not dependencies.adds_source(old, new)
        return path[0] in NODE

    def policy(old: Table) -> Policy:
        return _narrowed(package_json.node(words, old), allowed)

    return _unless(merge_json(base, candidate, policy), (*package_json.NODE_DEPENDENCIES, "workspaces"))


def _composer(base: str, candidate: str, words: Words) -> AcceptedPart:
    def allowed(path: Path, old: object, new: object) -> bool:
        return not dependencies.adds_source(old, new) if path[0].startswith("require") else path[0] in COMPOSER

    def policy(old: Table) -> Policy:
        return _narrowed(package_json.composer(words, old), allowed)

    return _unless(merge_json(base, candidate, policy), ("require", "require-dev"))


def _python(base: str, candidate: str, words: Words) -> AcceptedPart:
    def policy(old: Table) -> Policy:
        return _narrowed(pyproject.policy(words, old), _is_python_data)

    found = merge_toml(base, candidate, policy)
    return found if all(UNBUILT.match(key) for key in found.reverted) else NOTHING


def _is_python_data(path: Path, old: object, new: object) -> bool:
    match path:
        case ("project", "dependencies") | ("project", "optional-dependencies", _) | ("dependency-groups", _):
            return not dependencies.adds_source(old, new)
        case ("build-system", "requires") | ("tool", "uv" | "pdm", "dev-dependencies", *_):
            return not dependencies.adds_source(old, new)
        case ("tool", "poetry", *_, "dependencies" | "dev-dependencies", _) | ("tool", "uv", "sources", _):
            return isinstance(new, str) or not dependencies.adds_source(old, new)
        case ("project" | "build-system", *_) | ("tool", "poetry", *_) | ("tool", "uv", "workspace" | "package", *_):
            return True
        case ("tool", "setuptools", key):
            return key in SETUPTOOLS
        case ("tool", "hatch", "build", *_):
            return True
        case _:
            return False


def _pipfile(base: str, candidate: str, words: Words) -> AcceptedPart:
    del words

    def allowed(path: Path, old: object, new: object) -> bool:
        del path
        return isinstance(new, str) or not dependencies.adds_source(old, new)

    found = merge_toml(base, candidate, lambda _: _narrowed(pyproject.pipfile, allowed))
    return found if found.is_all else NOTHING


def _cargo(base: str, candidate: str, words: Words) -> AcceptedPart:
    del words

    def allowed(path: Path, old: object, new: object) -> bool:
        is_dependency = len(path) > 1 and path[-2] in cargo.DEPENDENCIES
        return not is_dependency or isinstance(new, str) or not dependencies.adds_source(old, new)

    found = merge_toml(base, candidate, lambda _: _narrowed(cargo.policy, allowed))
    return _unless(found, (*cargo.DEPENDENCIES, "target", "workspace"))


def _setup_cfg(base: str, candidate: str, words: Words) -> AcceptedPart:
    """Accept a setup.cfg as a whole if only plain sections changed and no requirement has a new source."""
    del words
    known = set(base.splitlines())
    has_source = any("@" in line or "file:" in line for line in candidate.splitlines() if line not in known)
    return NOTHING if has_source or changed_sections(base, candidate) - SECTIONS else ALL


def _go(base: str, candidate: str, words: Words) -> AcceptedPart:
    found = go_mod(base, candidate, words)
    return found if found.is_all else NOTHING


READERS: dict[str, Reader] = {
    "package.json": _node,
    "composer.json": _composer,
    "pyproject.toml": _python,
    "Pipfile": _pipfile,
    "Cargo.toml": _cargo,
    "setup.cfg": _setup_cfg,
    "go.mod": _go,
    "Gemfile": gemfile,
    "pom.xml": project_file,
}
