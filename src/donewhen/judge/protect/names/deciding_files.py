"""Names of files that decide how checks run, whatever their content is: tables, and a lookup.

A name counts even if the base has no such file, because a new one would take effect. It affects its directory and
everything below. In a new directory it affects only new work, and is ordinary work itself.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from donewhen.judge.runners.registry import all_runners
from donewhen.records import frozen

ALWAYS = {
    "configures the tests": """
        tox.ini noxfile.py .coveragerc .coveragerc.toml .nycrc* nyc.config.* .c8rc* .simplecov babel.config.* .babelrc*
        .swcrc tsconfig.json tsconfig.*.json jsconfig.json bunfig.toml deno.json deno.jsonc testng.xml
        junit-platform.properties .bazelrc test-setup.* setupTests.*
    """
    + " ".join(runner.config_files for runner in all_runners()),
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
    "is left by an installation": """
        .venv/** venv/** node_modules/** .tox/** .nox/** .eggs/** *.egg-info/** *.dist-info/** vendor/bin/**
        __pypackages__/** .pnp.cjs .pnp.js .pnp.loader.mjs *.egg
    """,
    "is a cache": """
        __pycache__/** *.pyc *.pyo .pytest_cache/** .mypy_cache/** .ruff_cache/** .hypothesis/** .gradle/** .turbo/**
        .parcel-cache/** .ccache/** .zig-cache/** zig-cache/** .nx/** .jest-cache/**
    """,
}
"""Never graded from a candidate. It is normal that a check writes them while it runs."""
BINARIES = "*.so *.so.* *.pyd *.node *.dll *.dylib *.jar *.whl"
"""They cannot be reviewed, and next to sources they take precedence over them. Only new ones are examined."""

WHEN_USED: Mapping[str, str] = {
    "make gmake bmake": "GNUmakefile makefile Makefile *.mk *.make Makefile.* config.make",
    "just": "justfile .justfile Justfile *.just",
    "task go-task": "Taskfile.y*ml taskfile.y*ml Taskfile.dist.y*ml",
    "rake rails": "Rakefile rakefile Rakefile.rb rakefile.rb *.rake",
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
    "zig": "build.zig build.zig.zon",
    "swift": "Package.swift",
    "cabal stack": "cabal.project cabal.project.local stack.yaml",
    "lein": "project.clj profiles.clj",
    "pre-commit": ".pre-commit-config.yaml",
    "grunt gulp": "Gruntfile.* gulpfile.*",
    **{words: files for runner in all_runners() for words, files in runner.files_when_used.items()},
}
"""Build tools: the files that they run. Protected as a whole if a check uses the tool."""
BESIDE: Mapping[str, str] = {
    "mvn": "pom.xml",
    "dotnet": "*.csproj *.fsproj *.vbproj *.sln *.slnx",
    "cabal": "*.cabal package.yaml",
}
"""Build tools, by the first word in `WHEN_USED`: other files of theirs, which content decides about."""

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
class DecidingName:
    """A name that decides something: the reason, and the directory that it affects."""

    reason: str
    directory: str
    family: tuple[str, ...] = ()
    """Names of the same tool, with wildcards. If not empty, a new file counts only if the base has one there or above.

    The first file of a build tool is work to be done and not the manipulation of a rule.
    """


class NameTable:
    """Names with reasons, optimised for many lookups: one lookup per part of a path, and a few wildcards.

    `name/**` matches a directory with its whole content, and also a link of that name. A name may have two parts. A
    link with the first part as its name could contain the second part, so it counts too.
    """

    def __init__(self) -> None:
        self._whole: dict[str, DecidingName] = {}
        self._files: dict[str, DecidingName] = {}
        self._wild: list[tuple[list[str], bool, DecidingName]] = []

    def add(self, reason: str, names: str, family: tuple[str, ...] = ()) -> None:
        entry = DecidingName(reason, "", family)
        for name in names.split():
            plain, whole, _ = name.partition("/**")
            if "*" in plain:
                self._wild.append((plain.split("*"), bool(whole), entry))
                continue
            (self._whole if whole else self._files)[plain] = entry
            head, two, _ = plain.partition("/")
            if two and head.startswith("."):
                self._files[head] = entry

    def find(self, path: str) -> DecidingName | None:
        parts = path.split("/")
        for at in range(len(parts)):
            if found := self._at(parts, at):
                return replace(found, directory="/".join(parts[:at]))
        return None

    def _at(self, parts: list[str], at: int) -> DecidingName | None:
        for key, end in ((parts[at], at + 1), ("/".join(parts[at : at + 2]), at + 2)):
            found = self._whole.get(key) or (self._files.get(key) if end == len(parts) else None)
            if found:
                return found
        last = at == len(parts) - 1
        fitting = (entry for wild, whole, entry in self._wild if (whole or last) and _matches_wildcard(parts[at], wild))
        return next(fitting, None)


def _matches_wildcard(name: str, wild: list[str]) -> bool:
    """Return True if a name has these parts in this order, the first at its start and the last at its end."""
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
    """The rules that apply if the checks use these words. The words include names of tools."""

    def __init__(self, words: Iterable[str]) -> None:
        used = frozenset(words)
        self._deciding, self._installed, self._binaries = NameTable(), NameTable(), NameTable()
        for reason, names in ALWAYS.items():
            self._deciding.add(reason, names)
        for tools, names in WHEN_USED.items():
            tool = tools.split()[0]
            if not used.isdisjoint(tools.split()):
                family = (*(name for name in names.split() if "*" not in name), *BESIDE.get(tool, "").split())
                self._deciding.add(f"is run by a check ({tool})", names, family)
        for tools, names in LINTERS.items():
            if not used.isdisjoint(tools.split()):
                self._deciding.add(f"configures what a check runs ({tools.split()[0]})", names)
        for reason, names in INSTALLED.items():
            self._installed.add(reason, names)
        self._binaries.add("is a binary that cannot be read", BINARIES)

    def deciding(self, path: str) -> DecidingName | None:
        """Return the rule for a path that configures or starts a check; None if there is none."""
        return None if HARMLESS.fullmatch(path.rpartition("/")[2]) else self._deciding.find(path)

    def installed(self, path: str) -> str:
        """Return why a path is not a source: an installation or a cache created it. Empty if it is a source."""
        found = self._installed.find(path)
        return found.reason if found else ""

    def binary(self, path: str) -> str:
        found = self._binaries.find(path)
        return found.reason if found else ""
