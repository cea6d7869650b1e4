"""A contract proposed from what a repository already has. Files are read; nothing is started and nothing is invented.

    survey       what is there, looked at once and within bounds
    said         how the project itself calls its tools: workflows, targets, tox, nox
    recognise    which tool a command line calls
    packages     the directories with a manifest; one finder per ecosystem:
                 python javascript rust compiled (Go, JVM, .NET) scripted (PHP, Ruby, Elixir) targets (make, just)
    choosing     one way to do each thing, in order, with names
    sharing      which ignored directories the checks need
    services     databases that tests may want: told, never opened

Whether the proposal works is found out by running it, which is not done here.
"""

from dataclasses import replace
from pathlib import Path

from donewhen.judge.detect import choosing, packages, services, sharing, targets
from donewhen.judge.detect.package import Package, Programs, quoted, shown
from donewhen.judge.detect.proposal import Found, Hint, Proposal, Proposed
from donewhen.judge.detect.recognise import recognise
from donewhen.judge.detect.said import Said, everything_said
from donewhen.judge.detect.survey import Survey, survey

__all__ = ["Programs", "Proposal", "Proposed", "propose"]


def propose(root: Path, programs: Programs) -> Proposal:
    """Checks for the repository whose files lie below `root`; `programs` says whether a program is on PATH."""
    seen = survey(root)
    said = _said(seen)
    everything = [*packages.find_all(seen, said, programs), *_targets(seen, said, programs)]
    found = [one for one in everything if isinstance(one, Found)] + _only_said(seen, said, everything, programs)
    hints = [one.text for one in everything if isinstance(one, Hint)] + _about(seen)
    chosen = choosing.choose(found)
    wanted = services.services(seen)
    if not any(one.kind == "tests" for one in chosen):
        others = choosing.as_checks(choosing.choose(found, usual=False))
        return Proposal((), {}, tuple(dict.fromkeys(hints)), tuple(map(pasted, others)))
    share = sharing.shared_paths(seen, [one.dir for one in chosen])
    return Proposal(
        checks=choosing.as_checks(chosen),
        workspace={"share": share} if share else {},
        hints=tuple(dict.fromkeys([*hints, *map(services.hint, wanted)])),
        offers=(),
        wider=services.wider(wanted),
    )


def pasted(proposed: Proposed) -> str:
    """A proposed check as the lines of donewhen.toml."""
    check = proposed.check
    lines = [f"# {proposed.why}", "[[check]]", f"name = {_toml(check.name)}", f"command = {_toml(check.command)}"]
    return "\n".join([*lines, *([f"dir = {_toml(check.dir)}"] if check.dir != "." else [])])


def _toml(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _said(seen: Survey) -> tuple[Said, ...]:
    directories = [place for place in seen.files if place.count("/") < 2]
    own = [
        said
        for place in directories
        for said in (*targets.said_by_targets(seen, place), *targets.said_by_environments(seen, place))
    ]
    return (*everything_said(seen), *own)


def _targets(seen: Survey, said: tuple[Said, ...], programs: Programs) -> list[Found | Hint]:
    return list(targets.find(Package(seen, ".", (), said, programs)))


def _only_said(seen: Survey, said: tuple[Said, ...], everything: list[Found | Hint], programs: Programs) -> list[Found]:
    """Where nothing else was found: test commands that the project's workflows call, exactly as they spell them."""
    if any(isinstance(one, Found) and one.kind == "tests" for one in everything):
        return []
    for one in said:
        tool = recognise(one.words)
        script = _script_of(one, seen)
        named = tool is not None and tool.runner in ("bats", "ctest", "prove", "trial") and programs(one.words[0])
        if named or script:
            runner = tool.runner if tool else "script"
            why = f"{one.where} runs {shown(one.words)}"
            found = Found(kind="tests", runner=runner, command=quoted(*one.words), dir=one.dir, why=why)
            return [replace(found, timeout_secs=300)]
    return []


def _script_of(said: Said, seen: Survey) -> str:
    """A script of the repository that is called for its tests, such as `./run-tests.sh`."""
    words = said.words[1:] if said.words[0] in ("sh", "bash") else said.words
    path = words[0].removeprefix("./") if words else ""
    is_ours = seen.has(path) and (words is not said.words or said.words[0].startswith("./") or "/" in words[0])
    return path if is_ours and "test" in path.lower() else ""


def _about(seen: Survey) -> list[str]:
    lines = [f"{path} cannot be read as what its name says, and was left out" for path in sorted(seen.broken)]
    if not seen.complete:
        lines.append("the repository is large; what lies deep in it was not looked at")
    return lines
