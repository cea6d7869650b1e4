"""Names of tools that judge: test runners, type checkers, linters, package managers, and their important components.

A dependency with such a name may not be replaced by a fake. A file with such a name may not replace the program.
"""

from donewhen.judge.protect.names.word_set import listed
from donewhen.judge.runners.registry import all_runners

TOOLS = listed("""
    python python3 pip pip3 uv poetry pdm pipenv hatch rye tox nox coverage packaging exceptiongroup hypothesis anyio
    ruff mypy pyright basedpyright flake8 pylint black isort bandit pyre ty setuptools wheel hatchling poetry-core
    flit-core pdm-backend syrupy freezegun

    node npm npx yarn pnpm bun deno corepack tsx ts-node typescript tsc chai sinon nyc c8 eslint prettier biome
    @biomejs/biome stylelint oxlint tslint xo standard esbuild swc @swc/core @babel/core babel turbo nx lerna testem
    web-test-runner supertest nock msw

    rustc rustup rustfmt clippy proptest quickcheck insta rstest mockall test-case libtest-mimic trybuild
    pretty_assertions criterion assert_cmd predicates

    gofmt golangci-lint staticcheck testify github.com/stretchr/testify gotest.tools github.com/google/go-cmp
    github.com/onsi/ginkgo github.com/onsi/gomega go.uber.org/mock

    java javac junit junit-jupiter junit-jupiter-api junit-jupiter-engine testng mockito-core assertj-core kotlin-test
    scalatest spock-core

    ruby bundle bundler rake minitest test-unit rubocop simplecov php composer mockery/mockery phpstan/phpstan elixir

    make gmake cmake ninja meson bazel just task sh bash dash zsh env git cat grep test true diff sed awk timeout curl
    docker psql
    """).union(*(runner.packages.split() for runner in all_runners()))

PLUGIN_GROUPS = tuple(
    listed("tox flake8 mypy pylint coverage hypothesis ruff distutils setuptools hatch poetry pdm nox").union(
        *(runner.plugin_groups.split() for runner in all_runners())
    )
)
"""Entry point groups with these prefixes load code into the tools; `console_scripts` do not."""


def is_plugin_group(group: str) -> bool:
    return group.lower().startswith(PLUGIN_GROUPS)


def normal(name: str) -> str:
    """Return the normalised name of a Python distribution, equal for all spellings."""
    return name.lower().replace("_", "-").replace(".", "-")
