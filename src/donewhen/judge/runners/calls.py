"""Finds the test runners that a command calls, also through wrappers and scripts.

A call also states how arguments reach the runner if they are added at the end of the whole command.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath

from donewhen.judge.runners.call import RunnerCall
from donewhen.judge.runners.registry import runners
from donewhen.judge.runners.script_text import just_recipe, make_recipe, package_script, text_of
from donewhen.judge.runners.split_command import split
from donewhen.workspace.beneath import LeavesRoot, Root

MOST_STEPS = 150
"""Limit of steps for one command: scripts may call each other in cycles, and wrappers may wrap wrappers."""
BY_NAME = {
    program: runner.name
    for runner in runners()
    if not runner.is_python_module
    for program in (*runner.programs, *runner.aliases)
}
"""Programs that are a runner, whatever arguments follow."""
BY_VERB = {
    program: (runner.name, verbs)
    for runner in runners()
    for program, verbs in runner.subcommands.items()
    if program not in runner.programs
}
BY_MODULE = {module: runner.name for runner in runners() if runner.is_python_module for module in runner.programs}
RUNS_ANOTHER = {
    "uv": "run", "poetry": "run", "pipenv": "run", "pdm": "run", "hatch": "run", "rye": "run", "pixi": "run",
    "bundle": "exec", "npx": "", "bunx": "", "c8": "", "nyc": "", "cross-env": "", "env": "", "time": "", "exec": "",
    "command": "", "nice": "", "xvfb-run": "", "timeout": "", "dotenv": "",
}  # fmt: skip
"""Program → the word after which another command follows; empty if the command follows directly."""
PACKAGE_MANAGERS = ("npm", "pnpm", "yarn", "bun")
ELSEWHERE = ("-w", "--workspace", "--prefix", "--cwd", "-C", "--dir", "--filter", "-F", "-r", "--recursive")
"""Options that make a package manager work in another package than that of the directory."""
TAKES_VALUE = {
    "--with",
    "--extra",
    "--group",
    "--python",
    "-p",
    "--package",
    "--directory",
    "-C",
    "-n",
    "-e",
    "-k",
    "-s",
}


Steps = Iterator[int]


def calls(command: str, directory: Root) -> tuple[RunnerCall, ...]:
    return tuple(_in_text(command, directory, iter(range(MOST_STEPS))))


def _in_text(text: str, directory: Root, steps: Steps) -> Iterator[RunnerCall]:
    line = split(text)
    for words in line.commands:
        if words[0] == "cd" and len(words) == 2:
            directory = _below(directory, words[1])
        for call in _in_words(words, directory, steps):
            yield call if line.is_simple else RunnerCall(call.runner, call.arguments, None)


def _below(directory: Root, relative: str) -> Root:
    """Return another directory of the same tree. A path that leads out of the tree changes nothing."""
    try:
        return directory.below(relative)
    except LeavesRoot:
        return directory


def _in_words(words: tuple[str, ...], directory: Root, steps: Steps) -> Iterator[RunnerCall]:
    if not words or next(steps, None) is None:
        return
    program, rest = PurePosixPath(words[0]).name, words[1:]
    if program in BY_NAME:
        yield RunnerCall(BY_NAME[program], rest, _joint(rest))
    elif program in BY_VERB:
        runner, verbs = BY_VERB[program]
        if verbs & set(rest):
            yield RunnerCall(runner, rest, _joint(rest))
    elif program in RUNS_ANOTHER:
        yield from _in_words(_after(RUNS_ANOTHER[program], rest), directory, steps)
    elif program in PACKAGE_MANAGERS:
        yield from _of_package_manager(program, rest, directory, steps)
    elif re.fullmatch(r"(python|pypy)[\d.]*|py|coverage", program):
        yield from _of_python(program, rest, directory, steps)
    elif program in ("node", "tsx", "php", "ruby"):
        yield from _of_interpreter(rest, directory, steps)
    else:
        yield from _of_script(words[0], program, rest, directory, steps)


def _joint(rest: tuple[str, ...]) -> str | None:
    """Return the joint of a call. After a bare `--`, added options would not be read as options."""
    return None if "--" in rest else ""


def _after(verb: str, rest: tuple[str, ...]) -> tuple[str, ...]:
    """Return the command that a wrapper runs: what follows its verb and its own options."""
    if verb:
        rest = rest[rest.index(verb) + 1 :] if verb in rest else ()
    while rest and (rest[0].startswith("-") or re.fullmatch(r"\w+=.*|[\d.]+[smh]?", rest[0])):
        rest = rest[2:] if rest[0] in TAKES_VALUE else rest[1:]
    return rest


def _of_python(program: str, rest: tuple[str, ...], directory: Root, steps: Steps) -> Iterator[RunnerCall]:
    if program == "coverage":
        rest = rest[1:] if rest[:1] == ("run",) else ()
    if "-m" in rest[:-1]:
        at = rest.index("-m")
        module, arguments = rest[at + 1], rest[at + 2 :]
        if module in BY_MODULE:
            yield RunnerCall(BY_MODULE[module], arguments, _joint(arguments))
        else:
            yield from _in_words((module, *arguments), directory, steps)
        return
    words = _without_options(rest)
    if words and PurePosixPath(words[0]).name in ("manage.py", "runtests.py", "setup.py") and "test" in words[1:2]:
        yield RunnerCall("unittest", words[2:], None)
    elif words and words[0].endswith(".py") and "unittest.main(" in text_of(directory, words[0]):
        yield RunnerCall("unittest", words, None)
    elif words and PurePosixPath(words[0]).name in BY_NAME:
        yield from _in_words(words, directory, steps)


def _of_interpreter(rest: tuple[str, ...], directory: Root, steps: Steps) -> Iterator[RunnerCall]:
    if any(word == "--test" or word.startswith("--test-") for word in rest):
        yield RunnerCall("node:test", rest, None)
        return
    words = _without_options(rest)
    if words and PurePosixPath(words[0]).name in BY_NAME:
        yield from _in_words(words, directory, steps)
    elif words and re.search(r"""['"]node:test['"]""", text_of(directory, words[0])):
        yield RunnerCall("node:test", rest, None)


def _without_options(rest: tuple[str, ...]) -> tuple[str, ...]:
    at = next((at for at, word in enumerate(rest) if not word.startswith("-")), len(rest))
    return rest[at:]


def _of_package_manager(program: str, rest: tuple[str, ...], directory: Root, steps: Steps) -> Iterator[RunnerCall]:
    if not rest or any(word.startswith(ELSEWHERE) for word in rest):
        return
    verb, rest = rest[0], rest[1:]
    if verb in ("exec", "x", "dlx"):
        yield from _in_words(_after("", rest), directory, steps)
        return
    name = "test" if verb in ("t", "tst") else verb
    if name in ("run", "run-script") and rest:
        name, rest = rest[0], rest[1:]
    script = package_script(directory, name)
    if script:
        between = " --" if program == "npm" and "--" not in rest else ""
        for call in _through(script, between, rest, directory, steps):
            is_passed_on = program == "npm" or "--" not in rest
            yield call if is_passed_on else RunnerCall(call.runner, call.arguments, None)
    elif program != "npm":
        yield from _in_words((verb, *rest), directory, steps)


def _through(text: str, between: str, rest: tuple[str, ...], directory: Root, steps: Steps) -> Iterator[RunnerCall]:
    """Yield the calls of a script that gets the arguments after its name."""
    given = tuple(word for word in rest if word != "--")
    for call in _in_text(text, directory, steps):
        joint = None if call.joint is None else between + call.joint
        yield RunnerCall(call.runner, (*call.arguments, *given) if call.joint is not None else call.arguments, joint)


def _of_script(path: str, program: str, rest: tuple[str, ...], directory: Root, steps: Steps) -> Iterator[RunnerCall]:
    if rest[:1] == ("-C",) and len(rest) > 1:
        directory, rest = _below(directory, rest[1]), rest[2:]
    target = next((word for word in rest if not word.startswith("-") and "=" not in word), "")
    tables: dict[str, Callable[[], str]] = {
        "make": lambda: make_recipe(directory, target),
        "gmake": lambda: make_recipe(directory, target),
        "just": lambda: just_recipe(directory, target),
        "sh": lambda: text_of(directory, target),
        "bash": lambda: text_of(directory, target),
        "tox": lambda: _mentioned(text_of(directory, "tox.ini", "pyproject.toml", "setup.cfg")),
        "nox": lambda: _mentioned(text_of(directory, "noxfile.py")),
        "rake": lambda: "rspec" if directory.names("spec") else "",
    }
    if program == "composer":
        name = [word for word in rest if not word.startswith("-") and word not in ("run", "run-script", "exec")][:1]
        script = package_script(directory, "".join(name), "composer.json")
        yield from _through(script, "" if "--" in rest else " --", (), directory, steps)
    elif program in tables or path.endswith(".sh"):
        text = tables[program]() if program in tables else text_of(directory, path)
        for call in _in_text(text, directory, steps):
            yield RunnerCall(call.runner, call.arguments, None)


def _mentioned(text: str) -> str:
    """Return the runners that a file of a Python environment manager mentions.

    Such a file is only searched for the names of runners.
    """
    started = [runner for runner in runners() if runner.started_by_tox]
    return "\n".join(one.started_by_tox for one in started if re.search(rf"\b{one.mentioned}\b", text))
