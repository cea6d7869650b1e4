"""Finder for Python: pytest or unittest, and the configured checkers, called through the environment of the project.

tox and nox build environments from the network, so they are never proposed. The commands that they would run show how
the project calls its tests.
"""

import configparser
import re
from collections.abc import Iterator
from dataclasses import replace

from donewhen.judge.detect.package import Package, quoted, shown
from donewhen.judge.detect.proposal import FoundCheck, Hint
from donewhen.judge.detect.recognise import RecognisedTool
from donewhen.judge.detect.survey import joined, table, texts
from donewhen.records import frozen

MANIFESTS = (
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "requirements.txt",
    "Pipfile",
    "tox.ini",
    "pytest.ini",
    "noxfile.py",
)
TEST_FILES = ("test_*.py", "*_test.py")
TEST_FUNCTION = re.compile(r"^(?:async )?def test_", re.MULTILINE)
"""A function of a module. unittest does not run it."""
ENVIRONMENTS = (".venv", "venv", "env")
MENTIONS = (
    "pyproject.toml", "requirements-dev.txt", "requirements_dev.txt", "dev-requirements.txt", "requirements-test.txt",
    "test-requirements.txt", "requirements.txt", "setup.cfg", "setup.py", "tox.ini", "Pipfile", "noxfile.py",
)  # fmt: skip
WITH_VALUE = ("-m", "-k", "-p", "-W", "-c")
KEPT = re.compile(r"--(?:ignore|deselect|doctest-modules|doctest-glob|import-mode|pyargs|rootdir|strict)\b.*")
RUFF_RULES = re.compile(r"lint|extend|(?:extend-)?(?:select|ignore|fixable|per-file-ignores)")
"""Keys that choose the rules of ruff. Others, such as the length of a line, also concern its formatter."""
OTHER_WORK = {"--fix", "format", "--exit-zero", "--install-types", "server", "clean"}
"""Arguments that make a call of a checker do something other than checking."""
LOCKS = {"poetry.lock": "poetry", "pdm.lock": "pdm", "Pipfile.lock": "pipenv"}


@frozen
class Environment:
    """How Python is called in a package."""

    prefix: tuple[str, ...]
    """Words before the name of a tool, such as `uv run --no-sync`; empty if tools are called by path or from PATH."""
    python: str
    directory: str
    """The virtual environment below the root; empty if there is none."""


def environment_of(package: Package) -> Environment:
    directory = next(
        (
            found
            for above in package.upward()
            for name in ENVIRONMENTS
            if (found := joined(above, name)) in package.survey.not_entered
            and package.survey.exists(f"{found}/bin/python")
        ),
        "",
    )
    if package.above("uv.lock") and package.programs("uv") and directory.rpartition("/")[2] in ("", ".venv"):
        return Environment(("uv", "run", "--no-sync"), "python", directory)
    if directory:
        return Environment((), package.relative(f"{directory}/bin/python"), directory)
    for lock, manager in LOCKS.items():
        if package.above(lock) and package.programs(manager):
            return Environment((manager, "run"), "python", "")
    if table(package.toml("pyproject.toml"), "tool", "hatch", "envs") and package.programs("hatch"):
        return Environment(("hatch", "run"), "python", "")
    return Environment((), "python3" if package.programs("python3") else "python", "")


def find(package: Package) -> Iterator[FoundCheck | Hint]:
    environment = environment_of(package)
    found = [*_tests(package, environment)]
    yield from found
    yield from _checkers(package, environment)
    if any(isinstance(one, FoundCheck) for one in found) and not environment.directory:
        yield Hint(_about_no_environment(package, environment))


def _about_no_environment(package: Package, environment: Environment) -> str:
    if environment.prefix[:1] == ("uv",):
        return "there is no .venv in this repository: run `uv sync` first, because checks have no network"
    if environment.prefix:
        manager = environment.prefix[0]
        return f"{manager} keeps its environments where checks cannot see them: create one in the project, as .venv"
    where = "this repository" if package.dir == "." else package.dir
    return f"there is no .venv in {where}: checks use the machine's {environment.python} and its installed packages"


# -- tests --


def _tests(package: Package, environment: Environment) -> Iterator[FoundCheck | Hint]:
    files = list(package.below(*TEST_FILES))
    configured = _pytest_configured(package)
    if not files:
        if configured:
            yield Hint(f"pytest is {configured}, but there is no test file (test_*.py or *_test.py)")
        return
    own_call = package.own_call("pytest")
    why = f"pytest is {configured}" if configured else _pytest_mentioned(package)
    if own_call:
        why = f"{own_call[0].where} runs {shown(own_call[0].words)}"
    if why:
        arguments = tuple(_kept_arguments(package, own_call[1])) if own_call else _outside_packages(package, files)
        yield _with_pytest(package, environment, arguments, why)
        return
    yield from _without_pytest(package, environment, files)


def _outside_packages(package: Package, files: list[str]) -> tuple[str, ...]:
    """Return where tests are that belong to no package with a manifest. The packages have their own checks."""
    if not package.nested or package.first(*MANIFESTS):
        return ()
    tops = {package.relative(path).partition("/")[0] for path in files}
    shared = {package.relative(inner).partition("/")[0] for inner in package.nested}
    inside = {package.relative(path) for path in files if package.relative(path).partition("/")[0] in shared}
    return tuple(sorted((tops - shared) | inside))


def _with_pytest(package: Package, environment: Environment, arguments: tuple[str, ...], why: str) -> FoundCheck:
    """Return a check with pytest, and how the tests may be run if it is not installed in the environment."""
    others = [quoted(environment.python, "-m", "pytest", "-q", *arguments)] if environment.prefix else []
    if path := package.first_where(_has_test_case, *TEST_FILES):
        others.append(_module(environment, "unittest", "discover", *_discovery_start(package, path)))
    found = _found(package, _module(environment, "pytest", "-q", *arguments), "pytest", why)
    return replace(found, otherwise=tuple(others))


def _has_test_case(text: str) -> bool:
    return "import unittest" in text or ("unittest" in text and "TestCase" in text)


def _without_pytest(package: Package, environment: Environment, files: list[str]) -> Iterator[FoundCheck | Hint]:
    own_call = package.own_call("unittest")
    if own_call:
        called, tool = own_call
        why = f"{called.where} runs {shown(called.words)}"
        yield _found(package, _module(environment, "unittest", *tool.arguments), "unittest", why)
    elif path := package.first_where(TEST_FUNCTION.search, *TEST_FILES):
        why = f"{path} has test functions that pytest collects"
        yield _with_pytest(package, environment, _outside_packages(package, files), why)
    elif path := package.first_where(_has_test_case, *TEST_FILES):
        start = _discovery_start(package, path)
        yield _found(package, _module(environment, "unittest", "discover", *start), "unittest", f"{path} uses unittest")
    elif path := package.first_with("def test_", *TEST_FILES):
        why = f"{path} has test methods that pytest collects"
        yield _with_pytest(package, environment, _outside_packages(package, files), why)
    else:
        yield Hint(f"{files[0]} is named like a test, but no test was found in it")


def _pytest_configured(package: Package) -> str:
    """Return a text that states where pytest is configured; empty if it is not."""
    if "ini_options" in table(package.toml("pyproject.toml"), "tool", "pytest"):
        path = package.path("pyproject.toml")
        return f"set up in {path}:{package.survey.line_of(path, '[tool.pytest')} ([tool.pytest.ini_options])"
    for name, section in (("pytest.ini", "[pytest]"), ("tox.ini", "[pytest]"), ("setup.cfg", "[tool:pytest]")):
        if section in package.text(name):
            path = package.path(name)
            return f"set up in {path}:{package.survey.line_of(path, section)} ({section})"
    return ""


def _pytest_mentioned(package: Package) -> str:
    for name in MENTIONS:
        if re.search(r"\bpytest\b", package.text(name)):
            path = package.path(name)
            return f"{path}:{package.survey.line_of(path, 'pytest')} names pytest"
    path = package.first_with("import pytest", *TEST_FILES, "conftest.py")
    return f"{path} imports pytest" if path else ""


def _kept_arguments(package: Package, tool: RecognisedTool) -> Iterator[str]:
    """Yield the arguments of the call of the project that select tests. Report and speed options are dropped."""
    words = iter(tool.arguments)
    for word in words:
        if word in WITH_VALUE:
            value = next(words, "")
            if value:
                yield from (word, value)
        elif KEPT.fullmatch(word) or (not word.startswith("-") and package.exists(word.partition("::")[0])):
            yield word


def _discovery_start(package: Package, test: str) -> tuple[str, ...]:
    """Return the arguments for test discovery.

    unittest finds only what it can import, so tests in a directory that is not a package are discovered from inside of
    it.
    """
    directory, name = test.rpartition("/")[0] or ".", test.rpartition("/")[2]
    pattern = () if name.startswith("test") else ("-p", "*_test.py")
    if directory == package.dir or package.survey.has(joined(directory, "__init__.py")):
        return pattern
    return ("-s", package.relative(directory), *pattern)


def _module(environment: Environment, module: str, *arguments: str) -> str:
    if environment.prefix and module != "unittest":
        return quoted(*environment.prefix, module, *arguments)
    return quoted(*environment.prefix, environment.python, "-m", module, *arguments)


def _found(package: Package, command: str, runner: str, why: str) -> FoundCheck:
    return FoundCheck(kind="tests", runner=runner, command=command, dir=package.dir, why=why)


# -- checkers --


def _checkers(package: Package, environment: Environment) -> Iterator[FoundCheck | Hint]:
    for runner, arguments, why in _configured_checkers(package):
        only_if_clean = not _states_rules(package, runner)
        command = _tool(package, environment, runner)
        if not command:
            yield Hint(f"{why}, but {runner} is not installed here")
            continue
        own_call = package.own_call(runner)
        if own_call and not OTHER_WORK & set(own_call[1].arguments):
            arguments, why = own_call[1].arguments, f"{own_call[0].where} runs {shown(own_call[0].words)}"
            only_if_clean = False
        kind = "types" if runner in ("mypy", "pyright") else "lint"
        found = FoundCheck(kind=kind, runner=runner, command=quoted(*command, *arguments), dir=package.dir, why=why)
        yield replace(found, only_if_clean=only_if_clean)


def _configured_checkers(package: Package) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """Yield (tool, arguments, where it is configured) for each checker that is configured here."""
    tools = table(package.toml("pyproject.toml"), "tool")
    manifest = package.path("pyproject.toml")
    for runner, files, sections in (
        ("mypy", ("mypy.ini", ".mypy.ini"), (("setup.cfg", "mypy"),)),
        ("pyright", ("pyrightconfig.json",), ()),
        ("ruff", ("ruff.toml", ".ruff.toml"), ()),
        ("flake8", (".flake8",), (("setup.cfg", "flake8"), ("tox.ini", "flake8"))),
    ):
        where = package.first(*files)
        if runner in tools:
            where = f"{manifest}:{package.survey.line_of(manifest, f'[tool.{runner}')}"
        for name, section in sections:
            if not where and f"[{section}]" in package.text(name):
                where = f"{package.path(name)}:{package.survey.line_of(package.path(name), f'[{section}]')}"
        if where:
            yield runner, _default_arguments(package, runner), f"{runner} is set up in {where}"


def _states_rules(package: Package, runner: str) -> bool:
    """Return True if the settings of a checker say what it reports, and where, so that nothing is guessed."""
    settings = dict(table(package.toml("pyproject.toml"), "tool", runner))
    if runner == "ruff":
        for name in ("ruff.toml", ".ruff.toml"):
            settings |= package.toml(name)
        return any(RUFF_RULES.fullmatch(key) for key in settings)
    if runner == "mypy":
        return _mypy_names_its_files(package) or package.survey.has_directory(package.path("src"))
    if runner == "flake8":
        texts_ = (package.text(name) for name in (".flake8", "setup.cfg", "tox.ini"))
        return any(re.search(r"\[flake8\][ \t]*+\n[\w-]{1,60}[ \t]{0,9}=", text) for text in texts_)
    return bool(settings or package.json("pyrightconfig.json"))


def _default_arguments(package: Package, runner: str) -> tuple[str, ...]:
    if runner == "ruff":
        return ("check", ".")
    if runner == "mypy" and not _mypy_names_its_files(package):
        return ("src",) if package.survey.has_directory(package.path("src")) else (".",)
    return ()


def _mypy_names_its_files(package: Package) -> bool:
    settings = dict(table(package.toml("pyproject.toml"), "tool", "mypy"))
    parser = configparser.RawConfigParser(strict=False)
    for name in ("mypy.ini", ".mypy.ini", "setup.cfg"):
        try:
            parser.read_string(package.text(name))
        except configparser.Error:
            continue
    if parser.has_section("mypy"):
        settings.update(parser.items("mypy"))
    return any(texts(settings.get(key)) for key in ("files", "packages", "modules"))


def _tool(package: Package, environment: Environment, name: str) -> tuple[str, ...]:
    """Return how an installed tool is called; empty if it is not installed."""
    if environment.directory and package.survey.exists(f"{environment.directory}/bin/{name}"):
        program = package.relative(f"{environment.directory}/bin/{name}")
        return (*environment.prefix, name) if environment.prefix else (program,)
    return (name,) if package.programs(name) else ()
