"""Every table that names test runners, as plain data."""

from importlib import import_module

from donewhen.judge.detect import javascript
from donewhen.judge.detect.recognise import BY_NAME, BY_SUBCOMMAND
from donewhen.judge.protect.commands import commands, runner_arguments, scripts_run
from donewhen.judge.protect.names import deciding_files, judging_tools
from donewhen.judge.protect.rules import shadow_modules, suite
from donewhen.judge.runners import calls
from donewhen.judge.runners.canary import BY_RUNNER
from donewhen.judge.runners.read_results import IN_TREE, REPORTS, TEXT
from donewhen.judge.runners.registry import runners
from donewhen.judge.runners.runner import ReadReport
from donewhen.readers.runner_names import RUNNERS


def alternatives(pattern: str) -> list[str]:
    """The words between the outer brackets of a pattern. Brackets inside are kept."""
    inner, words, depth = pattern.removeprefix(r"\b(?:").removesuffix(r")\b"), [""], 0
    for sign in inner:
        depth += (sign == "(") - (sign == ")")
        if sign == "|" and not depth:
            words.append("")
        else:
            words[-1] += sign
    return sorted(words)


def lazily(reader: ReadReport) -> str:
    """The module and the function that a lazy reader imports."""
    function, module = (cell.cell_contents for cell in getattr(reader, "__closure__"))  # noqa: B009
    return f"{module}.{function}"


def tables() -> dict[str, object]:
    return {
        "calls.BY_NAME": dict(calls.BY_NAME),
        "calls.BY_VERB": {program: (runner, sorted(verbs)) for program, (runner, verbs) in calls.BY_VERB.items()},
        "calls.MENTIONS": {one.started_by_tox: rf"\b{one.mentioned}\b" for one in runners() if one.started_by_tox},
        "recognise.BY_NAME": dict(BY_NAME),
        "recognise.BY_SUBCOMMAND": dict(BY_SUBCOMMAND),
        "runner_arguments.RUNNERS": sorted(runner_arguments.RUNNERS),
        "runner_arguments.SEARCH_BY_NAME": sorted(runner_arguments.SEARCH_BY_NAME),
        "scripts_run.STARTS_TESTS": alternatives(scripts_run.STARTS_TESTS.pattern),
        "canary.BY_RUNNER": sorted(BY_RUNNER),
        "deciding_files.ALWAYS": [(reason, sorted(names.split())) for reason, names in deciding_files.ALWAYS.items()],
        "deciding_files.WHEN_USED": {tools: sorted(names.split()) for tools, names in deciding_files.WHEN_USED.items()},
        "suite.NAMING": sorted(suite.NAMING),
        "commands.CONFIGURING_FOR": {option: sorted(tools) for option, tools in commands.CONFIGURING_FOR.items()},
        "judging_tools.TOOLS": sorted(judging_tools.TOOLS),
        "judging_tools.PLUGIN_GROUPS": sorted(judging_tools.PLUGIN_GROUPS),
        "shadow_modules.RUNNERS": sorted(shadow_modules.RUNNERS),
        "read_results.TEXT": [(name, lazily(reader).removesuffix(".read_text")) for name, reader in TEXT.items()],
        "read_results.REPORTS": {name: (runner, lazily(reader)) for name, (runner, reader) in REPORTS.items()},
        "read_results.IN_TREE": [(name, pattern.pattern) for name, pattern in IN_TREE.items()],
        "javascript.RUNNERS": list(javascript.RUNNERS.items()),
        "find_failures.RUNNERS": list(RUNNERS),
        "find_failures.CLOSING": {name: import_module(f"donewhen.readers.{name}").CLOSING.pattern for name in RUNNERS},
    }
