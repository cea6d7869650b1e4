"""pytest: the option for its report is a variable, so it works through make, npm and scripts."""

import shlex
from collections.abc import Iterator

from donewhen.judge.runners.call import RunnerCall
from donewhen.judge.runners.failing_test import with_line_end
from donewhen.judge.runners.python_assertions import python_assertions
from donewhen.judge.runners.runner import CanaryFile, Instrumentation, Runner, RunnerContext, lazy
from donewhen.judge.runners.script_text import text_of
from donewhen.judge.runners.test_files import test_files
from donewhen.workspace.beneath import Root

SETTINGS = ("pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")


def _junit_report(context: RunnerContext) -> Instrumentation:
    """Always set the option, since any command may start pytest; except if the report plugin is switched off."""
    texts = (context.command, *(text_of(context.directory, name) for name in SETTINGS))
    if any("no:junitxml" in text for text in texts):
        return Instrumentation()
    return Instrumentation(variables={"PYTEST_ADDOPTS": shlex.quote(f"--junitxml={context.sidecar}/pytest.xml")})


def _failing_test(directory: Root, call: RunnerCall, mark: str) -> Iterator[CanaryFile]:
    del mark
    for path, text in test_files(directory, ("test_*.py", "*_test.py"), call.arguments):
        yield CanaryFile(path, with_line_end(text), python_assertions(text).as_functions())


RUNNER = Runner(
    name="pytest",
    programs=("pytest", "py.test"),
    mentioned="pytest",
    started_by_tox="pytest",
    instrument=_junit_report,
    report="pytest.xml",
    read_report=lazy("junit", "read"),
    read_text=lazy("pytest", "read_text"),
    make_canary=_failing_test,
    config_files="pytest.ini .pytest.ini pytest.toml .pytest.toml",
    config_options=("-c", "-p"),
    packages="""
        pytest py.test pluggy iniconfig xdist pytest-cov pytest-xdist pytest-asyncio pytest-mock pytest-timeout
        pytest-randomly
    """,
    plugin_groups="pytest pluggy xdist",
    modules="pytest _pytest pluggy iniconfig xdist pytest_cov",
)
