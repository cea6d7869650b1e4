"""Which keys of a Cargo.toml are product. Keys that compile tests in or out, or replace a crate, are not."""

from typing import cast

from donewhen.judge.protect.contents import dependencies
from donewhen.judge.protect.contents.table_merge import Path, Side, table
from donewhen.judge.protect.names.word_set import listed

PACKAGE = listed(
    "name version authors edition rust-version description documentation readme homepage repository license"
    " license-file keywords categories publish include exclude links build metadata default-run resolver"
)
DEPENDENCIES = ("dependencies", "dev-dependencies", "build-dependencies", "dev_dependencies", "build_dependencies")
TESTED = ("test", "doctest", "bench", "harness")
"""Keys of a target that decide if and how it is tested."""


def policy(path: Path, old: object, new: object) -> Side:
    match path:
        case ("package" | "lib" | "workspace" | "target",) | ("workspace", "package" | "dependencies") | ("target", _):
            return Side.INSIDE
        case ("package", key) | ("workspace", "package", key):
            return Side.PRODUCT if key in PACKAGE else Side.JUDGE
        case (*_, kind) if kind in DEPENDENCIES:
            return Side.INSIDE
        case (*_, kind, name) if kind in DEPENDENCIES:
            return dependencies.entry(name, old, new)
        case ("features" | "badges",):
            return Side.PRODUCT
        case ("lib", "name" | "crate-type" | "proc-macro" | "edition" | "required-features"):
            return Side.PRODUCT
        case ("bin" | "example",):
            return _targets(old, new)
        case ("workspace", "members"):
            return dependencies.more_members(old, new)
        case ("workspace", "resolver"):
            return Side.PRODUCT
        case _:
            return Side.JUDGE


def _targets(old: object, new: object) -> Side:
    """Return PRODUCT if targets were added, removed or moved and no setting about testing them changed."""
    before = {str(table(one).get("name")): table(one) for one in _list(old)}
    for one in _list(new):
        known = before.get(str(table(one).get("name")), {})
        if any(table(one).get(key) != known.get(key) for key in TESTED):
            return Side.JUDGE
    return Side.PRODUCT


def _list(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []
