"""Finder for Rust: `cargo test`, always offline; clippy and rustfmt if the project uses them."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from donewhen.judge.detect.package import Package, quoted, shown
from donewhen.judge.detect.proposal import FoundCheck, Hint, Kind
from donewhen.judge.detect.survey import Table, as_table, table, texts

MANIFESTS = ("Cargo.toml",)
COMPILING_SECS = 600
WHICH_TESTS = {"--workspace", "--all", "--all-features", "--no-default-features", "--all-targets", "--lib", "--tests"}
"""Arguments that select tests. The call of the project is used only if it has no others."""
DEPENDENCIES = ("dependencies", "dev-dependencies", "build-dependencies")


def find(package: Package) -> Iterator[FoundCheck | Hint]:
    manifest = package.toml("Cargo.toml")
    if not manifest:
        return
    if _needs_fetching(package, manifest):
        yield Hint(
            f"the crates that {package.path('Cargo.toml')} needs are not on this machine: run `cargo fetch` first"
        )
        return
    scope = ("--workspace",) if "workspace" in manifest else ()
    path = package.path("Cargo.toml")
    if test := _first_test(package, "workspace" in manifest):
        why = f"{path} is the manifest and {test} contains tests"
        arguments = scope
        if (own_call := package.own_call("cargo-test")) and WHICH_TESTS.issuperset(own_call[1].arguments):
            arguments, why = own_call[1].arguments, f"{own_call[0].where} runs {shown(own_call[0].words)}"
        yield _found(package, "tests", "cargo-test", quoted("cargo", "test", "--offline", *arguments), why)
    else:
        why = f"{path} is the manifest; no test was found"
        yield _found(package, "build", "cargo", quoted("cargo", "check", "--offline", *scope), why)
    yield from _clippy(package, manifest, scope)
    if (own_call := package.own_call("rustfmt")) and "--check" in own_call[1].arguments:
        why = f"{own_call[0].where} runs {shown(own_call[0].words)}"
        yield _found(package, "lint", "rustfmt", "cargo fmt --check", why)


def _first_test(package: Package, nested: bool) -> str:
    """Return a file with a test, or with a doc example, which cargo runs as a test. Includes workspace members."""
    inside = (package.first_with(words, "*.rs", nested=nested) for words in ("#[test]", "/// ```"))
    return next(filter(None, inside), "")


def _clippy(package: Package, manifest: Table, scope: tuple[str, ...]) -> Iterator[FoundCheck]:
    path = package.path("Cargo.toml")
    config = package.first("clippy.toml", ".clippy.toml")
    why = f"clippy is set up in {config}" if config else ""
    if table(manifest, "lints", "clippy") or table(manifest, "workspace", "lints", "clippy"):
        why = f"{path}:{package.survey.line_of(path, 'lints.clippy')} sets lints of clippy"
    arguments: tuple[str, ...] = (*scope, "--all-targets", "--", "-D", "warnings")
    if own_call := package.own_call("clippy"):
        why = f"{own_call[0].where} runs {shown(own_call[0].words)}"
        arguments = tuple(word for word in own_call[1].arguments if word != "--offline")
    if why:
        found = _found(package, "lint", "clippy", quoted("cargo", "clippy", "--offline", *arguments), why)
        yield replace(found, only_if_clean=own_call is None)


def _needs_fetching(package: Package, manifest: Table) -> bool:
    """Return True if crates are needed that are neither vendored nor in the cache of cargo."""
    if not any(_wants_crates(table_) for table_ in _all_tables(package, manifest)):
        return False
    vendored = package.survey.has_directory(package.path("vendor")) and "vendor" in (
        package.text(".cargo/config.toml") + package.text(".cargo/config")
    )
    home = Path(os.environ.get("CARGO_HOME") or Path(os.path.expanduser("~"), ".cargo"))
    return not vendored and not (home / "registry" / "cache").is_dir()


def _all_tables(package: Package, manifest: Table) -> Iterator[Table]:
    yield manifest
    yield from (as_table(target) for target in table(manifest, "target").values())
    yield table(manifest, "workspace")
    if "workspace" in manifest:
        for path in package.survey.below(package.dir, "Cargo.toml"):
            if path != package.path("Cargo.toml"):
                yield package.survey.toml(path)


def _wants_crates(manifest: Table) -> bool:
    """Return True if a manifest needs external crates. Dependencies by path or of the workspace are not external."""
    for kind in DEPENDENCIES:
        for wanted in table(manifest, kind).values():
            details = as_table(wanted)
            if isinstance(wanted, str) or not ({"path", "workspace"} & details.keys()):
                return True
    return False


def members(package: Package) -> tuple[str, ...]:
    """Return the patterns that name the members of a workspace."""
    return texts(table(package.toml("Cargo.toml"), "workspace").get("members"))


def _found(package: Package, kind: Kind, runner: str, command: str, why: str) -> FoundCheck:
    return FoundCheck(kind=kind, runner=runner, command=command, dir=package.dir, why=why, timeout_secs=COMPILING_SECS)
