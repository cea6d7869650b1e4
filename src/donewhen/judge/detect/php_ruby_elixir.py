"""Finders for PHP, Ruby and Elixir: their test runners, called from what is installed in the project."""

import re
from collections.abc import Iterator

from donewhen.judge.detect.package import Package
from donewhen.judge.detect.proposal import FoundCheck, Hint, Kind
from donewhen.judge.detect.survey import table, texts

PHP_MANIFESTS = ("composer.json", "phpunit.xml", "phpunit.xml.dist")
RUBY_MANIFESTS = ("Gemfile", ".rspec", "Rakefile", "*.gemspec")
ELIXIR_MANIFESTS = ("mix.exs",)


# -- PHP --


def find_php(package: Package) -> Iterator[FoundCheck | Hint]:
    config = package.first("phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml")
    manifest = package.path("composer.json")
    script = " && ".join(texts(table(package.json("composer.json"), "scripts").get("test")))
    phpunit = _php_tool(package, "phpunit")
    if config and phpunit:
        yield _found(package, "tests", "phpunit", phpunit, f"phpunit is set up in {config}")
    elif script and package.programs("composer"):
        line = package.survey.line_of(manifest, '"test"')
        why = f'{manifest}:{line} has the script "test"'
        yield _found(package, "tests", "composer", "composer test", why)
    elif config:
        yield Hint(f"phpunit is set up in {config}, but it is not installed: run `composer install` first")
    for tool, command, names in (
        ("phpstan", "analyse --no-progress", ("phpstan.neon", "phpstan.neon.dist", "phpstan.dist.neon")),
        ("psalm", "--no-cache", ("psalm.xml", "psalm.xml.dist")),
    ):
        where, program = package.first(*names), _php_tool(package, tool)
        if where and program:
            yield _found(package, "types", tool, f"{program} {command}", f"{tool} is set up in {where}")


def _php_tool(package: Package, name: str) -> str:
    if package.exists(f"vendor/bin/{name}"):
        return f"vendor/bin/{name}"
    return name if package.programs(name) else ""


# -- Ruby --


def find_ruby(package: Package) -> Iterator[FoundCheck | Hint]:
    bundled = (
        "bundle exec " if package.has("Gemfile") and package.programs("bundle") and _bundle_is_here(package) else ""
    )
    spec = next(package.below("*_spec.rb"), "")
    test = next(package.below("test_*.rb", "*_test.rb"), "")
    if spec:
        config = package.first(".rspec")
        why = f"rspec is set up in {config} and {spec} is a spec" if config else f"{spec} is a spec"
        yield _found(package, "tests", "rspec", f"{bundled}rspec", why)
    elif test and re.search(r"TestTask|task\s+:?test", package.text("Rakefile")):
        path = package.path("Rakefile")
        why = f"{path}:{package.survey.line_of(path, 'est')} has the task 'test' and {test} is a test"
        yield _found(package, "tests", "rake", f"{bundled}rake test", why)
    if (config := package.first(".rubocop.yml")) and (bundled or package.programs("rubocop")):
        yield _found(package, "lint", "rubocop", f"{bundled}rubocop", f"rubocop is set up in {config}")


def _bundle_is_here(package: Package) -> bool:
    """Return True if `bundle exec` can work offline.

    Bundler stops at the first missing gem. Without a lock file or vendored gems it would search for them.
    """
    return package.has("Gemfile.lock") or package.survey.has_directory(package.path("vendor"))


# -- Elixir --


def find_elixir(package: Package) -> Iterator[FoundCheck | Hint]:
    path = package.path("mix.exs")
    test = next(package.below("*_test.exs"), "")
    if test:
        yield _found(package, "tests", "mix", "mix test", f"{path} is the project and {test} contains tests")
    else:
        why = f"{path} is the project; no test was found"
        yield _found(package, "build", "mix", "mix compile --no-deps-check", why)
    if package.has(".formatter.exs"):
        why = f"the formatter is set up in {package.path('.formatter.exs')}"
        yield _found(package, "lint", "mix-format", "mix format --check-formatted", why)


def _found(package: Package, kind: Kind, runner: str, command: str, why: str) -> FoundCheck:
    return FoundCheck(kind=kind, runner=runner, command=command, dir=package.dir, why=why, timeout_secs=300)
