"""Which keys of a package.json or a composer.json are product. Scripts are product, unless a check runs them."""

from collections.abc import Collection

from donewhen.judge.protect.commands.commands import all_words
from donewhen.judge.protect.commands.package_scripts import closure, is_used, words_that_run
from donewhen.judge.protect.contents import dependencies
from donewhen.judge.protect.contents.table_merge import Path, Policy, Side, Table, table
from donewhen.judge.protect.names.judging_tools import TOOLS
from donewhen.judge.protect.names.word_set import listed

NODE = listed(
    """
    name version description keywords author contributors maintainers license licenses homepage bugs repository funding
    private main module browser types typings typesVersions exports imports man files directories sideEffects type
    engines os cpu publishConfig unpkg jsdelivr preferGlobal browserslist displayName icon categories activationEvents
    contributes style sass svelte customElements web-types husky lint-staged release-it release commitlint
    """
)
NODE_DEPENDENCIES = ("dependencies", "devDependencies", "peerDependencies", "optionalDependencies")
NODE_LISTS = ("bundledDependencies", "bundleDependencies", "peerDependenciesMeta")
TABLES_OF_LINTERS = {
    "eslintConfig": "eslint", "eslintIgnore": "eslint", "prettier": "prettier", "stylelint": "stylelint", "xo": "xo",
    "standard": "standard",
}  # fmt: skip

COMPOSER = listed(
    "name description version type keywords homepage license authors support funding suggest conflict autoload"
    " minimum-stability prefer-stable readme time abandoned archive _comment"
)


def node(words: Collection[str], base: Table) -> Policy:
    script_words = _script_words(words, base)

    def side(path: Path, old: object, new: object) -> Side:
        match path:
            case ("scripts" | "bin",) if isinstance(new, str) or isinstance(old, str):
                return Side.PRODUCT if path == ("bin",) else Side.JUDGE
            case ("scripts" | "bin",):
                return Side.INSIDE
            case ("scripts", name):
                return Side.JUDGE if is_used(name, script_words) else Side.PRODUCT
            case ("bin", name):
                return Side.JUDGE if name in TOOLS else Side.PRODUCT
            case (kind,) if kind in NODE_DEPENDENCIES:
                return Side.INSIDE
            case (kind, name) if kind in NODE_DEPENDENCIES:
                return dependencies.version(name, old, new)
            case ("workspaces",):
                return dependencies.more_members(old, new)
            case (name,) if name in TABLES_OF_LINTERS:
                return Side.JUDGE if TABLES_OF_LINTERS[name] in words else Side.PRODUCT
            case (name,) if name in NODE or name in NODE_LISTS:
                return Side.PRODUCT
            case _:
                return Side.JUDGE

    return side


def composer(words: Collection[str], base: Table) -> Policy:
    script_words = _script_words(words, base)

    def side(path: Path, old: object, new: object) -> Side:
        match path:
            case ("scripts" | "require" | "require-dev" | "scripts-descriptions",):
                return Side.INSIDE
            case ("scripts", name):
                return Side.JUDGE if is_used(name, script_words) else Side.PRODUCT
            case ("require" | "require-dev", name):
                return dependencies.version(name, old, new)
            case ("bin",) | ("scripts-descriptions", _):
                return Side.PRODUCT
            case (name,) if name in COMPOSER:
                return Side.PRODUCT
            case _:
                return Side.JUDGE

    return side


def _script_words(words: Collection[str], base: Table) -> set[str]:
    """Return the words that name scripts which run: words of the checks and of the scripts of the base that they reach.

    Scripts that only the candidate's version of a used script would call do not run, since that version is not
    accepted.
    """
    found = set(words_that_run(words))
    scripts = {name: text for name, text in table(base.get("scripts")).items() if isinstance(text, str)}
    used = closure(scripts, found)
    return found.union(used, *(all_words(scripts[name]) for name in used))
