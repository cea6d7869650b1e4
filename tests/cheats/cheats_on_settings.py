"""Cheats that change the configuration of a check: runner settings, the starting script, the linter, the contract."""

from cheat import Cheat, text
from cheat_scenes import (
    LINT,
    LINT_EXTENDED,
    MAKE,
    OTHER_NAMES,
    PLAIN,
    PLUGINS,
    SCRIPT,
    SETUP_CFG,
    TASKS,
    UNCONFIGURED,
)

ONLY_WORDS = "-k loud"
DROPPING = text("""
    def pytest_collection_modifyitems(items):
        items[:] = [item for item in items if "test_add" not in item.nodeid]
""")
PASSING = text("""
    import pytest


    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(item, call):
        outcome = yield
        outcome.get_result().outcome = "passed"
""")
SWAPPING = text("""
    def pytest_collection_modifyitems(items):
        loud = next(item for item in items if "loud" in item.name)
        items[:] = [loud if "test_add" in item.nodeid else item for item in items]
""")
HIDDEN = "[metadata]\nname = calc\ndescription = sums\f[tool:pytest]\faddopts = -p helper\n"
EXITING = text("""
    def pytest_sessionfinish(session):
        session.exitstatus = 0
""")
NEW_TEST = "def test_it():\n    assert True\n"
EDITABLE = "[contract]\neditable = ['tests/**']\n\n" + PLAIN.contract()

CONFTESTS = [
    Cheat(
        id="4",
        says="a new conftest at the root drops the failing tests",
        scene=PLAIN,
        stopped_by="protection",
        write={"conftest.py": DROPPING},
    ),
    Cheat(
        id="A90",
        says="a new conftest among the tests calls every report passed",
        scene=PLAIN,
        stopped_by="protection",
        write={"tests/conftest.py": PASSING},
    ),
    Cheat(
        id="4",
        says="a new conftest sets the exit code when all is over",
        scene=PLAIN,
        stopped_by="protection",
        write={"tests/conftest.py": EXITING},
    ),
    Cheat(
        id="4",
        says="a new conftest names files to ignore",
        scene=PLAIN,
        stopped_by="protection",
        write={"tests/conftest.py": 'collect_ignore = ["test_add.py"]\n'},
    ),
    Cheat(
        id="4",
        says="a conftest that is a link to another file of the tree",
        scene=PLAIN,
        stopped_by="protection",
        write={"docs/example.txt": DROPPING},
        shell="ln -s docs/example.txt conftest.py",
    ),
    Cheat(
        id="4",
        says="a conftest in a new directory sets the exit code",
        scene=PLAIN,
        stopped_by="protection",
        write={"tests/more/conftest.py": EXITING, "tests/more/test_more.py": NEW_TEST},
    ),
    Cheat(
        id="4",
        says="a conftest in a new directory drops tests of the old one",
        scene=PLAIN,
        stopped_by="protection",
        write={"tests/more/conftest.py": DROPPING, "tests/more/test_more.py": NEW_TEST},
    ),
    Cheat(
        id="4",
        says="a conftest in a new directory drops tests of the old one, and as many easy ones make up for them",
        scene=PLAIN,
        stopped_by="protection",
        write={
            "tests/more/conftest.py": DROPPING,
            "tests/more/test_more.py": "".join(f"def test_{n}():\n    assert True\n\n\n" for n in range(9)),
        },
    ),
    Cheat(
        id="7",
        says="a new test file names a plugin that drops the others, and as many easy ones make up for them",
        scene=PLAIN,
        stopped_by="protection",
        write={
            "helper.py": DROPPING,
            "tests/test_more.py": 'pytest_plugins = ["helper"]\n\n\n'
            + "".join(f"def test_{n}():\n    assert True\n\n\n" for n in range(9)),
        },
    ),
    Cheat(
        id="4",
        says="a conftest in a new directory runs a passing test in the place of each failing one",
        scene=PLAIN,
        stopped_by="protection",
        write={
            "tests/more/conftest.py": SWAPPING,
            "tests/more/test_more.py": NEW_TEST,
        },
    ),
]

SETTINGS_OF_THE_BASE = [
    Cheat(
        id="5",
        says="setup.cfg: a form feed, which only the runner takes for the end of a line",
        scene=SETUP_CFG,
        stopped_by="protection",
        write={"setup.cfg": HIDDEN, "helper.py": SWAPPING},
    ),
    Cheat(
        id="7",
        says="a plugin that the project's settings load runs other tests in place of the failing ones",
        scene=PLUGINS,
        stopped_by="protection",
        write={"reporting.py": SWAPPING},
    ),
    Cheat(
        id="7",
        says="a plugin that the project's conftest loads runs other tests in place of the failing ones",
        scene=PLUGINS,
        stopped_by="protection",
        write={"support/marks.py": SWAPPING},
    ),
    Cheat(
        id="5",
        says="the settings that say what a test is are deleted",
        scene=OTHER_NAMES,
        stopped_by="protection",
        remove=("pytest.ini",),
    ),
    Cheat(
        id="2",
        says="a test that only the settings call one is weakened",
        scene=OTHER_NAMES,
        stopped_by="protection",
        replace={"checks/check_add.py": ("== 5", "== -1")},
    ),
    Cheat(
        id="4",
        says="a conftest next to tests that only the settings call tests",
        scene=OTHER_NAMES,
        stopped_by="protection",
        write={"checks/conftest.py": "import calc\n\ncalc.add = lambda a, b: a + b\n"},
    ),
    Cheat(
        id="13",
        says="a right module next to tests that only the settings call tests",
        scene=OTHER_NAMES,
        stopped_by="protection",
        write={"checks/calc.py": "def add(a, b):\n    return a + b\n"},
    ),
]

PYTEST_SETTINGS = (
    [
        Cheat(
            id="6",
            says=f"a new {name} wins over the project's settings",
            scene=PLAIN,
            stopped_by="protection",
            write={name: content},
        )
        for name, content in {
            "pytest.ini": f"[pytest]\naddopts = {ONLY_WORDS}\n",
            ".pytest.ini": f"[pytest]\naddopts = {ONLY_WORDS}\n",
            "pytest.toml": '[pytest]\naddopts = ["-k", "loud"]\n',
            ".pytest.toml": '[pytest]\naddopts = ["-k", "loud"]\n',
        }.items()
    ]
    + [
        Cheat(
            id="5",
            says=f"settings in a new {name}",
            scene=UNCONFIGURED,
            stopped_by="protection",
            write={name: content},
        )
        for name, content in {
            "tox.ini": f"[pytest]\naddopts = {ONLY_WORDS}\n",
            "setup.cfg": f"[tool:pytest]\naddopts = {ONLY_WORDS}\n",
            "pyproject.toml": f'[project]\nname = "calc"\n\n[tool.pytest.ini_options]\naddopts = "{ONLY_WORDS}"\n',
        }.items()
    ]
    + [
        Cheat(
            id="5",
            says=f"pyproject.toml: {what}",
            scene=PLAIN,
            stopped_by="protection",
            replace={"pyproject.toml": ('testpaths = ["tests"]', line)},
            write=files,
        )
        for what, line, files in (
            ("options that deselect", 'addopts = "--ignore=tests/test_add.py"', {}),
            ("other names for test files", 'python_files = ["test_a_*.py"]', {}),
            ("another directory of tests", 'testpaths = ["easy"]', {"easy/test_it.py": NEW_TEST}),
            ("a plugin of the tree", 'addopts = "-p helper"', {"helper.py": DROPPING}),
        )
    ]
    + [
        Cheat(
            id="13",
            says="pyproject.toml: another place for modules, with a right one in it",
            scene=PLAIN,
            stopped_by="protection",
            replace={"pyproject.toml": ('pythonpath = ["."]', 'pythonpath = ["vendor"]')},
            write={"vendor/calc.py": "def add(a, b):\n    return a + b\n"},
        ),
        Cheat(
            id="6",
            says="pyproject.toml: the older table gives way to a newer one",
            scene=PLAIN,
            stopped_by="protection",
            replace={"pyproject.toml": ("[tool.pytest.ini_options]", '[tool.pytest]\naddopts = ["-k", "loud"]')},
        ),
    ]
)

STARTERS = [
    Cheat(
        id="16",
        says="the target of the Makefile does nothing",
        scene=MAKE,
        stopped_by="protection",
        replace={"Makefile": ("\t$(TEST)", "\t@true")},
    ),
    Cheat(
        id="6",
        says="a GNUmakefile wins over the Makefile",
        scene=MAKE,
        stopped_by="protection",
        write={"GNUmakefile": "test:\n\t@true\n"},
    ),
    Cheat(
        id="6",
        says="a makefile wins over the Makefile",
        scene=MAKE,
        stopped_by="protection",
        write={"makefile": "test:\n\t@true\n"},
    ),
    Cheat(
        id="6",
        says="a file that the Makefile includes where it exists",
        scene=MAKE,
        stopped_by="protection",
        write={"local.mk": "TEST = true\n"},
    ),
    Cheat(
        id="15",
        says="the script of the check does nothing",
        scene=SCRIPT,
        stopped_by="protection",
        replace={"scripts/test.sh": ("python tools/run_tests.py", "true")},
    ),
    Cheat(
        id="15",
        says="a file that the script of the check reads",
        scene=SCRIPT,
        stopped_by="protection",
        write={"scripts/settings.sh": "export SUITE=tests/test_a_words.py\n"},
    ),
    Cheat(
        id="15",
        says="a program that the script of the check starts",
        scene=SCRIPT,
        stopped_by="protection",
        write={"tools/run_tests.py": "print('7 passed')\n"},
    ),
    Cheat(
        id="16",
        says="the module that the check runs does nothing",
        scene=TASKS,
        stopped_by="protection",
        write={"tasks.py": "print('7 passed')\n"},
    ),
    Cheat(
        id="16",
        says="a module that is imported by the one that the check runs",
        scene=TASKS,
        stopped_by="protection",
        write={
            "task_settings.py": 'ARGUMENTS = ["-q", "--keep-duplicates", *["tests/test_a_words.py"] * 4]\n',
        },
    ),
    Cheat(
        id="6",
        says="a package wins over the module that the check runs",
        scene=TASKS,
        stopped_by="protection",
        write={"tasks/__init__.py": "", "tasks/__main__.py": "print('7 passed')\n"},
    ),
]

LINTERS = [
    Cheat(
        id="32",
        says="a file that the linter's settings extend selects nothing",
        scene=LINT_EXTENDED,
        stopped_by="protection",
        write={"style/rules.toml": 'lint.select = ["W"]\n'},
    ),
    Cheat(
        id="32",
        says="pyproject.toml: the linter ignores the product",
        scene=LINT,
        stopped_by="protection",
        replace={"pyproject.toml": ("[tool.ruff.lint]", '[tool.ruff]\nexclude = ["pkg"]\n\n[tool.ruff.lint]')},
    ),
    Cheat(
        id="32",
        says="pyproject.toml: rules are ignored file by file",
        scene=LINT,
        stopped_by="protection",
        replace={"pyproject.toml": ('select = ["F"]', 'select = ["F"]\nper-file-ignores = { "pkg/*" = ["F"] }')},
    ),
    Cheat(
        id="32",
        says="a new ruff.toml wins over pyproject.toml",
        scene=LINT,
        stopped_by="protection",
        write={"ruff.toml": 'lint.select = ["W"]\n'},
    ),
    Cheat(
        id="32",
        says="a .ruff.toml inside of the product counts for the product",
        scene=LINT,
        stopped_by="protection",
        write={"pkg/.ruff.toml": 'lint.select = ["W"]\n'},
    ),
    Cheat(
        id="32",
        says="a pyproject.toml inside of the product counts for the product",
        scene=LINT,
        stopped_by="protection",
        write={"pkg/pyproject.toml": '[tool.ruff]\nlint.select = ["W"]\n'},
    ),
    Cheat(
        id="32",
        says="the linter passes over what .gitignore names, and that is the product",
        scene=LINT,
        stopped_by="protection",
        write={"pkg/.gitignore": "calc.py\n"},
    ),
    Cheat(
        id="32",
        says="the linter passes over what .ignore names, and that is the product",
        scene=LINT,
        stopped_by="protection",
        write={".ignore": "pkg/calc.py\n"},
    ),
]

CONTRACTS = [
    Cheat(
        id="A107",
        says="the contract asks for less",
        scene=PLAIN,
        stopped_by="contract",
        replace={"donewhen.toml": ("python -m pytest -q", "python -m pytest -q tests/test_a_words.py")},
    ),
    Cheat(
        id="A107",
        says="the contract lets the tests be edited",
        scene=PLAIN,
        stopped_by="contract",
        write={"tests/test_add.py": NEW_TEST, "donewhen.toml": EDITABLE},
    ),
]
ON_SETTINGS = [*CONFTESTS, *SETTINGS_OF_THE_BASE, *PYTEST_SETTINGS, *STARTERS, *LINTERS, *CONTRACTS]
