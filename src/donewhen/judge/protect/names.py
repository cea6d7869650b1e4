"""The names of files that decide how checks run, whatever is in them: tables, and the question whether one applies.

A name counts whether or not the base has such a file, because a new one would win. What it governs is the directory
in which it lies and everything below: in a directory that is new altogether it governs new work only, and is ordinary.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from donewhen.records import frozen

ALWAYS = {
    "configures the tests": """
        pytest.ini .pytest.ini pytest.toml .pytest.toml tox.ini noxfile.py .coveragerc .coveragerc.toml
        jest.config.* jest.setup.* jest.preset.* vitest.config.* vitest.workspace.* vitest.setup.* .mocharc* mocha.opts
        karma.conf.* cypress.config.* playwright.config.* ava.config.* .nycrc* nyc.config.* .c8rc* .taprc*
        babel.config.* .babelrc* .swcrc tsconfig.json tsconfig.*.json jsconfig.json bunfig.toml deno.json deno.jsonc
        .rspec .rspec-local .simplecov .rspec_parallel phpunit.xml* phpunit.dist.xml pest.xml codeception.yml
        *.runsettings xunit.runner.json testng.xml junit-platform.properties .config/nextest.toml .bazelrc
        test-setup.* setupTests.*
    """,
    "chooses the tools that run": """
        .npmrc .yarnrc .yarnrc.yml .pnpmfile.cjs .pnpmfile.mjs pnpm-workspace.yaml .yarn/** .config/dotnet-tools.json
        .node-version .nvmrc .python-version .ruby-version .java-version .go-version .tool-versions mise.toml .mise.toml
        .mise/** .config/mise.toml .config/mise/** mise.*.toml rust-toolchain rust-toolchain.toml global.json
        nuget.config NuGet.Config go.work gems.rb uv.toml .bundle/** .sdkmanrc poetry.toml pip.conf .pdm.toml .direnv/**
    """,
    "sets variables of the checks": ".envrc .env .env.* .cargo/config .cargo/config.toml .flaskenv",
    "runs when the interpreter starts": """
        sitecustomize.py sitecustomize/** usercustomize.py usercustomize/** *.pth *.egg-link
    """,
    "runs in git hooks": ".husky/** .githooks/** .git-hooks/** .pre-commit-hooks/**",
}
HARMLESS = re.compile(r"\.env\.(?:example|sample|template|dist|defaults)|tsconfig\.(?:build|docs)\.json")

INSTALLED = {
    "is what an installation leaves behind": """
        .venv/** venv/** node_modules/** .tox/** .nox/** .eggs/** *.egg-info/** *.dist-info/** vendor/bin/**
        __pypackages__/** .pnp.cjs .pnp.js .pnp.loader.mjs *.egg
    """,
    "is a cache": """
        __pycache__/** *.pyc *.pyo .pytest_cache/** .mypy_cache/** .ruff_cache/** .hypothesis/** .gradle/** .turbo/**
        .parcel-cache/** .ccache/** .zig-cache/** zig-cache/** .nx/** .jest-cache/**
    """,
}
"""Never graded from a candidate; that a check writes them while it runs is normal."""
BINARIES = "*.so *.so.* *.pyd *.node *.dll *.dylib *.jar *.whl"
"""Nobody can read them, and beside sources they win over those; only new ones are in question."""

WHEN_USED: Mapping[str, str] = {
    "make gmake bmake": "GNUmakefile makefile Makefile *.mk *.make Makefile.* config.make",
    "just": "justfile .justfile Justfile *.just",
    "task go-task": "Taskfile.y*ml taskfile.y*ml Taskfile.dist.y*ml",
    "rake rails": "Rakefile rakefile Rakefile.rb rakefile.rb *.rake",
    "gradle gradlew": """
        build.gradle build.gradle.kts settings.gradle settings.gradle.kts gradle.properties gradlew gradlew.bat
        gradle/** buildSrc/** init.gradle *.gradle *.gradle.kts
    """,
    "mvn mvnw mvnd": "mvnw mvnw.cmd .mvn/**",
    "cmake ctest": "CMakeLists.txt *.cmake CMakePresets.json CMakeUserPresets.json CTestConfig.cmake",
    "dune": "dune dune-project dune-workspace",
    "bazel bazelisk": "BUILD BUILD.bazel WORKSPACE WORKSPACE.bazel MODULE.bazel *.bzl .bazelversion",
    "meson": "meson.build meson_options.txt meson.options",
    "sbt": "build.sbt project/** *.sbt",
    "mill": "build.sc build.mill",
    "ant": "build.xml",
    "turbo": "turbo.json",
    "nx": "nx.json project.json",
    "lerna": "lerna.json",
    "invoke inv": "tasks.py tasks/** invoke.y*ml invoke.json",
    "doit": "dodo.py",
    "hatch": "hatch.toml",
    "scons": "SConstruct SConscript",
    "ninja": "build.ninja",
    "dotnet": "Directory.Build.props Directory.Build.targets Directory.Packages.props *.slnf",
    "mix": "mix.exs .iex.exs",
    "zig": "build.zig build.zig.zon",
    "swift": "Package.swift",
    "cabal stack": "cabal.project cabal.project.local stack.yaml",
    "lein": "project.clj profiles.clj",
    "vitest vite": "vite.config.*",
    "pre-commit": ".pre-commit-config.yaml",
    "grunt gulp": "Gruntfile.* gulpfile.*",
}
"""Build tools: what they run, protected whole where a check uses the tool."""

LINTERS: Mapping[str, str] = {
    "ruff": "ruff.toml .ruff.toml",
    "mypy dmypy": "mypy.ini .mypy.ini",
    "pyright basedpyright": "pyrightconfig.json",
    "pyre": ".pyre_configuration",
    "flake8": ".flake8",
    "pylint": ".pylintrc pylintrc pylintrc.toml .pylintrc.toml",
    "black isort": ".isort.cfg",
    "pydocstyle pycodestyle bandit": ".pydocstyle .pycodestyle .bandit bandit.yaml",
    "lint-imports": ".importlinter",
    "eslint": ".eslintrc* eslint.config.* .eslintignore",
    "biome": "biome.json biome.jsonc .biome.json",
    "prettier": ".prettierrc* prettier.config.* .prettierignore",
    "stylelint": ".stylelintrc* stylelint.config.* .stylelintignore",
    "oxlint tslint xo standard": ".oxlintrc.json tslint.json .xo-config*",
    "clippy cargo-clippy": "clippy.toml .clippy.toml",
    "fmt cargo-fmt rustfmt": "rustfmt.toml .rustfmt.toml",
    "cargo-deny deny": "deny.toml",
    "golangci-lint staticcheck": ".golangci.* staticcheck.conf",
    "rubocop": ".rubocop.yml .rubocop_todo.yml",
    "phpstan psalm": "phpstan.neon* psalm.xml* phpstan-baseline.*",
    "php-cs-fixer phpcs": ".php-cs-fixer* phpcs.xml* .phpcs.xml*",
    "shellcheck hadolint yamllint markdownlint": ".shellcheckrc .hadolint.y*ml .yamllint* .markdownlint*",
    "checkstyle detekt ktlint scalafmt": "checkstyle.xml detekt.y*ml .scalafmt.conf .editorconfig",
    "credo": ".credo.exs",
}


@frozen
class Named:
    """A name that decides something: why, and the directory that it governs."""

    reason: str
    governs: str
    family: tuple[str, ...] = ()
    """Where it counts only beside these: the first file of a build tool is work to be done, not a rule to be bent."""


class Table:
    """Names with reasons, made for many questions: a look-up per part of a path, and a few wildcards.

    `name/**` is a directory with all that is in it, and also a link of that name. A name may have two parts; a link
    that stands for the first of them could hold the second, and counts as well.
    """

    def __init__(self) -> None:
        self._whole: dict[str, Named] = {}
        self._files: dict[str, Named] = {}
        self._wild: list[tuple[list[str], bool, Named]] = []

    def add(self, reason: str, names: str, with_family: bool = False) -> None:
        family = tuple(name for name in names.split() if "*" not in name) if with_family else ()
        entry = Named(reason, "", family)
        for name in names.split():
            plain, whole, _ = name.partition("/**")
            if "*" in plain:
                self._wild.append((plain.split("*"), bool(whole), entry))
                continue
            (self._whole if whole else self._files)[plain] = entry
            head, two, _ = plain.partition("/")
            if two and head.startswith("."):
                self._files[head] = entry

    def find(self, path: str) -> Named | None:
        parts = path.split("/")
        for at in range(len(parts)):
            if found := self._at(parts, at):
                return replace(found, governs="/".join(parts[:at]))
        return None

    def _at(self, parts: list[str], at: int) -> Named | None:
        for key, end in ((parts[at], at + 1), ("/".join(parts[at : at + 2]), at + 2)):
            found = self._whole.get(key) or (self._files.get(key) if end == len(parts) else None)
            if found:
                return found
        last = at == len(parts) - 1
        return next((entry for wild, whole, entry in self._wild if (whole or last) and _fits(parts[at], wild)), None)


def _fits(name: str, wild: list[str]) -> bool:
    """Whether a name has these parts in this order, the first at its beginning and the last at its end."""
    first, *middle, last = wild
    if not name.startswith(first) or not name.endswith(last) or len(name) < len(first) + len(last):
        return False
    rest = name[len(first) : len(name) - len(last)]
    for part in middle:
        _, found, rest = rest.partition(part) if part else ("", "*", rest)
        if not found:
            return False
    return True


class Names:
    """The rules that hold where the checks use these words: tools by their names, among others."""

    def __init__(self, words: Iterable[str]) -> None:
        used = frozenset(words)
        self._deciding, self._installed, self._binaries = Table(), Table(), Table()
        for reason, names in ALWAYS.items():
            self._deciding.add(reason, names)
        for table, reason in ((WHEN_USED, "is what a check runs"), (LINTERS, "configures what a check runs")):
            for tools, names in table.items():
                if not used.isdisjoint(tools.split()):
                    self._deciding.add(f"{reason} ({tools.split()[0]})", names, with_family=table is WHEN_USED)
        for reason, names in INSTALLED.items():
            self._installed.add(reason, names)
        self._binaries.add("is a binary that nobody can read", BINARIES)

    def deciding(self, path: str) -> Named | None:
        """What configures or starts a check."""
        return None if HARMLESS.fullmatch(path.rpartition("/")[2]) else self._deciding.find(path)

    def installed(self, path: str) -> str:
        """Why a path is no source: an installation or a cache put it there."""
        found = self._installed.find(path)
        return found.reason if found else ""

    def binary(self, path: str) -> str:
        found = self._binaries.find(path)
        return found.reason if found else ""
