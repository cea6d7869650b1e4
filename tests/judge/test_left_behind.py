"""What a check may leave in shares and in its home: caches of tools, but no program, module or settings file."""

import stat

from donewhen.judge.left_behind import forbidden_in_home, forbidden_in_share

FILE, PROGRAM, DELETED = stat.S_IFREG | 0o644, stat.S_IFREG | 0o755, stat.S_IFCHR
CACHES_IN_SHARES = [
    ("node_modules", ".vite/vitest/da39a3ee5e6b4b0d3255bfef95601890afd80709/results.json", FILE),
    ("node_modules", ".vite-temp/vitest.config.ts.timestamp-1.mjs", DELETED),
    ("node_modules", ".cache/babel-loader/0123.json", FILE),
    ("node_modules", ".cache/prettier/.prettier-cache", FILE),
]
REPLACED_IN_SHARES = {
    ("node_modules", "eslint/bin/eslint.js", PROGRAM): "node_modules/eslint (is shared)",
    ("node_modules", "@scope/tool/index.js", FILE): "node_modules/@scope/tool (is shared)",
    ("node_modules", ".bin/eslint", stat.S_IFLNK | 0o777): "node_modules/.bin/eslint (is shared)",
    ("node_modules", "eslint/package.json", DELETED): "node_modules/eslint (is shared)",
    (
        "node_modules",
        ".cache/tool/run.js",
        FILE,
    ): "node_modules/.cache (is shared; a program or a module was put there)",
    (".venv", "bin/ruff", PROGRAM): ".venv/bin/ruff (is shared)",
    (".venv", "lib/python3.11/site-packages/calc-1.1.dist-info/METADATA", FILE): (
        ".venv/lib/python3.11/site-packages/calc.dist-info (is shared)"
    ),
    (".venv", "lib/python3.11/site-packages/sitecustomize.py", FILE): (
        ".venv/lib/python3.11/site-packages/sitecustomize.py (is shared)"
    ),
    (".env", "", FILE): ".env (is shared)",
}
LEFT_BY_TOOLS = [
    ".npm/_logs/2026-01-01T00_00_00_000Z-debug-0.log",
    ".npm/_cacache/content-v2/sha512/aa/bb/cc",
    ".npm/_update-notifier-last-checked",
    ".cargo/.package-cache",
    ".cargo/registry/CACHEDIR.TAG",
    ".cache/go-build/00/0012-a",
    ".cache/pip/http-v2/1/2/3/body",
    ".cache/matplotlib/fontlist-v390.json",
    ".config/go/telemetry/local/go@go1.23-linux-amd64.v1.count",
    ".config/configstore/update-notifier-npm.json",
    ".dotnet/8.0.100.dotnetFirstUseSentinel",
    ".local/share/calc/known.json",
    ".python_history",
    ".wget-hsts",
]
LEFT_FOR_THE_NEXT_STAGE = [
    ".npmrc",
    ".gitconfig",
    ".pypirc",
    ".proverc",
    "conftest.py",
    ".config/ruff/ruff.toml",
    ".config/git/config",
    ".cargo/config.toml",
    ".gradle/init.d/own.gradle.kts.sh",
    ".m2/settings.xml",
    ".local/lib/python3.11/site-packages/sitecustomize.py",
    ".node_modules/left-pad/index.js",
    "work/package.json",
]


def test_caches_of_tools_in_shares_are_allowed() -> None:
    found = [row for row in CACHES_IN_SHARES if list(forbidden_in_share(row[0], {row[1]: row[2]}))]
    assert found == []


def test_anything_else_in_a_share_is_named_by_its_package_without_a_version() -> None:
    named = {row: list(forbidden_in_share(row[0], {row[1]: row[2]})) for row in REPLACED_IN_SHARES}
    assert named == {row: [line] for row, line in REPLACED_IN_SHARES.items()}


def test_data_of_tools_in_the_home_is_allowed() -> None:
    assert [path for path in LEFT_BY_TOOLS if list(forbidden_in_home({path: FILE}, "work"))] == []


def test_settings_and_modules_in_the_home_are_forbidden() -> None:
    assert [path for path in LEFT_FOR_THE_NEXT_STAGE if not list(forbidden_in_home({path: FILE}, "work"))] == []


def test_a_program_in_a_cache_of_the_home_is_named_by_its_directory() -> None:
    assert list(forbidden_in_home({".cache/tool/run": PROGRAM}, "")) == [
        "~/.cache/tool (is in the home; a program, a module or settings)"
    ]


def test_a_directory_that_cannot_be_examined_is_forbidden() -> None:
    assert list(forbidden_in_home({".cache": 0}, "")) == ["~/.cache (cannot be examined)"]
