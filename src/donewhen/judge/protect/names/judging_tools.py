"""Names of tools that judge: runners, type checkers, linters, package managers, and their important components.

A dependency with such a name may not be replaced by a fake. A file with such a name may not replace the program.
"""

from donewhen.judge.protect.names.word_set import listed

TOOLS = listed("""
    python python3 pip pip3 uv poetry pdm pipenv hatch rye tox nox pytest py.test unittest nose nose2 coverage
    pluggy iniconfig packaging exceptiongroup hypothesis pytest-cov pytest-xdist pytest-asyncio pytest-mock anyio
    pytest-timeout pytest-randomly xdist ruff mypy pyright basedpyright flake8 pylint black isort bandit pyre ty
    setuptools wheel hatchling poetry-core flit-core pdm-backend behave robotframework syrupy freezegun

    node npm npx yarn pnpm bun deno corepack tsx ts-node typescript tsc jest jest-cli ts-jest babel-jest vitest vite
    mocha chai ava tap tape jasmine karma cypress playwright @playwright/test sinon nyc c8 expect pretty-format eslint
    prettier biome @biomejs/biome stylelint oxlint tslint xo standard esbuild swc @swc/core @babel/core babel turbo nx
    lerna @jest/core @jest/globals @vitest/runner @vitest/expect uvu qunit testem web-test-runner supertest nock msw

    cargo rustc rustup rustfmt clippy nextest cargo-nextest proptest quickcheck insta rstest mockall test-case
    libtest-mimic trybuild pretty_assertions criterion assert_cmd predicates

    go gofmt golangci-lint staticcheck gotestsum testify github.com/stretchr/testify gotest.tools
    github.com/google/go-cmp github.com/onsi/ginkgo github.com/onsi/gomega go.uber.org/mock

    mvn mvnw mvnd gradle gradlew java javac junit junit-jupiter junit-jupiter-api junit-jupiter-engine testng
    mockito-core assertj-core surefire kotlin-test scalatest spock-core dotnet xunit nunit mstest microsoft.net.test.sdk

    ruby bundle bundler rake rspec rspec-core rspec-expectations rspec-mocks minitest test-unit rubocop simplecov
    php composer phpunit phpunit/phpunit pestphp/pest mockery/mockery phpstan/phpstan mix ex_unit elixir

    make gmake cmake ctest ninja meson bazel just task sh bash dash zsh env git cat grep test true diff sed awk
    timeout curl docker psql
    """)

PLUGIN_GROUPS = tuple(
    listed(
        "pytest tox flake8 mypy pylint coverage nose hypothesis ruff behave xdist distutils setuptools hatch poetry pdm"
        " unittest nox pluggy"
    )
)
"""Entry point groups with these prefixes load code into the tools; `console_scripts` do not."""


def is_plugin_group(group: str) -> bool:
    return group.lower().startswith(PLUGIN_GROUPS)


def normal(name: str) -> str:
    """Return the normalised name of a Python distribution, equal for all spellings."""
    return name.lower().replace("_", "-").replace(".", "-")
