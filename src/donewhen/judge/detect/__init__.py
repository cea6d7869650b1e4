"""Proposes a contract from the files of a repository. Files are only read: nothing is started and nothing is invented.

    survey           the files of the repository, read once and within limits
    ci_commands      how the workflows of the project call its tools
    recognise        which tool a command line calls
    package          one directory with a manifest
    packages         all directories with a manifest; one finder per ecosystem:
                     python, javascript, rust, go_jvm_dotnet, php_ruby_elixir
    targets          what make and just targets, tox and nox run
    select           one check for each purpose, in order, with names
    shared_paths     which ignored directories the checks need
    services         databases that tests may need: reported, never opened
    build_checks     checks that only show if a project builds
    proposal         the result as data

A proposal is tested by running it, which is not done here.
"""

from dataclasses import replace
from pathlib import Path

from donewhen.judge.detect import packages, select, services, shared_paths, targets
from donewhen.judge.detect.ci_commands import CiCommand, all_ci_commands
from donewhen.judge.detect.package import Package, Programs, quoted, shown
from donewhen.judge.detect.proposal import FoundCheck, Hint, Proposal, Proposed
from donewhen.judge.detect.recognise import recognise
from donewhen.judge.detect.survey import Survey, survey
from donewhen.judge.runners.registry import all_runners

__all__ = ["Programs", "Proposal", "Proposed", "propose"]
PROPOSED_AS_CALLED = frozenset(runner.name for runner in all_runners() if runner.proposed_as_called)


def propose(root: Path, programs: Programs) -> Proposal:
    """Return a proposal for the repository at `root`. `programs` returns True if a program is on PATH."""
    repository = survey(root)
    called = _own_commands(repository)
    root_targets = targets.find(Package(repository, ".", (), called, programs))
    everything = [*packages.find_all(repository, called, programs), *root_targets]
    found = [one for one in everything if isinstance(one, FoundCheck)]
    found += _called_test_command(repository, called, everything, programs)
    hints = [one.text for one in everything if isinstance(one, Hint)]
    hints += [f"{path} cannot be parsed and is ignored" for path in sorted(repository.broken)]
    if not repository.complete:
        hints.append("the repository is large; its deepest directories were not searched")
    chosen = select.choose(found)
    wanted = services.services(repository)
    if not any(one.kind == "tests" for one in chosen):
        others = select.as_checks(select.choose(found, usual=False))
        return Proposal((), {}, tuple(dict.fromkeys(hints)), tuple(map(check_lines, others)))
    share = shared_paths.shared_paths(repository, [one.dir for one in chosen])
    return Proposal(
        checks=select.as_checks(chosen),
        workspace={"share": share} if share else {},
        hints=tuple(dict.fromkeys([*hints, *map(services.hint, wanted)])),
        offers=(),
        wider=services.wider_keys(wanted),
    )


def check_lines(proposed: Proposed) -> str:
    """Return a proposed check as lines of donewhen.toml."""
    check = proposed.check
    lines = [f"# {proposed.why}", "[[check]]", f"name = {_toml(check.name)}", f"command = {_toml(check.command)}"]
    return "\n".join([*lines, *([f"dir = {_toml(check.dir)}"] if check.dir != "." else [])])


def _toml(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _own_commands(repository: Survey) -> tuple[CiCommand, ...]:
    directories = [directory for directory in repository.files if directory.count("/") < 2]
    own = [
        called
        for directory in directories
        for called in (
            *targets.target_commands(repository, directory),
            *targets.environment_commands(repository, directory),
        )
    ]
    return (*all_ci_commands(repository), *own)


def _called_test_command(
    repository: Survey, called: tuple[CiCommand, ...], everything: list[FoundCheck | Hint], programs: Programs
) -> list[FoundCheck]:
    """Return a test command that the workflows of the project call, as written there, if nothing else was found."""
    if any(isinstance(one, FoundCheck) and one.kind == "tests" for one in everything):
        return []
    for one in called:
        tool = recognise(one.words)
        named = tool is not None and tool.runner in PROPOSED_AS_CALLED and programs(one.words[0])
        if named or _calls_test_script(one, repository):
            runner = tool.runner if tool else "script"
            why = f"{one.where} runs {shown(one.words)}"
            found = FoundCheck(kind="tests", runner=runner, command=quoted(*one.words), dir=one.dir, why=why)
            return [replace(found, timeout_secs=300)]
    return []


def _calls_test_script(called: CiCommand, repository: Survey) -> bool:
    """Return True if a command calls a script of the repository that runs tests, such as `./run-tests.sh`."""
    words = called.words[1:] if called.words[0] in ("sh", "bash") else called.words
    path = words[0].removeprefix("./") if words else ""
    is_script = words is not called.words or called.words[0].startswith("./") or "/" in words[0]
    return is_script and repository.has(path) and "test" in path.lower()
