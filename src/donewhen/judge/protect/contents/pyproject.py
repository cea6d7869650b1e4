"""Which keys of a pyproject.toml, and which sections of a setup.cfg, are product. All others are judge settings."""

from collections.abc import Callable, Collection

from donewhen.judge.protect.contents import dependencies
from donewhen.judge.protect.contents.table_merge import MISSING, Path, Policy, Side, Table, table
from donewhen.judge.protect.names.deciding_files import LINTERS
from donewhen.judge.protect.names.judging_tools import TOOLS, is_plugin_group, normal
from donewhen.judge.protect.names.word_set import listed

METADATA = listed(
    "name version description readme license license-files authors maintainers keywords classifiers urls"
    " requires-python dynamic import-names import-namespaces"
)
RELEASING = listed(
    "setuptools_scm setuptools-scm versioningit bumpversion bumpver commitizen semantic_release towncrier flit maturin"
    " git-cliff scriv releaserc tbump check-manifest versioneer hatch-vcs cibuildwheel scikit-build meson-python"
)
"""Tools that package or release. No check uses them."""
SETUPTOOLS = listed(
    "packages package-dir package-data py-modules include-package-data exclude-package-data dynamic ext-modules"
    " zip-safe license-files platforms provides obsoletes namespace-packages data-files script-files"
)
POETRY = METADATA | listed(
    "homepage repository documentation packages include exclude extras package-mode requires-poetry"
)
SECTIONS = listed(
    "metadata options options.packages.find options.package_data options.exclude_package_data options.extras_require"
    " options.data_files bdist_wheel sdist build_ext bumpversion egg_info zest.releaser upload_docs build_sphinx"
)


def policy(words: Collection[str], base: Table) -> Policy:
    """Return the policy for a contract whose checks use these words."""
    unused = _unused(words)
    tool = table(base.get("tool"))
    project = table(base.get("project"))
    known = dependencies.names_in(
        (
            project.get("dependencies"),
            *table(project.get("optional-dependencies")).values(),
            *table(base.get("dependency-groups")).values(),
            table(tool.get("uv")).get("dev-dependencies"),
        )
    )

    def side(path: Path, old: object, new: object) -> Side:
        match path:
            case ("project", *rest):
                return _project(tuple(rest), old, new, known)
            case ("dependency-groups",) | ("tool",):
                return Side.INSIDE
            case ("dependency-groups", _):
                return dependencies.requirements(old, new, known)
            case ("build-system", *rest):
                return _build_system(tuple(rest), old, new)
            case ("tool", name, *rest):
                is_product = name in RELEASING or name in unused
                return Side.PRODUCT if is_product else _tool(name, tuple(rest), old, new, known)
            case _:
                return Side.JUDGE

    return side


def _unused(words: Collection[str]) -> set[str]:
    """Return the linters and type checkers that no check runs. Their tables have no effect on the checks."""
    return {tool for tools in LINTERS for tool in tools.split() if not any(other in words for other in tools.split())}


def _project(path: Path, old: object, new: object, known: Collection[str]) -> Side:
    match path:
        case () | ("optional-dependencies" | "scripts" | "gui-scripts" | "entry-points",):
            return Side.INSIDE
        case ("dependencies",) | ("optional-dependencies", _):
            return dependencies.requirements(old, new, known)
        case ("scripts" | "gui-scripts", name):
            return _script(name)
        case ("entry-points", group):
            return Side.JUDGE if is_plugin_group(group) else Side.PRODUCT
        case (name,) if name in METADATA:
            return Side.PRODUCT
        case _:
            return Side.JUDGE


def _script(name: str) -> Side:
    """Return JUDGE for a script with the name of a tool, because it would be installed instead of the tool."""
    return Side.JUDGE if name in TOOLS else Side.PRODUCT


def _build_system(path: Path, old: object, new: object) -> Side:
    match path:
        case ():
            return Side.INSIDE
        case ("requires",):
            return dependencies.requirements(old, new)
        case ("build-backend",):
            return Side.PRODUCT if old is MISSING else Side.JUDGE
        case _:
            return Side.JUDGE


Part = Callable[[Path, object, object, Collection[str]], Side]


def _tool(name: str, path: Path, old: object, new: object, known: Collection[str]) -> Side:
    part = PARTS.get(name)
    if part is None:
        return Side.JUDGE
    return Side.INSIDE if not path else part(path, old, new, known)


def _setuptools(path: Path, old: object, new: object, known: Collection[str]) -> Side:
    del old, new, known
    return Side.PRODUCT if path[0] in SETUPTOOLS else Side.JUDGE


def _poetry(path: Path, old: object, new: object, known: Collection[str]) -> Side:
    match path:
        case ("dependencies" | "dev-dependencies" | "group" | "scripts" | "plugins",) | ("group", _):
            return Side.INSIDE
        case ("group", _, "dependencies"):
            return Side.INSIDE
        case ("group", _, "optional"):
            return Side.PRODUCT
        case ("dependencies" | "dev-dependencies", name) | ("group", _, "dependencies", name):
            return dependencies.entry(name, old, new, known)
        case ("scripts", name):
            return _script(name)
        case ("plugins", group):
            return Side.JUDGE if is_plugin_group(group) else Side.PRODUCT
        case (name,) if name in POETRY or name == "urls":
            return Side.PRODUCT
        case _:
            return Side.JUDGE


def _pdm(path: Path, old: object, new: object, known: Collection[str]) -> Side:
    match path:
        case ("dev-dependencies",):
            return Side.INSIDE
        case ("dev-dependencies", _):
            return dependencies.requirements(old, new, known)
        case ("version" | "distribution" | "package-type",):
            return Side.PRODUCT
        case _:
            return Side.JUDGE


def _hatch(path: Path, old: object, new: object, known: Collection[str]) -> Side:
    del old, new, known
    match path:
        case ("build",) | ("build", "targets") | ("build", "targets", _):
            return Side.INSIDE
        case ("version" | "metadata",):
            return Side.PRODUCT
        case (
            "build",
            *_,
            "packages" | "include" | "exclude" | "sources" | "only-include" | "artifacts" | "force-include",
        ):
            return Side.PRODUCT
        case _:
            return Side.JUDGE


def _uv(path: Path, old: object, new: object, known: Collection[str]) -> Side:
    match path:
        case ("sources",) | ("workspace",):
            return Side.INSIDE
        case ("dev-dependencies",):
            return dependencies.requirements(old, new, known)
        case ("sources", name):
            is_guarded = old is not MISSING or normal(name) in known or normal(name) in TOOLS
            return Side.JUDGE if is_guarded else Side.PRODUCT
        case ("workspace", "members"):
            return dependencies.more_members(old, new)
        case ("package" | "required-version" | "build-backend",):
            return Side.PRODUCT
        case _:
            return Side.JUDGE


PARTS: dict[str, Part] = {"setuptools": _setuptools, "poetry": _poetry, "pdm": _pdm, "hatch": _hatch, "uv": _uv}


def pipfile(path: Path, old: object, new: object) -> Side:
    """Return the side of a key in a Pipfile. Only packages are product; sources and scripts are not."""
    match path:
        case ("packages" | "dev-packages",):
            return Side.INSIDE
        case ("packages" | "dev-packages", name):
            return dependencies.entry(name, old, new)
        case _:
            return Side.JUDGE


def is_product_section(section: str, words: Collection[str]) -> bool:
    """Return True if a section of setup.cfg is product.

    The reader of that file examines `options.entry_points` itself.
    """
    head = section.split(":")[-1].split("-")[0].partition(".")[0]
    return section in SECTIONS or (head in _unused(words) and not section.startswith("tool:pytest"))
